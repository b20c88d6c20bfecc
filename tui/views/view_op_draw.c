// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws one operation: heatmap, histogram with bracketed peaks, open calls. */
#include "analysis/base/format.h"
#include "analysis/walk/class.h"
#include "tui/screen/theme.h"
#include "tui/views/heatmap.h"
#include "tui/views/view_op.h"

enum { LABELS = 8, LANE = 4, MAX_LANES = 3, MAP_MIN_ROWS = 5, OPEN_SHOWN = 3 };

/* The rectangles of all parts; a part with height or width 0 is not shown. */
struct layout {
	struct rect title, placement, heading, labels, map, bars, brackets, times, peaks, open;
};

/* --- layout ------------------------------------------------------------------------------- */

/* Set the columns: latencies, map, histogram, brackets. In a narrow window omit the labels first,
 * then the map. */
static void lay_out_columns(struct layout *l, struct rect area, int lanes)
{
	int labels = area.w >= 36 ? LABELS : area.w >= 24 ? 1 : 0, rest = area.w - labels;
	int brackets = lanes * LANE, bars;

	if (brackets > rest / 4)
		brackets = rest >= 2 * LANE ? LANE : 0;
	rest -= brackets;
	bars = rest / 4;
	bars = bars > 40 ? 40 : bars < 6 ? 6 : bars;
	if (rest < 16) /* narrow: the histogram has priority over the map */
		bars = rest;
	l->labels = (struct rect){area.x, area.y, labels, area.h};
	l->map =
	    (struct rect){area.x + labels, area.y, rest - bars > 1 ? rest - bars - 1 : 0, area.h};
	l->bars = (struct rect){area.x + labels + rest - bars, area.y, bars, area.h};
	l->brackets = (struct rect){l->bars.x + bars, area.y, brackets, area.h};
}

/*
 * Set the rows. The map has about half of them. The rest goes first to open calls (at most half of
 * the rest), then to the peaks. Rows that are not needed go back to the map.
 */
static struct layout lay_out(const struct view_op *v, struct rect r, int lanes)
{
	struct op_line lines[OP_MAX_LINES];
	struct layout l = {0};
	int want_peaks = view_op_lines(v, r.w, lines) + 1;
	int nr_open = (int)v->op->op.nr_open_calls, rest, head, times, map, y = r.y;
	int want_open = nr_open ? 1 + (nr_open < OPEN_SHOWN ? nr_open : OPEN_SHOWN) : 0;
	int placement = v->op->placement[0] && r.h >= 18;

	if (want_peaks < 2)
		want_peaks = 2;
	if (v->pane == PANE_OPEN && nr_open)
		want_open = 1 + (nr_open < r.h / 4 ? nr_open : r.h / 4);
	head = r.h >= 10;
	times = r.h >= 8;
	rest = r.h - 1 - placement - head - times;
	if (rest < 1)
		rest = 0;
	map = rest / 2 > MAP_MIN_ROWS ? rest / 2 : rest - 3;
	if (map < 1)
		map = rest;
	if (want_open > (rest - map) / 2 && v->pane != PANE_OPEN)
		want_open = (rest - map) / 2 >= 2 ? (rest - map) / 2 : 0;
	if (want_peaks > rest - map - want_open)
		want_peaks = rest - map - want_open;
	map = rest - want_peaks - want_open;
	l.title = (struct rect){r.x, y, r.w, 1};
	y++;
	l.placement = (struct rect){r.x, y, r.w, placement};
	y += placement;
	l.heading = (struct rect){r.x, y, r.w, head};
	y += head;
	lay_out_columns(&l, (struct rect){r.x, y, r.w, map}, lanes);
	y += map;
	l.times = (struct rect){l.map.x, y, l.map.w, times};
	y += times;
	l.peaks = (struct rect){r.x, y, r.w, want_peaks};
	l.open = (struct rect){r.x, y + want_peaks, r.w, want_open};
	return l;
}

/* --- title ---------------------------------------------------------------------------------- */

