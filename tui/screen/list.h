/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list with a selected row; scrolls so that this row stays visible. */
#pragma once

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
/* Search in `nr` rows, around from the last to the first: the first one at which `matches`, an
 * expression of the index `i`, is true; -1 if there is none. `direction` 0 begins with row `from`,
 * +1 and -1 with the next and the previous row, and end with `from`. */
#define list_find(i, nr, from, direction, matches)                                                 \
	({                                                                                         \
		const int nr_ = (nr), from_ = (from), by_ = (direction) < 0 ? -1 : 1;              \
		int found_ = -1;                                                                   \
		for (int k_ = (direction) ? 1 : 0; nr_ > 0 && k_ <= nr_ && found_ < 0; k_++) {     \
			const int i = (from_ + nr_ + by_ * k_) % nr_;                              \
			if (matches)                                                               \
				found_ = i;                                                        \
		}                                                                                  \
		found_;                                                                            \
	})
/* The first visible row if `height` rows are visible. */
int list_top(const struct list *l, int height);
