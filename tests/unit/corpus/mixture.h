/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Synthetic profiles with known peaks. A profile is drawn from a mixture of
 * distributions; its label (the modes) comes from the mixture's own
 * distribution function: the counts that are expected, without noise, bucket
 * by bucket. A mixture serves as a test only if that curve is unambiguous: every
 * dip in it is either at least one doubling deep and carried by enough calls,
 * or next to nothing. Nothing here knows of the detector.
 */
#ifndef PEAKTOP_TEST_MIXTURE_H
#define PEAKTOP_TEST_MIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/latency/profile.h"

enum {
	MIXTURE_MAX = 8,
	MIXTURE_MAX_MODES = 16,
};

enum shape {
	SHAPE_NORMAL, /* log-normal: mean `at`, deviation `spread`, in doublings */
	SHAPE_TAIL, /* the same with deviation 0.15, plus an exponential of mean `spread`: Pareto */
	SHAPE_EXPONENTIAL, /* of a queue: mean 2^at ns */
	SHAPE_SHIFTED,	   /* 2^at ns plus an exponential of mean 2^(at + spread) ns */
};

struct component {
	enum shape shape;
	double at, spread; /* log2 ns */
	double weight;
};

struct mixture {
	unsigned int nr;
	struct component part[MIXTURE_MAX];
	double calls;	     /* expected */
	double step_ns;	     /* of the clock: 1 or more */
	unsigned int strays; /* single calls far away, which are no peak */
};

struct mode {
	unsigned int bucket;
	double low, high; /* buckets within which a mode is right */
};

struct random {
	uint64_t state;
};

