// SPDX-License-Identifier: GPL-2.0-or-later
/* Means over in-peak calls, and the time of a function without its callees. */

#include "analysis/descent/descent_impl.h"

enum { RARE_LEAST = 5 };
/* If the mean time between calls of the peak is at least this, half of decision_ops calls are
 * enough for a decision. */
#define RARE_NS 50000000ull
/* If such calls take at least this, a quarter is enough: each window of calls waits first for those
 * that began before it. */
#define SLOW_NS 500000000ull

uint32_t descent_decision_ops(const struct descent *d)
{
	uint32_t half = d->ask.decision_ops / 2;

	if (half < RARE_LEAST || d->calls_used < RARE_LEAST ||
	    d->last_end_ns - d->first_start_ns < d->calls_used * RARE_NS)
		return d->ask.decision_ops;
	return d->ask.low_ns >= SLOW_NS && half / 2 >= RARE_LEAST ? half / 2 : half;
}

static bool use_window(const struct descent *d)
{
	return d->window.records >= descent_decision_ops(d) || d->window.records == d->all.records;
}

const struct totals *descent_totals(const struct descent *d)
{
	return use_window(d) ? &d->window : &d->all;
}

double descent_host_ns(const struct totals *t)
{
	return (double)t->preempted_ns + (double)t->runqueue_ns + (double)t->interrupt_ns;
}

double descent_program_ns(const struct totals *t)
{
	double latency = (double)t->latency_ns, least = PROGRAM_LEAST * latency,
	       program = latency - descent_host_ns(t);

	return program > least ? program : least;
}

void fnode_means(const struct descent *d, uint32_t node, struct means *out)
{
	const struct fnode *n = &d->tree.node[node];
	const struct sums *s = use_window(d) && n->window.armed ? &n->window : &n->all;
	double calls = (double)s->armed;

	memset(out, 0, sizeof(*out));
	if (!s->armed)
		return;
	out->net = (double)s->net_ns / calls;
	out->net_when_called = s->called ? (double)s->net_ns / (double)s->called : 0;
	out->blocked = (double)s->blocked_ns / calls;
	out->fault = (double)s->fault_ns / calls;
	out->runqueue = (double)s->runqueue_ns / calls;
	out->interrupt = (double)s->interrupt_ns / calls;
	out->repeated = (double)s->repeated_ns / calls;
}

static double minus(double a, double b)
{
	return a > b ? a - b : 0;
}

double loop_blocked_ns(double loop, double blocked, double net)
{
	return blocked < net ? loop * blocked / net : loop;
}

void fnode_own_times(const struct descent *d, uint32_t node, struct own_times *out)
{
	bool faults = !descent_totals(d)->fault_of_root;
	struct means own, callee, sum = {0};

	*out = (struct own_times){0};
	fnode_means(d, node, &own);
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		const struct fnode *c = &d->tree.node[id];

		if (!fnode_alive(c))
			continue;
		fnode_means(d, id, &callee);
		sum.net += callee.net;
		sum.blocked += callee.blocked;
		sum.fault += callee.fault;
		if (c->live)
			continue;
		out->loop += callee.repeated;
		out->loop_blocked += loop_blocked_ns(callee.repeated, callee.blocked, callee.net);
		out->spread += callee.net;
		if (c->state == FNODE_MEASURED)
			out->dropped += callee.net;
		else if (c->state == FNODE_ARMED && d->tree.node[node].opened)
			out->undecided += callee.net;
	}
	out->blocked = minus(own.blocked, sum.blocked);
	out->fault = faults ? minus(own.fault, sum.fault) : node ? 0 : own.fault;
	out->self = minus(own.net, sum.net + out->blocked + out->fault);
}
