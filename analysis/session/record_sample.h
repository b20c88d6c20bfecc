/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call with its values. Part of record.h, which includes it. */
#include "analysis/session/record.h"
#ifndef PEAKTOP_RECORD_SAMPLE_H
#define PEAKTOP_RECORD_SAMPLE_H

enum {
	SAMPLE_ARGS = 6,
	SAMPLE_MEMBERS = 4, /* values behind arguments */
};

/* Values of one call; a bit in `known` for each field that holds. */
enum sample_known {
	SAMPLE_RET = 1 << 0,
	SAMPLE_ARG0 = 1 << 1, /* .. ARG5 = 1 << 6 */
	SAMPLE_ONCPU = 1 << 7,
	SAMPLE_FAULTS = 1 << 8,
	SAMPLE_MIGRATIONS = 1 << 9,
	SAMPLE_SWITCHES = 1 << 10,
	SAMPLE_RUNQUEUE = 1 << 11,
	SAMPLE_INTERRUPTS = 1 << 12,
	SAMPLE_MEMBER0 = 1 << 13, /* .. MEMBER3 = 1 << 16 */
	SAMPLE_TEXT = 1 << 17,
	/* what --no-values hides */
	SAMPLE_VALUES = SAMPLE_RET | SAMPLE_ARG0 * 0x3f | SAMPLE_MEMBER0 * 0xf | SAMPLE_TEXT,
};

struct rec_sample {
	uint32_t op;
	uint32_t tid;
	uint64_t start_ns;
	uint64_t latency_ns;
	uint32_t known; /* enum sample_known */
	int64_t ret;
	uint64_t args[SAMPLE_ARGS];
	uint64_t oncpu_ns;
	uint64_t runqueue_ns;
	uint64_t minor_faults, major_faults;
	uint64_t migrations;
	uint64_t sleeps;       /* voluntary context switches */
	uint64_t preempted;    /* involuntary context switches */
	uint64_t chance_ppm;   /* chance that this call had of being sampled, parts per million */
	uint64_t interrupt_ns; /* part of its time on the CPU */
	uint64_t steal_ns;     /* part of runqueue_ns in which the hypervisor had the CPU */
	/* What was behind the arguments when the call began, in the order of the members and the
	 * string in rec_symbol.parameters of the function; numbers in their low bytes. */
	uint64_t members[SAMPLE_MEMBERS];
	const char *text;
};

#endif
