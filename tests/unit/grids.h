/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_GRIDS_H
#define TESTS_GRIDS_H

#include <string.h>

#include "tui/screen/grid.h"

/* True if both look the same (size, cells, cursor). */
static inline bool grid_equal(const struct grid *a, const struct grid *b)
{
	return a->cols == b->cols && a->rows == b->rows && a->cursor_x == b->cursor_x &&
	       a->cursor_y == b->cursor_y &&
	       !memcmp(a->cells, b->cells, (size_t)a->cols * (size_t)a->rows * sizeof(*a->cells));
}

#endif
