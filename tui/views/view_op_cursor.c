// SPDX-License-Identifier: GPL-2.0-or-later
/* The cursor in the map of one operation, and zoom. */
#include "tui/views/view_op.h"

/* Cells that half a page and a page move the cursor by. */
enum { HALF_PAGE = 10, PAGE = 20 };

static bool map_now(const struct view_op *v, struct op_map *m)
{
	const struct screen *s = v->view.screen;

	return v->op && view_op_map_init(v, screen_body(s->cols, s->rows), m);
}

static int row_of(const struct heatmap *h, unsigned int bucket)
{
	return bucket < h->low ? 0 : (int)((bucket - h->low) / h->per_row);
}

/* Put the cursor on this column of the run, counted from its start, and this row of the map. */
static void point(struct view_op *v, const struct heatmap *h, int64_t col, int row)
{
	int64_t last = (int64_t)(v->op->elapsed_ns / h->column_ns);

	if (last * (int64_t)h->column_ns == (int64_t)v->op->elapsed_ns && last > 0)
		last--;
	col = col > last ? last : col < 0 ? 0 : col;
	row = row >= h->rows ? h->rows - 1 : row < 0 ? 0 : row;
	v->cursor_ns = (uint64_t)col * h->column_ns + h->column_ns / 2;
	v->cursor_bucket = h->low + h->per_row * (unsigned int)row;
	if (v->cursor_bucket >= PT_BUCKETS)
		v->cursor_bucket = PT_BUCKETS - 1;
}

static void enter_map(struct view_op *v)
{
	const struct peak *p = view_op_chosen(v, NULL);
	struct op_map m;

	if (!map_now(v, &m)) {
		screen_message(v->view.screen, NOTE_INFO, "there is no room for the heat map");
		return;
	}
	v->pane = PANE_MAP;
	if (!v->pointed)
		point(v, &m.heat, INT64_MAX,
		      p ? row_of(&m.heat, pt_bucket(p->mode_ns)) : m.heat.rows / 2);
	v->pointed = true;
	heatmap_release(&m.heat);
}

void view_op_point_at(struct view_op *v, int x, int y)
{
	struct op_map m;

	if (!map_now(v, &m))
		return;
	point(v, &m.heat, (int64_t)m.heat.first + x, m.layout.map.h - 1 - y);
	v->pane = PANE_MAP;
	v->pointed = true;
	heatmap_release(&m.heat);
}

static bool move_cursor(struct view_op *v, enum request request)
{
	struct op_map m;
	int64_t col;
	int row;

	if (!map_now(v, &m))
		return false;
	col = (int64_t)(v->cursor_ns / m.heat.column_ns);
	row = row_of(&m.heat, v->cursor_bucket);
	switch (request) {
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		col += request == REQUEST_RIGHT ? 1 : -1;
		break;
	case REQUEST_UP:
	case REQUEST_DOWN:
		row += request == REQUEST_UP ? 1 : -1;
		break;
	case REQUEST_HALF_UP:
	case REQUEST_HALF_DOWN:
		col += request == REQUEST_HALF_DOWN ? HALF_PAGE : -HALF_PAGE;
		break;
	case REQUEST_PAGE_UP:
	case REQUEST_PAGE_DOWN:
		col += request == REQUEST_PAGE_DOWN ? PAGE : -PAGE;
		break;
	case REQUEST_FIRST:
		col = 0;
		break;
	case REQUEST_LAST:
		col = INT64_MAX;
		break;
	default:
		heatmap_release(&m.heat);
		return false;
	}
	point(v, &m.heat, col, row);
	heatmap_release(&m.heat);
	return true;
}

static void zoom(struct view_op *v, int by)
{
	const struct peak *p = view_op_chosen(v, NULL);

	if ((by > 0 && v->zoom == HEATMAP_MAX_ZOOM) || (by < 0 && !v->zoom)) {
		screen_message(v->view.screen, NOTE_INFO,
			       by > 0 ? "finer latencies are not known"
				      : "all latencies are shown");
		return;
	}
	v->zoom += (unsigned int)by;
	v->centre = v->pane == PANE_MAP ? v->cursor_bucket : p ? pt_bucket(p->mode_ns) : v->centre;
}

static void change_columns(struct view_op *v, int direction)
{
	struct op_map m;
	uint64_t now;

	if (!map_now(v, &m))
		return;
	now = m.heat.column_ns;
	v->column_ns = heatmap_column_step(v->op->interval_ns, now, direction);
	heatmap_release(&m.heat);
	if (v->column_ns == now)
		screen_message(v->view.screen, NOTE_INFO,
			       direction < 0
				   ? "columns are not shorter than a quarter of --interval"
				   : "columns do not get longer than this");
}

