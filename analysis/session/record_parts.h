/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of record.h: which calls a descent explains. */
#pragma once

enum descent_choice {
	DESCENT_NAMED_CALLS = 0, /* by the user, or not known */
	DESCENT_MOST_TIME,	 /* those with most of the time */
	/* those with most of the time but for the calls of the descent before, which is over:
	   they waited for a CPU */
	DESCENT_BESIDE_WAITS,
};

enum descent_resumes {
	DESCENT_IS_NEW = 0,
	DESCENT_RESUMES,	/* ends if latencies are distributed in another way than then */
	DESCENT_RESUMES_ANYWAY, /* goes on then, too (--force) */
};

enum part_kind {
	PART_PEAK = 0, /* calls of a listed peak */
	PART_SHADOW,   /* calls of a peak that the host made longer */
	PART_TAIL,     /* calls beyond the peaks, or far beyond the mode of one */
	PART_KINDS
};

/* The calls in one range of latencies. */
struct rec_part {
	uint32_t kind;		  /* enum part_kind */
	uint32_t few;		  /* 1: too few of them were seen to descend into them */
	uint64_t low_ns, high_ns; /* low <= latency < high; UINT64_MAX: no upper limit */
	uint64_t calls, time_ns;
};

/* The time of f0 before anything was armed inside it, divided into the ranges of latencies that are
 * explained one after the other. Only ranges with a good part of the time are in it. The counts are
 * scaled up as in the model. A descent into a part is a REC_DESCENT with its number. */
struct rec_parts {
	uint32_t op; /* f0 */
	uint32_t nr_parts;
	uint64_t calls, time_ns;      /* of all calls */
	uint64_t covered_ns;	      /* the time in which they were counted */
	const struct rec_part *parts; /* largest time first */
};
