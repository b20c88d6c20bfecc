// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/profile_record.h"

int profile_of_record(struct profile *out, const struct rec_profile *r)
{
	profile_init(out);
	for (uint32_t i = 0; i < r->nr_buckets; i++) {
		if (r->bucket[i] >= PT_BUCKETS)
			return -EINVAL;
		out->count[r->bucket[i]] = add_saturating(out->count[r->bucket[i]], r->count[i]);
	}
	out->calls = r->calls;
	out->sum_ns = r->sum_ns;
	out->min_ns = r->min_ns;
	out->max_ns = r->max_ns;
	return 0;
}

void profile_to_record(const struct profile *p, uint32_t op, struct profile_buckets *b,
		       struct rec_profile *out)
{
	*out = (struct rec_profile){.op = op,
				    .calls = p->calls,
				    .sum_ns = p->sum_ns,
				    .min_ns = p->min_ns,
				    .max_ns = p->max_ns,
				    .bucket = b->bucket,
				    .count = b->count};
	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		if (!p->count[i])
			continue;
		b->bucket[out->nr_buckets] = i;
		b->count[out->nr_buckets++] = p->count[i];
	}
}
