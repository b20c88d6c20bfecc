// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the list of operations. */
#include "analysis/base/format.h"
#include "tui/screen/theme.h"
#include "tui/views/view_ops.h"

#define SLOW_NS 1000000000ULL /* an open call of this age is shown as a warning */

struct operation_columns {
	int x[NR_COLUMNS]; /* -1: not shown */
	uint32_t shown;	   /* mask of 1 << enum op_column */
	int name, name_w, spark_w, open_w;
};

enum { NAME_MIN = 11, NAME_WIDE = 40, SPARK_MIN = 6, SPARK_ROOM = 9, SPARK_MAX = 44 };

/* The width of each column with a blank before it; the histogram takes what is left. */
static const int column_width[NR_COLUMNS] = {
    [COLUMN_LAYER] = 18, [COLUMN_CALLS] = 6, [COLUMN_TOTAL] = 8, [COLUMN_RATE] = 8,
    [COLUMN_WALL] = 7,	 [COLUMN_P50] = 8,   [COLUMN_P99] = 8,	 [COLUMN_MAX] = 8,
    [COLUMN_PEAKS] = 6,	 [COLUMN_OPEN] = 12,
};

/* Add the columns of this list that the user wants (a mask; 0: all) in its order, until one does
 * not fit beside `keep` columns for the name. Returns the mask of those added. */
static uint32_t fit(const enum op_column *list, size_t n, uint32_t wanted, int keep, int *left)
{
	uint32_t added = 0;

	for (size_t i = 0; i < n; i++) {
		if (wanted && !(wanted & 1U << list[i]))
			continue;
		if (*left < keep + column_width[list[i]])
			break;
		*left -= column_width[list[i]];
		added |= 1U << list[i];
	}
	return added;
}

/* Set the columns from left to right. If the width does not suffice, columns are left out; without
 * a choice of the user in this order: histogram, peaks, p50, rate, p99, open. */
static struct operation_columns lay_out(int width, uint32_t wanted, uint64_t packed)
{
	static const enum op_column usual[] = {COLUMN_WALL, COLUMN_OPEN, COLUMN_P99,
					       COLUMN_RATE, COLUMN_P50,	 COLUMN_PEAKS};
	static const enum op_column more[] = {COLUMN_CALLS, COLUMN_TOTAL, COLUMN_MAX, COLUMN_LAYER};
	struct operation_columns c = {.name = 2, .open_w = column_width[COLUMN_OPEN] - 1};
	enum op_column order[NR_COLUMNS];
	int left = width - 2, x, all = 0;
	uint32_t shown = fit(usual, 6, wanted, NAME_MIN, &left);

	if (wanted)
		shown |= fit(more, 4, wanted, NAME_MIN, &left);
	if ((!wanted || wanted & 1U << COLUMN_HISTOGRAM) &&
	    left >= NAME_MIN + SPARK_MIN + SPARK_ROOM) {
		c.spark_w = left * 2 / 5 < SPARK_MAX ? left * 2 / 5 : SPARK_MAX;
		left -= c.spark_w + 1;
		shown |= 1U << COLUMN_HISTOGRAM;
	}
	for (int i = 0; i < 4; i++)
		all += column_width[more[i]];
	if (!wanted && left >= NAME_WIDE + all)
		shown |= fit(more, 4, 0, NAME_WIDE, &left);
	c.name_w = left;
	x = 2 + left;
	c.shown = shown;
	op_columns_unpack(packed, order);
	for (int k = 0; k < NR_COLUMNS; k++) {
		enum op_column i = order[k];

		c.x[i] = shown & 1U << i ? x + 1 : -1;
		if (shown & 1U << i)
			x += i == COLUMN_HISTOGRAM ? c.spark_w + 1 : column_width[i];
	}
	return c;
}

uint32_t view_ops_columns(const struct view_operations *o)
{
	const struct screen_options *s = &o->view.screen->options;

	return lay_out(o->view.screen->cols, s->columns, s->column_order).shown;
}

struct operation_heading {
	int width;
	enum row_order order;
	const char *text;
};

