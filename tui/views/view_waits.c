// SPDX-License-Identifier: GPL-2.0-or-later
/* The views of chains, of the critical path and of a walk: text that is computed again every
 * second. Tab goes from one view of the waits to the next. */

#include "analysis/latency/threads.h"
#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

/* The tasks of the timeline, from line `first` on. */
struct lanes {
	struct screen_lane lane[SCREEN_MAX_LANES];
	uint32_t nr, first;
};

struct view_waits {
	struct pager pager; /* first: the pager's methods take a view_waits */
	enum screen_waits what;
	struct buf next; /* shown from the next tick on, "" for nothing new */
	char seek[128];	 /* selected once it is in the text; "" */
	struct lanes lanes, next_lanes;
	uint32_t selected; /* lane */
};

enum { MAX_TEXT = 1 << 20, TREE_TEXT = 22 /* columns of figures before the tree */ };

static void waits_close(struct view *v)
{
	struct view_waits *w = (struct view_waits *)v;

	screen_act(v->screen,
		   (struct screen_action){.type = SCREEN_WAITS_STOP, .flag = (int)w->what});
	buf_release(&w->next);
	pager_close(v);
}

/* The role of a line. In a tree, a line without figures belongs to a call path and is dim; code
 * that ran and block I/O are emphasised. */
static unsigned int role_of(enum screen_waits what, const char *line, size_t n, bool first)
{
	bool drawn = what == SCREEN_WAITS_TIMELINE || what == SCREEN_WAITS_FLAME ||
		     what == SCREEN_WAITS_FOLDED;

	if (first || (n && line[0] != ' ' && !drawn))
		return ROLE_HEADING;
	if (drawn)
		return ROLE_TEXT;
	if (strspn(line, " ") > TREE_TEXT)
		return ROLE_DIM;
	if (strlen(line) > TREE_TEXT && strstr(line + TREE_TEXT, "running"))
		return ROLE_BAR;
	return strlen(line) > TREE_TEXT && strstr(line + TREE_TEXT, "block I/O") ? ROLE_BAR_CHOSEN
										 : ROLE_TEXT;
}

/* Mark the selected lane, and scroll so that it is visible. */
static void lane_show(struct view_waits *w)
{
	struct pager *p = &w->pager;
	int height = screen_body(p->view.screen->cols, p->view.screen->rows).h, line;

	if (w->what != SCREEN_WAITS_TIMELINE || !w->lanes.nr)
		return;
	if (w->selected >= w->lanes.nr)
		w->selected = w->lanes.nr - 1;
	line = (int)(w->lanes.first + w->selected);
	p->found = line;
	list_resize(&p->list, p->nr_lines > line ? p->nr_lines : line + 1);
	if (w->selected == 0)
		list_select(&p->list, 0);
	else if (line < p->list.selected)
		list_select(&p->list, line);
	else if (line >= p->list.selected + height)
		list_select(&p->list, line - height + 1);
}

static void waits_tick(struct view *v)
{
	struct view_waits *w = (struct view_waits *)v;
	char *line = w->next.data;
	bool first = true;

	if (!w->next.len)
		return;
	pager_clear(&w->pager);
	while (*line) {
		size_t n = strcspn(line, "\n"), more = line[n] == '\n';

		line[n] = '\0';
		pager_add(&w->pager, role_of(w->what, line, n, first), line);
		first = false;
		line += n + more;
	}
	buf_reset(&w->next);
	w->lanes = w->next_lanes;
	lane_show(w);
	if (w->seek[0] && pager_find(v, w->seek, 0))
		w->seek[0] = '\0';
}

static void change(struct view *v, enum screen_waits_change what)
{
	screen_act(v->screen,
		   (struct screen_action){.type = SCREEN_WAITS_CHANGE, .flag = (int)what});
}

