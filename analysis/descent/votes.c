// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts the votes of one in-peak call (DARC, section 3.2). In each function of the path, every
 * candidate whose time lies in the same power of two as the largest gets one vote. The callees of a
 * callee are compared only if the callee itself got a vote. */

#include "analysis/descent/descent_impl.h"

enum {
	/* 1/8 of a call: less time than this outside of the timed callees wins no vote */
	MEASURED_PART = 8,
	/* calls whose waits are not known are left out, up to this many for each that is known */
	HALF_KNOWN = 4,
};

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static unsigned int doubling(uint64_t ns)
{
	return ns ? 64 - (unsigned int)__builtin_clzll(ns) : 0;
}

static uint64_t rounded(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* Makes room for all fnodes, and clears the vectors of f0 and the armed ones. */
static int clear_vectors(struct descent *d)
{
	if (d->cap_vector < d->tree.nr_nodes) {
		struct vector *grown = calloc(d->tree.cap_nodes, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		free(d->vector);
		d->vector = grown;
		d->cap_vector = d->tree.cap_nodes;
	}
	memset(&d->vector[0], 0, sizeof(d->vector[0]));
	for (uint32_t i = 0; i < d->nr_armed; i++)
		memset(&d->vector[d->armed[i]], 0, sizeof(d->vector[0]));
	return 0;
}

static void load(struct descent *d, const struct rec_call *call)
{
	for (uint32_t i = 0; i < call->nr_nodes; i++) {
		const struct rec_call_node *n = &call->nodes[i];
		struct vector *v;

		if (!n->node || n->node >= d->tree.nr_nodes || !n->count ||
		    d->tree.node[n->node].state != FNODE_ARMED)
			continue;
		v = &d->vector[n->node];
		v->present = true;
		v->count = n->count;
		v->max = n->max_ns;
		v->sum = n->sum_ns;
		if (call->known & CALL_KNOWN_BLOCKED)
			v->blocked = n->blocked_ns;
		if (call->known & CALL_KNOWN_NODE_FAULT)
			v->fault = n->fault_ns;
		if (call->known & CALL_KNOWN_NODE_RUNQUEUE)
			v->runqueue = n->runqueue_ns;
		if (call->known & CALL_KNOWN_NODE_INTERRUPT)
			v->interrupt = n->interrupt_ns;
	}
}

/* Subtracts the cost of the probes, children before parents: of its own pair of probes the part
 * inside the interval, of all pairs below it the whole cost. The longest call gets its share of
 * that. */
static void correct(struct descent *d)
{
	for (uint32_t i = d->nr_armed; i-- > 0;) {
		const struct fnode *n = &d->tree.node[d->armed[i]];
		struct vector *v = &d->vector[n->id];
		uint64_t below = v->probes_ns;
		double part;

		if (!v->present)
			continue;
		part = v->sum ? (double)v->max / (double)v->sum : 0;
		v->sum = minus(v->sum, below + v->count * n->inside_ns);
		v->max =
		    minus(v->max, rounded((double)below * (part < 1 ? part : 1)) + n->inside_ns);
		v->probes_ns += v->count * n->total_ns;
		d->vector[n->parent].probes_ns += v->probes_ns;
	}
}

static void net_times(struct descent *d)
{
	for (uint32_t i = 0; i < d->nr_armed; i++) {
		struct vector *v = &d->vector[d->armed[i]];

		v->net = minus(v->sum, v->runqueue + v->interrupt);
		if (v->max > v->net)
			v->max = v->net;
	}
}

/* The time of faults is their number times a constant. Limits it to the time that the function had
 * for them, callees before callers: what they have too much is missing in their callers, too. */
static void limit_faults(struct descent *d)
{
	for (uint32_t i = d->nr_armed + 1; i-- > 0;) {
		uint32_t id = i ? d->armed[i - 1] : 0;
		struct vector *v = &d->vector[id];
		uint64_t room = minus(v->net, v->blocked), told = v->fault;

		v->fault = minus(v->fault, v->overrated_ns);
		if (v->fault > room)
			v->fault = room;
		if (id)
			d->vector[d->tree.node[id].parent].overrated_ns += told - v->fault;
	}
}

static void load_root(struct descent *d, const struct rec_call *call)
{
	struct vector *v = &d->vector[0];

	v->present = true;
	v->count = 1;
	v->sum = call->latency_ns;
	if (call->known & CALL_KNOWN_BLOCKED)
		v->blocked = call->blocked_ns;
	if (call->known & CALL_KNOWN_RUNQUEUE)
		v->runqueue = call->runqueue_ns;
	if (call->known & CALL_KNOWN_INTERRUPT)
		v->interrupt = call->interrupt_ns;
	if (call->known & CALL_KNOWN_FAULT_NS)
		v->fault = call->fault_ns;
	else if (call->known & CALL_KNOWN_FAULTS)
		v->fault = call->minor_faults * d->ask.minor_fault_ns;
	v->net = v->max = minus(v->sum, v->runqueue + v->interrupt);
}

static void add(struct sums *s, const struct vector *v, const struct vector *caller)
{
	uint64_t once = v->max * (caller->count ? caller->count : 1);

	s->records++;
	s->called += v->count != 0;
	s->calls += v->count;
	s->net_ns += v->net;
	s->max_ns += v->max;
	s->blocked_ns += v->blocked;
	s->fault_ns += v->fault;
	s->runqueue_ns += v->runqueue;
	s->interrupt_ns += v->interrupt;
	s->loop_ns += minus(v->net, once);
	if (v->count > caller->count)
		s->repeated_ns += v->net;
}

static void aggregate(struct descent *d)
{
	d->tree.node[0].window.armed++;
	d->tree.node[0].all.armed++;
	add(&d->tree.node[0].window, &d->vector[0], &d->vector[0]);
	add(&d->tree.node[0].all, &d->vector[0], &d->vector[0]);
	if (d->vector[0].net > d->tree.node[0].longest_ns)
		d->tree.node[0].longest_ns = d->vector[0].net;
	for (uint32_t i = 0; i < d->nr_armed; i++) {
		struct fnode *n = &d->tree.node[d->armed[i]];
		const struct vector *v = &d->vector[n->id], *caller = &d->vector[n->parent];

		n->window.armed++;
		n->all.armed++;
		if (!caller->present)
			continue;
		add(&n->window, v, caller);
		add(&n->all, v, caller);
		if (v->max > n->longest_ns)
			n->longest_ns = v->max;
	}
}

/* The time that a function spent outside its callees. */
struct shares {
	uint64_t candidate[CANDIDATES];
	uint64_t own, loop; /* parts of CANDIDATE_SELF, over all calls of the function */
	/* time for which the callees of a loop were blocked; not in `loop` */
	uint64_t loop_blocked;
	uint64_t largest;
};

/* Calls of one callee beyond the longest one count as the loop of the caller. */
static void add_loop(struct shares *s, double loop, double blocked, double net)
{
	double waits = loop_blocked_ns(loop, blocked, net);

	s->loop_blocked += rounded(waits);
	s->loop += rounded(loop - waits);
}

static void sum_callees(const struct descent *d, const struct fnode *n, struct vector *sum,
			struct shares *s)
{
	const struct vector *v = &d->vector[n->id];

	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next) {
		const struct vector *c = &d->vector[id];

		if (!c->present)
			continue;
		sum->present = true;
		sum->max += c->max;
		sum->net += c->net;
		sum->blocked += c->blocked;
		sum->fault += c->fault;
		add_loop(s, (double)minus(c->net, c->max * v->count), (double)c->blocked,
			 (double)c->net);
		if (c->max > s->largest)
			s->largest = c->max;
	}
}

/* Returns true if the timed callees have nearly all time of this call, so that no other callee
 * could win a vote. */
static bool callees_have_all(const struct vector *v, const struct vector *callees)
{
	return callees->present && minus(v->net, callees->net) < v->net / MEASURED_PART;
}

static void share_out(const struct descent *d, const struct rec_call *call, const struct fnode *n,
		      struct shares *s)
{
	const struct vector *v = &d->vector[n->id];
	const struct dropped *off = &n->dropped;
	struct vector callees = {0};
	uint64_t rest, blocked, fault;
	double once;

	memset(s, 0, sizeof(*s));
	sum_callees(d, n, &callees, s);
	rest = minus(v->max, callees.max + rounded(off->max));
	if (fnode_complete(&d->tree, n->id) || n->first_child == NO_INDEX ||
	    callees_have_all(v, &callees)) {
		/* Only the longest call of the function counts: scale the times of all calls by its
		 * share. */
		once = v->net ? (double)v->max / (double)v->net : 0;
		blocked = minus(v->blocked, callees.blocked + rounded(off->blocked));
		fault = call->known & CALL_KNOWN_NODE_FAULT
			    ? minus(v->fault, callees.fault + rounded(off->fault))
			    : 0;
		add_loop(s, off->loop, off->blocked, off->net);
		s->own = minus(v->net, callees.net + rounded(off->net) + blocked + fault);
		blocked = rounded((double)(blocked + s->loop_blocked) * once);
		fault = rounded((double)fault * once);
		blocked = blocked > rest ? rest : blocked;
		fault = fault > rest - blocked ? rest - blocked : fault;
		s->candidate[CANDIDATE_BLOCKED] = blocked;
		s->candidate[CANDIDATE_FAULT] = fault;
		rest -= blocked + fault;
	}
	s->candidate[CANDIDATE_SELF] = rest;
}

/* For f0 only: the time of the host, in whichever callee it passed. */
static void share_of_host(const struct descent *d, const struct rec_call *call, struct shares *s)
{
	const struct vector *v = &d->vector[0];
	uint64_t preempted = call->known & CALL_KNOWN_RUNQUEUE ? call->preempted_ns : 0;

	if (preempted > v->runqueue)
		preempted = v->runqueue;
	s->candidate[CANDIDATE_PREEMPTED] = preempted;
	s->candidate[CANDIDATE_RUNQUEUE] = v->runqueue - preempted;
	s->candidate[CANDIDATE_INTERRUPT] = v->interrupt;
	if (!(call->known & CALL_KNOWN_NODE_FAULT))
		s->candidate[CANDIDATE_FAULT] = v->fault;
}

/* If it is not known in which fnode the host's time passed, the times of the callees still include
 * it. Subtract the host's time from the largest callee. If neither the rest nor the function's own
 * time lies in a higher power of two than the host's time, no callee gets a vote. The own time gets
 * no vote either, because the callees' times were subtracted from it. */
static bool host_hides_callees(const struct rec_call *call, const struct shares *s)
{
	static const struct {
		enum candidate candidate;
		uint32_t known;
	} rule[] = {
	    {CANDIDATE_PREEMPTED, CALL_KNOWN_NODE_RUNQUEUE},
	    {CANDIDATE_RUNQUEUE, CALL_KNOWN_NODE_RUNQUEUE},
	    {CANDIDATE_INTERRUPT, CALL_KNOWN_NODE_INTERRUPT},
	    {CANDIDATE_FAULT, CALL_KNOWN_NODE_FAULT},
	};

	for (unsigned int i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		uint64_t ns = s->candidate[rule[i].candidate], other = minus(s->largest, ns);

		if (s->candidate[CANDIDATE_SELF] > other)
			other = s->candidate[CANDIDATE_SELF];
		if (s->candidate[CANDIDATE_BLOCKED] > other)
			other = s->candidate[CANDIDATE_BLOCKED];
		if (!(call->known & rule[i].known) && ns && doubling(ns) >= doubling(other))
			return true;
	}
	return false;
}

/* Waiting for a CPU and interrupts are the host's doing. They get votes beside the program's own
 * candidates and never take the place of one: on a busy host the path of the program is still
 * found. */
static void vote_for_host(struct fnode *root, const struct shares *s, unsigned int top)
{
	for (unsigned int i = 0; i < CANDIDATES; i++)
		if (candidate_of_host((enum candidate)i) && s->candidate[i])
			root->own[i] += doubling(s->candidate[i]) >= top;
}

static void vote(struct descent *d, const struct rec_call *call, uint32_t node)
{
	struct fnode *n = &d->tree.node[node];
	struct shares s;
	unsigned int top;
	bool hidden = false;

	share_out(d, call, n, &s);
	if (!node)
		share_of_host(d, call, &s);
	if (!node)
		hidden = host_hides_callees(call, &s);
	if (hidden)
		s.largest = s.candidate[CANDIDATE_SELF] = s.candidate[CANDIDATE_BLOCKED] = 0;
	for (unsigned int i = 0; i < CANDIDATES; i++)
		if (!candidate_of_host((enum candidate)i) && s.candidate[i] > s.largest)
			s.largest = s.candidate[i];
	top = doubling(s.largest);
	if (s.own > n->own_longest_ns)
		n->own_longest_ns = s.own;
	if (!node)
		vote_for_host(n, &s, top);
	if (!top && node)
		return;
	n->votes++;
	if (!top)
		return;
	for (unsigned int i = 0; i < CANDIDATES; i++)
		n->own[i] +=
		    !candidate_of_host((enum candidate)i) && doubling(s.candidate[i]) == top;
	if (doubling(s.candidate[CANDIDATE_SELF]) == top) {
		n->own_ns += s.own;
		n->loop_ns += s.loop;
	}
	for (uint32_t id = n->first_child; id != NO_INDEX && !hidden; id = d->tree.node[id].next) {
		if (!d->vector[id].present || doubling(d->vector[id].max) != top)
			continue;
		d->tree.node[id].maxcount++;
		vote(d, call, id);
	}
}

static void count_totals(struct totals *t, const struct rec_call *call, const struct vector *root)
{
	uint64_t preempted = call->known & CALL_KNOWN_RUNQUEUE ? call->preempted_ns : 0;

	if (preempted > root->runqueue)
		preempted = root->runqueue;
	t->records++;
	t->latency_ns += call->latency_ns;
	t->latency_squares += (double)call->latency_ns * (double)call->latency_ns;
	t->preempted_ns += preempted;
	t->runqueue_ns += root->runqueue - preempted;
	t->interrupt_ns += root->interrupt;
	t->fault_ns += root->fault;
	t->minor_faults += call->minor_faults;
	t->major_faults += call->major_faults;
	t->preemptions += call->preemptions;
	t->fault_estimated |= !(call->known & CALL_KNOWN_FAULT_NS);
	t->fault_of_root |= !(call->known & CALL_KNOWN_NODE_FAULT);
	t->blocked_unknown |= !(call->known & CALL_KNOWN_BLOCKED);
}

/* Adds the waits for a CPU, and the stops, of this call to the tallies of causes. */
static void name_host_waits(struct descent *d, const struct rec_call *call)
{
	struct cause c;

	for (uint32_t i = 0; i < call->nr_waits; i++) {
		cause_of_host_wait(&call->waits[i], &c);
		cause_tally_add(c.kind == CAUSE_RUN_QUEUE ? &d->queued_by : &d->preempted_by, &c,
				call->waits[i].ns);
	}
}

static void note_handler(struct descent *d, const struct rec_call *call)
{
	d->several_handlers |= call->handlers > 1;
	if (!call->handlers || !call->handler.module)
		return;
	for (unsigned int i = 0; i < d->nr_handlers; i++)
		if (code_equal(d->handler[i].function, call->handler))
			return;
	if (d->nr_handlers < DESCENT_HANDLERS)
		d->handler[d->nr_handlers++] =
		    (struct handler){call->handler, call->handler_signal};
}

static void name_host_times(struct descent *d, const struct rec_call *call,
			    const struct vector *root)
{
	struct cause c;

	name_host_waits(d, call);
	if (root->runqueue && call->preempted_ns && !call->nr_waits) {
		memset(&c, 0, sizeof(c));
		c.kind = CAUSE_PREEMPTION;
		snprintf(c.name, sizeof(c.name), "%s",
			 call->preempted_by ? call->preempted_by : "");
		if (call->preempted_by_pid)
			snprintf(c.detail, sizeof(c.detail), "pid %u",
				 (unsigned int)call->preempted_by_pid);
		cause_tally_add(&d->preempted_by, &c, call->preempted_ns);
	}
	if (root->interrupt) {
		memset(&c, 0, sizeof(c));
		c.kind = CAUSE_INTERRUPT;
		snprintf(c.name, sizeof(c.name), "%s",
			 call->interrupt_name ? call->interrupt_name : "");
		snprintf(c.detail, sizeof(c.detail), "%u", (unsigned int)call->interrupt);
		cause_tally_add(&d->interrupts, &c, call->interrupt_ns);
	}
}

int descent_vote(struct descent *d, const struct rec_call *call)
{
	if (clear_vectors(d))
		return -ENOMEM;
	load(d, call);
	correct(d);
	net_times(d);
	load_root(d, call);
	limit_faults(d);
	aggregate(d);
	count_totals(&d->window, call, &d->vector[0]);
	count_totals(&d->all, call, &d->vector[0]);
	name_host_times(d, call, &d->vector[0]);
	note_handler(d, call);
	if (!d->calls_used || call->start_ns < d->first_start_ns)
		d->first_start_ns = call->start_ns;
	if (call->start_ns + call->latency_ns > d->last_end_ns)
		d->last_end_ns = call->start_ns + call->latency_ns;
	d->calls_used++;
	d->tree.node[0].maxcount++;
	vote(d, call, 0);
	return 0;
}

bool descent_half_known(struct descent *d, const struct rec_call *c)
{
	if (c->known & CALL_KNOWN_BLOCKED) {
		d->scheduling_known++;
		return false;
	}
	return d->scheduling_unknown < HALF_KNOWN * d->scheduling_known && ++d->scheduling_unknown;
}
