/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to compare*.c. */
#pragma once

#include "analysis/latency/compare.h"

/* One profile, prepared for comparison. */
struct compared_profile {
	const struct profile *profile;
	double share_seen;
	double weighted; /* calls in the profile, scaled up if they were seen in bursts */
	/* calls that were really seen; these determine the sampling noise */
	double seen;
	double time; /* sum over the buckets: calls times the latency of the bucket */
	double cumulative[PT_BUCKETS + 1]; /* share of the calls below bucket i */
};

/* Share of the calls in buckets [low, high); the bounds may lie outside of all buckets. */
double side_share(const struct compared_profile *s, int low, int high);
/* Share of the time in buckets [low, high). */
double side_time_share(const struct compared_profile *s, int low, int high);

/* Returns true if share `a` of `na` calls and share `b` of `nb` calls differ by more than `sigmas`
 * standard deviations. */
bool shares_differ(double a, double na, double b, double nb, double sigmas);

/* Phase 2: appends changes of the peaks to pair->reason. */
void compare_peaks(const struct compared_profile *before, const struct compared_profile *after,
		   const struct compare_options *o, struct compare_pair *pair);

/* Phase 3 found a difference that no peak explains: appends a description. `drift`: tolerance in
 * buckets. */
void compare_shape(const struct compared_profile *before, const struct compared_profile *after,
		   int drift, struct compare_pair *pair);

void compare_add_reason(struct compare_pair *pair, struct compare_reason reason);
