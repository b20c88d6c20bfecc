/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key tables: the request of each key in each view. No other file names keys; the help and
 * docs/tui.md are generated from these tables. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/screen/request.h"
#include "tui/screen/screen.h"

enum keymap {
	KEYMAP_ALL = 0, /* in every view, where the view's own table has no such key */
	KEYMAP_PICKER,
	KEYMAP_OPERATIONS,
	KEYMAP_OPERATION,
	KEYMAP_DESCENT,
	KEYMAP_THREADS,
	KEYMAP_COLUMNS, /* the menu of columns of the operations */
	KEYMAP_WAITS,	/* chains and their other views */
	KEYMAP_PAGER,	/* help, information */
	KEYMAP_REPLAY,	/* in every view of a replay */
	KEYMAP_PROMPT,
	KEYMAP_MENU, /* layers */
	KEYMAP_MAX
};

enum { KEY_CTRL_MASK = 0x1f };
#define KEY_CONTROL(c) ((c)&KEY_CTRL_MASK)

/* The request of `key` in a view with this table. Searches the view's table, then (in a replay) the
 * replay's, then that of all views. */
enum request keys_request(enum keymap map, bool replay, int key);
/* Like keys_request(), for a prompt or menu: searches only its own table. */
enum request keys_request_only(enum keymap map, int key);

/* The request with this name; REQUEST_NONE if there is none. */
enum request request_named(const char *name);
/* True if its keys may be changed: not those of prompts and menus, and no digits that choose. */
bool keys_can_bind(enum request request);
/* The built-in keys of a request: those of all views, else those of the views that have it; at
 * most `max`. Returns their number. */
unsigned int keys_built_in(enum request request, int *key, unsigned int max);
/* Replace the keys of a request in all views that have the request. In the picker, keys that type a
 * character have no effect, because characters go to its filter. */
void keys_bind(enum request request, const int *key, unsigned int n);
/* Return to the built-in keys. */
void keys_reset(void);
/* True if a key has two meanings in one view; then `out` says which, and they are in `both`. */
bool keys_conflict(char *out, size_t size, enum request both[2]);

/* Name of a key: "Enter", "Ctrl-L", "F1", "j", "Space", "U+00E4". Returns `out`. */
char *key_name(int key, char *out, size_t size);
/* The key of a name (as key_name() writes it, or one character); -1 if there is none. */
int key_parse(const char *name);
/* All keys of a request in one table, "j, Down", at most `max` bytes; "" if none. Returns `out`. */
char *keys_of(enum keymap map, enum request request, char *out, size_t max);

/* Call `line` for each line of the help, in order: first the view's own table, then the one for all
 * views. A group line has REQUEST_NONE, keys "" and the title as text. */
struct keys_line {
	enum keymap map;
	enum request request;
	const char *keys, *name, *text;
};
typedef void keys_line_fn(void *ctx, const struct keys_line *line);
void keys_help(enum keymap map, bool replay, keys_line_fn *line, void *ctx);
