// SPDX-License-Identifier: GPL-2.0-or-later
/* The event log: what happened to the target and to the measurement, newest first. The selected
 * event stays selected while newer ones come. */
#include "analysis/latency/event_log.h"
#include "tui/report/sanitise.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

enum { SHOWN_TEXT = 2 * EVENT_TEXT_MAX, TIME_WIDTH = 9, KIND_WIDTH = 13 };

/* An event is noticed after the calls that it is about: a peak, after some slices. */
#define BEFORE_NS 10000000000ull

struct event_row {
	uint64_t number, at_ns, last_ns, times;
	enum event_kind kind;
	enum note_level level;
	uint32_t op;
	int peak;
	char text[SHOWN_TEXT]; /* sanitised */
};

struct view_events {
	struct view view;
	struct event_row *row; /* EVENT_LOG_MAX, newest first */
	uint64_t dropped;      /* events that are no longer in the log */
	uint64_t selected;     /* number of the event; 0: the newest one */
	struct list list;
	char found[256]; /* the text of the last search, "" none */
};

static void events_close(struct view *v)
{
	free(((struct view_events *)v)->row);
	free(v);
}

static void events_tick(struct view *v)
{
	struct view_events *e = (struct view_events *)v;
	const struct event_log *log = model_event_log(screen_model(v->screen));
	size_t n = event_log_nr(log);

	for (size_t i = 0; i < n; i++) {
		const struct event *from = event_log_at(log, i);
		struct event_row *row = &e->row[i];

		*row = (struct event_row){.number = from->number,
					  .at_ns = from->at_ns,
					  .last_ns = from->last_ns,
					  .times = from->times,
					  .kind = from->kind,
					  .level = from->level,
					  .op = from->op,
					  .peak = from->peak};
		sanitise(row->text, sizeof(row->text), from->text);
	}
	e->dropped = log->added - n;
	list_resize(&e->list, (int)n);
	if (!e->selected)
		list_select(&e->list, 0);
	for (size_t i = 0; i < n && e->selected; i++)
		if (e->row[i].number == e->selected)
			list_select(&e->list, (int)i);
}

/* "0:07.3", "1:02:45": time since the start of the session. */
static void format_at(char *out, size_t size, uint64_t ns)
{
	unsigned long long tenths = ns / 100000000ULL, s = tenths / 10;

	if (s >= 3600)
		snprintf(out, size, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(out, size, "%llu:%02llu.%llu", s / 60, s % 60, tenths % 10);
}

static void row_text(const struct event_row *row, char *out, size_t size)
{
	char last[32];

	if (row->times < 2) {
		snprintf(out, size, "%s", row->text);
		return;
	}
	format_at(last, sizeof(last), row->last_ns);
	snprintf(out, size, "%s (%llu times, last at %s)", row->text,
		 (unsigned long long)row->times, last);
}

static bool row_matches(const struct event_row *row, const char *text)
{
	return text[0] &&
	       (strcasestr(row->text, text) || strcasestr(event_kind_name(row->kind), text));
}

static void draw_row(const struct view_events *e, const struct event_row *row, struct grid *g,
		     struct rect r, bool selected)
{
	bool found = row_matches(row, e->found);
	unsigned int role = row->level == NOTE_ERROR	 ? ROLE_ALERT
			    : row->level == NOTE_WARNING ? ROLE_WARNING
			    : selected			 ? ROLE_SELECTED
							 : ROLE_TEXT;
	char at[32], text[SHOWN_TEXT + 64];
	int x = r.x + 2;

	if (selected) {
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x, r.y);
	}
	format_at(at, sizeof(at), row->at_ns);
	grid_put_right(g, x, r.y, TIME_WIDTH, selected ? ROLE_SELECTED : ROLE_DIM, at);
	x += TIME_WIDTH + 2;
	if (r.w >= 60) {
		grid_put(g, x, r.y, KIND_WIDTH, role == ROLE_TEXT ? ROLE_DIM : role,
			 event_kind_name(row->kind));
		x += KIND_WIDTH + 2;
	}
	row_text(row, text, sizeof(text));
	grid_put_cut(g, x, r.y, r.x + r.w - x, found ? ROLE_MATCH : role, text);
}

