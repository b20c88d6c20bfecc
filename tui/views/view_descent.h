/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the view of a descent: view_descent.c (state and keys) and view_descent_draw.c
 * (drawing), view_descent_parts.c (the parts of all time). */
#pragma once

#include "tui/screen/descent_copy.h"
#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/view.h"

enum descent_pane { DESCENT_TREE, DESCENT_PATHS };

enum branch { BRANCH_DEFAULT = 0, BRANCH_OPEN, BRANCH_CLOSED };

struct view_descent {
	struct view view;
	uint32_t op;
	int peak;		   /* id; 0: all parts of the operation's time */
	uint32_t part;		   /* the part that is shown; 0: there are none */
	struct descent_copy *copy; /* NULL: no state arrived yet */
	enum descent_pane pane;
	struct list tree, paths;
	uint32_t selected; /* number of the selected node; the selected row follows it */
	bool moved;  /* the user moved the selection; else the end of the first path is selected */
	uint8_t all; /* enum branch of nodes with BRANCH_DEFAULT */
	uint8_t branch[SCREEN_DESCENT_MAX_NODES]; /* enum branch, by number */
	uint32_t *row;				  /* rows of the tree: indices in copy->nodes */
	uint32_t nr_rows, cap_rows;
};

/* Targets of clicks: a row of the tree, or one of these and the index of a path or a part. */
enum { DESCENT_TARGET_PATH = 1 << 16, DESCENT_TARGET_PART = 1 << 17 };

/* True if node i has children; true if they are shown. */
bool view_descent_has_children(const struct view_descent *v, uint32_t i);
bool view_descent_open(const struct view_descent *v, uint32_t i);
/* Draw the operation and its parts; if not all fit, those around the shown one. */
void view_descent_draw_parts(const struct view_descent *v, struct grid *g, struct rect r);
void view_descent_draw(const struct view *view, struct grid *g, struct rect r);
/* The number of visible rows of the tree in a body of this size. */
int view_descent_tree_rows(const struct view_descent *v, int cols, int rows);
/* The number of rows of the whole view. */
int view_descent_height(const struct view *view, int cols);