static void heading(const struct view_operations *o, struct grid *g, int x, int y,
		    const struct operation_heading *h)
{
	const bool by = o->rows.order == h->order;
	const int w = h->width;
	char marked[32];

	if (x < 0)
		return;
	grid_target(g, (struct rect){x, y, w, 1}, TARGET_HEADING + (int)h->order);
	snprintf(marked, sizeof(marked), "%s%s",
		 by ? theme_glyph(o->rows.reverse ? GLYPH_ASCENDING : GLYPH_DESCENDING, g->ascii)
		    : "",
		 h->text);
	if (h->order == BY_NAME || h->order == BY_LAYER)
		grid_put(g, x, y, w, by ? ROLE_FOCUS : ROLE_HEADING, marked);
	else
		grid_put_right(g, x - 1, y, w + 1, by ? ROLE_FOCUS : ROLE_HEADING, marked);
}

/* "1us", "1ms", "1s" over the small histograms. */
static void spark_heading(const struct view_operations *o, struct grid *g,
			  const struct operation_columns *c, int y)
{
	static const struct {
		int half; /* position of 10^(3k) ns: twice its log2 */
		const char *text;
	} marks[] = {{20, "us"}, {40, "ms"}, {60, "s"}, {80, "1000s"}};
	int x, end = c->x[COLUMN_HISTOGRAM];

	if (c->x[COLUMN_HISTOGRAM] < 0)
		return;
	grid_fill(g, (struct rect){c->x[COLUMN_HISTOGRAM], y, c->spark_w, 1}, ROLE_HEADING, " ");
	for (unsigned int i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (marks[i].half < o->rows.low || marks[i].half >= o->rows.high)
			continue;
		x = c->x[COLUMN_HISTOGRAM] +
		    (marks[i].half - o->rows.low) * c->spark_w / (o->rows.high - o->rows.low);
		if (x >= end &&
		    x + (int)strlen(marks[i].text) <= c->x[COLUMN_HISTOGRAM] + c->spark_w)
			end = x + 1 + grid_put(g, x, y, c->spark_w, ROLE_HEADING, marks[i].text);
	}
}

static void draw_headings(const struct view_operations *o, struct grid *g,
			  const struct operation_columns *c, struct rect r)
{
	grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
	heading(o, g, c->name, r.y, &(struct operation_heading){c->name_w, BY_NAME, "OPERATION"});
	heading(o, g, c->x[COLUMN_RATE], r.y, &(struct operation_heading){7, BY_RATE, "CALLS/S"});
	heading(o, g, c->x[COLUMN_WALL], r.y, &(struct operation_heading){6, BY_TIME, "WALL%"});
	heading(o, g, c->x[COLUMN_P50], r.y, &(struct operation_heading){7, BY_P50, "P50"});
	heading(o, g, c->x[COLUMN_P99], r.y, &(struct operation_heading){7, BY_P99, "P99"});
	heading(o, g, c->x[COLUMN_LAYER], r.y, &(struct operation_heading){17, BY_LAYER, "LAYER"});
	heading(o, g, c->x[COLUMN_CALLS], r.y, &(struct operation_heading){5, BY_CALLS, "CALLS"});
	heading(o, g, c->x[COLUMN_TOTAL], r.y, &(struct operation_heading){7, BY_TOTAL, "TOTAL"});
	heading(o, g, c->x[COLUMN_MAX], r.y, &(struct operation_heading){7, BY_MAX, "MAX"});
	spark_heading(o, g, c, r.y);
	heading(o, g, c->x[COLUMN_PEAKS], r.y, &(struct operation_heading){5, BY_PEAKS, "PEAKS"});
	heading(o, g, c->x[COLUMN_OPEN], r.y,
		&(struct operation_heading){c->open_w, BY_OPEN, "OPEN"});
}

static void draw_spark(const struct view_operations *o, const struct op_row *row, struct grid *g,
		       struct rect at, unsigned int role)
{
	int span = o->rows.high - o->rows.low;

	for (int i = 0; i < at.w; i++) {
		int from = o->rows.low + i * span / at.w, to = o->rows.low + (i + 1) * span / at.w;
		unsigned int log = 0, level;

		for (int k = from; k < (to > from ? to : from + 1) && k < ROW_HALVES; k++)
			if (row->log[k] > log)
				log = row->log[k];
		if (!log)
			continue;
		/* one call has the lowest level, the largest bucket the highest */
		level = 1 + (log - 1) * 7U / (row->log_max > 1 ? row->log_max - 1U : 1U);
		grid_put(g, at.x + i, at.y, 1, role, theme_spark(level, g->ascii));
	}
}

