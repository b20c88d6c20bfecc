/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who calls a system call that is descended into, as rows of the screen. */
#pragma once

#include "analysis/descent/descent.h"
#include "tui/engine/descent_driver.h"

enum { CALLER_ROWS = 4, CALLER_BYTES = 256 };

struct caller_rows {
	unsigned int nr;
	struct caller_row {
		double share; /* of the time of the calls */
		char text[CALLER_BYTES];
	} row[CALLER_ROWS];
};

/* The call paths to f0, the heaviest first, each by three of its functions: the innermost one of
 * another module than the last, which is seldom the user's own, the one that it calls, and the
 * last. If all are of one module, by the innermost three. Paths that read the same are one row;
 * those that end at the last function, because a stack could not be unwound, are left out. None if
 * f0 is a function. */
void caller_rows_of(const struct descent_driver *d, const struct descent_result *r,
		    struct caller_rows *out);
