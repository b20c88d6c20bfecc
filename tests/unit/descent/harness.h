/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel side, a parser and a front for a descent of a random program: reports only
 * armed fnodes, adds what the probes cost, blows fuses, answers questions.
 */
#ifndef PEAKTOP_TEST_HARNESS_H
#define PEAKTOP_TEST_HARNESS_H

#include <stdio.h>

#include "analysis/descent/descent.h"
#include "bpf/buckets.h"
#include "tests/unit/descent/program.h"

enum { OP = 7, MAX_ARMED = 256, STACK = 64, MAX_SEEN = 4096 };

/* A site that was seen to call a function, for REC_INDIRECT_CALLEES. */
struct seen {
	unsigned int function, site, target;
};

struct harness {
	const struct program *p;
	struct descent *d;
	uint32_t epoch, nr_armed;
	struct descent_armed armed[MAX_ARMED];
	uint64_t now, calls, in_peak_calls;
	double witness_period; /* CPU time between samples, ns; 0: none */
	unsigned int nr_seen;
	struct seen seen[MAX_SEEN];
	bool too_many_sites, orphan, armed_unknown; /* must never become true */
	unsigned int max_armed_sites;
	bool hot[MAX_FUNCTIONS]; /* functions with a site whose fuse has blown */
	unsigned int nr_hot;
	uint64_t hot_site[64];
	/* Per activation of the call at hand. */
	uint32_t node[MAX_ACTS];
	uint64_t probes[MAX_ACTS];
	void (*tap)(void *ctx, const struct record *rec); /* sees all records that are fed */
	void *tap_ctx;
};

static int harness_feed(struct harness *h, const struct record *rec)
{
	if (h->tap)
		h->tap(h->tap_ctx, rec);
	return descent_feed(h->d, rec);
}

static unsigned int function_at(const struct program *p, uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < p->nr_functions; i++)
		if (p->function[i].offset == offset)
			return i;
	return 0;
}

/* --- the parser */

static void answer_expand(struct harness *h, struct rec_code function)
{
	struct rec_call_site sites[MAX_SITES];
	const struct t_function *f = &h->p->function[function_at(h->p, function.offset)];
	struct record rec = {.type = REC_CALLEES};
	unsigned int i;

	for (i = 0; i < f->nr_sites; i++)
		sites[i] = f->site[i].rec;
	rec.callees.function = function;
	rec.callees.total = rec.callees.nr_sites = f->nr_sites;
	rec.callees.sites = sites;
	harness_feed(h, &rec);
}

static void answer_learn(struct harness *h, const struct descent_armed *a, uint32_t node)
{
	struct rec_code callee[MAX_TARGETS];
	struct record rec = {.type = REC_INDIRECT_CALLEES};
	unsigned int i, nr = 0, f = 0, s = 0;

	for (i = 0; i < h->p->nr_functions; i++)
		if (a->site.offset >= h->p->function[i].offset &&
		    a->site.offset < h->p->function[i].offset + 0x10000)
			f = i;
	s = (unsigned int)((a->site.offset - h->p->function[f].offset - 16) / 8);
	for (i = 0; i < h->nr_seen && nr < MAX_TARGETS; i++)
		if (h->seen[i].function == f && h->seen[i].site == s)
			callee[nr++] = (struct rec_code){
			    1, h->p->function[h->p->function[f].site[s].target[h->seen[i].target]]
				   .offset};
	rec.discovered.node = node;
	rec.discovered.nr_callees = nr;
	rec.discovered.callees = callee;
	harness_feed(h, &rec);
}

static void remember_seen(struct harness *h, const struct call *c)
{
	unsigned int i, k;

	for (i = 1; i < c->nr; i++) {
		const struct activation *a = &c->act[i];
		unsigned int f = c->act[a->parent].function;

		if (h->p->function[f].site[a->site].rec.callee.module)
			continue;
		for (k = 0; k < h->nr_seen; k++)
			if (h->seen[k].function == f && h->seen[k].site == a->site &&
			    h->seen[k].target == a->target)
				break;
		if (k == h->nr_seen && k < MAX_SEEN)
			h->seen[h->nr_seen++] = (struct seen){f, a->site, a->target};
	}
}

/* --- arming */