/* Draw name, calls, open calls and quantiles, the most important first: the end may be cut. */
static void draw_title(const struct view_op *v, struct grid *g, struct rect r)
{
	const struct op *op = &v->op->op;
	const char *dot = theme_glyph(GLYPH_DOT, g->ascii);
	char text[512];
	bool stuck = op_is_stuck(op, v->op->elapsed_ns);
	bool normal = op_class(op) != WALK_WORK || op_began_before(op, v->op->elapsed_ns);
	int x = r.x + 1, end = r.x + r.w;

	x += grid_put_cut(g, x, r.y, r.w > 60 ? r.w - 46 : r.w, ROLE_TITLE, v->op->name) + 2;
	x += grid_printf(g, x, r.y, end - x, ROLE_TEXT, "%s %s", format_count(op->total.calls).s,
			 op->total.calls == 1 ? "call" : "calls") +
	     2;
	if (op->open) {
		snprintf(text, sizeof(text), "%s%s open, oldest %s", stuck ? "!" : "",
			 format_count(op->open).s, format_time(op->oldest_open_ns).s);
		x += grid_put(g, x, r.y, end - x,
			      stuck    ? ROLE_ALERT
			      : normal ? ROLE_TEXT
				       : ROLE_WARNING,
			      text) +
		     2;
	}
	if (op->total.calls) {
		snprintf(text, sizeof(text), "p50 %s %s p99 %s %s max %s",
			 format_time(profile_quantile(&op->total, 0.5)).s, dot,
			 format_time(profile_quantile(&op->total, 0.99)).s, dot,
			 format_time(op->total.max_ns).s);
		grid_put_cut(g, x, r.y, end - x, ROLE_TEXT, text);
	}
}

/* Draw the remark about calls that the counts lack, then the placement of the probes, which may be
 * cut. */
static void draw_placement(const struct view_op *v, struct grid *g, struct rect r)
{
	const char *remark = v->op->remarks;
	size_t n = strcspn(remark, "\n");
	char text[512];
	int x = r.x + 1;

	if (r.h < 1)
		return;
	if (v->op->op.open && n) { /* skip the remark about open calls: the title shows them */
		remark += n + (remark[n] == '\n');
		n = strcspn(remark, "\n");
	}
	snprintf(text, sizeof(text), "%.*s", (int)n, remark);
	if (n)
		x += grid_put_cut(g, x, r.y, r.x + r.w - x, ROLE_WARNING, text) + 2;
	grid_put_cut(g, x, r.y, r.x + r.w - x, ROLE_DIM, v->op->placement);
}

/* --- map and histogram ------------------------------------------------------------------------ */

static void draw_heading(const struct view_op *v, const struct heatmap *h, struct grid *g,
			 const struct layout *l)
{
	char text[96];
	unsigned int level;
	int x, y = l->heading.y;

	if (!l->heading.h)
		return;
	grid_fill(g, l->heading, ROLE_HEADING, " ");
	snprintf(text, sizeof(text), "%s per column", format_time(v->column_ns).s);
	if (l->map.w > 0)
		grid_put(g, l->map.x, y, l->map.w, ROLE_HEADING, text);
	x = l->map.x + (int)strlen(text) + 3;
	snprintf(text, sizeof(text), "%s calls",
		 format_count(1ULL << (h->scale < 63 ? h->scale : 63)).s);
	if (x + 2 + HEAT_LEVELS + 1 + (int)strlen(text) <= l->map.x + l->map.w) {
		grid_put(g, x, y, 1, ROLE_HEADING, "1");
		for (level = 1; level <= HEAT_LEVELS; level++)
			grid_put(g, x + 1 + (int)level, y, 1, ROLE_HEAT_1 + level - 1,
				 theme_shade(level, g->ascii));
		grid_put(g, x + HEAT_LEVELS + 3, y, (int)strlen(text), ROLE_HEADING, text);
	}
	grid_put_cut(g, l->bars.x, y, l->bars.w + l->brackets.w, ROLE_HEADING,
		     l->bars.w >= 20 ? "calls shown here (log)" : "calls (log)");
}

static void draw_bars(const struct heatmap *h, struct grid *g, struct rect r,
		      struct bucket_range chosen)
{
	int row, low = -1, high = -2, i;

	heatmap_rows(h, chosen, &low, &high);
	for (row = 0; row < h->rows && row < r.h; row++) {
		int halves = heatmap_bar(h, row, r.w * 2), y = r.y + r.h - 1 - row;
		unsigned int role = row >= low && row <= high ? ROLE_BAR_CHOSEN : ROLE_BAR;

		for (i = 0; i < halves / 2; i++)
			grid_put(g, r.x + i, y, 1, role, theme_glyph(GLYPH_BAR, g->ascii));
		if (halves % 2)
			grid_put(g, r.x + i, y, 1, role, theme_glyph(GLYPH_BAR_HALF, g->ascii));
	}
}

struct bracket {
	int low, high, mode; /* rows */
	int lane;	     /* -1: outside, or no lane is free */
};

/*
 * If two neighbouring peaks share a row, give the row to the peak with more of it, as long as the
 * other peak keeps a row.
 */