/* The panes in the order in which Tab goes through them. */
static const enum screen_waits panes[] = {SCREEN_WAITS_CHAINS,	 SCREEN_WAITS_ACCOUNT,
					  SCREEN_WAITS_TIMELINE, SCREEN_WAITS_FLAME,
					  SCREEN_WAITS_FOLDED,	 SCREEN_WAITS_CRITICAL};
enum { PANES = sizeof(panes) / sizeof(panes[0]) };
static const struct view_methods methods[NR_SCREEN_WAITS];

static bool has_panes(const struct view_waits *w)
{
	return w->what != SCREEN_WAITS_WALK && w->what != SCREEN_WAITS_ROOT;
}

static void say_what_is_shown(const struct view_waits *w)
{
	struct screen *s = w->pager.view.screen;

	if (w->what == SCREEN_WAITS_TIMELINE && model_choice(s->model)->nr)
		screen_message(s, NOTE_INFO,
			       "the timeline shows all threads, not only those chosen");
}

/* Become the next view of the waits; the tracing goes on. */
static void next_pane(struct view *v, unsigned int by)
{
	struct view_waits *w = (struct view_waits *)v;
	enum screen_waits before = w->what;
	unsigned int i = 0;

	while (i < PANES && panes[i] != before)
		i++;
	w->what = panes[(i + by) % PANES];
	v->methods = &methods[w->what];
	say_what_is_shown(w);
	w->pager.found = -1;
	list_select(&w->pager.list, 0);
	screen_act(v->screen, (struct screen_action){.type = SCREEN_WAITS, .flag = (int)w->what});
	screen_act(v->screen,
		   (struct screen_action){.type = SCREEN_WAITS_STOP, .flag = (int)before});
}

static void open_root(struct view *v)
{
	struct view_waits *w = (struct view_waits *)v;
	const struct screen_lane *lane = &w->lanes.lane[w->selected];
	struct view_waits *root = calloc(1, sizeof(*root));

	if (root) {
		pager_init(&root->pager, v->screen, &methods[SCREEN_WAITS_ROOT]);
		root->what = SCREEN_WAITS_ROOT;
		buf_init(&root->next, MAX_TEXT);
		buf_puts(&root->next, "following the chains of this task");
		screen_act(v->screen, (struct screen_action){.type = SCREEN_WAITS,
							     .flag = SCREEN_WAITS_ROOT,
							     .pid = lane->pid,
							     .tid = lane->tid,
							     .at_ns = lane->start_ns});
	}
	screen_push(v->screen, root ? &root->pager.view : NULL);
}

/* The requests of the timeline alone. */
static bool timeline_request(struct view *v, enum request request)
{
	struct view_waits *w = (struct view_waits *)v;

	switch (request) {
	case REQUEST_UP:
		w->selected -= w->selected > 0;
		lane_show(w);
		return true;
	case REQUEST_DOWN:
		w->selected += w->selected + 1 < w->lanes.nr;
		lane_show(w);
		return true;
	case REQUEST_LEFT:
		change(v, WAITS_EARLIER);
		return true;
	case REQUEST_RIGHT:
		change(v, WAITS_LATER);
		return true;
	case REQUEST_ZOOM_IN:
		change(v, WAITS_ZOOM_IN);
		return true;
	case REQUEST_ZOOM_OUT:
		change(v, WAITS_ZOOM_OUT);
		return true;
	case REQUEST_OPEN:
		if (w->lanes.nr)
			open_root(v);
		return true;
	default:
		return false;
	}
}

static bool waits_request(struct view *v, enum request request, int key)
{
	const struct view_waits *w = (const struct view_waits *)v;

	if (w->what == SCREEN_WAITS_TIMELINE && timeline_request(v, request))
		return true;
	if (request == REQUEST_PER_PROCESS) {
		change(v, WAITS_GROUP);
		return true;
	}
	if (has_panes(w) && (request == REQUEST_NEXT_PANE || request == REQUEST_PREVIOUS_PANE)) {
		next_pane(v, request == REQUEST_NEXT_PANE ? 1 : PANES - 1);
		return true;
	}
	return pager_request(v, request, key);
}

