// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls that were slower than usual, one by one, newest first: when, what, how long, and why.
 * The selected call stays selected while newer ones come. */

#include "analysis/base/format.h"
#include "tui/report/sanitise.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

enum { AT_WIDTH = 8, LATENCY_WIDTH = FORMAT_TIME_WIDTH, NAME_BYTES = 512, NAME_MOST = 24 };

struct slow_row {
	uint64_t number;
	struct text latency, usual;
	bool at_least;
	char at[32], name[NAME_BYTES], why[SCREEN_SLOW_WHY]; /* sanitised */
};

struct view_slow {
	struct view view;
	struct screen_slow_question question;
	struct slow_row *row; /* SCREEN_SLOW_CALLS_MAX */
	char note[256];
	uint64_t selected; /* number of the call; 0: the newest one */
	struct list list;
	char found[256]; /* the text of the last search, "" none */
};

static void slow_close(struct view *v)
{
	free(((struct view_slow *)v)->row);
	free(v);
}

static bool row_matches(const struct slow_row *row, const char *text)
{
	return text[0] && (strcasestr(row->name, text) || strcasestr(row->why, text));
}

/* The columns of a row of this width. */
struct slow_columns {
	int at, latency, usual, name, name_width, why; /* usual, why: -1: not shown */
};

static struct slow_columns columns_of(struct rect r)
{
	struct slow_columns c = {.at = r.x + 2, .usual = -1, .why = -1};
	int x = c.at + AT_WIDTH + 2;

	c.latency = x;
	x += LATENCY_WIDTH + 2;
	if (r.w >= 100) {
		c.usual = x;
		x += LATENCY_WIDTH + 2;
	}
	c.name = x;
	c.name_width = r.x + r.w - x;
	if (r.w >= 60) {
		c.name_width = r.w / 5 < NAME_MOST ? r.w / 5 : NAME_MOST;
		c.why = x + c.name_width + 2;
	}
	return c;
}

static void draw_head(struct grid *g, struct rect r, const struct slow_columns *c)
{
	grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
	grid_put(g, c->at, r.y, AT_WIDTH, ROLE_HEADING, "time");
	grid_put_right(g, c->latency, r.y, LATENCY_WIDTH, ROLE_HEADING, "latency");
	if (c->usual >= 0)
		grid_put_right(g, c->usual, r.y, LATENCY_WIDTH, ROLE_HEADING, "usual");
	grid_put(g, c->name, r.y, c->name_width, ROLE_HEADING, "call");
	if (c->why >= 0)
		grid_put(g, c->why, r.y, r.x + r.w - c->why, ROLE_HEADING, "why it was slow");
}

static void draw_row(const struct view_slow *v, const struct slow_row *row, struct grid *g,
		     struct rect r, bool selected)
{
	struct slow_columns c = columns_of(r);
	unsigned int role = selected ? ROLE_SELECTED : ROLE_TEXT;

	if (selected) {
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x, r.y);
	}
	grid_put(g, c.at, r.y, AT_WIDTH, selected ? ROLE_SELECTED : ROLE_DIM, row->at);
	grid_put_right(g, c.latency, r.y, LATENCY_WIDTH, role, row->latency.s);
	if (row->at_least)
		grid_put_cut(g, c.latency - 1, r.y, 1, role, ">");
	if (c.usual >= 0)
		grid_put_right(g, c.usual, r.y, LATENCY_WIDTH, selected ? ROLE_SELECTED : ROLE_DIM,
			       row->usual.s);
	grid_put_cut(g, c.name, r.y, c.name_width, role, row->name);
	if (c.why >= 0)
		grid_put_cut(g, c.why, r.y, r.x + r.w - c.why,
			     row_matches(row, v->found) ? ROLE_MATCH : role, row->why);
}

static void slow_draw(const struct view *view, struct grid *g, struct rect r)
{
	const struct view_slow *v = (const struct view_slow *)view;
	int head = r.h >= 3 ? 1 : 0, foot = r.h >= 6 ? 1 : 0, height = r.h - head - foot;
	int top = list_top(&v->list, height);
	struct slow_columns c = columns_of(r);

	if (head)
		draw_head(g, r, &c);
	if (!v->list.n && r.h > head)
		grid_put_cut(g, r.x + 2, r.y + head, r.w - 2, ROLE_DIM,
			     view->screen->options.replay
				 ? "no slow call was kept in this session so far"
				 : "no slow call yet; they are kept from now on");
	for (int i = 0; i < height && top + i < v->list.n; i++) {
		grid_target(g, (struct rect){r.x, r.y + head + i, r.w, 1}, top + i);
		draw_row(v, &v->row[top + i], g, (struct rect){r.x, r.y + head + i, r.w, 1},
			 top + i == v->list.selected);
	}
	if (foot)
		grid_printf(g, r.x + 2, r.y + r.h - 1, r.w - 2, ROLE_DIM, "%d %s, newest first%s%s",
			    v->list.n, v->list.n == 1 ? "call" : "calls", v->note[0] ? "; " : "",
			    v->note);
}

