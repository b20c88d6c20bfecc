/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records for the tests of the model. */
#ifndef TESTS_MODEL_FEED_H
#define TESTS_MODEL_FEED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/latency/model.h"

#define MS 1000000ULL
#define SECOND 1000000000ULL

/* A fixed stream of pseudo-random numbers. */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline double rng_double(struct rng *r)
{
	return (double)(rng_next(r) >> 11) / 9007199254740992.0;
}

/* Log-normal around `median`, `doublings` wide (standard deviation). */
static inline uint64_t rng_latency(struct rng *r, double median, double doublings)
{
	double u = rng_double(r), v = rng_double(r);
	double normal = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);

	return (uint64_t)(median * exp2(doublings * normal));
}

static inline int feed_op(struct model *m, uint32_t op, enum layer layer, const char *name)
{
	struct record r = {.type = REC_OP,
			   .op = {.op = op,
				  .layer = layer,
				  .name = name,
				  .label = name,
				  .requested = "",
				  .module = "",
				  .placement = ""}};

	return model_feed(m, &r);
}

/* One slice of `op` with the histogram `p`, wholly armed, from start to end. */
static inline struct rec_profile profile_record(uint32_t op, uint64_t start_ns, uint64_t end_ns,
						const struct profile *p, uint32_t *bucket,
						uint64_t *count)
{
	struct rec_profile rec = {
	    .op = op,
	    .start_ns = start_ns,
	    .end_ns = end_ns,
	    .calls = p->calls,
	    .sum_ns = p->sum_ns,
	    .min_ns = p->min_ns,
	    .max_ns = p->max_ns,
	    .armed_ns = end_ns - start_ns,
	    .bucket = bucket,
	    .count = count,
	};

	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		if (!p->count[i])
			continue;
		bucket[rec.nr_buckets] = i;
		count[rec.nr_buckets++] = p->count[i];
	}
	return rec;
}

static inline int feed_profile_record(struct model *m, const struct rec_profile *rec)
{
	struct record r = {.type = REC_PROFILE, .profile = *rec};

	return model_feed(m, &r);
}

static inline int feed_profile(struct model *m, uint32_t op, uint64_t slice,
			       const struct profile *p)
{
	uint32_t bucket[PT_BUCKETS];
	uint64_t count[PT_BUCKETS];
	struct rec_profile rec =
	    profile_record(op, slice * SECOND, (slice + 1) * SECOND, p, bucket, count);

	return feed_profile_record(m, &rec);
}

/* One slice with one bucket, armed for a part of it. */
static inline int feed_calls(struct model *m, uint32_t op, uint64_t slice, uint64_t ns,
			     uint64_t calls, uint64_t armed_ns)
{
	uint32_t bucket = pt_bucket(ns);
	struct rec_profile rec = {
	    .op = op,
	    .start_ns = slice * SECOND,
	    .end_ns = (slice + 1) * SECOND,
	    .calls = calls,
	    .sum_ns = calls * ns,
	    .min_ns = ns,
	    .max_ns = ns,
	    .armed_ns = armed_ns,
	    .nr_buckets = 1,
	    .bucket = &bucket,
	    .count = &calls,
	};

	return feed_profile_record(m, &rec);
}

static inline int feed_tick(struct model *m, uint64_t slice)
{
	struct record r = {
	    .type = REC_TICK,
	    .tick = {.slice = slice, .start_ns = slice * SECOND, .end_ns = (slice + 1) * SECOND}};

	return model_feed(m, &r);
}

static inline int feed_sample(struct model *m, const struct rec_sample *rec)
{
	struct record r = {.type = REC_SAMPLE, .sample = *rec};

	return model_feed(m, &r);
}

static inline uint64_t profile_sum_of_counts(const struct profile *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++)
		sum += p->count[i];
	return sum;
}

#endif