static void check_armed(struct harness *h, const struct descent_action *a)
{
	unsigned int i, k, sites = 0;

	h->epoch = a->epoch;
	h->nr_armed = a->nr_armed;
	memcpy(h->armed, a->armed, a->nr_armed * sizeof(*a->armed));
	for (i = 0; i < a->nr_armed; i++) {
		for (k = 0; k < i; k++)
			if (a->armed[k].site.offset == a->armed[i].site.offset &&
			    a->armed[k].last_site == a->armed[i].last_site &&
			    a->armed[k].only_callee == a->armed[i].only_callee &&
			    (!a->armed[i].only_callee ||
			     a->armed[k].callee.offset == a->armed[i].callee.offset))
				break;
		sites += k == i;
		for (k = 0; k < i && a->armed[k].node != a->armed[i].parent; k++)
			;
		if (a->armed[i].parent && k == i)
			h->orphan = true;
	}
	if (sites > h->max_armed_sites)
		h->max_armed_sites = sites;
	if (sites > 64)
		h->too_many_sites = true;
}

static void harness_act(struct harness *h)
{
	struct descent_action a;

	for (;;) {
		descent_next(h->d, &a);
		switch (a.kind) {
		case DESCENT_EXPAND:
			answer_expand(h, a.function);
			break;
		case DESCENT_LEARN:
			answer_learn(h, a.armed, a.node);
			break;
		case DESCENT_ARM:
			check_armed(h, &a);
			break;
		default:
			return;
		}
	}
}

/* --- the kernel */

/* The armed fnode that times an activation, given its caller's; UINT32_MAX: none. */
static uint32_t timed_by(const struct harness *h, uint32_t parent, uint64_t site, uint64_t callee)
{
	uint32_t i;

	for (i = 0; i < h->nr_armed; i++) {
		const struct descent_armed *a = &h->armed[i];

		if (a->parent != parent || site < a->site.offset ||
		    site > (a->last_site ? a->last_site : a->site.offset))
			continue;
		if (a->only_callee && a->callee.offset != callee)
			continue;
		return i;
	}
	return UINT32_MAX;
}

/*
 * A function that was jumped to has the return address of the call before the
 * jump: a probe at its entry takes it for the callee of that site.
 */
static uint32_t timed_through_tail(const struct harness *h, const struct call *c, unsigned int at)
{
	uint64_t callee = h->p->function[c->act[at].function].offset;
	uint32_t found;

	for (;;) {
		const struct activation *a = &c->act[at];
		const struct rec_call_site *s =
		    &h->p->function[c->act[a->parent].function].site[a->site].rec;
		uint32_t parent = h->node[a->parent];

		if (s->ret) {
			if (parent == UINT32_MAX)
				return UINT32_MAX;
			found =
			    timed_by(h, parent ? h->armed[parent - 1].node : 0, s->offset, callee);
			return found != UINT32_MAX && h->armed[found].only_callee ? found
										  : UINT32_MAX;
		}
		/* Only where nothing in between is timed. */
		if (!a->parent || h->node[a->parent] != UINT32_MAX)
			return UINT32_MAX;
		at = a->parent;
	}
}

/* One measured interval: a call, or one pass of a block in one activation of its function. */
struct interval {
	uint32_t armed;
	unsigned int parent;
	uint64_t count, gross, net, longest, probes, blocked, fault, runqueue, interrupt;
};

static void add_interval(struct interval *list, unsigned int *nr, const struct harness *h,
			 const struct activation *a, uint32_t armed, uint64_t probes)
{
	unsigned int i = *nr;

	if (h->armed[armed].last_site)
		for (i = 0; i < *nr; i++)
			if (list[i].armed == armed && list[i].parent == a->parent)
				break;
	if (i == *nr) {
		list[i] = (struct interval){.armed = armed, .parent = a->parent};
		list[i].count = h->armed[armed].last_site ? 1 : a->count;
		(*nr)++;
	}
	list[i].gross += a->gross;
	list[i].net += a->net;
	list[i].longest += a->longest;
	list[i].probes += probes;
}

/* Exclusive times are in the activations; the fnodes want inclusive ones. */
static void include(const struct call *c, uint64_t *blocked, uint64_t *fault, uint64_t *runqueue,
		    uint64_t *interrupt)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		blocked[i] = c->act[i].blocked;
		fault[i] = c->act[i].fault;
		runqueue[i] = c->act[i].runqueue;
		interrupt[i] = c->act[i].interrupt;
	}
	for (i = c->nr; i-- > 1;) {
		unsigned int to = c->act[i].parent;

		blocked[to] += blocked[i];
		fault[to] += fault[i];
		runqueue[to] += runqueue[i];
		interrupt[to] += interrupt[i];
	}
}

/* The vector of a call; returns the number of the first armed fnode over its fuse, or UINT32_MAX.
 */
