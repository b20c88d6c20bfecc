// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of one operation: the selection and the keys. */
#include "tui/views/view_op.h"

#include "analysis/descent/choose.h"
#include "tui/views/views.h"

static void op_close(struct view *v)
{
	frozen_op_free(((struct view_op *)v)->op);
	free(v);
}

#define SETTLED_NS 15000000000ull

const struct peak *view_op_chosen(const struct view_op *v, int *index)
{
	unsigned int best = 0;
	const struct op *op = v->op ? &v->op->op : NULL;

	if (index)
		*index = -1;
	if (!op || !op->nr_peaks)
		return NULL;
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		if (v->chosen && op->peaks[i].id == v->chosen) {
			best = i;
			break;
		}
		if (op->peaks[i].total_ns > op->peaks[best].total_ns)
			best = i;
	}
	if (index)
		*index = (int)best;
	return &op->peaks[best];
}

static unsigned int nr_related(const struct view_op *v)
{
	int index;

	return view_op_chosen(v, &index) ? v->op->peak[index].nr_related : 0;
}

/* Adapt lists and panes to the present data. */
static void fit(struct view_op *v)
{
	list_resize(&v->related, (int)nr_related(v));
	list_resize(&v->open, v->op ? (int)v->op->op.nr_open_calls : 0);
	if ((v->pane == PANE_RELATED && !v->related.n) || (v->pane == PANE_OPEN && !v->open.n))
		v->pane = PANE_PEAKS;
}

static void choose(struct view_op *v, int index)
{
	if (!v->op || index < 0 || index >= (int)v->op->op.nr_peaks)
		return;
	v->chosen = v->op->op.peaks[index].id;
	v->whole = false;
	v->related.selected = 0;
	v->scroll = 0;
	fit(v);
}

static void choose_number(struct view_op *v, int number)
{
	int n = v->op ? (int)v->op->op.nr_peaks : 0;

	for (int i = 0; i < n; i++) {
		if (v->op->op.peaks[i].number == number) {
			choose(v, i);
			return;
		}
	}
	screen_message(v->view.screen, NOTE_INFO, "there is no such peak");
}

/* Keeps the chosen peak chosen. If it has disappeared, says so, because Enter then finds the cause
 * of another one. At the begin of a session, as long as the user has done nothing, a peak is chosen
 * instead that has twice the time: the first calls are seldom those with most of it. */
static void hold_chosen(struct view_op *v, int number)
{
	const struct peak *p = view_op_chosen(v, NULL);
	bool settles = !v->touched && v->op && v->op->elapsed_ns < SETTLED_NS;
	char text[128];

	/* a peak that this part of the past lacks is chosen again where there is one */
	if (v->op && v->op->past && v->chosen)
		return;
	for (unsigned int i = 0; p && settles && i < v->op->op.nr_peaks; i++) {
		const struct peak *other = &v->op->op.peaks[i];

		if (other->total_ns / 2 <= p->total_ns)
			continue;
		p = other;
		v->chosen = p->id;
	}

	if (p && v->chosen && p->id != v->chosen && number && !settles && !v->whole) {
		snprintf(text, sizeof(text),
			 "peak %d has disappeared; peak %d is selected, which has the most time",
			 number, p->number);
		screen_message(v->view.screen, NOTE_INFO, text);
	}
	if (p)
		v->chosen = p->id;
}

bool view_op_detailed(const struct view_op *v, const struct peak *p)
{
	const struct peak *chosen = view_op_chosen(v, NULL);
	enum detail detail = v->all;

	if (chosen == p && v->pane == PANE_RELATED)
		return true;
	for (unsigned int i = 0; i < v->nr_details; i++)
		if (v->details[i].id == p->id)
			detail = v->details[i].detail;
	return detail == DETAIL_SHOWN || (detail == DETAIL_DEFAULT && p == chosen);
}

