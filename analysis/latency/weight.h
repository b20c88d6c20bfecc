/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scales counts that were seen in bursts up to the counts of the whole time.
 *
 * Integers in, integers out, deterministic. The rounding error of a bucket in one slice is carried
 * to the next slice. Over the run, every bucket and their sum stay within a few calls of the exact
 * scaled value. A weight of exactly 1 leaves counts unchanged.
 */
#pragma once

#include "bpf/buckets.h"

/* The weight num/den, at least 1. */
struct weight {
	uint64_t num, den;
};

/* Rounding errors carried from slice to slice, in 1/2^32 of a call. */
struct weight_carry {
	int64_t total;
	int64_t bucket[PT_BUCKETS];
};

void weight_carry_init(struct weight_carry *c);

/* Returns the weight num/den, but at least 1; den 0 gives 1. */
struct weight weight_make(uint64_t num, uint64_t den);

/* Sets out[i] to count[i] times the weight, rounded; bucket[i] is the index of its carry. Results
 * saturate at 2^62. */
void weight_counts(struct weight w, struct weight_carry *carry, unsigned int n,
		   const uint32_t *bucket, const uint64_t *count, uint64_t *out);

/* Returns one value times the weight. `carry` belongs to this value alone, starts at 0 and is in
 * 1/2^32. Saturates. */
uint64_t weight_figure(struct weight w, uint64_t *carry, uint64_t value);