static uint32_t measure(struct harness *h, const struct call *c, struct rec_call_node *out,
			uint32_t *nr_out)
{
	static uint64_t blocked[MAX_ACTS], fault[MAX_ACTS], runqueue[MAX_ACTS], interrupt[MAX_ACTS];
	static struct interval list[MAX_ACTS];
	uint32_t slot[MAX_ARMED], blown = UINT32_MAX;
	unsigned int i, nr = 0;

	include(c, blocked, fault, runqueue, interrupt);
	for (i = 0; i < c->nr; i++) {
		const struct activation *a = &c->act[i];
		const struct t_function *caller = &h->p->function[c->act[a->parent].function];
		uint32_t parent = i ? h->node[a->parent] : 0;

		h->probes[i] = 0;
		h->node[i] = UINT32_MAX;
		if (!i)
			h->node[i] = 0;
		else if (parent == 0 || (parent != UINT32_MAX && !h->armed[parent - 1].last_site))
			h->node[i] = timed_by(h, parent ? h->armed[parent - 1].node : 0,
					      caller->site[a->site].rec.offset,
					      h->p->function[a->function].offset);
		if (i && h->node[i] == UINT32_MAX)
			h->node[i] = timed_through_tail(h, c, i);
		if (i && h->node[i] != UINT32_MAX)
			h->node[i]++; /* 0 is f0; else index in armed + 1 */
	}
	/* What the probes below each activation cost. */
	for (i = c->nr; i-- > 1;) {
		const struct activation *a = &c->act[i];
		uint64_t pair = h->node[i] == UINT32_MAX || h->armed[h->node[i] - 1].last_site
				    ? 0
				    : 1260 * a->count;

		h->probes[a->parent] += h->probes[i] + pair;
	}
	for (i = 1; i < c->nr; i++)
		if (h->node[i] != UINT32_MAX)
			add_interval(list, &nr, h, &c->act[i], h->node[i] - 1, h->probes[i]);
	memset(slot, 0xff, sizeof(slot));
	*nr_out = 0;
	for (i = 0; i < nr; i++) {
		const struct interval *v = &list[i];
		struct rec_call_node *n;
		uint64_t longest;

		if (slot[v->armed] == UINT32_MAX) {
			slot[v->armed] = (*nr_out)++;
			out[slot[v->armed]] =
			    (struct rec_call_node){.node = h->armed[v->armed].node};
		}
		n = &out[slot[v->armed]];
		n->count += v->count;
		n->sum_ns += v->gross + v->count * 700 + v->probes;
		longest = v->longest + 700 + (v->count == 1 ? v->probes : 0);
		if (longest > n->max_ns)
			n->max_ns = longest;
		if (n->count > h->p->fuse)
			blown = v->armed;
	}
	for (i = 1; i < c->nr; i++) {
		struct rec_call_node *n;

		if (h->node[i] == UINT32_MAX)
			continue;
		n = &out[slot[h->node[i] - 1]];
		n->blocked_ns += blocked[i];
		n->fault_ns += fault[i];
		n->runqueue_ns += runqueue[i];
		n->interrupt_ns += interrupt[i];
	}
	return blown;
}

/* --- witnesses */

static void send_stack(struct harness *h, const struct call *c, unsigned int at, uint64_t when,
		       uint64_t weight, bool sleep)
{
	struct rec_frame frame[STACK];
	unsigned int chain[STACK], depth = 0, n = 0, i;
	struct record rec = {.type = REC_WITNESS};

	for (i = at;; i = c->act[i].parent) {
		if (depth == STACK)
			return;
		chain[depth++] = i;
		if (!i)
			break;
	}
	for (i = depth; i-- > 0;) {
		const struct activation *a = &c->act[chain[i]];
		const struct t_function *f = &h->p->function[a->function];
		const struct rec_call_site *s = i ? &f->site[c->act[chain[i - 1]].site].rec : NULL;

		/* Who has left by a jump has no frame. */
		if (s && !s->ret)
			continue;
		frame[n++] =
		    (struct rec_frame){1, s ? s->ret : f->offset + 3 + below(4), f->offset};
	}
	rec.witness.op = OP;
	rec.witness.tid = 5;
	rec.witness.at_ns = when;
	rec.witness.weight_ns = weight;
	rec.witness.kind = sleep ? WITNESS_SLEEP : WITNESS_RUN;
	rec.witness.sleep = c->act[at].culprit_sleep ? h->p->sleep->sleep : culprit_sleeps[0].sleep;
	rec.witness.sleep.waker = "waker";
	rec.witness.nr_frames = n;
	rec.witness.frames = frame;
	if (n && frame[0].function == h->p->function[0].offset)
		harness_feed(h, &rec);
}

