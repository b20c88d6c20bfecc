/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost of probes on this host. */
#pragma once

#include "analysis/session/record.h"

struct collector;
struct pt_control;

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
	uint32_t kernel, kernel_inside; /* the same of a probe in the kernel's code; 0: there are
					   none */
	uint32_t syscall, syscall_inside, syscall_other;
	uint32_t sched;
	uint32_t system_call, context_switch, minor_fault; /* on this host without probes */
	uint32_t read_fault; /* a page fault for which no page has to be cleared */
	uint32_t tick;	     /* period of the kernel's clock; 0: not known */
	uint32_t slice;	     /* what the scheduler gives a task before it looks for another; 0: not
				known */
};

/* Measure c->cost, before anything is armed. Returns 0, or a negative errno if no helper can
 * be started. */
int calibrate(struct collector *c);
/* What an interrupt of the sampling timers takes from the code that it interrupts, ns. */
struct tick_cost {
	uint32_t ns;
	uint32_t outside_ns; /* the part before and after its tracepoints, as of any interrupt */
};
/*
 * Measure at most 32 interrupts of sampling timers that run at `hz`, while the programs that time
 * interrupts are attached. Returns false if other tasks had the CPU nearly all the time.
 */
bool calibrate_tick(struct pt_control *control, unsigned int hz, struct tick_cost *out);
