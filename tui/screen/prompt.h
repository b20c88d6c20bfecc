/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The prompt on the bottom line: one line of text with a cursor, and for
 * "watch function" a list of candidates above it. Knows no view: it says what
 * became of a key, the screen acts on it.
 */
#ifndef PEAKTOP_PROMPT_H
#define PEAKTOP_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/screen/grid.h"
#include "tui/screen/list.h"
#include "tui/screen/screen.h"

enum prompt_kind {
	PROMPT_NONE = 0, /* closed */
	PROMPT_SEARCH,
	PROMPT_WATCH,
	PROMPT_SNAPSHOT,
	PROMPT_VIEW_TEXT,
	PROMPT_JUMP,
};

enum { PROMPT_TEXT_MAX = 512 };

struct prompt_candidate {
	char *name, *module, *text; /* name and module sanitised; owned */
};

struct prompt {
	enum prompt_kind kind;
	char text[PROMPT_TEXT_MAX]; /* UTF-8 */
	size_t len, cursor;	    /* bytes */
	struct list list;
	bool chosen;   /* a candidate was chosen with the keys, not only offered */
	bool searched; /* an answer to the present text came */
	size_t nr;
	struct prompt_candidate candidate[SCREEN_MAX_CANDIDATES];
};

enum prompt_outcome {
	PROMPT_IGNORED = 0,
	PROMPT_MOVED,	  /* cursor or selection */
	PROMPT_CHANGED,	  /* the text is another */
	PROMPT_ACCEPTED,  /* read it with prompt_answer(), then prompt_close() */
	PROMPT_CANCELLED, /* closed by the caller */
};

/* Open with a text to edit, the cursor at its end. */
void prompt_open(struct prompt *p, enum prompt_kind kind, const char *text);
void prompt_close(struct prompt *p);
enum prompt_outcome prompt_key(struct prompt *p, int key);
/* What was asked for: the OP of the selected candidate, or the text. */
const char *prompt_answer(const struct prompt *p);
void prompt_set_candidates(struct prompt *p, const char *searched,
			   const struct function_candidate *list, size_t n);
/* On the last row of the grid, candidates above it. Sets the cursor. */
void prompt_draw(const struct prompt *p, struct grid *g);

#endif
