// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws one operation: heatmap, histogram with bracketed peaks, open calls. */
#include "analysis/base/format.h"
#include "analysis/walk/class.h"
#include "tui/screen/theme.h"
#include "tui/views/heatmap.h"
#include "tui/views/view_op.h"

enum { LABELS = 8, MAP_MIN_ROWS = 5, OPEN_SHOWN = 3 };

/* The first remark about calls that the counts lack: returns its length. The remark about open
 * calls is skipped, because the title shows them. */
static int first_remark(const struct view_op *v, const char **remark)
{
	size_t n = strcspn(v->op->remarks, "\n");

	*remark = v->op->remarks;
	if (v->op->op.open && n) {
		*remark += n + ((*remark)[n] == '\n');
		n = strcspn(*remark, "\n");
	}
	return (int)n;
}

/* True if nothing was seen of the operation, so that the user needs to know how it is timed. */
static bool no_calls(const struct view_op *v)
{
	return !v->op->op.total.calls && !v->op->op.open && v->op->placement[0];
}

/* Set the columns: latencies, map, histogram, brackets. In a narrow window omit the labels first,
 * then the map. */
static void lay_out_columns(struct op_layout *l, struct rect area, int lanes)
{
	int labels = area.w >= 36 ? LABELS : area.w >= 24 ? 1 : 0, rest = area.w - labels;
	int brackets = lanes * OP_LANE, bars;

	if (brackets > rest / 4)
		brackets = rest >= 2 * OP_LANE ? OP_LANE : 0;
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

/* Set the rows. The map has about half of them. The rest goes first to open calls (at most half of
 * the rest), then to the peaks. Rows that are not needed go back to the map. */
static struct op_layout lay_out(const struct view_op *v, struct rect r, int lanes)
{
	struct op_line lines[OP_MAX_LINES];
	struct op_layout l = {0};
	const char *remarks;
	int want_peaks = view_op_lines(v, r.w, lines) + 1;
	int nr_open = (int)v->op->op.nr_open_calls, rest, head, times, map, y = r.y;
	int want_open = nr_open ? 1 + (nr_open < OPEN_SHOWN ? nr_open : OPEN_SHOWN) : 0;
	int remark = r.h >= 18 && (first_remark(v, &remarks) || no_calls(v)) ? 1 : 0;

	if (want_peaks < 2)
		want_peaks = 2;
	if (v->pane == PANE_OPEN && nr_open)
		want_open = 1 + (nr_open < r.h / 4 ? nr_open : r.h / 4);
	head = r.h >= 10;
	times = r.h >= 8;
	rest = r.h - 1 - remark - head - times;
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
	l.remark = (struct rect){r.x, y, r.w, remark};
	y += remark;
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

/* Draw name, calls, open calls and quantiles, the most important first: the end may be cut. */
static void draw_title(const struct view_op *v, struct grid *g, struct rect r)
{
	const struct op *op = &v->op->op;
	const char *dot = theme_glyph(GLYPH_DOT, g->ascii);
	char text[512];
	bool stuck = op_is_stuck(op, v->op->elapsed_ns);
	bool normal = op_class(op) != WALK_WORK || op_began_before(op, v->op->elapsed_ns);
	bool selected = v->whole && v->pane == PANE_PEAKS && op->nr_peaks;
	int x = r.x + 1 + selected, end = r.x + r.w;

	grid_target(g, r, OP_TARGET_WHOLE);
	if (selected) {
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x, r.y);
	}
	x += grid_put_cut(g, x, r.y, r.w > 60 ? r.w - 46 : r.w,
			  selected ? ROLE_SELECTED : ROLE_TITLE, v->op->name) +
	     2;
	x += grid_printf(g, x, r.y, end - x, ROLE_TEXT, "%s %s", format_count(op->total.calls).s,
			 op->total.calls == 1 ? "call" : "calls") +
	     2;
	if (op->open) {
		snprintf(text, sizeof(text), "%s%s open, oldest %s", stuck ? "!" : "",
			 format_count(op->open).s, format_age(op->oldest_open_ns).s);
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

/* Draw the remark about calls that the counts lack. Without calls, say how they are timed. */
static void draw_remark(const struct view_op *v, struct grid *g, struct rect r)
{
	const char *remark;
	int n = first_remark(v, &remark), x = r.x + 1;
	char text[512];

	if (r.h < 1)
		return;
	snprintf(text, sizeof(text), "%.*s", n, remark);
	if (n)
		x += grid_put_cut(g, x, r.y, r.x + r.w - x, ROLE_WARNING, text) + 2;
	if (no_calls(v))
		grid_put_cut(g, x, r.y, r.x + r.w - x, ROLE_DIM, v->op->placement);
}

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
		snprintf(text, sizeof(text), "%s%s", stuck ? "!" : " ", format_age(call->age_ns).s);
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

static struct heatmap_span span_of(const struct view_op *v, int cols)
{
	const struct op *op = &v->op->op;

	return (struct heatmap_span){
	    .slices = op->slices,
	    .nr_slices = op->nr_slices,
	    .total = &v->op->run,
	    .elapsed_ns = v->op->elapsed_ns,
	    .interval_ns = v->op->interval_ns,
	    .column_ns = v->column_ns
			     ? v->column_ns
			     : heatmap_column_fit(v->op->interval_ns, v->op->elapsed_ns, cols),
	    .resolution = v->view.screen->options.resolution,
	    .off = &v->op->off,
	    /* the other layers send no record of a slice without calls */
	    .only_slices = op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL,
	    .cursor = v->pane == PANE_MAP,
	    .cursor_ns = v->cursor_ns,
	    .cursor_bucket = v->cursor_bucket,
	    .part = v->op->past ? &op->total : NULL,
	    .start_ns = v->op->start_ns,
	    .end_ns = v->op->end_ns,
	    .zoom = v->zoom,
	    .centre = v->centre,
	};
}

/* Lay out the view and make its map. False: no room for a map, or no memory. */
bool view_op_map_init(const struct view_op *v, struct rect r, struct op_map *m)
{
	struct heatmap_span span;
	int lanes = 1;

	for (;;) {
		m->layout = lay_out(v, r, lanes);
		if (m->layout.map.h < 1)
			return false;
		span = span_of(v, m->layout.map.w);
		if (heatmap_init(&m->heat, &span, m->layout.map.w > 0 ? m->layout.map.w : 1,
				 m->layout.map.h))
			return false;
		/* with more lanes the map is narrower; the rows do not change */
		if (lanes > 1)
			break;
		lanes = view_op_place_brackets(&v->op->op, &m->heat, m->bracket);
		if (lanes < 2)
			break;
		heatmap_release(&m->heat);
	}
	return true;
}

void view_op_draw(const struct view *view, struct grid *g, struct rect r)
{
	const struct view_op *v = (const struct view_op *)view;
	struct op_map m;

	if (r.h < 1)
		return;
	if (!v->op) {
		grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_DIM,
			     "this operation is no longer measured");
		return;
	}
	if (view_op_map_init(v, r, &m)) {
		view_op_draw_map(v, g, &m);
		heatmap_release(&m.heat);
	}
	draw_title(v, g, m.layout.title);
	draw_remark(v, g, m.layout.remark);
	view_op_draw_peaks(v, g, m.layout.peaks);
	draw_open(v, g, m.layout.open);
}