static void set_detail(struct view_op *v, enum detail detail)
{
	const struct peak *p = view_op_chosen(v, NULL);
	unsigned int i;

	if (!p)
		return;
	for (i = 0; i < v->nr_details; i++)
		if (v->details[i].id == p->id)
			break;
	if (i == MODEL_MAX_PEAKS) { /* full, with ids of peaks that disappeared: drop the oldest */
		memmove(v->details, v->details + 1, sizeof(v->details) - sizeof(v->details[0]));
		i--;
	} else if (i == v->nr_details) {
		v->nr_details++;
	}
	v->details[i].id = p->id;
	v->details[i].detail = detail;
}

static void op_tick(struct view *view)
{
	struct view_op *v = (struct view_op *)view;
	struct frozen_op *fresh =
	    frozen_op_new(view->screen->model, screen_model(view->screen), v->number);
	const struct peak *before = view_op_chosen(v, NULL);
	int number = before ? before->number : 0;

	/* if the operation is missing (a replay was rewound) or memory is short, keep the old copy
	 */
	if (fresh) {
		frozen_op_free(v->op);
		v->op = fresh;
	}
	hold_chosen(v, number);
	fit(v);
}

static void next_pane(struct view_op *v, int by)
{
	int pane = (int)v->pane;

	do
		pane = (pane + by + NR_PANES) % NR_PANES;
	while ((pane == PANE_RELATED && !v->related.n) || (pane == PANE_OPEN && !v->open.n) ||
	       pane == PANE_MAP);
	v->pane = (enum op_pane)pane;
}

static void costliest(struct view_op *v)
{
	int index;

	v->chosen = 0;
	view_op_chosen(v, &index);
	choose(v, index);
}

static void open_chosen(struct view_op *v)
{
	struct screen *s = v->view.screen;
	int index;
	const struct peak *p = view_op_chosen(v, &index);

	if (v->pane == PANE_OPEN) {
		screen_act(s, (struct screen_action){.type = SCREEN_OPEN_CALLS, .op = v->number});
		return;
	}
	if (!p) {
		screen_message(s, NOTE_INFO, "there is no peak yet");
		return;
	}
	if (v->pane == PANE_RELATED) {
		const struct frozen_peak *f = &v->op->peak[index];
		int i = v->related.selected;

		if (f->related[i].op == v->number)
			v->chosen = f->related[i].peak_id, v->pane = PANE_PEAKS, fit(v);
		else
			screen_push(s,
				    view_operation_new(s, f->related[i].op, f->related[i].peak_id));
		return;
	}
	if (v->op->past && !s->options.replay) {
		screen_message(s, NOTE_INFO,
			       "only calls made from now on can be explained; 0 goes back to now");
		return;
	}
	v->chosen = p->id; /* the peak of the descent stays chosen */
	screen_act(s, (struct screen_action){
			  .type = SCREEN_DESCEND, .op = v->number, .peak = v->whole ? 0 : p->id});
}

static void ask_again(struct view_op *v)
{
	struct screen *s = v->view.screen;

	if (s->options.replay)
		screen_message(s, NOTE_WARNING,
			       "not available in a saved session: the target cannot be probed");
	else if (v->op && v->op->op.layer != LAYER_FUNCTION && v->op->op.layer != LAYER_KERNEL)
		screen_message(s, NOTE_INFO,
			       "this operation belongs to a layer; press L to choose layers");
	else
		screen_act(s, (struct screen_action){.type = SCREEN_ASK_AGAIN, .op = v->number});
}

static void all_peaks(struct view_op *v)
{
	struct screen *s = v->view.screen;
	bool all = !model_lists_all_peaks(s->model);

	model_list_all_peaks(s->model, all);
	model_list_all_peaks(screen_model(s), all);
	op_tick(&v->view);
	screen_message(s, NOTE_INFO,
		       all ? "all peaks are listed" : "small peaks and shadows are hidden");
}