static void send_stacks(struct harness *h, const struct call *c, uint64_t start)
{
	unsigned int i;
	double next = uniform() * h->witness_period;

	for (i = 0; i < c->nr; i++) {
		const struct activation *a = &c->act[i];

		if (a->blocked > 1000)
			send_stack(h, c, i, start + 1 + below(1000), a->blocked, true);
		if (h->witness_period <= 0)
			continue;
		for (next -= (double)(a->own + a->fault); next < 0; next += h->witness_period)
			send_stack(h, c, i, start + 1 + below(1000), (uint64_t)h->witness_period,
				   false);
	}
}

/* --- calls */

static void send_profile(struct harness *h, uint64_t latency)
{
	uint32_t bucket = pt_bucket(latency);
	uint64_t one = 1;
	struct record rec = {.type = REC_PROFILE};

	rec.profile.op = OP;
	rec.profile.calls = 1;
	rec.profile.sum_ns = rec.profile.min_ns = rec.profile.max_ns = latency;
	rec.profile.nr_buckets = 1;
	rec.profile.bucket = &bucket;
	rec.profile.count = &one;
	harness_feed(h, &rec);
}

static void mark_hot(struct harness *h, uint64_t site)
{
	unsigned int i;

	if (h->nr_hot < 64)
		h->hot_site[h->nr_hot++] = site;
	for (i = 0; i < h->p->nr_functions; i++)
		if (site > h->p->function[i].offset && site < h->p->function[i].offset + 0x10000)
			h->hot[i] = true;
}

static void send_call(struct harness *h, const struct call *c)
{
	static struct rec_call_node vector[MAX_ARMED];
	struct record rec = {.type = REC_CALL}, lost = {.type = REC_FNODE_LOST};
	uint32_t nr = 0, blown = measure(h, c, vector, &nr), i;
	bool late = chance(0.3);

	rec.call = (struct rec_call){
	    .epoch = h->epoch,
	    .op = OP,
	    .tid = 5,
	    .start_ns = h->now,
	    .latency_ns = c->act[0].gross,
	    .raw_ns = c->act[0].gross + h->probes[0],
	    .known = 0x1ff,
	    .runqueue_ns = c->runqueue,
	    .preempted_ns = c->preempted,
	    .interrupt_ns = c->interrupt,
	    .preempted_by = "hog",
	    .interrupt_name = "timer",
	    .nr_nodes = nr,
	    .nodes = vector,
	};
	for (i = 0; i < c->nr; i++) {
		rec.call.blocked_ns += c->act[i].blocked;
		rec.call.fault_ns += c->act[i].fault;
	}
	if (!late)
		send_stacks(h, c, h->now);
	/* Now and then also what is not to be counted: outside of the peak, of an older set. */
	h->in_peak_calls += in_peak(h->p, c);
	if (in_peak(h->p, c) || chance(0.5))
		harness_feed(h, &rec);
	if (chance(0.05) && h->epoch) {
		rec.call.epoch--;
		rec.call.latency_ns = h->p->low_ns;
		rec.call.preempted_ns = rec.call.runqueue_ns = h->p->low_ns;
		rec.call.nr_nodes = 0;
		rec.call.tid = 6;
		harness_feed(h, &rec);
		rec.call.epoch++;
	}
	if (late)
		send_stacks(h, c, h->now);
	h->now += rec.call.raw_ns + 1000;
	if (blown != UINT32_MAX) {
		lost.fnode_lost.epoch = h->epoch;
		lost.fnode_lost.node = h->armed[blown].node;
		mark_hot(h, h->armed[blown].site.offset);
		harness_act(h);
		harness_feed(h, &lost);
	}
	h->calls++;
	send_profile(h, c->act[0].gross);
	harness_act(h);
}

static void harness_ask(struct harness *h, bool level_by_level)
{
	struct record rec = {.type = REC_DESCENT};

	descent_options_init(&rec.descent);
	rec.descent.op = OP;
	rec.descent.function = (struct rec_code){1, h->p->function[0].offset};
	rec.descent.low_ns = h->p->low_ns;
	rec.descent.high_ns = h->p->high_ns;
	rec.descent.max_depth = h->p->max_depth;
	rec.descent.level_by_level = level_by_level;
	harness_feed(h, &rec);
}

static bool harness_done(const struct harness *h)
{
	return descent_status(h->d) != DESCENT_IN_PROGRESS;
}

#endif
