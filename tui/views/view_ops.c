// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of operations, one row each. The rows are copied from the model at every tick; a paused
 * view keeps its rows. */
#include "tui/views/view_ops.h"

#include "analysis/base/format.h"
#include "analysis/walk/class.h"
#include "tui/report/sanitise.h"
#include "tui/views/views.h"

#define OWN_CODE_SHOWN 0.1 /* of a CPU */

static void ops_close(struct view *v)
{
	op_rows_release(&((struct view_operations *)v)->rows);
	free(v);
}

/* Adapt the list to the rows. The selected operation stays selected if its row moves. */
static void follow_rows(struct view_operations *o)
{
	size_t n = o->rows.nr_shown;

	list_resize(&o->list, (int)n);
	if (!o->selected) {
		list_select(&o->list, 0);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (op_rows_at(&o->rows, i)->op == o->selected)
			list_select(&o->list, (int)i);
}

/* No call in the list shows the time of a program that computes. */
static void tell_own_code(struct view_operations *o, struct model *m)
{
	double share = own_code_share(m);

	o->own[0] = '\0';
	if (share >= OWN_CODE_SHOWN)
		snprintf(o->own, sizeof(o->own),
			 "outside of these calls: own code, %s of a CPU (o: where)",
			 format_percent(share).s);
}

static void ops_tick(struct view *v)
{
	struct view_operations *o = (struct view_operations *)v;
	struct model *m = v->screen->model;

	op_rows_update(&o->rows, screen_model(v->screen),
		       o->last_slice && !screen_is_past(v->screen));
	tell_own_code(o, screen_model(v->screen));
	follow_rows(o);
	o->span[0] = '\0';
	if (screen_is_past(v->screen))
		status_span(o->span, sizeof(o->span), v->screen->status.past_start_ns,
			    v->screen->status.past_end_ns);
	o->nr_notes = model_nr_notes(m);
	o->note[0] = '\0';
	if (o->nr_notes)
		sanitise(o->note, sizeof(o->note), model_note(m, o->nr_notes - 1)->text);
}

static const struct op_row *selected_row(const struct view_operations *o)
{
	return op_rows_at(&o->rows, (size_t)o->list.selected);
}

static void follow_selection(struct view_operations *o)
{
	const struct op_row *row = selected_row(o);

	o->selected = row ? row->op : 0;
}

static void ask(struct view_operations *o, enum screen_action_type type)
{
	const struct op_row *row = selected_row(o);
	struct screen *s = o->view.screen;

	if (!row)
		return;
	if (row->layer != LAYER_FUNCTION && row->layer != LAYER_KERNEL) {
		screen_message(s, NOTE_INFO,
			       "this operation belongs to a layer; press L to choose layers");
		return;
	}
	if (s->options.replay) {
		screen_message(s, NOTE_WARNING,
			       "not available in a saved session: the target cannot be probed");
		return;
	}
	screen_act(s, (struct screen_action){.type = type, .op = row->op});
}

/* The row with the most time among those from `first` on, before `end`. */
static size_t costliest_of(const struct op_rows *r, size_t first, size_t end)
{
	size_t best = first;

	for (size_t i = first; i < end; i++)
		if (op_row_time(op_rows_at(r, i)) > op_row_time(op_rows_at(r, best)))
			best = i;
	return best;
}

/* Select the row with the most time, and from that the idle wait with the most time. */
static void costliest(struct view_operations *o)
{
	/* what cannot be descended into, and idle waits, count only if there is nothing else */
	const size_t *first = o->rows.first;
	size_t best, n = 0;

	for (int group = GROUP_HOST; !n && group <= NR_GROUPS; group++)
		n = first[group];
	best = costliest_of(&o->rows, 0, n);
	if (best == (size_t)o->list.selected && first[GROUP_IDLE] < o->rows.nr_shown)
		best = costliest_of(&o->rows, first[GROUP_IDLE], o->rows.nr_shown);
	list_select(&o->list, (int)best);
	follow_selection(o);
}

void view_ops_sort(struct view_operations *o, enum row_order order, bool reverse)
{
	o->rows.order = order;
	o->rows.reverse = reverse;
	o->view.screen->options.sort = 1 + (int)order;
	o->view.screen->options.reverse = reverse;
	op_rows_arrange(&o->rows);
	follow_rows(o);
}

/* Sort by the next visible column to the right (1) or to the left (-1). */
static void sort_by_neighbour(struct view_operations *o, int direction)
{
	enum op_column order[NR_COLUMNS];
	enum row_order by[NR_COLUMNS + 1] = {BY_NAME};
	uint32_t shown = view_ops_columns(o);
	int n = 1, at = 0;

	op_columns_unpack(o->view.screen->options.column_order, order);
	for (int i = 0; i < NR_COLUMNS; i++) {
		if (!(shown & 1U << order[i]) || op_column_sort(order[i]) == NR_ORDERS)
			continue;
		if (op_column_sort(order[i]) == o->rows.order)
			at = n;
		by[n++] = op_column_sort(order[i]);
	}
	view_ops_sort(o, by[(at + direction + n) % n], o->rows.reverse);
}

/* The search text is a filter. Next and previous move through the rows that pass it and wrap
 * around. */
static bool ops_find(struct view *v, const char *text, int direction)
{
	struct view_operations *o = (struct view_operations *)v;
	int n;

	if (strcmp(o->rows.filter, text)) {
		snprintf(o->rows.filter, sizeof(o->rows.filter), "%s", text);
		op_rows_arrange(&o->rows);
		follow_rows(o);
	}
	n = o->list.n;
	if (direction && n) {
		list_select(&o->list, (o->list.selected + direction + n) % n);
		follow_selection(o);
	}
	return n > 0;
}

static bool ops_request(struct view *v, enum request request, int key)
{
	struct view_operations *o = (struct view_operations *)v;
	const struct op_row *row = selected_row(o);
	struct rect body = screen_body(v->screen->cols, v->screen->rows);

	if (list_request(&o->list, request, body.h - 2)) {
		follow_selection(o);
		return true;
	}
	switch (request) {
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		sort_by_neighbour(o, request == REQUEST_RIGHT ? 1 : -1);
		return true;
	case REQUEST_REVERSE:
		view_ops_sort(o, o->rows.order, !o->rows.reverse);
		return true;
	case REQUEST_COLUMNS:
		screen_push(v->screen, view_columns_new(o));
		return true;
	case REQUEST_SPAN:
		o->last_slice = !o->last_slice;
		if (screen_is_past(v->screen))
			screen_message(v->screen, NOTE_INFO,
				       "the past is shown; this applies when you go back to now");
		else if (!v->screen->paused)
			ops_tick(v);
		else
			screen_message(v->screen, NOTE_INFO,
				       "the view is frozen; this applies when it continues");
		return true;
	case REQUEST_OPEN:
		if (row)
			screen_push(v->screen, view_operation_new(v->screen, row->op, 0));
		return true;
	case REQUEST_WHY:
		if (row)
			screen_act(v->screen,
				   (struct screen_action){.type = SCREEN_WHY, .op = row->op});
		return true;
	case REQUEST_COSTLIEST:
		costliest(o);
		return true;
	case REQUEST_UNWATCH:
		ask(o, SCREEN_UNWATCH);
		return true;
	case REQUEST_ASK_AGAIN:
		ask(o, SCREEN_ASK_AGAIN);
		return true;
	case REQUEST_BACK:
		if (!o->rows.filter[0])
			return false;
		o->rows.filter[0] = '\0';
		v->screen->search[0] = '\0';
		break;
	default:
		return false;
	}
	op_rows_arrange(&o->rows);
	follow_rows(o);
	return true;
}

static bool ops_offers(const struct view *v, enum request request)
{
	const struct op_row *row = selected_row((const struct view_operations *)v);

	switch (request) {
	case REQUEST_OPEN:
	case REQUEST_WHY:
		return row != NULL;
	case REQUEST_UNWATCH:
	case REQUEST_ASK_AGAIN:
		return row && row->asked;
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
		return false;
	default:
		return true;
	}
}

static bool ops_click(struct view *v, int target, int x, int y)
{
	struct view_operations *o = (struct view_operations *)v;

	if (target < o->list.n) {
		list_select(&o->list, target);
		follow_selection(o);
		return true;
	}
	if (target < TARGET_HEADING)
		return false;
	if (o->rows.order == (enum row_order)(target - TARGET_HEADING))
		view_ops_sort(o, o->rows.order, !o->rows.reverse);
	else
		view_ops_sort(o, (enum row_order)(target - TARGET_HEADING), o->rows.reverse);
	return false;
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "open"},	{REQUEST_SEARCH, "filter"}, {REQUEST_WATCH, "watch function"},
    {REQUEST_LAYERS, "layers"}, {REQUEST_PAUSE, "pause"},   {REQUEST_HELP, "help"},
    {REQUEST_CLOSE, "quit"},	{REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "operations",
    .keymap = KEYMAP_OPERATIONS,
    .hints = hints,
    .travels = true,
    .close = ops_close,
    .draw = view_ops_draw,
    .offers = ops_offers,
    .request = ops_request,
    .tick = ops_tick,
    .height = view_ops_height,
    .find = ops_find,
    .click = ops_click,
};

struct view *view_operations_new(struct screen *s)
{
	struct view_operations *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->view.methods = &methods;
	o->view.screen = s;
	o->rows.order = s->options.sort ? (enum row_order)(s->options.sort - 1) : BY_TIME;
	o->rows.reverse = s->options.reverse;
	return &o->view;
}
