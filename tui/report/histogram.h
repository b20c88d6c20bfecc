/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram as lines of text: one row a bucket from low to high latency, bars
 * in proportion to the logarithm of the count, peaks bracketed and numbered at
 * their modes. Runs of empty rows are drawn as one.
 */
#ifndef PEAKTOP_HISTOGRAM_H
#define PEAKTOP_HISTOGRAM_H

#include <stdbool.h>

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"

struct histogram_options {
	unsigned int resolution; /* 1, 2, 4, 8; made coarser until max_rows is enough */
	unsigned int columns;
	unsigned int max_rows;
	bool ascii;
};

/* Append it to `out`. Returns 0, -ENOMEM or -E2BIG. Nothing for an empty profile. */
int histogram_append(struct buf *out, const struct op *op, const struct histogram_options *o);

#endif
