/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the list of operations: view_ops.c (state and keys) and view_ops_draw.c (drawing). */
#pragma once

#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"
#include "tui/views/op_rows.h"

struct view_operations {
	struct view view;
	struct op_rows rows;
	struct list list;
	uint32_t selected; /* operation number; 0: the top row */
	char note[256];	   /* the latest note */
	char own[96];	   /* how much CPU the targets use outside of system calls; "": not much */
	size_t nr_notes;
	bool last_slice; /* figures of the last slice, not of the whole run */
	char span[64];	 /* the span of the past that the rows are of; "": none */
};

void view_ops_draw(const struct view *v, struct grid *g, struct rect r);
/* The number of rows of the whole view. */
int view_ops_height(const struct view *v, int cols);

/* The mask of the columns that are shown at the present width. */
uint32_t view_ops_columns(const struct view_operations *o);
/* Sort the list, also one that is opened later. */
void view_ops_sort(struct view_operations *o, enum row_order order, bool reverse);
/* The menu of columns, which changes the list `o` below it. */
struct view *view_columns_new(struct view_operations *o);