static void events_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct view_events *e = (const struct view_events *)v;
	int head = r.h >= 3 ? 1 : 0, foot = r.h >= 6 ? 1 : 0, height = r.h - head - foot;
	int top = list_top(&e->list, height);

	if (head) {
		grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
		grid_put_right(g, r.x + 2, r.y, TIME_WIDTH, ROLE_HEADING, "time");
		grid_put(g, r.x + TIME_WIDTH + 4, r.y, r.w, ROLE_HEADING,
			 r.w >= 60 ? "event" : "what happened");
		if (r.w >= 60)
			grid_put(g, r.x + TIME_WIDTH + KIND_WIDTH + 6, r.y, r.w, ROLE_HEADING,
				 "what happened");
	}
	if (!e->list.n && r.h > head)
		grid_put_cut(g, r.x + 2, r.y + head, r.w - 2, ROLE_DIM,
			     screen_is_past(v->screen) ? "nothing happened in this time"
						       : "nothing has happened yet");
	for (int i = 0; i < height && top + i < e->list.n; i++) {
		grid_target(g, (struct rect){r.x, r.y + head + i, r.w, 1}, top + i);
		draw_row(e, &e->row[top + i], g, (struct rect){r.x, r.y + head + i, r.w, 1},
			 top + i == e->list.selected);
	}
	if (!foot)
		return;
	if (e->dropped)
		grid_printf(g, r.x + 2, r.y + r.h - 1, r.w - 2, ROLE_DIM,
			    "%d events, newest first; %llu older ones were dropped", e->list.n,
			    (unsigned long long)e->dropped);
	else
		grid_printf(g, r.x + 2, r.y + r.h - 1, r.w - 2, ROLE_DIM, "%d %s, newest first",
			    e->list.n, e->list.n == 1 ? "event" : "events");
}

static int events_height(const struct view *v, int cols)
{
	return ((const struct view_events *)v)->list.n + 2;
}

static void keep_selection(struct view_events *e)
{
	e->selected = e->list.selected ? e->row[e->list.selected].number : 0;
}

static void open_selected(struct view_events *e)
{
	struct screen *s = e->view.screen;
	const struct event_row *row = e->list.n ? &e->row[e->list.selected] : NULL;

	if (row && row->kind == EVENT_BOOKMARK)
		screen_past_show(s, row->at_ns, row->last_ns);
	else if (row && row->op && model_op_by_number(s->model, row->op))
		screen_push(s, s->views->operation(s, row->op, row->peak));
	else if (row)
		screen_message(s, NOTE_INFO, "this event belongs to no operation");
}

/* Ask which calls were slow when the event happened, of its operation if it has one. */
static void ask_why(const struct view_events *e)
{
	const struct event_row *row = e->list.n ? &e->row[e->list.selected] : NULL;
	struct screen_action a = {.type = SCREEN_WHY};

	if (!row)
		return;
	a.op = row->op;
	a.at_ns = row->at_ns > BEFORE_NS ? row->at_ns - BEFORE_NS : 0;
	a.end_ns = (row->last_ns > row->at_ns ? row->last_ns : row->at_ns) + 1;
	screen_act(e->view.screen, a);
}

static bool events_request(struct view *v, enum request request, int key)
{
	struct view_events *e = (struct view_events *)v;
	struct rect body = screen_body(v->screen->cols, v->screen->rows);

	if (list_request(&e->list, request, body.h - 2)) {
		keep_selection(e);
		return true;
	}
	switch (request) {
	case REQUEST_OPEN:
		open_selected(e);
		return true;
	case REQUEST_WHY:
		ask_why(e);
		return true;
	case REQUEST_EVENTS: /* the key that opened the view closes it */
		return screen_request(v->screen, REQUEST_CLOSE);
	default:
		return false;
	}
}

static bool events_click(struct view *v, int target, int x, int y)
{
	struct view_events *e = (struct view_events *)v;

	if (target >= e->list.n)
		return false;
	list_select(&e->list, target);
	keep_selection(e);
	return true;
}

static bool events_find(struct view *v, const char *text, int direction)
{
	struct view_events *e = (struct view_events *)v;
	int at =
	    list_find(i, e->list.n, e->list.selected, direction, row_matches(&e->row[i], text));

	snprintf(e->found, sizeof(e->found), "%s", text);
	return at >= 0 && events_click(v, at, 0, 0);
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "operation"}, {REQUEST_WHY, "explain"},    {REQUEST_SEARCH, "find"},
    {REQUEST_FIND_NEXT, "next"}, {REQUEST_VIEW_TEXT, "save"}, {REQUEST_CLOSE, "close"},
    {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "events",
    .keymap = KEYMAP_PAGER,
    .hints = hints,
    .travels = true,
    .close = events_close,
    .draw = events_draw,
    .request = events_request,
    .tick = events_tick,
    .height = events_height,
    .find = events_find,
    .click = events_click,
};

struct view *view_events_new(struct screen *s)
{
	struct view_events *e = calloc(1, sizeof(*e));

	if (e)
		e->row = calloc(EVENT_LOG_MAX, sizeof(*e->row));
	if (!e || !e->row) {
		free(e);
		return NULL;
	}
	e->view.methods = &methods;
	e->view.screen = s;
	return &e->view;
}