/* Draw the age of the oldest open call, as an alert if it is stuck. */
static void draw_open(const struct op_row *row, struct grid *g, int x, int y, int w,
		      unsigned int plain)
{
	bool slow = row->oldest_ns >= SLOW_NS && row->group != GROUP_IDLE && !row->began_before;
	unsigned int role = row->stuck ? ROLE_ALERT : slow ? ROLE_WARNING : plain;
	const struct text oldest = format_time(row->oldest_ns);
	const char *age = row->oldest_ns ? oldest.s : "now";
	char text[96];

	if (!row->open)
		return;
	if (row->open > 1)
		snprintf(text, sizeof(text), "%s%s: %s", row->stuck ? "!" : "",
			 format_count(row->open).s, age);
	else
		snprintf(text, sizeof(text), "%s%s", row->stuck ? "!" : "", age);
	grid_put_right(g, x, y, w, role, text);
}

static void draw_name(const struct view_operations *o, const struct op_row *row, struct grid *g,
		      const struct operation_columns *c, int y, unsigned int role)
{
	int used = grid_put_cut(g, c->name, y, c->name_w, role, row->name);
	const char *hit = o->rows.filter[0] ? strcasestr(row->name, o->rows.filter) : NULL;

	if (hit && (hit - row->name) + (long)strlen(o->rows.filter) <=
		       used) /* ASCII names: bytes are columns */
		grid_role(g,
			  (struct rect){c->name + (int)(hit - row->name), y,
					(int)strlen(o->rows.filter), 1},
			  ROLE_MATCH);
	if (row->module[0] && !strchr(row->name, '@') && c->name_w - used > 6)
		grid_put_cut(g, c->name + used + 1, y, c->name_w - used - 1, ROLE_DIM, row->module);
}

static void right(struct grid *g, int x, int y, int w, unsigned int role, struct text text)
{
	if (x >= 0)
		grid_put_right(g, x, y, w, role, text.s);
}

static void draw_figures(const struct view_operations *o, const struct op_row *row, struct grid *g,
			 const struct operation_columns *c, int y, unsigned int role)
{
	struct text rate = format_rate_fixed(row->rate), wall = format_percent_fixed(row->wall),
		    peaks;

	if (row->seen < ALL_SEEN) { /* estimated */
		snprintf(rate.s, sizeof(rate.s), "%s%.30s", row->at_least ? ">" : "~",
			 format_rate(row->rate).s);
		snprintf(wall.s, sizeof(wall.s), "~%.30s",
			 format_percent(row->wall > 0.999 && row->wall < 1 ? 1 : row->wall).s);
	}
	snprintf(peaks.s, sizeof(peaks.s), "%u", row->peaks);
	right(g, c->x[COLUMN_RATE], y, 7, role, rate);
	right(g, c->x[COLUMN_WALL], y, 6, role, wall);
	right(g, c->x[COLUMN_P50], y, 7, role, format_time_fixed(row->p50_ns));
	right(g, c->x[COLUMN_P99], y, 7, role, format_time_fixed(row->p99_ns));
	right(g, c->x[COLUMN_PEAKS], y, 5, role, peaks);
	right(g, c->x[COLUMN_CALLS], y, 5, role, format_count_fixed(row->calls));
	right(g, c->x[COLUMN_TOTAL], y, 7, role, format_time_fixed(row->time_ns));
	right(g, c->x[COLUMN_MAX], y, 7, role, format_time_fixed(row->max_ns));
	if (c->x[COLUMN_HISTOGRAM] >= 0)
		draw_spark(o, row, g, (struct rect){c->x[COLUMN_HISTOGRAM], y, c->spark_w, 1},
			   row->group == GROUP_IDLE ? ROLE_DIM : ROLE_BAR);
	if (!row->adds_up && c->x[COLUMN_PEAKS] >= 0)
		grid_put(g, c->x[COLUMN_PEAKS], y, 1, ROLE_WARNING, "?");
}