/* Scroll the remarks of the chosen peak. Drawing limits the position further. */
static bool scroll(struct view_op *v, enum request request)
{
	struct op_line lines[OP_MAX_LINES];
	int n, i, index, remarks = 0,
			 step = request == REQUEST_HALF_DOWN || request == REQUEST_HALF_UP ? 1 : 3;

	if (request != REQUEST_HALF_DOWN && request != REQUEST_HALF_UP &&
	    request != REQUEST_PAGE_DOWN && request != REQUEST_PAGE_UP)
		return false;
	if (!view_op_chosen(v, &index))
		return true;
	n = view_op_lines(v, v->view.screen->cols, lines);
	for (i = 0; i < n; i++)
		remarks += lines[i].peak == index && !lines[i].head;
	v->scroll += request == REQUEST_HALF_DOWN || request == REQUEST_PAGE_DOWN ? step : -step;
	if (v->scroll > remarks - 1)
		v->scroll = remarks - 1;
	if (v->scroll < 0)
		v->scroll = 0;
	return true;
}

static bool move(struct view_op *v, enum request request)
{
	struct rect body = screen_body(v->view.screen->cols, v->view.screen->rows);
	struct list peaks = {.n = v->op ? (int)v->op->op.nr_peaks : 0};

	if (v->pane == PANE_RELATED)
		return list_request(&v->related, request, body.h / 2);
	if (v->pane == PANE_OPEN)
		return list_request(&v->open, request, body.h / 4);
	if (scroll(v, request))
		return true;
	view_op_chosen(v, &peaks.selected);
	if (v->whole && request == REQUEST_UP)
		return true;
	if (v->whole)
		peaks.selected = -1;
	if (!peaks.n || !list_request(&peaks, request, body.h / 2))
		return false;
	choose(v, peaks.selected);
	return true;
}

/* Go to the next peak whose remarks contain the text; wraps around. */
static bool op_find(struct view *view, const char *text, int direction)
{
	struct view_op *v = (struct view_op *)view;
	int index, at, n = v->op ? (int)v->op->op.nr_peaks : 0;

	if (!n || !text[0])
		return false;
	view_op_chosen(v, &index);
	at = list_find(i, n, index, direction, strcasestr(v->op->peak[i].remarks, text));
	if (at >= 0)
		choose(v, at);
	return at >= 0;
}

static bool detail_request(struct view_op *v, enum request request)
{
	switch (request) {
	case REQUEST_EXPAND:
		set_detail(v, DETAIL_SHOWN);
		return true;
	case REQUEST_COLLAPSE:
		set_detail(v, DETAIL_HIDDEN);
		if (v->pane == PANE_RELATED)
			v->pane = PANE_PEAKS;
		return true;
	case REQUEST_EXPAND_ALL:
	case REQUEST_COLLAPSE_ALL:
		v->all = request == REQUEST_EXPAND_ALL ? DETAIL_SHOWN : DETAIL_HIDDEN;
		v->nr_details = 0;
		if (v->pane == PANE_RELATED && v->all == DETAIL_HIDDEN)
			v->pane = PANE_PEAKS;
		return true;
	default:
		return false;
	}
}

static bool op_request(struct view *view, enum request request, int key)
{
	struct view_op *v = (struct view_op *)view;
	int index = -1;

	v->touched = true;
	if (key && view_op_enter_map(v, request)) /* not with the wheel of the mouse */
		return true;
	if (view_op_map_request(v, request) || move(v, request) || detail_request(v, request))
		return true;
	view_op_chosen(v, &index);
	switch (request) {
	case REQUEST_LEFT:
		v->whole |= index == 0;
		choose(v, v->whole ? -1 : index - 1);
		return true;
	case REQUEST_RIGHT:
		choose(v, v->whole ? 0 : index + 1);
		return true;
	case REQUEST_CHOOSE_PEAK:
		choose_number(v, key - '0');
		return true;
	case REQUEST_COSTLIEST:
		costliest(v);
		return true;
	case REQUEST_NEXT_PANE:
		next_pane(v, 1);
		return true;
	case REQUEST_PREVIOUS_PANE:
		next_pane(v, -1);
		return true;
	case REQUEST_OPEN:
		open_chosen(v);
		return true;
	case REQUEST_ASK_AGAIN:
		ask_again(v);
		return true;
	case REQUEST_ALL_PEAKS:
		all_peaks(v);
		return true;
	default:
		return false;
	}
}

