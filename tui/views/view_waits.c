// SPDX-License-Identifier: GPL-2.0-or-later
/* The views of chains and of the critical path: text that is computed again every second. */
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
};

enum { MAX_TEXT = 1 << 20, TREE_TEXT = 22 /* columns of figures before the tree */ };

static void waits_close(struct view *v)
{
	struct view_waits *w = (struct view_waits *)v;

	screen_act(v->screen, (struct screen_action){.type = SCREEN_WAITS_STOP});
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
}

static const struct view_methods chains_methods = {
    .name = "chains",
    .keymap = KEYMAP_PAGER,
    .hints = pager_hints,
    .close = waits_close,
    .draw = pager_draw,
    .offers = pager_offers,
    .request = pager_request,
    .tick = waits_tick,
    .height = pager_height,
    .find = pager_find,
};
static const struct view_methods critical_methods = {
    .name = "critical-path",
    .keymap = KEYMAP_PAGER,
    .hints = pager_hints,
    .close = waits_close,
    .draw = pager_draw,
    .offers = pager_offers,
    .request = pager_request,
    .tick = waits_tick,
    .height = pager_height,
    .find = pager_find,
};

struct view *view_waits_new(struct screen *s, enum screen_waits what)
{
	struct view_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pager_init(&w->pager, s,
		   what == SCREEN_WAITS_CRITICAL ? &critical_methods : &chains_methods);
	w->what = what;
	buf_init(&w->next, MAX_TEXT);
	buf_puts(&w->next, "tracing for whom the target waits");
	screen_act(s, (struct screen_action){.type = SCREEN_WAITS, .flag = (int)what});
	return &w->pager.view;
}

void screen_set_waits(struct screen *s, enum screen_waits what, const char *text)
{
	for (struct view *v = s->top; v; v = v->below) {
		struct view_waits *w = (struct view_waits *)v;

		if (v->methods != &chains_methods && v->methods != &critical_methods)
			continue;
		if (w->what != what)
			continue;
		buf_reset(&w->next);
		buf_puts(&w->next, text);
		s->content_changed = true;
	}
}
