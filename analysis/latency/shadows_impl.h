/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the shadows share. */
#pragma once

#include <math.h>

#include "analysis/latency/shadows.h"

/* Calls needed in a peak that is visible only without the disturbed calls. */
enum { HIDDEN_CALLS = 12 };
/* Least shares of all calls, or of all time, in what is left of a peak. */
#define REST_CALLS 0.005
#define REST_TIME 0.03

static inline double mode_ns(const struct peak_span *s)
{
	return exp2((s->mode + 0.5) / PT_RESOLUTION);
}

static inline unsigned int bucket_of(double ns)
{
	return pt_bucket((uint64_t)fmax(ns, 1));
}

/* About the time of all its calls. */
static inline double peak_time(const struct peak_span *s)
{
	return (double)s->calls * exp2((double)s->mode / PT_RESOLUTION);
}

/* An interrupt, or a page that the hypervisor maps, leaves no trace in a sample and makes a call
 * longer by at most this. */
#define UNTRACED_NS 60e3
/* The same for single calls where the hypervisor maps pages by software: several in one call. */
#define UNTRACED_PAGES_NS 120e3
/* From this cost of a page fault on, the hypervisor maps pages by software. Without a hypervisor,
 * or with page tables in hardware, a fault takes 0.3 to 1.5 us. */
#define SLOW_FAULT_NS 5e3

/* The latency of a call without the disturbance lies between these. */
struct own_time {
	double low, high;
	bool moved, faults, waits, interrupts;
};

/* Estimates the latency of a sampled call without what the host did meanwhile. */
struct own_time call_own_time(const struct call_sample *c);

/* A peak of which nearly all calls may have been delayed by something that left no trace. */
struct untraced_peak {
	const struct peak_span *span; /* all peaks */
	const struct shadow_verdict *verdict;
	unsigned int self; /* index of the peak; those before it have a verdict */
	double share_of_time;
};

/* Returns the largest of the lower peaks to which the calls of this peak may belong; -1: the peak
 * is the program's own, or nobody can tell. */
int untraced_owner(const struct untraced_peak *p, const struct weighted_calls *calls,
		   double page_fault_ns);