/* True if Enter in the pane of peaks can find a cause: see live_descent.c. */
static bool can_descend(const struct view_op *v)
{
	const struct screen *s = v->view.screen;
	enum layer layer = v->op ? v->op->op.layer : LAYER_MAX;

	if (s->options.replay)
		return view_op_chosen(v, NULL) && s->recorded_descent == v->number;
	return view_op_chosen(v, NULL) && !v->op->past && layer_is_called(layer);
}

static bool op_offers(const struct view *view, enum request request)
{
	const struct view_op *v = (const struct view_op *)view;
	enum layer layer = v->op ? v->op->op.layer : LAYER_MAX;

	switch (request) {
	case REQUEST_OPEN:
		return v->pane == PANE_PEAKS  ? can_descend(v)
		       : v->pane == PANE_OPEN ? !view->screen->options.replay
		       : v->pane == PANE_MAP  ? v->op && v->op->op.nr_peaks
					      : true;
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
		return v->related.n || v->open.n || v->pane == PANE_MAP;
	case REQUEST_ASK_AGAIN:
		return layer == LAYER_FUNCTION || layer == LAYER_KERNEL;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		return v->op != NULL; /* without a peak they enter the map */
	case REQUEST_CHOOSE_PEAK:
	case REQUEST_COSTLIEST:
	case REQUEST_SEARCH:
	case REQUEST_FIND_NEXT:
	case REQUEST_FIND_PREVIOUS:
	case REQUEST_EXPAND:
	case REQUEST_COLLAPSE:
	case REQUEST_EXPAND_ALL:
	case REQUEST_COLLAPSE_ALL:
		return v->op && v->op->op.nr_peaks;
	default:
		return true;
	}
}

static bool op_click(struct view *view, int target, int x, int y)
{
	struct view_op *v = (struct view_op *)view;

	v->touched = true;
	if (target == OP_TARGET_WHOLE) {
		v->pane = PANE_PEAKS;
		v->whole = true;
	} else if (target == OP_TARGET_MAP) {
		view_op_point_at(v, x, y);
	} else if (target >= OP_TARGET_RELATED) {
		v->pane = PANE_RELATED;
		list_select(&v->related, target - OP_TARGET_RELATED);
	} else if (target >= OP_TARGET_OPEN) {
		v->pane = PANE_OPEN;
		list_select(&v->open, target - OP_TARGET_OPEN);
	} else {
		v->pane = PANE_PEAKS;
		choose(v, target);
	}
	return true;
}

static int op_height(const struct view *view, int cols)
{
	const struct view_op *v = (const struct view_op *)view;
	struct op_line lines[OP_MAX_LINES];

	/* room for a map of 24 rows and all text */
	return v->op ? 30 + view_op_lines(v, cols, lines) * 2 + (int)v->op->op.nr_open_calls : 0;
}

static const char *op_opens(const struct view *view)
{
	static const char *const text[] = {[PANE_MAP] = "select this peak",
					   [PANE_OPEN] = "where it is",
					   [PANE_RELATED] = "go to this peak"};
	unsigned int pane = ((const struct view_op *)view)->pane;

	if (pane == PANE_PEAKS && ((const struct view_op *)view)->whole)
		return "find all causes";
	return pane < sizeof(text) / sizeof(text[0]) ? text[pane] : NULL;
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "find the cause"}, {REQUEST_CHOOSE_PEAK, "choose peak"},
    {REQUEST_MAP, "map cursor"},      {REQUEST_NEXT_PANE, "pane"},
    {REQUEST_PAUSE, "pause"},	      {REQUEST_HELP, "help"},
    {REQUEST_CLOSE, "back"},	      {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "operation",
    .keymap = KEYMAP_OPERATION,
    .hints = hints,
    .travels = true,
    .close = op_close,
    .draw = view_op_draw,
    .offers = op_offers,
    .opens = op_opens,
    .request = op_request,
    .tick = op_tick,
    .height = op_height,
    .find = op_find,
    .click = op_click,
};

struct view *view_operation_new(struct screen *s, uint32_t op, int peak)
{
	struct view_op *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->view.methods = &methods;
	v->view.screen = s;
	v->number = op;
	v->chosen = peak;
	v->touched = peak != 0;
	v->whole = !peak;
	return &v->view;
}
