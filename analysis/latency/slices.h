/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time-lapse slices of one operation (OSprof, section 3.1: sampled
 * profiles), oldest first, sparse, at most MODEL_MAX_SLICES.
 */
#ifndef PEAKTOP_SLICES_H
#define PEAKTOP_SLICES_H

#include <stddef.h>

#include "analysis/latency/model.h"

struct slices {
	struct slice *slice; /* their bucket and count arrays are owned here */
	unsigned int nr, cap;
	size_t bytes; /* of all memory held */
};

void slices_init(struct slices *s);
void slices_release(struct slices *s);

/*
 * Append a copy of `slice`; one that starts with the last is added to it, and so is one that makes
 * no more than `interval_ns` with it if both tell of a burst and the gap before it. When
 * MODEL_MAX_SLICES are held the older half is coarsened first. Returns 0,
 * -ENOMEM, or -EINVAL for a slice that begins before the end of the last one.
 */
int slices_add(struct slices *s, const struct slice *slice, uint64_t interval_ns);

/* Merge the slices of the older half pairwise. Returns 0 or -ENOMEM (fewer or none were merged). */
int slices_coarsen(struct slices *s);

#endif
