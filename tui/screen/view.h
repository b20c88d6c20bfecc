/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views: each kind of view has a struct and a table of methods, and stands on the stack of a struct
 * screen. The tick() of a view copies data from the model; drawing uses only this copy. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/screen/grid.h"
#include "tui/screen/keys.h"
#include "tui/screen/request.h"
#include "tui/screen/screen.h"

struct view;

/* The target of a click on the heading of a column: this and the number of the sort order. */
enum { TARGET_HEADING = 1 << 20 };

/* A hint on the bottom line: its key is looked up in the key tables. */
struct view_hint {
	enum request request;
	const char *text;
};

/* Methods marked optional may be NULL. */
struct view_methods {
	const char *name; /* of this kind of view, for the status line and for file names */
	enum keymap keymap;
	const struct view_hint *hints; /* ends with REQUEST_NONE */
	bool travels; /* shows screen_model(): in the past, what was measured then */
	void (*close)(struct view *v); /* free the view */
	void (*draw)(const struct view *v, struct grid *g, struct rect r);
	/* optional: handle a key before the key tables; true = handled */
	bool (*key)(struct view *v, int key);
	/* optional: true while characters that are keys elsewhere are typed into the view */
	bool (*types)(const struct view *v);
	/* optional: false if this request would be refused, or do nothing, now */
	bool (*offers)(const struct view *v, enum request request);
	/* optional: what REQUEST_OPEN does now, for the hints; NULL: as they say */
	const char *(*opens)(const struct view *v);
	/* carry out a request; false = not for this view */
	bool (*request)(struct view *v, enum request request, int key);
	/* optional: copy the shown data again; while paused called only once, at the beginning */
	void (*tick)(struct view *v);
	/* optional: the rows of the whole view with `cols` columns */
	int (*height)(const struct view *v, int cols);
	/* optional: go to the next (+1) or previous (-1) match of the text, or
	 * (0) show what matches while it is typed; false = no match */
	bool (*find)(struct view *v, const char *text, int direction);
	/* optional: a click at column x and row y of a target that draw() marked with
	 * grid_target(), whose number is not negative. True: it selected something, and a second
	 * click does what REQUEST_OPEN does */
	bool (*click)(struct view *v, int target, int x, int y);
	/* optional: take the present list of processes */
	void (*processes)(struct view *v, const struct picker_process *list, size_t n);
};

struct view {
	const struct view_methods *methods;
	struct screen *screen;
	struct view *below; /* in the stack; NULL at the root */
};

/* The views that the screen opens by itself (tui/views/views.h has them). Each function returns a
 * new view that is not yet on the stack, or NULL without memory. */
struct screen_diff;
struct screen_views {
	struct view *(*picker)(struct screen *s);
	struct view *(*operations)(struct screen *s);
	/* `peak` is the id to choose, 0: the one with the most time. */
	struct view *(*operation)(struct screen *s, uint32_t op, int peak);
	struct view *(*help)(struct screen *s, enum keymap of);
	struct view *(*information)(struct screen *s);
	struct view *(*events)(struct screen *s);
	struct view *(*slow_calls)(struct screen *s);
	struct view *(*threads)(struct screen *s);
	struct view *(*waits)(struct screen *s, enum screen_waits what);
	struct view *(*diff)(struct screen *s, const struct screen_diff *d);
};