static void draw_row(const struct view_operations *o, const struct op_row *row, struct grid *g,
		     const struct operation_columns *c, int y, bool selected)
{
	unsigned int role = selected		       ? ROLE_SELECTED
			    : row->group == GROUP_IDLE ? ROLE_DIM
						       : ROLE_TEXT;

	if (selected) {
		grid_put(g, 0, y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, 0, y);
	}
	draw_name(o, row, g, c, y, role);
	if (c->x[COLUMN_LAYER] >= 0)
		grid_put(g, c->x[COLUMN_LAYER], y, 17, ROLE_DIM, layer_name(row->layer));
	if (row->calls)
		draw_figures(o, row, g, c, y, role);
	else if (c->x[COLUMN_RATE] >= 0)
		grid_put_right(g, c->x[COLUMN_RATE], y, 7, ROLE_DIM, "none");
	if (c->x[COLUMN_OPEN] >= 0)
		draw_open(row, g, c->x[COLUMN_OPEN], y, c->open_w, role);
}

static void draw_empty(const struct view_operations *o, struct grid *g, struct rect r)
{
	const char *text = o->rows.filter[0] && o->rows.nr
			       ? "no operation matches the filter (Esc clears it)"
			   : o->rows.nr_ops ? "no call has finished yet"
					    : "waiting for the first slice";

	grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_DIM, text);
}

/* The line under the table without the note: the period of the figures, filter. */
static void foot_text(const struct view_operations *o, const struct grid *g, char *text, size_t n)
{
	const char *dot = theme_glyph(GLYPH_DOT, g->ascii);
	int at = snprintf(text, n, "%d of %zu %s %s", o->list.n, o->rows.nr, dot,
			  o->span[0]	  ? o->span
			  : o->last_slice ? "last slice"
					  : "whole run");

	if (o->rows.filter[0] && at > 0 && (size_t)at < n)
		snprintf(text + at, n - (size_t)at, " %s filter: %s", dot, o->rows.filter);
}

/* True if the note does not fit on the line under the table. */
static bool note_needs_a_line(const struct view_operations *o, const struct grid *g, int w)
{
	char text[512];

	foot_text(o, g, text, sizeof(text));
	return o->note[0] && grid_columns(g, text) + grid_columns(g, o->note) + 5 > w;
}

/* Draw the line under the table, and the latest note, which may have a line of its own. */
static void draw_foot(const struct view_operations *o, struct grid *g, struct rect r)
{
	const char *i = " (i: all of it)";
	char text[768];
	int x, y = r.y, end = r.x + r.w;

	foot_text(o, g, text, sizeof(text));
	x = r.x + 2;
	x += grid_put(g, x, y, end - x, o->rows.filter[0] ? ROLE_TEXT : ROLE_DIM, text);
	if (!o->note[0])
		return;
	if (r.h > 1) {
		x = r.x + 2;
		y++;
	} else {
		x += grid_printf(g, x, y, end - x, ROLE_WARNING, " %s ",
				 theme_glyph(GLYPH_DOT, g->ascii));
	}
	if (grid_columns(g, o->note) <= end - x) {
		grid_put(g, x, y, end - x, ROLE_WARNING, o->note);
	} else if (end - x > 2 * (int)strlen(i)) {
		grid_put_cut(g, x, y, end - x - (int)strlen(i), ROLE_WARNING, o->note);
		grid_put(g, end - (int)strlen(i), y, (int)strlen(i), ROLE_DIM, i);
	} else {
		grid_put_cut(g, x, y, end - x, ROLE_WARNING, o->note);
	}
}

/* The heading above the first row of a group, if other groups stand above it; else NULL. Above the
 * system calls stands what they leave out. */
static const char *heading_of(const struct view_operations *o, int group)
{
	static const char *const text[NR_GROUPS] = {
	    [GROUP_HOST] = "waiting for a CPU, a lock or the disk, in whatever call",
	    [GROUP_IDLE] =
		"idle: waiting for events or work, and timed sleep (> selects the longest)",
	};
	const size_t *first = o->rows.first;

	if (group == GROUP_CALLS)
		return o->own[0] && !o->rows.filter[0] &&
			       (!first[GROUP_HOST] || first[group] < first[group + 1])
			   ? o->own
			   : NULL;
	return first[group] && first[group] < first[group + 1] ? text[group] : NULL;
}

