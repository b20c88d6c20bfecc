// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/pager.h"

#include "tui/report/words.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"

const struct view_hint pager_hints[] = {
    {REQUEST_DOWN, "down"},	 {REQUEST_HALF_DOWN, "half a page"}, {REQUEST_SEARCH, "find"},
    {REQUEST_FIND_NEXT, "next"}, {REQUEST_CLOSE, "close"},	     {REQUEST_NONE, NULL},
};

void pager_init(struct pager *p, struct screen *s, const struct view_methods *methods)
{
	p->view.methods = methods;
	p->view.screen = s;
	p->found = -1;
	buf_init(&p->text, PAGER_MAX_BYTES);
}

void pager_close(struct view *v)
{
	struct pager *p = (struct pager *)v;

	buf_release(&p->text);
	free(p->line);
	free(p);
}

void pager_clear(struct pager *p)
{
	p->nr_lines = 0;
	buf_reset(&p->text);
}

void pager_add(struct pager *p, unsigned int role, const char *text)
{
	size_t at = p->text.len;

	if (!p->line) {
		p->line = malloc(PAGER_MAX_LINES * sizeof(*p->line));
		if (!p->line)
			return;
	}
	if (p->nr_lines == PAGER_MAX_LINES || buf_append(&p->text, text, strlen(text) + 1) < 0)
		return;
	p->line[p->nr_lines++] = (struct pager_line){role, at};
	if (p->nr_lines >
	    p->list.n) /* never shrink here: rebuilding the lines must keep the position */
		list_resize(&p->list, p->nr_lines);
}

void pager_wrap(struct pager *p, unsigned int role, const char *text, int columns, int indent)
{
	SCOPED_BUF(out, 65536);
	char first[64], *line, *next;

	snprintf(first, sizeof(first), "%*s", indent, "");
	if (!words_wrap(&out, text, (unsigned int)(columns > 1 ? columns : 1), first,
			(unsigned int)indent)) {
		for (line = out.data; line && *line; line = next) {
			next = strchr(line, '\n');
			if (next)
				*next++ = '\0';
			pager_add(p, role, line);
		}
	}
}

void pager_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct pager *p = (const struct pager *)v;
	int top = p->list.selected;

	if (top > p->nr_lines - r.h)
		top = p->nr_lines - r.h;
	if (top < 0)
		top = 0;
	for (int i = 0; i < r.h && top + i < p->nr_lines; i++) {
		const struct pager_line *line = &p->line[top + i];
		bool found = top + i == p->found;

		if (line->role == ROLE_HEADING)
			grid_fill(g, (struct rect){r.x, r.y + i, r.w, 1}, ROLE_HEADING, " ");
		if (found)
			grid_put(g, r.x, r.y + i, 1, ROLE_SELECTED, ">");
		grid_put_cut(g, r.x + 1, r.y + i, r.w - 1, found ? ROLE_MATCH : line->role,
			     p->text.data + line->text);
		if (found || (i == 0 && p->found < 0))
			grid_cursor(g, r.x, r.y + i);
	}
}

int pager_height(const struct view *v, int cols)
{
	return ((const struct pager *)v)->nr_lines;
}

bool pager_offers(const struct view *v, enum request request)
{
	switch (request) {
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
	case REQUEST_COSTLIEST:
	case REQUEST_OPEN:
		return false;
	default:
		return true;
	}
}

bool pager_request(struct view *v, enum request request, int key)
{
	struct pager *p = (struct pager *)v;
	int height = screen_body(v->screen->cols, v->screen->rows).h, last = p->nr_lines - height;

	list_resize(&p->list, p->nr_lines);
	if (request == REQUEST_OPEN) /* a line cannot be opened; scroll on, as more(1) does */
		request = REQUEST_DOWN;
	if (!list_request(&p->list, request, height))
		return false;
	if (p->list.selected > last)
		list_select(&p->list, last);
	return true;
}

bool pager_find(struct view *v, const char *text, int direction)
{
	struct pager *p = (struct pager *)v;
	int from = p->found >= 0 ? p->found : p->list.selected;

	p->found = list_find(i, text[0] ? p->nr_lines : 0, from, direction,
			     strcasestr(p->text.data + p->line[i].text, text));
	if (p->found < 0)
		return false;
	list_select(&p->list, p->found);
	return true;
}
