// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the comparison of two spans or sessions. */
#include <math.h>

#include "analysis/base/format.h"
#include "tui/screen/theme.h"
#include "tui/views/view_diff.h"

enum { TITLES = 2, INDENT = 6, MAX_BARS = 8, LEVELS = 8 };

/* One line of the list: an operation or, below it, a reason. */
struct diff_line {
	int row, reason; /* reason -1: the operation */
};

static int lines_before(const struct view_diff *v, int row)
{
	int n = 0;

	for (int i = 0; i < row; i++)
		n += 1 + (int)v->row[i].nr_reasons;
	return n;
}

static struct diff_line line_at(const struct view_diff *v, int line)
{
	int row = 0;

	while (row < v->list.n && line > (int)v->row[row].nr_reasons)
		line -= 1 + (int)v->row[row++].nr_reasons;
	return (struct diff_line){row, line - 1};
}

static void draw_line(const struct view_diff *v, struct grid *g, struct rect r,
		      struct diff_line line)
{
	const struct diff_row *row = &v->row[line.row];
	bool selected = line.row == v->list.selected;
	unsigned int role = selected ? ROLE_SELECTED : row->changed ? ROLE_TEXT : ROLE_DIM;
	int x = r.x + 2;

	grid_target(g, r, line.row);
	if (line.reason >= 0) {
		grid_put_cut(g, r.x + INDENT, r.y, r.w - INDENT, ROLE_TEXT,
			     row->reason[line.reason]);
		return;
	}
	if (selected) {
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x, r.y);
	}
	x += grid_put_cut(g, x, r.y, r.w - 2, view_diff_matches(row, v->found) ? ROLE_MATCH : role,
			  row->name) +
	     2;
	grid_put_cut(g, x, r.y, r.x + r.w - x, row->changed ? ROLE_WARNING : ROLE_DIM,
		     row->changed ? "changed" : row->verdict);
}

static void draw_list(const struct view_diff *v, struct grid *g, struct rect r)
{
	struct list lines = {.n = lines_before(v, v->list.n), .top = 0};
	int top;

	/* the reasons of the selected operation are visible, too, as far as there is room */
	lines.selected = lines_before(v, v->list.selected + 1) - 1;
	lines.selected = lines.selected < 0 ? 0 : lines.selected;
	top = list_top(&lines, r.h);
	if (top > lines_before(v, v->list.selected))
		top = lines_before(v, v->list.selected);
	for (int i = 0; i < r.h && top + i < lines.n; i++)
		draw_line(v, g, (struct rect){r.x, r.y + i, r.w, 1}, line_at(v, top + i));
}

struct chart {
	unsigned int low, high; /* buckets, for both sides: [low, high) */
	double least, most;	/* calls per second in a bucket: log2 */
	double scale[2];	/* calls per second of one call */
};

static bool chart_init(struct chart *c, const struct diff_row *row)
{
	*c = (struct chart){.low = PT_BUCKETS, .least = INFINITY, .most = -INFINITY};
	for (unsigned int side = 0; side < 2; side++) {
		const struct diff_calls *calls = &row->side[side];

		if (!calls->called || calls->rate <= 0)
			continue;
		c->scale[side] = calls->rate / (double)calls->profile.calls;
		for (unsigned int i = 0; i < PT_BUCKETS; i++) {
			double rate = (double)calls->profile.count[i] * c->scale[side];

			if (rate <= 0)
				continue;
			c->low = i < c->low ? i : c->low;
			c->high = i >= c->high ? i + 1 : c->high;
			c->least = fmin(c->least, log2(rate));
			c->most = fmax(c->most, log2(rate));
		}
	}
	if (c->low >= c->high)
		return false;
	c->low -= c->low < PT_RESOLUTION ? c->low : PT_RESOLUTION;
	c->high += c->high + PT_RESOLUTION <= PT_BUCKETS ? PT_RESOLUTION : 0;
	return true;
}

/* The column of a bucket. */
static int column_of(const struct chart *c, unsigned int bucket, int width)
{
	return (int)((bucket - c->low) * (unsigned int)width / (c->high - c->low));
}

/* The height of a column in eighths of a row: of the most calls of its buckets. */
static int height_of(const struct chart *c, const struct diff_row *row, unsigned int side,
		     struct rect r, int col)
{
	double most = 0, span = c->most - c->least;

	for (unsigned int i = c->low; i < c->high; i++) {
		int from = column_of(c, i, r.w), to = column_of(c, i + 1, r.w);

		if (col >= from && col < (to > from ? to : from + 1))
			most = fmax(most, (double)row->side[side].profile.count[i]);
	}
	if (most <= 0)
		return 0;
	if (span <= 0)
		return r.h * LEVELS;
	return 1 + (int)((log2(most * c->scale[side]) - c->least) / span * (r.h * LEVELS - 1));
}

