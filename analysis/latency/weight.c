// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/weight.h"

typedef unsigned __int128 u128;

static const uint64_t max_count = 1ULL << 62;
static const int64_t one_call = 1LL << 32;

void weight_carry_init(struct weight_carry *c)
{
	memset(c, 0, sizeof(*c));
	/* start at half a call, to round the sum to the nearest call */
	c->total = one_call / 2;
}

struct weight weight_make(uint64_t num, uint64_t den)
{
	struct weight one = {1, 1}, w = {num, den};

	return !den || num <= den ? one : w;
}

/* Returns the whole part of count * w (saturating), and the fraction in 1/2^32. */
static uint64_t scale(struct weight w, uint64_t count, uint32_t *fraction)
{
	u128 x = (u128)count * w.num;
	u128 whole = x / w.den;

	*fraction = (uint32_t)(((x % w.den) << 32) / w.den);
	if (whole > max_count) {
		*fraction = 0;
		return max_count;
	}
	return (uint64_t)whole;
}

/* Rounds the largest fractions up (the first of equal ones) until less than one call is left. If
 * buckets outside this slice hold much of the carry, a bucket of this slice may get up to one call
 * more than its own. */
static void round_up(unsigned int n, const uint32_t *bucket, struct weight_carry *carry,
		     uint64_t *out)
{
	while (carry->total >= one_call) {
		unsigned int best = n;
		int64_t most = -one_call;

		for (unsigned int i = 0; i < n; i++) {
			if (carry->bucket[bucket[i]] > most) {
				most = carry->bucket[bucket[i]];
				best = i;
			}
		}
		if (best == n)
			return;
		out[best]++;
		carry->bucket[bucket[best]] -= one_call;
		carry->total -= one_call;
	}
}

/* Largest remainder method: rounds every bucket down, then as many buckets up as the carried sum
 * has whole calls. The rounding error of a bucket stays in its own carry. */
void weight_counts(struct weight w, struct weight_carry *carry, unsigned int n,
		   const uint32_t *bucket, const uint64_t *count, uint64_t *out)
{
	if (!n)
		return;
	if (w.num == w.den) {
		memcpy(out, count, n * sizeof(*out));
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		int64_t *own = &carry->bucket[bucket[i]];
		uint32_t fraction;
		uint64_t whole = scale(w, count[i], &fraction);
		int64_t calls;

		*own += fraction;
		carry->total += fraction;
		calls = *own >> 32; /* rounds down, also for negative values */
		if (calls < 0 && whole < (uint64_t)-calls)
			calls = -(int64_t)whole;
		out[i] = whole + (uint64_t)calls;
		*own -= calls * one_call;
		carry->total -= calls * one_call;
	}
	round_up(n, bucket, carry, out);
}

uint64_t weight_figure(struct weight w, uint64_t *carry, uint64_t value)
{
	uint32_t fraction;
	uint64_t whole;

	if (w.num == w.den)
		return value;
	whole = scale(w, value, &fraction);
	*carry += fraction;
	whole += *carry >> 32;
	*carry &= 0xffffffff;
	return whole;
}
