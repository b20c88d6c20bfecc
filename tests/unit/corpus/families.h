/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of mixtures: kinds of profiles that an operating system shows. */
#ifndef PEAKTOP_TEST_FAMILIES_H
#define PEAKTOP_TEST_FAMILIES_H

#include "tests/unit/corpus/mixture.h"

enum family {
	FAMILY_SINGLE,	    /* one mode, narrow to wide */
	FAMILY_PAIR,	    /* two modes, any weights, near or far */
	FAMILY_SEVERAL,	    /* three to five */
	FAMILY_TAIL,	    /* one mode and a heavy tail */
	FAMILY_TAIL_BEYOND, /* a mode in or beyond the tail of another */
	FAMILY_MERGED,	    /* two components too close to be two modes */
	FAMILY_SPIKES,	    /* one to three of one or two buckets, and a wide one */
	FAMILY_QUEUE,	    /* exponential service times */
	FAMILY_READ,	    /* OSprof: zero-byte read, 7-9, 10-13, 14-18 */
	FAMILY_FORK,	    /* OSprof: fork, 15-19, 20-25 */
	FAMILY_READDIR,	    /* OSprof: readdir, 9, 11-14, 16-17, 18-23 */
	FAMILY_RARE,	    /* 0.01% of the calls at about 200 ms */
	FAMILY_CLOCK,	    /* a clock of 10 to 280 ns */
	FAMILY_SHORT,	    /* below 100 ns: buckets without an integer */
	FAMILY_STRAYS,	    /* one or two calls, seconds long */
	FAMILY_TINY,	    /* 20 to 60 calls */
	NR_FAMILIES
};

static const char *const family_name[NR_FAMILIES] = {
    "single", "pair", "several", "tail", "tail beyond", "merged", "spikes", "queue",
    "read",   "fork", "readdir", "rare", "clock",	"short",  "strays", "tiny",
};

static inline double random_log(struct random *r, double low, double high)
{
	return exp(random_between(r, log(low), log(high)));
}

static inline void mixture_add(struct mixture *m, enum shape shape, double at, double spread,
			       double weight)
{
	m->part[m->nr++] = (struct component){shape, at, spread, weight};
}

/* A mode that a paper gives as log2 buckets low to high (both included). */
static inline void mixture_add_range(struct mixture *m, struct random *r, double low, double high)
{
	double width = high + 1 - low;

	mixture_add(m, SHAPE_NORMAL, (low + high + 1) / 2 + width * random_between(r, -0.1, 0.1),
		    width * random_between(r, 0.1, 0.17), random_log(r, 0.003, 1));
}

static inline void mixture_add_normals(struct mixture *m, struct random *r, unsigned int n,
				       double low, double high)
{
	double at = random_between(r, low, low + 4);

	for (unsigned int i = 0; i < n && at < high; i++) {
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.06, 0.8), random_log(r, 3e-4, 1));
		at += random_log(r, 0.6, 8);
	}
}

