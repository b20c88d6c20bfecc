/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prompt on the bottom line: one line of text with a cursor, and for "watch function" a list of
 * candidates above it. The prompt does not depend on views: prompt_key() returns the effect of a
 * key, and the screen acts on it. */
#pragma once

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
	PROMPT_BOOKMARK,
	PROMPT_COMPARE,
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
	bool chosen;   /* the user selected a candidate with the keys */
	bool searched; /* the candidates are those of the present text */
	size_t nr;
	struct prompt_candidate candidate[SCREEN_MAX_CANDIDATES];
};

enum prompt_outcome {
	PROMPT_IGNORED = 0,
	PROMPT_MOVED,	  /* cursor or selection */
	PROMPT_CHANGED,	  /* the text has changed */
	PROMPT_ACCEPTED,  /* call prompt_answer(), then prompt_close() */
	PROMPT_CANCELLED, /* the caller must call prompt_close() */
};

/* Open with a text to edit, the cursor at its end. */
void prompt_open(struct prompt *p, enum prompt_kind kind, const char *text);
void prompt_close(struct prompt *p);
enum prompt_outcome prompt_key(struct prompt *p, int key);
/* Select a candidate, as the keys do. False: there is none of this number. */
bool prompt_select(struct prompt *p, int candidate);
/* The user's answer: the OP of the selected candidate, or the text. */
const char *prompt_answer(const struct prompt *p);
void prompt_set_candidates(struct prompt *p, const char *searched,
			   const struct function_candidate *list, size_t n);
/* Draw the prompt on the last row of the grid, with its candidates above. Sets the cursor. */
void prompt_draw(const struct prompt *p, struct grid *g);
