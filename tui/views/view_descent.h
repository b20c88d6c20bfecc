/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the view of a descent: view_descent.c (state and keys), view_descent_draw.c (the picture).
 */
#ifndef PEAKTOP_VIEW_DESCENT_H
#define PEAKTOP_VIEW_DESCENT_H

#include "tui/screen/descent_copy.h"
#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/view.h"

enum descent_pane { DESCENT_TREE, DESCENT_PATHS };

enum branch { BRANCH_DEFAULT = 0, BRANCH_OPEN, BRANCH_CLOSED };

struct view_descent {
	struct view view;
	uint32_t op;
	int peak;		   /* id */
	struct descent_copy *copy; /* NULL: nothing came yet */
	enum descent_pane pane;
	struct list tree, paths;
	uint32_t selected; /* number of a node: the row goes where it goes */
	bool moved;	   /* a person chose it; else the end of the first path */
	uint8_t all;	   /* enum branch, of nodes that were not asked for */
	uint8_t branch[SCREEN_DESCENT_MAX_NODES]; /* enum branch, by number */
	uint32_t *row;				  /* rows in sight: indices in copy->nodes */
	uint32_t nr_rows;
};

/* Whether there is anything below node i, and whether it is shown. */
bool view_descent_has_children(const struct view_descent *v, uint32_t i);
bool view_descent_open(const struct view_descent *v, uint32_t i);
void view_descent_draw(const struct view *view, struct grid *g, struct rect r);
/* Rows of the tree in sight in a body of this size; the same that drawing uses. */
int view_descent_tree_rows(const struct view_descent *v, int cols, int rows);
/* Rows that everything takes. */
int view_descent_height(const struct view *view, int cols);

#endif
