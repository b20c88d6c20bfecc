/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A latency profile: the histogram of one operation (OSprof, OSDI 2006,
 * section 3), always kept at resolution 8 (see bpf/buckets.h).
 *
 * Pure values: no ownership, copy and compare freely. Times in ns.
 */
#ifndef PEAKTOP_PROFILE_H
#define PEAKTOP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/buckets.h"

struct profile {
	uint64_t calls; /* = sum of count[] when it adds up */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns; /* 0 when calls == 0 */
	uint64_t count[PT_BUCKETS];
};

/* A half-open run of buckets at resolution 8: low <= bucket < high. */
struct bucket_range {
	unsigned int low, high;
};

void profile_init(struct profile *p);
/* Count one latency. */
void profile_add(struct profile *p, uint64_t ns);
/* Add all of `from` (saturating). */
void profile_merge(struct profile *p, const struct profile *from);
/* OSprof's checksum: do the buckets add up to `calls`? */
bool profile_adds_up(const struct profile *p);
/*
 * OSprof's checksum between two readings of a histogram that is being counted: the calls that a
 * record tells. The kernel's programs add a call to its bucket first and to `calls` then, and a
 * reader takes `calls` first. So the buckets now hold at least `calls`, and `calls` at least what
 * the buckets held at the reading before, but for calls that were just being counted then. If this
 * holds, returns what the buckets have gained; else another number, which the model reports.
 */
uint64_t profile_calls_gained(uint64_t calls, uint64_t buckets_before, uint64_t buckets_now);
/* Smallest integer latency of a bucket at resolution r, and of the next one: [low, high). */
uint64_t bucket_low_ns(unsigned int bucket, unsigned int resolution);
uint64_t bucket_high_ns(unsigned int bucket, unsigned int resolution);
/* Calls in bucket `i` at resolution r, 1, 2, 4 or 8. */
uint64_t profile_count(const struct profile *p, unsigned int i, unsigned int resolution);
/* Number of buckets at resolution r. */
unsigned int bucket_total(unsigned int resolution);
/*
 * Estimated total latency of the calls in `range`: bucket counts times their
 * geometric mean, scaled so that all ranges together give sum_ns.
 */
uint64_t profile_range_sum(const struct profile *p, struct bucket_range range);
uint64_t profile_range_calls(const struct profile *p, struct bucket_range range);
/* Latency below which the share q (0..1) of the calls lie, interpolated geometrically in its
 * bucket. */
uint64_t profile_quantile(const struct profile *p, double q);

#endif