static void share_row(const struct op *op, const struct heatmap *h, struct bracket *b,
		      unsigned int i)
{
	struct bracket *below = &b[i - 1], *here = &b[i];
	unsigned int start = h->low + h->per_row * (unsigned int)here->low;
	unsigned int theirs = op->peaks[i - 1].range.high - start;
	unsigned int ours = start + h->per_row - op->peaks[i].range.low;

	if (below->lane < 0 || below->high != here->low)
		return;
	if (ours >= theirs && below->high > below->low)
		below->high--;
	else if (here->high > here->low)
		here->low++;
	else if (below->high > below->low)
		below->high--;
}

static void keep_mode(struct bracket *b)
{
	if (b->mode < b->low)
		b->mode = b->low;
	if (b->mode > b->high)
		b->mode = b->high;
}

/* Place the brackets. Peaks that still share a row get brackets in different lanes, side by side.
 * Returns the number of lanes. */
static int place_brackets(const struct op *op, const struct heatmap *h, struct bracket *b)
{
	int used[MAX_LANES] = {-1, -1, -1}, lanes = 1, lane;
	unsigned int i, mode;

	for (i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		b[i].lane = heatmap_rows(h, p->range, &b[i].low, &b[i].high) ? 0 : -1;
		if (b[i].lane < 0)
			continue;
		mode = pt_bucket(p->mode_ns);
		b[i].mode = mode < h->low ? b[i].low : (int)((mode - h->low) / h->per_row);
		if (i)
			share_row(op, h, b, i);
	}
	for (i = 0; i < op->nr_peaks; i++) {
		if (b[i].lane < 0)
			continue;
		keep_mode(&b[i]);
		for (lane = 0; lane < MAX_LANES && used[lane] >= b[i].low; lane++)
			;
		b[i].lane = lane < MAX_LANES ? lane : -1;
		if (lane == MAX_LANES)
			continue;
		used[lane] = b[i].high;
		if (lane + 1 > lanes)
			lanes = lane + 1;
	}
	return lanes;
}

static enum glyph bracket_glyph(const struct bracket *b, int row)
{
	if (b->low == b->high)
		return GLYPH_BRACKET_SINGLE;
	if (row == b->high)
		return GLYPH_BRACKET_TOP;
	if (row == b->low)
		return GLYPH_BRACKET_BOTTOM;
	return row == b->mode ? GLYPH_BRACKET_MODE : GLYPH_BRACKET_MIDDLE;
}

/* Draw shadows dimly, with the number of their peak. */
static void draw_shadows(const struct op *op, const struct heatmap *h, struct grid *g,
			 struct rect r)
{
	int low, high, row, mode;

	for (unsigned int i = 0; i < op->nr_folded; i++) {
		const struct peak *p = &op->folded[i];

		if (!p->shadow_of || !heatmap_rows(h, p->range, &low, &high))
			continue;
		for (row = low; row <= high && row < r.h; row++)
			grid_put(g, r.x, r.y + r.h - 1 - row, 1, ROLE_DIM, ":");
		mode = pt_bucket(p->mode_ns) < h->low
			   ? low
			   : (int)((pt_bucket(p->mode_ns) - h->low) / h->per_row);
		mode = mode < low ? low : mode > high ? high : mode;
		for (unsigned int k = 0; k < op->nr_peaks && mode < r.h; k++)
			if (op->peaks[k].id == p->shadow_of)
				grid_printf(g, r.x + 1, r.y + r.h - 1 - mode, LANE - 1, ROLE_DIM,
					    "~%d", op->peaks[k].number);
	}
}

static void draw_brackets(const struct op *op, const struct bracket *b, const struct peak *chosen,
			  struct grid *g, struct rect r)
{
	unsigned int i;
	int row;

	for (i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];
		bool is = chosen && p->id == chosen->id;
		unsigned int role = is ? ROLE_PEAK_CHOSEN : ROLE_PEAK;
		int x = r.x + b[i].lane * LANE;

		if (b[i].lane < 0 || x + LANE > r.x + r.w)
			continue;
		for (row = b[i].low; row <= b[i].high && row < r.h; row++)
			grid_put(g, x, r.y + r.h - 1 - row, 1, role,
				 theme_glyph(bracket_glyph(&b[i], row), g->ascii));
		grid_printf(g, x + 1, r.y + r.h - 1 - b[i].mode, LANE - 1, role, "%s%d",
			    is ? "<" : "", p->number);
	}
}

/* --- open calls ---------------------------------------------------------------------------------
 */

