/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time-lapse slices of one operation (OSprof, section 3.1: sampled profiles): oldest first,
 * only buckets with calls, at most MODEL_MAX_SLICES. */
#pragma once

#include "analysis/latency/model.h"

struct slices {
	struct slice *slice; /* the list owns the arrays `bucket` and `count` of its slices */
	unsigned int nr, cap;
	size_t bytes; /* bytes of memory that the list holds */
};

void slices_init(struct slices *s);
void slices_release(struct slices *s);

/* Appends a copy of `slice`. A slice with the start of the last one is added to that. If both are
 * bursts with the gap before, and together they last at most `interval_ns`, they become one slice.
 * If the list has MODEL_MAX_SLICES, its older half is merged pairwise first. Returns 0, -ENOMEM, or
 * -EINVAL if the slice begins before the end of the last one. */
int slices_add(struct slices *s, const struct slice *slice, uint64_t interval_ns);

/* Merges the slices of the older half pairwise. Returns 0, or -ENOMEM if fewer or none were
 * merged. */
int slices_coarsen(struct slices *s);
