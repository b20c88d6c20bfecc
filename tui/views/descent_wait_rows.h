/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a descent below a path that waits: for whom it waits, and what those did. Private to
 * tui/views. */
#pragma once

#include "tui/report/output_descend.h"
#include "tui/screen/screen_descent.h"

enum { WAIT_ROW_BYTES = 512, WAIT_CHAIN_BYTES = 1024, WAIT_ROW_DEPTH = 64 };

/* A layer of a chain. */
struct wait_row {
	unsigned int depth; /* below the end of the path: 0 .. WAIT_ROW_DEPTH - 1 */
	double share;	    /* of the time of the path */
	char words[WAIT_ROW_BYTES];
	char stack[WAIT_ROW_BYTES]; /* "": not known */
};

/* The rows of one path. */
struct wait_rows {
	uint32_t nr;
	struct wait_row *row;	      /* in preorder */
	char chain[WAIT_CHAIN_BYTES]; /* the largest chain in one line; "": there is none */
};

/* 0 or -ENOMEM; release *out in both cases. */
int wait_rows_find(const struct descend_report *report, const struct descent_result *r,
		   const struct descent_path *p, struct wait_rows *out);
void wait_rows_release(struct wait_rows *w);

/* The number of a row that is shown below node `parent`: the same each time that the tree is
 * computed again. `used` has SCREEN_DESCENT_WAITS flags, zero for the first row. */
uint32_t wait_row_number(bool *used, uint32_t parent, const char *words);
