// SPDX-License-Identifier: GPL-2.0-or-later
/* For calls that are too short or too many to be timed one by one: the functions that samples found
 * below the last frame. */

#include "analysis/descent/result_impl.h"

enum {
	MAX_FUNCTIONS = 256,
	MIN_SAMPLES = 5,
	SMALL = 20, /* a function with less than 1/20 of the samples is not listed */
	/* shorter calls cost little more than their probes: then the loop itself is the cause */
	LOOPED_MIN_NS = 5000,
	LOOPED_PART = 2, /* the callee must take more than 1/2 of the loop's time */
	LOOPED_CALLS = 2,
};

struct tally {
	unsigned int nr;
	uint64_t all_ns;
	struct {
		struct rec_code function;
		uint64_t ns;
	} entry[MAX_FUNCTIONS];
};

static void tally_add(struct tally *t, struct rec_code function, uint64_t ns)
{
	unsigned int i;

	for (i = 0; i < t->nr && !code_equal(t->entry[i].function, function); i++)
		;
	if (i == MAX_FUNCTIONS)
		return;
	if (i == t->nr) {
		t->entry[t->nr].function = function;
		t->entry[t->nr++].ns = 0;
	}
	t->entry[i].ns += ns;
}

/* Recursion is limited: a stack has at most DESCENT_MAX_WITNESS_FRAMES frames. */
static void gather(const struct witnesses *w, uint32_t witness, struct tally *t)
{
	const struct witness_node *n = witnesses_node(w, witness);

	t->all_ns += n->own_run_ns + n->own_sleep_ns;
	if (n->own_run_ns)
		tally_add(t, n->function, n->own_run_ns);
	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		gather(w, id, t);
}

static int by_time(const void *a, const void *b)
{
	const struct descent_below *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : 0;
}

static void insert(struct descent_path *path, struct rec_code function, double share, bool own)
{
	struct descent_below *at = &path->below[path->nr_below];

	if (path->nr_below < DESCENT_BELOW)
		path->nr_below++;
	else if (path->below[DESCENT_BELOW - 1].share < share)
		at = &path->below[DESCENT_BELOW - 1];
	else
		return;
	*at = (struct descent_below){function, share, own};
	qsort(path->below, path->nr_below, sizeof(path->below[0]), by_time);
}

static uint64_t weight_below(const struct witnesses *w, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(w, witness);
	uint64_t ns = n->own_run_ns + n->own_sleep_ns;

	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		ns += weight_below(w, id);
	return ns;
}

/* Adds the time below each callee of a function, including the calls from its own recursive calls:
 * a callee that is the function itself says nothing. Returns the time in callees that are timed and
 * have paths of their own, which are left out. */
static uint64_t tally_callees(const struct witnesses *w, uint32_t witness,
			      const struct live_callees *live, struct tally *t)
{
	const struct witness_node *n = witnesses_node(w, witness);
	uint64_t left_out = 0;

	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next) {
		struct rec_code callee = witnesses_node(w, id)->function;

		if (result_is_live(live, id))
			left_out += weight_below(w, id);
		else if (code_equal(callee, n->function))
			left_out += tally_callees(w, id, live, t);
		else
			tally_add(t, callee, weight_below(w, id));
	}
	return left_out;
}

/* Finds the callee below which most of `all`, the time of these samples, passed, or that it passed
 * in the function's own code. Callees that are timed and have paths of their own do not count. */
static void sampled_callee(const struct descent *d, uint32_t node, const struct witness_set *set,
			   uint64_t all, struct descent_path *path, struct tally *t)
{
	const struct witnesses *w = d->witnesses;
	struct live_callees live;
	uint64_t callees = 0;

	t->nr = 0;
	result_live_callees(d, node, &live);
	for (unsigned int i = 0; i < set->nr_at; i++)
		all -= tally_callees(w, set->at[i], &live, t);
	for (unsigned int i = 0; i < t->nr && all; i++) {
		double part = (double)t->entry[i].ns / (double)all;

		callees += t->entry[i].ns;
		if (part * LOOPED_PART > 1)
			path->looped = (struct descent_looped){.function = t->entry[i].function,
							       .share = path->share * part};
	}
	path->looped.own = (all - callees) * LOOPED_PART > all;
}

