/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Related peaks (OSprof, OSDI 2006, section 3.1 and the llseek case of 6.1:
 * the peak of llseek that mirrors the one of read, for which it waits): peaks
 * with the same count, the same shape and in the same slices.
 *
 * Pure: same input, same answer. docs/notes/values.md has the method.
 */
#ifndef PEAKTOP_RELATED_H
#define PEAKTOP_RELATED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/latency/model.h"

enum { RELATED_MAX = 4 };

/* One peak of one operation. */
struct related_side {
	uint32_t op;
	int peak_id;
	struct bucket_range range;
	const struct profile *profile; /* of the operation */
	const double *series;	 /* per slice, oldest first, from related_prepare(); may be NULL */
	bool scaled;		 /* the calls are not those that were counted, but estimated */
	unsigned int known_from; /* first entry of `series` in which the operation was watched */
};

/* Make a series of calls in the range per slice ready for comparison, in place. */
void related_prepare(double *series, unsigned int slices);

/*
 * How well `other` goes with `self`; both series have `slices` entries. True
 * and `out` filled when they are related, false when not (or the same peak).
 */
bool related_score(const struct related_side *self, const struct related_side *other,
		   unsigned int slices, struct peak_related *out);

/*
 * Put `one` into list[0..*nr), which is kept best first and at most
 * RELATED_MAX long. Of equal scores the lower operation and id come first.
 */
void related_insert(struct peak_related *list, unsigned int *nr, const struct peak_related *one);

#endif
