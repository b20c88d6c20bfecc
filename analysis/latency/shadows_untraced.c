// SPDX-License-Identifier: GPL-2.0-or-later
/* Delays without a trace. A hypervisor that keeps the page tables of its guests by software stops a
 * virtual CPU for 10 to 40 us when it has to map a page. No event in the guest says so, not even a
 * page fault: a peak of such calls looks like one of the program. On such a host a page fault is
 * expensive, too, because it needs the hypervisor. */
#include "analysis/latency/shadows_impl.h"

enum {
	SMALLER = 12,  /* the other peak must have this many times the calls */
	MIN_KNOWN = 5, /* fewer sampled calls say nothing about an argument */
	/* Arguments that are compared. The registers of later ones often hold what the last system
	   call left there, which tells a call behind a sleep from others. */
	ARGUMENTS = 3,
};

/* A peak with a larger share of the time is not folded: where such delays are rare, and where the
 * hypervisor maps pages by software. A peak that has much of the time is never hidden. */
static const double rare_time = 0.01, often_time = 0.2;
/* An argument tells two peaks apart if most calls of one have a value that few of the other have.
 * Half is enough, because delayed calls of the other peak lie among those of a true one. */
static const double most_calls = 0.5, few_calls = 0.1;

static bool is_sample_of(const struct peak_span *s, const struct call_sample *c, unsigned int arg)
{
	unsigned int bucket = pt_bucket(c->latency_ns);

	return c->known & (uint32_t)SAMPLE_ARG0 << arg && bucket >= s->range.low &&
	       bucket < s->range.high;
}

/* Returns the share of the sampled calls of a peak whose argument is `value`; -1: not known. */
static double share_of_value(const struct peak_span *s, const struct weighted_calls *calls,
			     unsigned int arg, uint64_t value)
{
	double all = 0, equal = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < calls->nr; i++) {
		if (!is_sample_of(s, calls->call[i], arg))
			continue;
		nr++;
		all += calls->weight[i];
		equal += calls->call[i]->args[arg] == value ? calls->weight[i] : 0;
	}
	return nr >= MIN_KNOWN && all > 0 ? equal / all : -1;
}

/* Returns the value of an argument in most calls of a peak, if there is one; else any value. */
static uint64_t usual_value(const struct peak_span *s, const struct weighted_calls *calls,
			    unsigned int arg)
{
	uint64_t value = 0;
	double ahead = 0;

	for (unsigned int i = 0; i < calls->nr; i++) {
		if (!is_sample_of(s, calls->call[i], arg))
			continue;
		if (ahead <= 0)
			value = calls->call[i]->args[arg];
		ahead += calls->call[i]->args[arg] == value ? calls->weight[i] : -calls->weight[i];
		if (ahead < 0) {
			value = calls->call[i]->args[arg];
			ahead = -ahead;
		}
	}
	return value;
}

/* Returns true if an argument shows that the calls of peak `a` are others than those of `b`. */
static bool argument_differs(const struct peak_span *a, const struct peak_span *b,
			     const struct weighted_calls *calls)
{
	for (unsigned int arg = 0; arg < ARGUMENTS; arg++) {
		uint64_t value = usual_value(a, calls, arg);
		double other = share_of_value(b, calls, arg, value);

		if (other >= 0 && other <= few_calls &&
		    share_of_value(a, calls, arg, value) >= most_calls)
			return true;
	}
	return false;
}

int untraced_owner(const struct untraced_peak *p, const struct weighted_calls *calls,
		   double page_fault_ns)
{
	const struct peak_span *span = p->span, *self = &span[p->self];
	unsigned int undisturbed = bucket_of(mode_ns(self) - UNTRACED_NS);
	int best = -1;

	if (p->share_of_time > (page_fault_ns >= SLOW_FAULT_NS ? often_time : rare_time))
		return -1;
	for (unsigned int i = 0; i < p->self; i++) {
		if (p->verdict[i].of >= 0 || span[i].calls < SMALLER * self->calls ||
		    span[i].range.high <= undisturbed || argument_differs(self, &span[i], calls))
			continue;
		if (best < 0 || span[i].calls > span[best].calls)
			best = (int)i;
	}
	return best;
}
