/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weighted counts: what was seen in bursts, scaled to what there was.
 *
 * Integers in, integers out, deterministic: what rounding takes from a bucket
 * in one slice is carried to the next one, so that over the run every bucket
 * and their sum stay within a few calls of the exact weighted value. A weight of
 * exactly 1 leaves counts as they are.
 */
#ifndef PEAKTOP_WEIGHT_H
#define PEAKTOP_WEIGHT_H

#include <stdint.h>

#include "bpf/buckets.h"

/* The weight num/den, at least 1. */
struct weight {
	uint64_t num, den;
};

/* Rounding carried from slice to slice, in 1/2^32 of a call. */
struct weight_carry {
	int64_t total;
	int64_t bucket[PT_BUCKETS];
};

void weight_carry_init(struct weight_carry *c);

/* num/den reduced to at least 1; den 0 gives 1. */
struct weight weight_make(uint64_t num, uint64_t den);

/*
 * out[i] = count[i] times the weight, rounded; bucket[i] says which carry is
 * its own. Results saturate at 2^62.
 */
void weight_counts(struct weight w, struct weight_carry *carry, unsigned int n,
		   const uint32_t *bucket, const uint64_t *count, uint64_t *out);

/* One figure; `carry` (start at 0) is its own, in 1/2^32. Saturates. */
uint64_t weight_figure(struct weight w, uint64_t *carry, uint64_t value);

#endif