/* Choose the peak of the latency under the cursor. */
static void choose_pointed(struct view_op *v)
{
	for (unsigned int i = 0; v->op && i < v->op->op.nr_peaks; i++) {
		const struct peak *p = &v->op->op.peaks[i];

		if (v->cursor_bucket >= p->range.low && v->cursor_bucket < p->range.high) {
			v->chosen = p->id;
			v->pane = PANE_PEAKS;
			return;
		}
	}
	screen_message(v->view.screen, NOTE_INFO, "there is no peak at this latency");
}

/* The time of the column under the cursor. False: the map is not shown. */
static bool pointed_span(const struct view_op *v, uint64_t *start_ns, uint64_t *end_ns)
{
	struct op_map m;

	if (!map_now(v, &m))
		return false;
	*start_ns = m.heat.cursor_start_ns;
	*end_ns = m.heat.cursor_end_ns;
	heatmap_release(&m.heat);
	return true;
}

/* Ask why calls were slow: the open call, those of the column under the cursor, or all that are
 * shown. */
static void ask_why(const struct view_op *v)
{
	struct screen_action a = {.type = SCREEN_WHY, .op = v->number};

	if (!v->op)
		return;
	if (v->pane == PANE_OPEN) {
		const struct open_call *open = &v->op->op.open_calls[v->open.selected];

		a.tid = open->tid;
		/* in the middle of the call: no other one of its thread was open then */
		a.at_ns = a.end_ns = v->op->elapsed_ns - open->age_ns / 2;
	} else if (v->pane == PANE_MAP) {
		if (!pointed_span(v, &a.at_ns, &a.end_ns))
			return;
	} else if (v->op->past) {
		a.at_ns = v->op->start_ns;
		a.end_ns = v->op->end_ns;
	}
	screen_act(v->view.screen, a);
}

/* Show the past from the column of the cursor on, or up to it: of the span that is shown, the other
 * end stays; else it is the column. */
static bool choose_span(struct view_op *v, enum request request)
{
	struct screen *s = v->view.screen;
	uint64_t start, end;

	if (!pointed_span(v, &start, &end))
		return true;
	if (v->op->past && request == REQUEST_EARLIER && v->op->end_ns > start)
		end = v->op->end_ns;
	if (v->op->past && request == REQUEST_LATER && v->op->start_ns < end)
		start = v->op->start_ns;
	screen_past_show(s, start, end < v->op->elapsed_ns ? end : v->op->elapsed_ns);
	return true;
}

bool view_op_enter_map(struct view_op *v, enum request request)
{
	bool up = request == REQUEST_UP;
	struct op_map m;
	int index = -1;

	if (v->pane != PANE_PEAKS ||
	    (!up && request != REQUEST_DOWN && request != REQUEST_LEFT && request != REQUEST_RIGHT))
		return false;
	if (view_op_chosen(v, &index) && ((index > 0 && !v->whole) || !up))
		return false;
	if (!map_now(v, &m)) /* without room the key says nothing */
		return false;
	heatmap_release(&m.heat);
	if (m.layout.map.w < 1)
		return false;
	enter_map(v);
	return true;
}

bool view_op_map_request(struct view_op *v, enum request request)
{
	switch (request) {
	case REQUEST_MAP:
		if (v->pane == PANE_MAP)
			v->pane = PANE_PEAKS;
		else
			enter_map(v);
		return true;
	case REQUEST_ZOOM_IN:
	case REQUEST_ZOOM_OUT:
		zoom(v, request == REQUEST_ZOOM_IN ? 1 : -1);
		return true;
	case REQUEST_SHORTER:
	case REQUEST_LONGER:
		change_columns(v, request == REQUEST_LONGER ? 1 : -1);
		return true;
	case REQUEST_WHY:
		ask_why(v);
		return true;
	case REQUEST_FIT:
		if (screen_is_past(v->view.screen))
			return screen_past_request(v->view.screen, REQUEST_NOW);
		v->column_ns = 0;
		v->zoom = 0;
		return true;
	default:
		break;
	}
	if (v->pane != PANE_MAP)
		return false;
	if (request == REQUEST_OPEN) {
		choose_pointed(v);
		return true;
	}
	if (request == REQUEST_BACK) {
		v->pane = PANE_PEAKS;
		return true;
	}
	if (request == REQUEST_EARLIER || request == REQUEST_LATER)
		return choose_span(v, request);
	return move_cursor(v, request);
}
