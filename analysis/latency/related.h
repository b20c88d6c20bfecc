/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds related peaks: peaks with the same count, the same shape and in the same slices (OSprof,
 * OSDI 2006, section 3.1, and the llseek case of 6.1: llseek waits for read, so its peak mirrors
 * the peak of read).
 *
 * Pure: same input, same answer. docs/notes/values.md has the method.
 */
#pragma once

#include "analysis/latency/model.h"

enum { RELATED_MAX = 4 };

/* One peak of one operation. */
struct related_side {
	uint32_t op;
	int peak_id;
	struct bucket_range range;
	const struct profile *profile; /* profile of the operation */
	/* calls per slice, oldest first, from related_prepare(); may be NULL */
	const double *series;
	const double *all;	 /* calls of the whole operation in these slices; may be NULL */
	bool scaled;		 /* the counts are scaled up from bursts */
	unsigned int known_from; /* first entry of `series` in which the operation was watched */
};

/* Prepares a series of calls per slice for comparison, in place. */
void related_prepare(double *series, unsigned int slices);

/* Compares two peaks; both series have `slices` entries. Returns true and fills *out if they are
 * related; false if not, or if both are of one operation. */
bool related_score(const struct related_side *self, const struct related_side *other,
		   unsigned int slices, struct peak_related *out);

/* Inserts `one` into list[0..*nr), which is kept best first and has at most RELATED_MAX entries.
 * Among equal scores the lower operation and id come first. */
void related_insert(struct peak_related *list, unsigned int *nr, const struct peak_related *one);