/* One candidate; not every one has a clear label. */
static inline void family_try(enum family f, struct random *r, struct mixture *m)
{
	double at = random_between(r, 7, 26);

	memset(m, 0, sizeof(*m));
	m->step_ns = 1;
	m->calls = random_log(r, 100, 1e8);
	switch (f) {
	case FAMILY_SINGLE:
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.05, 1.5), 1);
		m->calls = random_log(r, 20, 1e8);
		break;
	case FAMILY_PAIR:
		mixture_add_normals(m, r, 2, 6, 34);
		break;
	case FAMILY_SEVERAL:
		mixture_add_normals(m, r, 3 + random_bits(r) % 3, 6, 38);
		break;
	case FAMILY_TAIL:
		mixture_add(m, SHAPE_TAIL, at - 3, random_log(r, 0.3, 2.5), 1);
		break;
	case FAMILY_TAIL_BEYOND:
		mixture_add(m, SHAPE_TAIL, random_between(r, 7, 16), random_log(r, 0.3, 1.5), 1);
		mixture_add(m, SHAPE_NORMAL, m->part[0].at + random_between(r, 2, 15),
			    random_log(r, 0.05, 0.6), random_log(r, 1e-4, 0.5));
		break;
	case FAMILY_MERGED:
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.2, 1), 1);
		mixture_add(m, SHAPE_NORMAL, at + m->part[0].spread * random_between(r, 0.5, 2.5),
			    m->part[0].spread * random_between(r, 0.7, 1.5), random_log(r, 0.1, 1));
		break;
	case FAMILY_SPIKES:
		for (unsigned int n = 1 + random_bits(r) % 3; n; n--)
			mixture_add(m, SHAPE_NORMAL, random_between(r, 7, 33),
				    random_log(r, 0.005, 0.04), random_log(r, 1e-3, 1));
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.2, 0.8), 1);
		break;
	case FAMILY_QUEUE:
		mixture_add(m, SHAPE_SHIFTED, at - 2, random_between(r, -3, 3), 1);
		if (random_bits(r) & 1)
			mixture_add(m, SHAPE_EXPONENTIAL, at + random_between(r, 3, 9), 0,
				    random_log(r, 0.01, 1));
		break;
	case FAMILY_READ:
		mixture_add_range(m, r, 7, 9);
		mixture_add_range(m, r, 10, 13);
		mixture_add_range(m, r, 14, 18);
		break;
	case FAMILY_FORK:
		mixture_add_range(m, r, 15, 19);
		mixture_add_range(m, r, 20, 25);
		break;
	case FAMILY_READDIR:
		mixture_add_range(m, r, 9, 9);
		mixture_add_range(m, r, 11, 14);
		mixture_add_range(m, r, 16, 17);
		mixture_add_range(m, r, 18, 23);
		break;
	case FAMILY_RARE:
		mixture_add(m, random_bits(r) & 1 ? SHAPE_TAIL : SHAPE_NORMAL,
			    random_between(r, 8, 14), random_log(r, 0.2, 0.7), 1);
		mixture_add(m, SHAPE_NORMAL, 27.58, random_log(r, 0.02, 0.4), 1e-4);
		m->calls = random_log(r, 2e5, 1e8);
		break;
	case FAMILY_CLOCK: {
		static const double step[] = {10, 20, 25, 41.667, 100, 279.365};

		m->step_ns = step[random_bits(r) % 6];
		at = log2(m->step_ns) + random_between(r, 2, 5);
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.2, 0.6), 1);
		if (random_bits(r) & 1)
			mixture_add(m, SHAPE_NORMAL, at + random_between(r, 2, 8),
				    random_log(r, 0.1, 0.6), random_log(r, 0.01, 1));
		break;
	}
	case FAMILY_SHORT:
		at = random_between(r, 3, 6.5);
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.15, 0.5), 1);
		if (random_bits(r) & 1)
			mixture_add(m, SHAPE_NORMAL, at + random_between(r, 1, 5),
				    random_log(r, 0.1, 0.5), random_log(r, 0.01, 1));
		break;
	case FAMILY_STRAYS:
		mixture_add_normals(m, r, 1 + random_bits(r) % 2, 6, 22);
		m->calls = random_log(r, 2000, 1e8);
		m->strays = 1 + random_bits(r) % 2;
		break;
	case FAMILY_TINY:
		mixture_add(m, SHAPE_NORMAL, at, random_log(r, 0.05, 0.5), 1);
		if (random_bits(r) & 1)
			mixture_add(m, SHAPE_NORMAL, at + random_between(r, 2, 8),
				    random_log(r, 0.02, 0.3), random_between(r, 0.5, 1));
		m->calls = random_between(r, 20, 60);
		break;
	case NR_FAMILIES:
		break;
	}
}

/* A mixture of the family with a clear label, and that label. Returns the number of modes. */
static inline unsigned int family_draw(enum family f, struct random *r, struct mixture *m,
				       struct mode *modes)
{
	static const int wanted[NR_FAMILIES] = {
	    [FAMILY_MERGED] = 1,  [FAMILY_READ] = 3, [FAMILY_FORK] = 2,
	    [FAMILY_READDIR] = 4, [FAMILY_RARE] = 2, [FAMILY_TAIL_BEYOND] = 2};
	int n;

	do {
		family_try(f, r, m);
		n = mixture_modes(m, modes);
	} while (n < 1 || (wanted[f] && n != wanted[f]));
	return (unsigned int)n;
}

#endif