static int slow_height(const struct view *v, int cols)
{
	return ((const struct view_slow *)v)->list.n + 2;
}

static void keep_selection(struct view_slow *v)
{
	v->selected = v->list.selected ? v->row[v->list.selected].number : 0;
}

static bool slow_request(struct view *view, enum request request, int key)
{
	struct view_slow *v = (struct view_slow *)view;
	struct rect body = screen_body(view->screen->cols, view->screen->rows);

	if (list_request(&v->list, request, body.h - 2)) {
		keep_selection(v);
		return true;
	}
	switch (request) {
	case REQUEST_OPEN:
		if (v->list.n)
			screen_act(view->screen, (struct screen_action){
						     .type = SCREEN_SLOW_CALL,
						     .at_ns = v->row[v->list.selected].number});
		return true;
	case REQUEST_SLOW_CALLS: /* the key that opened the view closes it */
		return screen_request(view->screen, REQUEST_CLOSE);
	default:
		return false;
	}
}

static bool slow_click(struct view *view, int target, int x, int y)
{
	struct view_slow *v = (struct view_slow *)view;

	if (target >= v->list.n)
		return false;
	list_select(&v->list, target);
	keep_selection(v);
	return true;
}

static bool slow_find(struct view *view, const char *text, int direction)
{
	struct view_slow *v = (struct view_slow *)view;
	int at =
	    list_find(i, v->list.n, v->list.selected, direction, row_matches(&v->row[i], text));

	snprintf(v->found, sizeof(v->found), "%s", text);
	return at >= 0 && slow_click(view, at, 0, 0);
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "story"},	 {REQUEST_SEARCH, "find"}, {REQUEST_FIND_NEXT, "next"},
    {REQUEST_VIEW_TEXT, "save"}, {REQUEST_CLOSE, "close"}, {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "slow-calls",
    .keymap = KEYMAP_PAGER,
    .hints = hints,
    .close = slow_close,
    .draw = slow_draw,
    .request = slow_request,
    .height = slow_height,
    .find = slow_find,
    .click = slow_click,
};

struct view *view_slow_new(struct screen *s)
{
	struct view_slow *v = calloc(1, sizeof(*v));

	if (v)
		v->row = calloc(SCREEN_SLOW_CALLS_MAX, sizeof(*v->row));
	if (!v || !v->row) {
		free(v);
		return NULL;
	}
	v->view.methods = &methods;
	v->view.screen = s;
	screen_act(s, (struct screen_action){.type = SCREEN_SLOW_CALLS});
	return &v->view;
}

void screen_list_slow_calls(struct screen *s, const struct screen_slow_question *q)
{
	struct view *view = view_slow_new(s);

	if (view)
		((struct view_slow *)view)->question = *q;
	screen_push(s, view);
}

/* The uppermost one; NULL: none is open. */
static struct view_slow *view_slow_of(const struct screen *s)
{
	struct view *at = s->top;

	while (at && at->methods != &methods)
		at = at->below;
	return (struct view_slow *)at;
}

bool screen_slow_question(const struct screen *s, struct screen_slow_question *q)
{
	const struct view_slow *v = view_slow_of(s);

	if (v)
		*q = v->question;
	return v != NULL;
}

static void row_set(struct slow_row *row, const struct screen_slow_call *from)
{
	*row = (struct slow_row){.number = from->number,
				 .latency = format_time_fixed(from->latency_ns),
				 .at_least = from->at_least};
	if (from->usual_ns)
		row->usual = format_time_fixed(from->usual_ns);
	snprintf(row->at, sizeof(row->at), "%s", from->at);
	sanitise(row->name, sizeof(row->name), from->name);
	sanitise(row->why, sizeof(row->why), from->why);
}

void screen_set_slow_calls(struct screen *s, const struct screen_slow_call *list, size_t nr,
			   const char *note)
{
	struct view_slow *v = view_slow_of(s);

	if (!v || s->paused)
		return;
	if (nr > SCREEN_SLOW_CALLS_MAX)
		nr = SCREEN_SLOW_CALLS_MAX;
	for (size_t i = 0; i < nr; i++)
		row_set(&v->row[i], &list[i]);
	snprintf(v->note, sizeof(v->note), "%s", note);
	list_resize(&v->list, (int)nr);
	if (!v->selected)
		list_select(&v->list, 0);
	for (size_t i = 0; i < nr && v->selected; i++)
		if (v->row[i].number == v->selected)
			list_select(&v->list, (int)i);
}