static bool waits_offers(const struct view *v, enum request request)
{
	const struct view_waits *w = (const struct view_waits *)v;

	switch (request) {
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
		return has_panes(w);
	case REQUEST_PER_PROCESS:
		return w->what != SCREEN_WAITS_WALK && w->what != SCREEN_WAITS_CRITICAL &&
		       w->what != SCREEN_WAITS_TIMELINE;
	case REQUEST_OPEN:
		return w->what == SCREEN_WAITS_TIMELINE && w->lanes.nr;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
	case REQUEST_ZOOM_IN:
	case REQUEST_ZOOM_OUT:
		return w->what == SCREEN_WAITS_TIMELINE;
	default:
		return pager_offers(v, request);
	}
}

static const struct view_hint waits_hints[] = {
    {REQUEST_NEXT_PANE, "accounting, timeline..."},
    {REQUEST_OPEN, "its chains"},
    {REQUEST_ZOOM_IN, "zoom"},
    {REQUEST_PER_PROCESS, "per process"},
    {REQUEST_SEARCH, "find"},
    {REQUEST_HELP, "help"},
    {REQUEST_CLOSE, "close"},
    {REQUEST_NONE, NULL},
};

#define METHODS(of)                                                                                \
	{                                                                                          \
		.name = (of), .keymap = KEYMAP_WAITS, .hints = waits_hints, .close = waits_close,  \
		.draw = pager_draw, .offers = waits_offers, .request = waits_request,              \
		.tick = waits_tick, .height = pager_height, .find = pager_find                     \
	}
static const struct view_methods methods[NR_SCREEN_WAITS] = {
    [SCREEN_WAITS_CHAINS] = METHODS("chains"),
    [SCREEN_WAITS_CRITICAL] = METHODS("critical-path"),
    [SCREEN_WAITS_WALK] = METHODS("walk"),
    [SCREEN_WAITS_ACCOUNT] = METHODS("account"),
    [SCREEN_WAITS_TIMELINE] = METHODS("timeline"),
    [SCREEN_WAITS_FLAME] = METHODS("flame"),
    [SCREEN_WAITS_FOLDED] = METHODS("folded"),
    [SCREEN_WAITS_ROOT] = METHODS("task"),
};

struct view *view_waits_new(struct screen *s, enum screen_waits what)
{
	struct view_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pager_init(&w->pager, s, &methods[what]);
	w->what = what;
	buf_init(&w->next, MAX_TEXT);
	buf_puts(&w->next, what == SCREEN_WAITS_WALK ? "sampling the stacks of the threads"
						     : "tracing for whom the target waits");
	screen_act(s, (struct screen_action){.type = SCREEN_WAITS, .flag = (int)what});
	say_what_is_shown(w);
	return &w->pager.view;
}

void view_waits_seek(struct view *v, const char *text)
{
	struct view_waits *w = (struct view_waits *)v;

	if (v)
		snprintf(w->seek, sizeof(w->seek), "%s", text);
}

void screen_set_waits(struct screen *s, enum screen_waits what, const char *text)
{
	for (struct view *v = s->top; v; v = v->below) {
		struct view_waits *w = (struct view_waits *)v;

		if (v->methods != &methods[what])
			continue;
		buf_reset(&w->next);
		buf_puts(&w->next, text);
		s->content_changed = true;
	}
}

void screen_set_lanes(struct screen *s, uint32_t first_line, const struct screen_lane *lane,
		      uint32_t nr)
{
	for (struct view *v = s->top; v; v = v->below) {
		struct view_waits *w = (struct view_waits *)v;

		if (v->methods != &methods[SCREEN_WAITS_TIMELINE])
			continue;
		w->next_lanes.first = first_line;
		w->next_lanes.nr = nr < SCREEN_MAX_LANES ? nr : SCREEN_MAX_LANES;
		memcpy(w->next_lanes.lane, lane, w->next_lanes.nr * sizeof(*lane));
	}
}
