// SPDX-License-Identifier: GPL-2.0-or-later
/* The time that a call would have taken if the host had not disturbed it. */
#include "analysis/latency/shadows_impl.h"

/* Cost of a disturbance beyond the measured time: two context switches, cold caches, and the
 * interrupt that caused it. */
static const double per_preemption_ns = 60e3, per_wait_ns = 30e3, per_fault_ns = 8e3;
/* Interrupts are measured from the start of their handler to its end: entry and exit are added. */
static const double per_interrupts_ns = 25e3;
/* A call that was preempted more often may owe them at most this share of its own time. Otherwise
 * many preemptions would make a long call one of any shorter peak. */
static const double most_cost = 0.75;
enum {
	FEW_PREEMPTIONS = 4, /* preemptions of one call whose cost may be all of its own time */
	MAX_FAULTS = 4,	     /* a call with more page faults caused them by its own work */
};
/* A wait for a CPU with a smaller share of the latency does not move a call to another peak. */
static const double min_wait = 0.02;
/* Returns the most that preemptions may have added to `own`, the time without the waits. */
static double preemption_cost(unsigned int preemptions, double own)
{
	double few = per_preemption_ns * fmin(preemptions, FEW_PREEMPTIONS);

	return fmax(few, fmin(per_preemption_ns * preemptions, most_cost * own));
}

struct own_time call_own_time(const struct call_sample *c)
{
	double latency = (double)c->latency_ns, wait = 0;
	struct own_time o = {.high = latency};
	unsigned int preemptions = 0;

	if (c->known & SAMPLE_RUNQUEUE)
		wait = fmin((double)c->runqueue_ns, latency);
	if (c->known & SAMPLE_SWITCHES)
		preemptions = call_preemptions(c);
	o.waits = !preemptions && wait > min_wait * latency;
	o.moved = preemptions || o.waits;
	if (o.moved) {
		o.high -= wait;
		o.low = o.high - preemption_cost(preemptions, o.high) - (o.waits ? per_wait_ns : 0);
		/* the wait of a preempted call is not always known */
		if (preemptions && !(c->known & SAMPLE_RUNQUEUE))
			o.low = 0;
		else if (c->known & SAMPLE_INTERRUPTS)
			o.low -= fmin((double)c->interrupt_ns, latency);
	} else if ((c->known & SAMPLE_INTERRUPTS) && c->interrupt_ns) {
		o.moved = o.interrupts = true;
		o.high -= fmin((double)c->interrupt_ns, latency);
		o.low = o.high - per_interrupts_ns;
	} else if ((c->known & SAMPLE_FAULTS) && c->minor_faults && c->minor_faults <= MAX_FAULTS &&
		   !c->major_faults) {
		o.moved = o.faults = true;
		o.low = latency - per_fault_ns * c->minor_faults;
	}
	o.low = fmax(o.low, 1);
	return o;
}
