/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list with a selected row, scrolled so that the row stays in sight. Plain values. */
#ifndef PEAKTOP_LIST_H
#define PEAKTOP_LIST_H

#include <stdbool.h>

#include "tui/screen/request.h"

struct list {
	int n;	      /* rows */
	int selected; /* 0..n-1; 0 when empty */
	int top;      /* first row in sight, before fitting */
};

/* The number of rows changed; the selection stays in range. */
void list_resize(struct list *l, int n);
void list_select(struct list *l, int row);
/* Carry out a request to move; `height` is the number of rows in sight. False: not about moving. */
bool list_request(struct list *l, enum request request, int height);
/* The first row in sight when `height` rows are. */
int list_top(const struct list *l, int height);

#endif
