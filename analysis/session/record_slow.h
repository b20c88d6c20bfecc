/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a flight recorder. Part of record.h, which includes it. */
#include "analysis/session/record.h"
#ifndef PEAKTOP_RECORD_SLOW_H
#define PEAKTOP_RECORD_SLOW_H

/* From at_ns on the wall clock is not that of REC_META plus the time since: it was set, or the host
 * was suspended. */
struct rec_clock {
	uint64_t at_ns;
	uint64_t realtime_ns; /* the wall clock at that instant */
};

/* What is not known of a REC_SLOW_CALL. */
enum slow_call_missing {
	SLOW_NO_SAMPLES = 1 << 0, /* its time on the CPU was not sampled */
	SLOW_NO_STACKS = 1 << 1,  /* no stacks were taken where it slept */
	SLOW_SLEEPS = 1 << 2,	  /* only its longest sleeps were kept */
	/* its begin: start_ns is when its thread left its CPU inside it, so that it took at least
	 * latency_ns */
	SLOW_BEGIN = 1 << 3,
	/* Whether it was open at all: that is known once the stack of its thread was unwound. Only
	 * from the collector to the front, which drops the call if it was not. */
	SLOW_UNCHECKED = 1 << 4,
	/* Calls of its operation while that was not measured, except those in which the thread was
	 * off its CPU for tens of milliseconds: such calls were looked for. */
	SLOW_LOOKED = 1 << 5,
};

enum { SLOW_CALL_SLEEPS = 8 };
/* The epoch of the stacks (REC_STACK, REC_WITNESS) inside slow calls; no armed set has it. They
 * follow the REC_SLOW_CALL in whose time their thread was seen. */
#define SLOW_CALL_EPOCH UINT32_MAX

/* A call that took longer than nearly all others of its operation. Sleeps are WITNESS_SLEEP, the
 * longest ones of the call, in the order in which they ended. */
struct rec_slow_call {
	struct rec_call call;
	uint64_t usual_ns; /* median of the calls of its operation until then; 0: not known */
	uint64_t limit_ns; /* calls that take longer are kept */
	uint32_t known;	   /* ARG bits of enum sample_known */
	uint64_t args[SAMPLE_ARGS];
	uint32_t missing; /* enum slow_call_missing */
	uint32_t nr_sleeps;
	const struct rec_witness *sleeps;
	uint32_t blocked; /* sleeps in all, also those that were not kept */
};

#endif
