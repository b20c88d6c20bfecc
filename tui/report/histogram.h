/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws a histogram as lines of text: one row per bucket from low to high latency, with bars in
 * proportion to the logarithm of the count. Peaks have brackets and a number at their modes.
 * Consecutive empty rows are drawn as one row. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"

struct histogram_options {
	unsigned int resolution; /* 1, 2, 4, 8; made coarser until max_rows is enough */
	unsigned int columns;
	unsigned int max_rows;
	bool ascii;
};

/* Append the histogram to `out`; an empty profile appends nothing. Returns 0, -ENOMEM or -E2BIG. */
int histogram_append(struct buf *out, const struct op *op, const struct histogram_options *o);
