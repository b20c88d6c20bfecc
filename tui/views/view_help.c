// SPDX-License-Identifier: GPL-2.0-or-later
/* `?`: the keys of a view, made from the key tables, and what its figures mean. */
#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

static const char *const about_operations[] = {
    "wall: total latency divided by the observed time. 100% means one thread all the time; several "
    "waiting threads add up to more.",
    "calls/s and wall with ~: only part of the calls was timed, in bursts that keep the cost low; "
    "counts, totals and quantiles are estimates for all calls.",
    "histogram: latency to the right, on one scale; height: log of the count.",
    "idle: waits for events, connections or work, and timed sleeps are normal and stand below, "
    "dimmed.",
    "open: age of the oldest call that has not returned; \"3: 12 s\" is three of them, \"now\" "
    "means that it has just begun. \"!\" means "
    "that it lasts longer than every finished call, at least 10 s, and is no normal wait. Sorting "
    "by wall counts that age, so a call that is stuck rises.",
    "peaks with ?: the buckets do not add up to the number of calls.",
    NULL,
};

static const char *const about_operation[] = {
    "heat map: time runs to the right, latency upwards on a logarithmic scale; the colour is the "
    "logarithm of the count. Blank means no call, hatching means not watched. When the map is "
    "full, columns join in pairs.",
    "cursor (m, or up at the first peak): the line above the map says what is under it, and the "
    "histogram shows the calls "
    "of its column. Enter selects the peak there.",
    "histogram: the calls that the heat map shows; the length of a bar is the logarithm of the "
    "count. Brackets and numbers mark the peaks of the whole run. A peak keeps its number.",
    "peaks: select with digits, left and right; Enter finds the cause of the selected peak. Tab "
    "moves to its related peaks, where Enter opens one, and to the open calls.",
    NULL,
};

static const char *const about_picker[] = {
    "Type to filter by pid, user, name or arguments. Left and right choose the sort column. For a "
    "filter that begins with q, press / first.",
    NULL,
};

static const char *const about_status[] = {
    "cost: time spent in probes during the last seconds, in percent of the target's CPU time or of "
    "one CPU, whichever is larger. seen: share of all calls that were timed. lost: records, "
    "samples, stacks and calls that are "
    "known to be missing; press i for details.",
    NULL,
};

enum { MEANING = 62, KEYS = 16 }; /* columns */

struct help {
	struct pager *pager;
	const struct screen *screen;
	const char *title; /* of a group of which no line was offered yet; NULL: none */
	int width;	   /* columns of the meaning */
};

static bool is_offered(const struct help *h, const struct keys_line *line)
{
	if (line->map == KEYMAP_MENU)
		return screen_offers(h->screen, REQUEST_LAYERS);
	if (line->map == KEYMAP_PROMPT)
		return screen_offers(h->screen, REQUEST_SNAPSHOT);
	return screen_offers(h->screen, line->request);
}

static void add_title(struct pager *p, const char *title)
{
	if (p->nr_lines)
		pager_add(p, ROLE_TEXT, "");
	pager_add(p, ROLE_HEADING, title);
}

/* Add the meaning of a key and the key, if it has a function in this view. */
static void add_line(void *ctx, const struct keys_line *line)
{
	struct help *h = ctx;
	char text[256];

	if (line->request == REQUEST_NONE) {
		h->title = line->text;
		return;
	}
	if (!is_offered(h, line))
		return;
	if (h->title)
		add_title(h->pager, h->title);
	h->title = NULL;
	snprintf(text, sizeof(text), "  %-*.*s  %s", h->width, h->width, line->text, line->keys);
	pager_add(h->pager, ROLE_TEXT, text);
}

static void add_about(struct pager *p, const char *title, const char *const *text, int columns)
{
	add_title(p, title);
	for (; *text; text++)
		pager_wrap(p, ROLE_TEXT, *text, columns, 2);
}

static const struct view_methods methods = {
    .name = "help",
    .draw = pager_draw,
    PAGER_METHODS,
};

struct view *view_help_new(struct screen *s, enum keymap of)
{
	struct pager *p = calloc(1, sizeof(*p));
	struct help h = {.pager = p, .screen = s, .width = s->cols - 2 - KEYS};
	int columns = s->cols - 2;

	if (!p)
		return NULL;
	h.width = h.width > MEANING ? MEANING : h.width < MEANING / 4 ? MEANING / 4 : h.width;
	pager_init(p, s, &methods);
	if (of == KEYMAP_OPERATIONS)
		add_about(p, "What is shown", about_operations, columns);
	if (of == KEYMAP_OPERATION)
		add_about(p, "What is shown", about_operation, columns);
	if (of == KEYMAP_PICKER)
		add_about(p, "The list", about_picker, columns);
	keys_help(of, s->options.replay, add_line, &h);
	add_about(p, "The status line", about_status, columns);
	return &p->view;
}
