/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampled calls for the tests of value correlation. */
#ifndef TESTS_VALUE_SET_H
#define TESTS_VALUE_SET_H

#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_feed.h"

#include "analysis/latency/values.h"

enum { MAX_CALLS = 2000 };

struct set {
	struct call_sample calls[MAX_CALLS];
	const struct call_sample *call[MAX_CALLS];
	double weight[MAX_CALLS];
	unsigned int n;
	struct rng rng, halves;
	struct values out;
	const char *parameters; /* of the function, or NULL */
};

/* Calls of the peak take 2 ms, the others 10 us. */
static const uint64_t slow_ns = 2 * MS, fast_ns = 10000;

static inline struct bucket_range slow_range(void)
{
	struct bucket_range r = {pt_bucket(slow_ns) - 4, pt_bucket(slow_ns) + 4};

	return r;
}

static inline struct call_sample *add(struct set *s, bool slow)
{
	struct call_sample *c = &s->calls[s->n];

	assert_true(s->n < MAX_CALLS);
	memset(c, 0, sizeof(*c));
	c->latency_ns = slow ? slow_ns : fast_ns;
	c->chance_ppm = 1000000;
	c->held_out = rng_next(&s->halves) & 1;
	s->call[s->n] = c;
	s->weight[s->n++] = 1;
	return c;
}

static inline struct set *set_new(uint64_t seed)
{
	struct set *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->rng.state = seed;
	return s;
}

static inline void find(struct set *s, enum layer layer, const char *name)
{
	const struct op op = {.layer = layer, .name = name, .parameters = s->parameters};
	struct value_table *t = value_table_new(s->call, s->weight, s->n, &op);

	assert_non_null(t);
	values_find(t, slow_range(), &s->out);
	value_table_free(t);
}

static inline void expect(const struct set *s, unsigned int i, const char *name, const char *text)
{
	assert_true(i < s->out.nr);
	assert_string_equal(s->out.value[i].name, name);
	assert_string_equal(s->out.value[i].text, text);
}

static inline bool chance(struct set *s, double p)
{
	return rng_double(&s->rng) < p;
}

#endif
