/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed between two sessions: the operations that both measured, compared by compare.h.
 * An operation that only one of them measured is no change. Pure. */
#pragma once

#include "analysis/latency/compare.h"
#include "analysis/latency/model.h"

/* Why an operation is left out of the comparison. */
enum diff_left_out {
	DIFF_ONLY_BEFORE, /* only the first session measured it */
	DIFF_ONLY_AFTER,
	DIFF_TOO_FAST, /* most of its latencies are below what probes can measure */
	DIFF_REASONS
};

struct diff_omission {
	const struct op *op;
	enum diff_left_out why;
};

struct diff_pair {
	const struct compare_pair *compared;
	const struct op *before, *after; /* NULL: it was not called there */
};

struct diff {
	struct compare_result result;
	struct diff_pair *pair; /* as many as, and in the order of, result.pair */
	unsigned int nr_omitted;
	struct diff_omission *omitted;
	unsigned int nr_shared; /* operations that both sessions measured */
	struct compare_item *items[2];
};

/* True if a process of one session runs the same program as one of the other: the same name of its
 * file, in whatever folder, or of the process. */
bool diff_same_program(const struct model *before, const struct model *after);

/* Compare two sessions that were read to their ends. The models must outlive *d and take no more
 * records. Returns 0 or -ENOMEM; release *d with diff_release(). */
int diff_models(struct model *before, struct model *after, struct diff *d);
void diff_release(struct diff *d);