static void draw_open(const struct view_op *v, struct grid *g, struct rect r)
{
	const struct op *op = &v->op->op;
	bool focus = v->pane == PANE_OPEN, one = op_is_stuck(op, v->op->elapsed_ns);
	int i, top = focus ? list_top(&v->open, r.h - 1) : 0;
	char args[192], text[256];

	if (r.h < 2)
		return;
	if (op->open > op->nr_open_calls)
		snprintf(text, sizeof(text), "  open calls: the %u oldest of %s", op->nr_open_calls,
			 format_count(op->open).s);
	else
		snprintf(text, sizeof(text), "  open calls");
	grid_printf(g, r.x, r.y, r.w, focus ? ROLE_FOCUS : ROLE_HEADING, "%-*s", r.w, text);
	for (i = 0; i + 1 < r.h && top + i < (int)op->nr_open_calls; i++) {
		const struct open_call *call = &op->open_calls[top + i];
		bool stuck = one && call->age_ns >= OP_STUCK_NS && call->age_ns > op->total.max_ns,
		     selected = focus && top + i == v->open.selected;
		int k, n = 0, y = r.y + 1 + i;

		grid_target(g, (struct rect){r.x, y, r.w, 1}, OP_TARGET_OPEN + top + i);
		args[0] = '\0';
		for (k = 0; k < SAMPLE_ARGS; k++)
			if (call->known & (unsigned int)SAMPLE_ARG0 << k)
				n += snprintf(args + n, sizeof(args) - (size_t)n, "%s0x%llx",
					      n ? ", " : "", (unsigned long long)call->args[k]);
		if (selected) {
			grid_put(g, r.x, y, 1, ROLE_SELECTED, ">");
			grid_cursor(g, r.x, y);
		}
		snprintf(text, sizeof(text), "%s%s", stuck ? "!" : " ",
			 format_time(call->age_ns).s);
		grid_put(g, r.x + 2, y, 12,
			 stuck	    ? ROLE_ALERT
			 : selected ? ROLE_SELECTED
				    : ROLE_TEXT,
			 text);
		snprintf(text, sizeof(text), "thread %u of %u  %s%s%s%s", call->tid, call->pid,
			 call->comm, n ? "  (" : "", args, n ? ")" : "");
		grid_put_cut(g, r.x + 14, y, r.w - 14, selected ? ROLE_SELECTED : ROLE_TEXT, text);
	}
}

/* --- all of it
 * ------------------------------------------------------------------------------------ */

static struct heatmap_span span_of(const struct view_op *v)
{
	return (struct heatmap_span){
	    .slices = v->op->op.slices,
	    .nr_slices = v->op->op.nr_slices,
	    .total = &v->op->op.total,
	    .elapsed_ns = v->op->elapsed_ns,
	    .interval_ns = v->op->interval_ns,
	    .column_ns = v->column_ns,
	    .resolution = v->view.screen->options.resolution,
	};
}

static void draw_picture(const struct view_op *v, struct grid *g, const struct layout *l,
			 const struct heatmap *h, const struct bracket *b)
{
	const struct peak *chosen = view_op_chosen(v, NULL);
	struct bucket_range range = chosen ? chosen->range : (struct bucket_range){0, 0};

	draw_heading(v, h, g, l);
	if (l->labels.w)
		heatmap_draw_latencies(h, g, l->labels, range);
	heatmap_draw(h, g, l->map);
	if (l->times.h)
		heatmap_draw_times(h, g, l->times);
	draw_bars(h, g, l->bars, range);
	if (l->brackets.w) {
		draw_shadows(&v->op->op, h, g, l->brackets);
		draw_brackets(&v->op->op, b, chosen, g, l->brackets);
	}
}

void view_op_draw(const struct view *view, struct grid *g, struct rect r)
{
	const struct view_op *v = (const struct view_op *)view;
	struct bracket b[MODEL_MAX_PEAKS];
	struct heatmap_span span;
	struct heatmap h;
	struct layout l;
	int lanes;

	if (r.h < 1)
		return;
	if (!v->op) {
		grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_DIM,
			     "this operation is no longer measured");
		return;
	}
	span = span_of(v);
	l = lay_out(v, r, 1);
	if (l.map.h > 0 && !heatmap_init(&h, &span, l.map.w > 0 ? l.map.w : 1, l.map.h)) {
		lanes = place_brackets(&v->op->op, &h, b);
		if (lanes > 1) { /* make the map narrower; the rows do not change */
			heatmap_release(&h);
			l = lay_out(v, r, lanes);
			if (heatmap_init(&h, &span, l.map.w > 0 ? l.map.w : 1, l.map.h) < 0)
				return;
		}
		draw_picture(v, g, &l, &h, b);
		heatmap_release(&h);
	}
	draw_title(v, g, l.title);
	draw_placement(v, g, l.placement);
	view_op_draw_peaks(v, g, l.peaks);
	draw_open(v, g, l.open);
}
