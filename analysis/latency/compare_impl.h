/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to compare*.c. */
#ifndef PEAKTOP_COMPARE_IMPL_H
#define PEAKTOP_COMPARE_IMPL_H

#include "analysis/latency/compare.h"

/* One profile, made ready for tests: shares instead of counts, and what was really seen. */
struct side {
	const struct profile *profile;
	double share_seen;
	double weighted; /* calls as counted */
	double seen;	 /* calls that were really seen: what the certainty depends on */
	double time;	 /* sum of bucket times counts */
	double cumulative[PT_BUCKETS + 1]; /* share of the calls below bucket i */
};

/* Share of the calls in buckets [low, high), which may lie outside of all buckets. */
double side_share(const struct side *s, int low, int high);
/* Share of the time in them. */
double side_time_share(const struct side *s, int low, int high);

/* Is share `a` of `na` calls different from share `b` of `nb` by more than `sigmas` standard
 * deviations? */
bool shares_differ(double a, double na, double b, double nb, double sigmas);

/* Phase 2: append what happened to the peaks to pair->reason. */
void compare_peaks(const struct side *before, const struct side *after,
		   const struct compare_options *o, struct compare_pair *pair);

/* Phase 3 found a difference that no peak accounts for: append what it is. `drift`: tolerance in
 * buckets. */
void compare_shape(const struct side *before, const struct side *after, int drift,
		   struct compare_pair *pair);

void compare_add_reason(struct compare_pair *pair, struct compare_reason reason);

#endif
