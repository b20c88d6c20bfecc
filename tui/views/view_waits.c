// SPDX-License-Identifier: GPL-2.0-or-later
/* The views of chains, of the critical path and of a walk: text that is computed again every
 * second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

struct view_waits {
	struct pager pager; /* first: the pager's methods take a view_waits */
	enum screen_waits what;
	struct buf next; /* shown from the next tick on, "" for nothing new */
	char seek[128];	 /* selected once it is in the text; "" */
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

/* A line of the tree without figures is a call path. */
static unsigned int role_of(const char *line, size_t n, bool first)
{
	if (first || (n && line[0] != ' '))
		return ROLE_HEADING;
	return strspn(line, " ") > TREE_TEXT ? ROLE_DIM : ROLE_TEXT;
}

static void waits_tick(struct view *v)
{
	struct view_waits *w = (struct view_waits *)v;
	const char *text = w->next.data ? w->next.data : "";
	char line[1024];
	bool first = true;

	if (!w->next.len)
		return;
	pager_clear(&w->pager);
	while (*text) {
		size_t n = strcspn(text, "\n"), kept = n < sizeof(line) ? n : sizeof(line) - 1;

		memcpy(line, text, kept);
		line[kept] = '\0';
		pager_add(&w->pager, role_of(line, kept, first), line);
		first = false;
		text += n + (text[n] == '\n');
	}
	buf_reset(&w->next);
	if (w->seek[0] && pager_find(v, w->seek, 0))
		w->seek[0] = '\0';
}

#define METHODS(of)                                                                                \
	{                                                                                          \
		.name = (of), .keymap = KEYMAP_PAGER, .hints = pager_hints, .close = waits_close,  \
		.draw = pager_draw, .offers = pager_offers, .request = pager_request,              \
		.tick = waits_tick, .height = pager_height, .find = pager_find                     \
	}
static const struct view_methods methods[NR_SCREEN_WAITS] = {
    [SCREEN_WAITS_CHAINS] = METHODS("chains"),
    [SCREEN_WAITS_CRITICAL] = METHODS("critical-path"),
    [SCREEN_WAITS_WALK] = METHODS("walk"),
};

struct view *view_waits_new(struct screen *s, enum screen_waits what)
{
	struct view_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pager_init(&w->pager, s, &methods[what]);
	w->what = what;
	buf_init(&w->next, MAX_TEXT);
	buf_puts(&w->next, what == SCREEN_WAITS_WALK ? "sampling the stacks of all threads"
						     : "tracing for whom the target waits");
	screen_act(s, (struct screen_action){.type = SCREEN_WAITS, .flag = (int)what});
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
