/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A latency profile: the histogram of one operation (OSprof, OSDI 2006,
 * section 3), always kept at resolution 8 (see bpf/buckets.h).
 *
 * Pure values: no ownership, copy and compare freely. Times in ns.
 */
#pragma once

#include "bpf/buckets.h"

struct profile {
	uint64_t calls; /* the sum of count[], if the profile adds up */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns; /* 0 when calls == 0 */
	uint64_t count[PT_BUCKETS];
};

/* A half-open run of buckets at resolution 8: low <= bucket < high. */
struct bucket_range {
	unsigned int low, high;
};

/* The sum, or UINT64_MAX if it is larger. */
static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void profile_init(struct profile *p);
/* Adds all of `from`, saturating. */
void profile_merge(struct profile *p, const struct profile *from);
/*
 * OSprof's checksum between two readings of a histogram that is being counted: returns the number
 * of calls to put into the record.
 *
 * The BPF programs add a call to its bucket first and to `calls` afterwards; a reader takes `calls`
 * first. Therefore the buckets now hold at least `calls`, and `calls` is at least the sum of the
 * buckets at the previous reading, except for calls that were being counted at that moment. If both
 * hold, returns the increase of the buckets. Else returns another number, which the model reports
 * as damage.
 */
uint64_t profile_calls_gained(uint64_t calls, uint64_t buckets_before, uint64_t buckets_now);
/* Returns the smallest integer latency of a bucket at resolution r (low), and of the next bucket
 * (high). */
uint64_t bucket_low_ns(unsigned int bucket, unsigned int resolution);
uint64_t bucket_high_ns(unsigned int bucket, unsigned int resolution);
/* Returns the calls in bucket `i` at resolution r: 1, 2, 4 or 8. */
uint64_t profile_count(const struct profile *p, unsigned int i, unsigned int resolution);
/* Returns the number of buckets at resolution r. */
unsigned int bucket_total(unsigned int resolution);
/* Returns the estimated total latency of the calls in `range`: bucket counts times their geometric
 * mean, scaled so that all ranges together give sum_ns. */
uint64_t profile_range_sum(const struct profile *p, struct bucket_range range);
uint64_t profile_range_calls(const struct profile *p, struct bucket_range range);
/* Returns the latency below which the share q (0..1) of the calls lies, interpolated geometrically
 * within its bucket. */
uint64_t profile_quantile(const struct profile *p, double q);
/* The same for the calls in `range`. The true value lies in the same bucket as the result, so they
 * differ by less than 2^(1/PT_RESOLUTION), 9%. 0: no call is in the range. */
uint64_t profile_range_quantile(const struct profile *p, struct bucket_range range, double q);
