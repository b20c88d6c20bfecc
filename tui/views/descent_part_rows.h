/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an operation's time, for the screen: rows above the answer about one of them. */
#pragma once

#include "tui/report/output_descend_parts.h"
#include "tui/screen/screen_descent.h"

/* The texts of the rows. */
struct part_rows {
	struct buf operation, calls[FRAME_MAX_PARTS], answer[FRAME_MAX_PARTS];
	struct screen_descent_part part[FRAME_MAX_PARTS];
};

/* Adds the parts of `whole` to *d, if there are several; `shown` is the driver of the one that *d
 * is about. *d points into *rows. */
void part_rows_add(const struct descend_report *whole, const struct descent_driver *shown,
		   struct part_rows *rows, struct screen_descent *d);
void part_rows_release(struct part_rows *rows);
