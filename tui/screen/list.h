/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list with a selected row; scrolls so that this row stays visible. */
#ifndef PEAKTOP_LIST_H
#define PEAKTOP_LIST_H

#include <stdbool.h>

#include "tui/screen/request.h"

struct list {
	int n;	      /* rows */
	int selected; /* 0..n-1; 0 when empty */
	int top;      /* first visible row; list_top() adapts it to the height */
};

/* The number of rows changed; the selection stays in range. */
void list_resize(struct list *l, int n);
void list_select(struct list *l, int row);
/* Carry out a request that moves the selection; `height` is the number of visible rows. False:
 * another kind of request. */
bool list_request(struct list *l, enum request request, int height);
/* The first visible row if `height` rows are visible. */
int list_top(const struct list *l, int height);

#endif