/* If the callee is only on the way to another function, in whose own code most of these samples
 * ended, names that one. */
static void name_the_end(struct descent_path *path)
{
	const struct descent_below *end = &path->below[0];

	if (path->cause.kind != CAUSE_UNMEASURED || !path->looped.function.module ||
	    !path->nr_below || end->own || end->share * LOOPED_PART <= path->share)
		return;
	path->looped.function = end->function;
	path->looped.share = end->share;
}

/* Returns true if samples may name the callee that has most of the time of this path. */
static bool is_named_by_samples(const struct descent *d, const struct descent_path *path,
				const struct witness_set *set)
{
	if (path->cause.kind == CAUSE_LOOP)
		return !path->looped.calls;
	/* a detail says why they were not timed: they are many */
	return path->cause.kind == CAUSE_UNMEASURED && !path->cause.detail[0] &&
	       witness_set_stacks(d->witnesses, set) >= SAMPLED_LEAST;
}

void result_add_below(struct builder *b, struct descent_path *path, uint32_t node)
{
	uint32_t function = b->d->tree.node[node].function;
	struct rec_code last =
	    function == NO_INDEX ? (struct rec_code){0, 0} : b->d->tree.function[function].key;
	struct witness_set set;
	struct tally *t;

	if (witnesses_count(b->d->witnesses) < MIN_SAMPLES)
		return;
	t = calloc(1, sizeof(*t));
	if (!t) {
		b->err = -ENOMEM;
		return;
	}
	fnode_witness_set(b->d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++)
		gather(b->d->witnesses, set.at[i], t);
	for (unsigned int i = 0; i < set.nr_beyond; i++)
		if (node)
			gather(b->d->witnesses, set.beyond[i], t);
	for (unsigned int i = 0; i < t->nr; i++)
		if (t->entry[i].ns * SMALL >= t->all_ns)
			insert(path, t->entry[i].function,
			       path->share * (double)t->entry[i].ns / (double)t->all_ns,
			       code_equal(t->entry[i].function, last));
	/* the function's own code is reported by its source lines */
	if (path->nr_below == 1 && path->below[0].own)
		path->nr_below = 0;
	if (is_named_by_samples(b->d, path, &set) && t->all_ns) {
		sampled_callee(b->d, node, &set, t->all_ns, path, t);
		name_the_end(path);
	}
	free(t);
}

/* Sums the mean time and number of calls over all call sites of one callee. */
static void sum_callee(const struct descent *d, uint32_t node, uint32_t function, double *net,
		       double *calls)
{
	struct means m;

	*net = *calls = 0;
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		const struct fnode *c = &d->tree.node[id];
		const struct sums *s = &c->all;

		if (!fnode_alive(c) || c->function != function || !s->armed)
			continue;
		fnode_means(d, id, &m);
		*net += m.net;
		*calls += (double)s->calls / (double)s->armed;
	}
}

/* Names the callee of the loop whose fuse has blown, if there is no other one whose fuse has blown:
 * it is called often. */
static void name_hot_callee(const struct descent *d, struct descent_path *path, uint32_t node)
{
	struct rec_code hot = {0, 0};

	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		const struct fnode *c = &d->tree.node[id];

		if (c->state != FNODE_HOT)
			continue;
		if (c->function == NO_INDEX ||
		    (hot.module && !code_equal(hot, d->tree.function[c->function].key)))
			return;
		hot = d->tree.function[c->function].key;
	}
	path->looped.function = hot;
}

void result_add_looped(const struct builder *b, struct descent_path *path, uint32_t node)
{
	const struct descent *d = b->d;
	double net, calls, most = (double)path->latency_ns / LOOPED_PART;

	name_hot_callee(d, path, node);

	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		const struct fnode *c = &d->tree.node[id];

		if (c->function == NO_INDEX)
			continue;
		sum_callee(d, node, c->function, &net, &calls);
		if (net <= most || calls < LOOPED_CALLS || net < calls * LOOPED_MIN_NS)
			continue;
		most = net;
		path->looped =
		    (struct descent_looped){.function = d->tree.function[c->function].key,
					    .calls = calls,
					    .share = ratio(net, b->latency),
					    .mean_ns = (uint64_t)(net / calls + 0.5)};
	}
}
