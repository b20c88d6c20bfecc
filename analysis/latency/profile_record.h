/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile and the record that carries one (REC_PROFILE, REC_SAVED_PROFILE). Pure. */
#pragma once

#include "analysis/latency/profile.h"
#include "analysis/session/record.h"

/* Fills *out with the calls of a record. Returns 0, or -EINVAL if it names a bucket that does not
 * exist. */
int profile_of_record(struct profile *out, const struct rec_profile *r);

/* The buckets of a record that profile_to_record() fills. */
struct profile_buckets {
	uint32_t bucket[PT_BUCKETS];
	uint64_t count[PT_BUCKETS];
};
/* Fills *out with the calls of operation `op`. Its arrays are in `b`, which must outlive it. */
void profile_to_record(const struct profile *p, uint32_t op, struct profile_buckets *b,
		       struct rec_profile *out);