/* The line on which this row stands; of the row after the last one: the number of lines. */
static int line_of_row(const struct view_operations *o, int row)
{
	int line = row;

	for (int group = 0; group < NR_GROUPS; group++)
		line += heading_of(o, group) && row >= (int)o->rows.first[group];
	return line;
}

static int nr_lines(const struct view_operations *o)
{
	return line_of_row(o, o->list.n);
}

/* Draw the headings of groups on lines from `top` on. */
static void draw_group_headings(const struct view_operations *o, struct grid *g, struct rect body,
				int top)
{
	for (int group = 0; group < NR_GROUPS; group++) {
		const char *heading = heading_of(o, group);
		int line = line_of_row(o, (int)o->rows.first[group]) - 1 - top;

		if (heading && line >= 0 && line < body.h)
			grid_put_cut(g, body.x, body.y + line, body.w,
				     group == GROUP_CALLS ? ROLE_TEXT : ROLE_DIM, heading);
	}
}

/* Name the idle waits with the most time on one line, because they stand below the edge. */
static void draw_idle_below(const struct view_operations *o, struct grid *g, struct rect r)
{
	int x = r.x + grid_put_cut(g, r.x, r.y, r.w, ROLE_DIM, "idle waits below (>):");

	grid_target(g, r, (int)o->rows.first[GROUP_IDLE]);
	for (size_t i = o->rows.first[GROUP_IDLE]; i < o->rows.nr_shown; i++) {
		const struct op_row *row = op_rows_at(&o->rows, i);
		char text[160];

		snprintf(text, sizeof(text), "%s %s", i == o->rows.first[GROUP_IDLE] ? "" : ",",
			 row->name);
		if (row->calls)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
				 format_percent(row->wall).s);
		if (grid_columns(g, text) > r.x + r.w - x)
			break;
		x += grid_put(g, x, r.y, r.x + r.w - x, ROLE_DIM, text);
	}
}

/* True if the first idle row stands below a list of this height. */
static bool idle_is_below(const struct view_operations *o, int top, int height)
{
	const size_t *first = o->rows.first;

	return height >= 6 && first[GROUP_IDLE] && first[GROUP_IDLE] < o->rows.nr_shown &&
	       line_of_row(o, (int)first[GROUP_IDLE]) >= top + height;
}

void view_ops_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct view_operations *o = (const struct view_operations *)v;
	struct operation_columns c =
	    lay_out(r.w, v->screen->options.columns, v->screen->options.column_order);
	struct list lines = {.n = nr_lines(o),
			     .selected = line_of_row(o, o->list.selected),
			     /* lines above the first row belong to it */
			     .top = o->list.top ? line_of_row(o, o->list.top) : 0};
	int head = r.h >= 3 ? 1 : 0;
	int foot = r.h < 6 ? 0 : r.h >= 12 && note_needs_a_line(o, g, r.w) ? 2 : 1;
	int height = r.h - head - foot, top = list_top(&lines, height);
	bool below = idle_is_below(o, top, height);

	if (below)
		top = list_top(&lines, --height);
	if (head)
		draw_headings(o, g, &c, r);
	if (!o->list.n && r.h > head)
		draw_empty(o, g, (struct rect){r.x, r.y + head, r.w, 1});
	draw_group_headings(o, g, (struct rect){r.x + c.name, r.y + head, r.w - c.name, height},
			    top);
	for (int i = 0; i < o->list.n; i++) {
		int line = line_of_row(o, i) - top;

		if (line < 0 || line >= height)
			continue;
		grid_target(g, (struct rect){r.x, r.y + head + line, r.w, 1}, i);
		draw_row(o, op_rows_at(&o->rows, (size_t)i), g, &c, r.y + head + line,
			 i == o->list.selected);
	}
	if (below)
		draw_idle_below(o, g,
				(struct rect){r.x + c.name, r.y + head + height, r.w - c.name, 1});
	if (foot)
		draw_foot(o, g, (struct rect){r.x, r.y + r.h - foot, r.w, foot});
}

int view_ops_height(const struct view *v, int cols)
{
	return nr_lines((const struct view_operations *)v) + 3;
}