static void draw_chart(const struct chart *c, const struct diff_row *row, unsigned int side,
		       struct grid *g, struct rect r)
{
	for (int col = 0; col < r.w; col++) {
		int height = height_of(c, row, side, r, col);

		for (int y = 0; y < r.h && height > y * LEVELS; y++) {
			int level = height - y * LEVELS;

			grid_put(
			    g, r.x + col, r.y + r.h - 1 - y, 1, ROLE_BAR,
			    theme_spark((unsigned int)(level < LEVELS ? level : LEVELS), g->ascii));
		}
	}
}

/* "1 us", "10 us" ... below the histograms. */
static void draw_axis(const struct chart *c, struct grid *g, struct rect r)
{
	int end = r.x;

	for (uint64_t ns = 1; ns < 1000000000000000ULL; ns *= 10) {
		unsigned int bucket = pt_bucket(ns);
		int x;

		if (bucket < c->low || bucket >= c->high)
			continue;
		x = r.x + column_of(c, bucket, r.w);
		if (x < end || x + (int)strlen(format_time(ns).s) + 1 > r.x + r.w)
			continue;
		x += grid_put(g, x, r.y, 1, ROLE_DIM, theme_glyph(GLYPH_TICK, g->ascii));
		end = x + 2 + grid_put(g, x, r.y, r.x + r.w - x, ROLE_DIM, format_time(ns).s);
	}
}

static void draw_side_heading(const struct diff_row *row, unsigned int side, struct grid *g,
			      struct rect r)
{
	const struct diff_calls *c = &row->side[side];
	const struct profile *p = &c->profile;
	char text[256];

	if (!c->called)
		snprintf(text, sizeof(text), "no call");
	else
		snprintf(text, sizeof(text), "%s%s calls, %s/s, p50 %s, p99 %s, max %s",
			 c->share_seen < ALL_SEEN ? "~" : "", format_count(p->calls).s,
			 format_rate(c->rate).s, format_time(profile_quantile(p, 0.5)).s,
			 format_time(profile_quantile(p, 0.99)).s, format_time(p->max_ns).s);
	grid_fill(g, r, ROLE_HEADING, " ");
	grid_printf(g, r.x, r.y, r.w, ROLE_HEADING, "  %s %s: %s", side ? "after " : "before",
		    row->name, text);
}

/* Both histograms have the same scale of latency, and of calls per second (logarithmic). */
static void draw_charts(const struct view_diff *v, struct grid *g, struct rect r, int bars)
{
	const struct diff_row *row = &v->row[v->list.selected];
	struct chart c;
	bool drawn = chart_init(&c, row);

	for (unsigned int side = 0; side < 2; side++) {
		int y = r.y + (int)side * (bars + 1);

		draw_side_heading(row, side, g, (struct rect){r.x, y, r.w, 1});
		if (drawn && row->side[side].called)
			draw_chart(&c, row, side, g, (struct rect){r.x + 1, y + 1, r.w - 2, bars});
	}
	if (drawn)
		draw_axis(&c, g, (struct rect){r.x + 1, r.y + 2 * bars + 2, r.w - 2, 1});
}

static void draw_titles(const struct view_diff *v, struct grid *g, struct rect r)
{
	for (int i = 0; i < TITLES && i < r.h; i++)
		grid_printf(g, r.x + 1, r.y + i, r.w - 1, ROLE_TITLE, "%s %s",
			    i ? "after: " : "before:", v->title[i]);
}

static void draw_summary(const struct view_diff *v, struct grid *g, struct rect r)
{
	char text[128];

	if (v->nr_changed)
		snprintf(text, sizeof(text), "%u of %u operations changed", v->nr_changed,
			 v->nr_compared);
	else
		snprintf(text, sizeof(text), "no change was found in %u %s", v->nr_compared,
			 v->nr_compared == 1 ? "operation" : "operations");
	grid_fill(g, r, ROLE_HEADING, " ");
	grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_HEADING, text);
}

void view_diff_draw(const struct view *view, struct grid *g, struct rect r)
{
	const struct view_diff *v = (const struct view_diff *)view;
	int bars = (r.h - TITLES - 1) / 6, charts, head = r.h >= 5 ? TITLES : 0;

	bars = bars > MAX_BARS ? MAX_BARS : bars;
	charts = bars >= 1 && v->list.n ? 2 * bars + 3 : 0;
	draw_titles(v, g, (struct rect){r.x, r.y, r.w, head});
	if (r.h > head)
		draw_summary(v, g, (struct rect){r.x, r.y + head, r.w, 1});
	head++;
	draw_list(v, g, (struct rect){r.x, r.y + head, r.w, r.h - head - charts});
	if (charts)
		draw_charts(v, g, (struct rect){r.x, r.y + r.h - charts, r.w, charts}, bars);
}

int view_diff_height(const struct view *view, int cols)
{
	const struct view_diff *v = (const struct view_diff *)view;
	int list = lines_before(v, v->list.n);

	/* a third of the rows may be histograms */
	return TITLES + 1 + list + 2 * MAX_BARS + 3;
}
