/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency profiles for tests. */
#ifndef TESTS_PROFILES_H
#define TESTS_PROFILES_H

#include "analysis/latency/profile.h"

/* Count one latency. */
static inline void profile_add(struct profile *p, uint64_t ns)
{
	unsigned int i = pt_bucket(ns);

	if (!p->calls || ns < p->min_ns)
		p->min_ns = ns;
	if (!p->calls || ns > p->max_ns)
		p->max_ns = ns;
	p->calls = add_saturating(p->calls, 1);
	p->sum_ns = add_saturating(p->sum_ns, ns);
	p->count[i] = add_saturating(p->count[i], 1);
}

/* Returns true if the buckets add up to `calls` (OSprof's checksum). */
static inline bool profile_adds_up(const struct profile *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		if (p->count[i] > p->calls - sum)
			return false;
		sum += p->count[i];
	}
	return sum == p->calls;
}

#endif