static inline uint64_t random_bits(struct random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* In (0, 1). */
static inline double random_unit(struct random *r)
{
	return ((double)(random_bits(r) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double random_between(struct random *r, double low, double high)
{
	return low + (high - low) * random_unit(r);
}

static inline double random_normal(struct random *r)
{
	double radius = sqrt(-2 * log(random_unit(r)));

	return radius * cos(2 * M_PI * random_unit(r));
}

static inline uint64_t random_poisson(struct random *r, double mean)
{
	double limit, product = 1;
	uint64_t n = 0;

	if (mean <= 0)
		return 0;
	if (mean > 200) {
		double x = mean + sqrt(mean) * random_normal(r) + 0.5;

		return x > 0 ? (uint64_t)x : 0;
	}
	limit = exp(-mean);
	while ((product *= random_unit(r)) > limit)
		n++;
	return n;
}

static inline double normal_below(double x)
{
	return 0.5 * erfc(-x / M_SQRT2);
}

/* Share of the component below 2^x ns. */
static inline double component_below(const struct component *c, double x)
{
	const double deviation = 0.15;
	double u, k, v;

	switch (c->shape) {
	case SHAPE_NORMAL:
		return normal_below((x - c->at) / c->spread);
	case SHAPE_TAIL:
		u = (x - c->at) / deviation;
		k = deviation / c->spread;
		v = normal_below(u) - exp(k * k / 2 - k * u) * normal_below(u - k);
		return v > 0 ? v : 0;
	case SHAPE_EXPONENTIAL:
		return -expm1(-exp2(x - c->at));
	case SHAPE_SHIFTED:
		return x <= c->at ? 0 : -expm1(-(exp2(x - c->at) - 1) / exp2(c->spread));
	}
	return 0;
}

static inline double mixture_below(const struct mixture *m, double x)
{
	double sum = 0, all = 0;

	for (unsigned int i = 0; i < m->nr; i++) {
		sum += m->part[i].weight * component_below(&m->part[i], x);
		all += m->part[i].weight;
	}
	return sum / all;
}

/* Expected counts, as of a perfect clock. */
static inline void mixture_expected(const struct mixture *m, double *expected)
{
	double below = mixture_below(m, 0), next;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		next = mixture_below(m, (i + 1) / 8.0);
		expected[i] = m->calls * (next - below);
		below = next;
	}
}

static inline void mixture_count(struct profile *p, uint64_t ns, uint64_t n)
{
	if (!n)
		return;
	p->count[pt_bucket(ns)] += n;
	if (!p->calls || ns < p->min_ns)
		p->min_ns = ns;
	if (ns > p->max_ns)
		p->max_ns = ns;
	p->calls += n;
	p->sum_ns += n * ns;
}

/*
 * Draw a profile: multiples of the clock's step one by one up to 2048 of them,
 * buckets beyond, each with Poisson noise.
 */
static inline void mixture_draw(const struct mixture *m, struct random *r, struct profile *p)
{
	double x = log2(2048.5 * m->step_ns), below = 0, next;
	uint64_t ns;

	profile_init(p);
	for (unsigned int k = 0; k <= 2048; k++) {
		ns = (uint64_t)(k * m->step_ns + 0.5);
		next = mixture_below(m, log2((k + 0.5) * m->step_ns));
		mixture_count(p, ns, random_poisson(r, m->calls * (next - below)));
		below = next;
	}
	for (unsigned int i = (unsigned int)(x * 8); i < PT_BUCKETS; i++) {
		next = mixture_below(m, (i + 1) / 8.0);
		ns = (bucket_low_ns(i, 8) + bucket_high_ns(i, 8)) / 2;
		mixture_count(p, ns, random_poisson(r, m->calls * (next - below)));
		below = next;
	}
	for (unsigned int i = 0; i < m->strays; i++)
		mixture_count(p, (uint64_t)exp2(random_between(r, 28, 36)), 1);
}

/* Calls expected in the buckets around `at` that hold at least half of its count. */
static inline double around(const double *expected, unsigned int at, unsigned int *width)
{
	unsigned int low = at, high = at + 1;
	double sum = 0;

	while (low > 0 && expected[low - 1] >= expected[at] / 2)
		low--;
	while (high < PT_BUCKETS && expected[high] >= expected[at] / 2)
		high++;
	for (unsigned int i = low; i < high; i++)
		sum += expected[i];
	*width = high - low;
	return sum;
}

/* Fewest calls expected in any `width` adjacent buckets of [low, high). */
static inline double fewest(const double *expected, unsigned int low, unsigned int high,
			    unsigned int width)
{
	double least = INFINITY, sum;

	if (width > high - low)
		width = high - low;
	for (unsigned int i = low; i + width <= high; i++) {
		sum = 0;
		for (unsigned int k = 0; k < width; k++)
			sum += expected[i + k];
		least = sum < least ? sum : least;
	}
	return least;
}

/* Can the calls around a mode tell it from the valley beside it? */
static inline bool visible(const struct mixture *m, const double *expected, unsigned int mode,
			   unsigned int low, unsigned int high)
{
	unsigned int width;
	double top = around(expected, mode, &width), bottom;

	bottom = fewest(expected, low, high, width);
	return top >= 6 + 2 * log10(m->calls / 20) && (top - bottom) / sqrt(top + bottom) >= 4.5 &&
	       fewest(expected, low, high, 3) * width <= top * 3 / 2;
}

/*
 * The modes of the expected counts by their position; -1 if the curve has a
 * dip that is neither deep (2 times, seen) nor negligible (1.07 times).
 */
static inline int mixture_modes(const struct mixture *m, struct mode *out)
{
	double e[PT_BUCKETS], noise = 1e-3;
	unsigned int top = 0, bottom = 0, modes[MIXTURE_MAX_MODES], valleys[MIXTURE_MAX_MODES],
		     n = 0;
	bool rising = true;

	mixture_expected(m, e);
	for (unsigned int i = 1; i < PT_BUCKETS; i++) {
		if (rising && e[i] >= e[top])
			top = i;
		else if (rising && (e[i] + noise) * 1.07 < e[top]) {
			if (n == MIXTURE_MAX_MODES)
				return -1;
			modes[n++] = top;
			bottom = i;
			rising = false;
		} else if (!rising && e[i] <= e[bottom]) {
			bottom = i;
		} else if (!rising && e[i] > (e[bottom] + noise) * 1.07) {
			valleys[n - 1] = bottom;
			top = i;
			rising = true;
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		double spread = 0, drift, width;
		unsigned int w;

		if (i + 1 < n && (modes[i + 1] - modes[i] < 5 || e[valleys[i]] * 2 > e[modes[i]] ||
				  e[valleys[i]] * 2 > e[modes[i + 1]] ||
				  !visible(m, e, modes[i], modes[i], modes[i + 1] + 1) ||
				  !visible(m, e, modes[i + 1], modes[i], modes[i + 1] + 1)))
			return -1;
		/* The place of a mode is known to n^-1/3 of its width (Chernoff). */
		width = around(e, modes[i], &w);
		spread = w * fmax(0.25, fmin(1, 2.5 / cbrt(width)));
		drift = 8 * log2((exp2(modes[i] / 8.0) + m->step_ns) / exp2(modes[i] / 8.0));
		out[i].bucket = modes[i];
		out[i].low = modes[i] - 2 - spread - drift;
		out[i].high = modes[i] + 2 + spread + drift;
	}
	return (int)n;
}

#endif
