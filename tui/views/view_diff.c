// SPDX-License-Identifier: GPL-2.0-or-later
/* Two spans of the session, or two sessions, side by side: what changed, as `peaktop diff` finds
 * it, and the histograms of the selected operation one below the other. */
#include "tui/views/view_diff.h"

#include "tui/report/sanitise.h"
#include "tui/views/views.h"

enum { NAME_MAX_BYTES = 4096 };

static void diff_close(struct view *view)
{
	free(((struct view_diff *)view)->row);
	free(view);
}

static const char *verdict_text(enum compare_verdict verdict)
{
	switch (verdict) {
	case COMPARE_TOO_FEW:
		return "too few calls to tell";
	case COMPARE_NEGLIGIBLE:
		return "too little time to matter";
	default:
		return "the same";
	}
}

static const char *const omission_texts[DIFF_REASONS] = {
    [DIFF_ONLY_BEFORE] = "measured only before, not compared",
    [DIFF_ONLY_AFTER] = "measured only after, not compared",
    [DIFF_TOO_FAST] = "faster than probes can measure, not compared",
};

/* Sets the number under which the model of the screen has an operation of this name. */
static void set_identity(struct diff_row *row, struct screen *s, const struct op *op)
{
	sanitise(row->name, sizeof(row->name), op->shown[0] ? op->shown : op->name);
	for (size_t i = 0; i < model_nr_ops(s->model) && !row->op; i++) {
		const struct op *own = model_op(s->model, i);

		if (own->layer == op->layer && !strcmp(own->name, op->name))
			row->op = own->op;
	}
}

static void set_side(struct diff_calls *to, struct model *m, const struct op *op)
{
	double covered;

	if (!op || !op->total.calls)
		return;
	covered = model_covered_ns(op, (double)model_elapsed_ns(m));
	to->called = true;
	to->profile = op->total;
	to->share_seen = op->share_seen;
	to->rate = covered > 0 ? (double)op->total.calls * 1e9 / covered : 0;
}

static void set_pair(struct diff_row *row, struct screen *s, const struct diff_pair *p,
		     const struct screen_diff *d, bool rates)
{
	const struct compare_pair *c = p->compared;
	SCOPED_BUF(words, NAME_MAX_BYTES);

	set_identity(row, s, p->after ? p->after : p->before);
	row->changed = c->verdict == COMPARE_CHANGED;
	row->verdict = verdict_text(c->verdict);
	for (unsigned int i = 0; row->changed && i < c->nr_reasons; i++) {
		buf_reset(&words);
		compare_reason_words(&words, &c->reason[i], rates);
		sanitise(row->reason[row->nr_reasons++], DIFF_REASON, words.data ? words.data : "");
	}
	set_side(&row->side[0], d->model[0], p->before);
	set_side(&row->side[1], d->model[1], p->after);
}

static int copy_rows(struct view_diff *v, const struct screen_diff *d, const struct diff *found)
{
	struct screen *s = v->view.screen;
	unsigned int nr = found->result.nr, all = nr + found->nr_omitted;

	v->row = calloc(all + 1, sizeof(*v->row));
	if (!v->row)
		return -1;
	for (unsigned int i = 0; i < nr; i++)
		set_pair(&v->row[i], s, &found->pair[i], d, found->result.rates);
	for (unsigned int i = 0; i < found->nr_omitted; i++) {
		const struct diff_omission *o = &found->omitted[i];

		set_identity(&v->row[nr + i], s, o->op);
		v->row[nr + i].verdict = omission_texts[o->why];
		if (o->why != DIFF_ONLY_AFTER)
			set_side(&v->row[nr + i].side[0], d->model[0], o->op);
		if (o->why == DIFF_ONLY_AFTER)
			set_side(&v->row[nr + i].side[1], d->model[1], o->op);
	}
	v->nr_changed = found->result.nr_changed;
	v->nr_compared = nr;
	list_resize(&v->list, (int)all);
	return 0;
}

static void open_selected(struct view_diff *v)
{
	struct screen *s = v->view.screen;
	const struct diff_row *row = v->list.n ? &v->row[v->list.selected] : NULL;

	if (row && row->op)
		screen_push(s, s->views->operation(s, row->op, 0));
	else if (row)
		screen_message(s, NOTE_INFO, "this session does not have this operation");
}

static bool diff_request(struct view *view, enum request request, int key)
{
	struct view_diff *v = (struct view_diff *)view;
	struct rect body = screen_body(view->screen->cols, view->screen->rows);

	if (list_request(&v->list, request, body.h / 3))
		return true;
	if (request == REQUEST_OPEN)
		open_selected(v);
	return request == REQUEST_OPEN;
}

static bool diff_click(struct view *view, int target, int x, int y)
{
	struct view_diff *v = (struct view_diff *)view;

	if (target >= v->list.n)
		return false;
	list_select(&v->list, target);
	return true;
}

bool view_diff_matches(const struct diff_row *row, const char *text)
{
	bool found = text[0] && strcasestr(row->name, text);

	for (unsigned int i = 0; i < row->nr_reasons && text[0]; i++)
		found |= strcasestr(row->reason[i], text) != NULL;
	return found;
}

static bool diff_find(struct view *view, const char *text, int direction)
{
	struct view_diff *v = (struct view_diff *)view;
	int at = list_find(i, v->list.n, v->list.selected, direction,
			   view_diff_matches(&v->row[i], text));

	snprintf(v->found, sizeof(v->found), "%s", text);
	return at >= 0 && diff_click(view, at, 0, 0);
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "operation"}, {REQUEST_SEARCH, "find"}, {REQUEST_FIND_NEXT, "next"},
    {REQUEST_VIEW_TEXT, "save"}, {REQUEST_HELP, "help"},   {REQUEST_CLOSE, "close"},
    {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "comparison",
    .keymap = KEYMAP_PAGER,
    .hints = hints,
    .close = diff_close,
    .draw = view_diff_draw,
    .request = diff_request,
    .height = view_diff_height,
    .find = diff_find,
    .click = diff_click,
};

struct view *view_diff_new(struct screen *s, const struct screen_diff *d)
{
	struct view_diff *v = calloc(1, sizeof(*v));
	struct diff found;
	int err = v ? diff_models(d->model[0], d->model[1], &found) : -1;

	if (err) {
		free(v);
		return NULL;
	}
	v->view.methods = &methods;
	v->view.screen = s;
	for (unsigned int i = 0; i < 2; i++)
		sanitise(v->title[i], sizeof(v->title[i]), d->title[i]);
	err = copy_rows(v, d, &found);
	diff_release(&found);
	if (!err)
		return &v->view;
	diff_close(&v->view);
	return NULL;
}
