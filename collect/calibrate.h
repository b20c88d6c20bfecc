/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost of probes on this host. */
#ifndef PEAKTOP_COLLECT_CALIBRATE_H
#define PEAKTOP_COLLECT_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

struct collector;

/* Cost of probes in ns, measured on this host at the start. */
struct probe_cost {
	bool measured;
	uint32_t hit[SITE_CLASSES];	/* whole cost of a hit */
	uint32_t program[SITE_CLASSES]; /* ... in the BPF program: mean of a pair whose start is of
					   this class */
	uint32_t trap[SITE_CLASSES];	/* ... outside of the program, while it takes `program` */
	uint32_t cold;			/* ... in addition, if the caches are cold */
	uint32_t inside[SITE_CLASSES];	/* what an entry of this class adds to a measured latency */
	uint32_t inside_error[SITE_CLASSES]; /* ... variation from call to call */
	uint32_t syscall, syscall_inside, syscall_other;
	uint32_t sched;
	uint32_t system_call, context_switch, minor_fault; /* on this host without probes */
};

/* Measure c->cost, before anything is armed. Returns 0, or a negative errno if no helper can
 * be started. */
int calibrate(struct collector *c);
/*
 * CPU time that one tick of the sampling timers at `hz` takes from the code that it
 * interrupts, ns. Measures 32 ticks.
 */
uint64_t calibrate_tick(unsigned int hz);

#endif
