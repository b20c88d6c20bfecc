/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A view that scrolls through lines of text, e.g. help and information. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/screen/list.h"
#include "tui/screen/view.h"

enum { PAGER_MAX_LINES = 4096, PAGER_MAX_BYTES = 1 << 20 };

struct pager_line {
	unsigned int role;
	size_t text; /* offset into `text` of the pager */
};

struct pager {
	struct view view;
	struct list list; /* its selected line is the top line of the view */
	struct pager_line *line;
	int nr_lines;
	struct buf text;
	int found; /* line of the last match, -1 */
};

/* Remove all lines, keep the scroll position. */
void pager_clear(struct pager *p);
/* Append a line of sanitised text. Without room or memory the line is left out. */
void pager_add(struct pager *p, unsigned int role, const char *text);
/* Like pager_add(), but break the text at blanks into lines of `columns`, each indented by `indent`
 * blanks. */
void pager_wrap(struct pager *p, unsigned int role, const char *text, int columns, int indent);

/* The members of struct view_methods that all pagers share: all but their name, draw and tick. */
#define PAGER_METHODS                                                                              \
	.keymap = KEYMAP_PAGER, .hints = pager_hints, .close = pager_close,                        \
	.offers = pager_offers, .request = pager_request, .height = pager_height,                  \
	.find = pager_find

extern const struct view_hint pager_hints[];
void pager_init(struct pager *p, struct screen *s, const struct view_methods *methods);
void pager_close(struct view *v);
void pager_draw(const struct view *v, struct grid *g, struct rect r);
bool pager_offers(const struct view *v, enum request request);
bool pager_request(struct view *v, enum request request, int key);
int pager_height(const struct view *v, int cols);
bool pager_find(struct view *v, const char *text, int direction);
