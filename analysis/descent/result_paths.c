// SPDX-License-Identifier: GPL-2.0-or-later
/* The paths of an answer: the cause and the time of each root cause candidate. */

#include "analysis/descent/result_impl.h"

enum {
	/* percent of the host's time that must pass in a callee to report it as the place */
	MOSTLY = 90,
	/* a cause with this percentage of the blocked time gets a path of its own */
	CAUSE_PART = 10,
	SAMPLED_PART = 80,  /* percent of the samples that must lie in own code */
	MIN_SAMPLES_OF = 5, /* stack samples needed to decide that */
	MIN_LEFT = 2,	    /* stack samples below calls that do not return */
};

/* Returns true if nearly all samples in calls of this fnode lie in its own code. */
static bool sampled_in_own_code(const struct descent *d, uint32_t node)
{
	struct witness_set set;
	uint64_t own, all;

	fnode_witness_set(d, node, &set);
	own = witness_set_own_run(d->witnesses, &set);
	all = witness_set_weight(d->witnesses, &set);
	return witness_set_stacks(d->witnesses, &set) >= MIN_SAMPLES_OF &&
	       own * 100 >= all * SAMPLED_PART;
}

/* Returns true if the samples place most of the time that is not in timed callees below calls
 * that do not return. Such a call cannot be timed, but an exception or a longjmp() leaves it. */
static bool sampled_in_left_calls(const struct descent *d, uint32_t node)
{
	const struct function_sites *f = fnode_function(&d->tree, node);
	struct witness_set set, callee;
	uint64_t own, ns = 0, stacks = 0;

	fnode_witness_set(d, node, &set);
	own = witness_set_own_run(d->witnesses, &set);
	for (uint32_t i = 0; f && i < f->nr_sites; i++) {
		struct rec_code ret = {f->key.module, f->sites[i].ret};

		if (!(f->sites[i].flags & CALL_SITE_NORETURN))
			continue;
		witness_set_callee(d->witnesses, &set, ret, (struct rec_code){0, 0}, &callee);
		ns += witness_set_weight(d->witnesses, &callee);
		stacks += witness_set_stacks(d->witnesses, &callee);
	}
	return stacks >= MIN_LEFT && ns > own;
}

/* Changes own code to what it is, if that is known better. */
static void refine_own(const struct descent *d, uint32_t node, enum cause_kind *kind,
		       enum evidence *evidence)
{
	if (sampled_in_left_calls(d, node)) {
		*kind = CAUSE_UNMEASURED;
		*evidence = EVIDENCE_SAMPLED;
	} else if (result_is_kernel(d, node)) {
		*kind = CAUSE_KERNEL;
	}
}

/* Add what is known about the time in a path of a function itself. */
static void add_details(struct builder *b, struct descent_path *path, uint32_t node)
{
	result_add_pcs(b, path, node, result_has_callees(path));
	if (path->cause.kind == CAUSE_LOOP)
		result_add_looped(b, path, node);
	if (result_has_callees(path))
		result_add_below(b, path, node);
	result_split_handlers(b, path, node);
	result_split_kernel(b, path, node);
}

static void add_self(struct builder *b, uint32_t node, const struct own_times *own)
{
	const struct fnode *n = &b->d->tree.node[node];
	bool complete = fnode_is_measured(b->d, node) && !n->opened;
	enum evidence evidence = EVIDENCE_MEASURED;
	struct cause cause = {.kind = CAUSE_OWN_CODE};
	struct descent_path *path;
	/* the time of new callees is own time as long as no decision was taken about them */
	double ns = own->self + own->undecided;

	if (complete && n->loop_ns > n->own_ns) {
		cause.kind = CAUSE_LOOP;
	} else if (complete && own->dropped > own->self) {
		/* Of callees that were measured earlier, only the mean is known. The time of a call
		 * beyond that mean must not be reported as own code. */
		cause.kind = CAUSE_UNMEASURED;
		snprintf(cause.detail, sizeof(cause.detail), "spread over small callees");
		ns += own->dropped;
	} else if (!complete || n->unmeasured) {
		cause.kind = CAUSE_UNMEASURED;
		if (n->hot_loop) {
			cause.kind = CAUSE_LOOP;
		} else if (sampled_in_own_code(b->d, node)) {
			cause.kind = CAUSE_OWN_CODE;
			evidence = EVIDENCE_SAMPLED;
		}
	} else if (descent_totals(b->d)->blocked_unknown) {
		cause.kind = CAUSE_UNKNOWN;
		snprintf(cause.detail, sizeof(cause.detail), "not known whether it was running");
	}
	if (cause.kind == CAUSE_OWN_CODE)
		refine_own(b->d, node, &cause.kind, &evidence);
	if (cause.kind == CAUSE_LOOP && !n->opened)
		ns += own->loop - own->loop_blocked;
	path = result_add_path(b, node, ns, &cause, n->own[CANDIDATE_SELF]);
	if (!path)
		return;
	path->evidence = evidence;
	add_details(b, path, node);
}

/* Adds one path for many callees, each of which few of the calls execute. */
static void add_spread(struct builder *b, uint32_t node, const struct own_times *own)
{
	const struct fnode *n = &b->d->tree.node[node];
	struct cause cause = {.kind = CAUSE_UNMEASURED};

	snprintf(cause.detail, sizeof(cause.detail), "spread over %u callees", n->spread);
	result_add_path(b, node, own->spread, &cause, n->votes);
}

static bool tally_sleeps(void *ctx, const struct witness_node *n)
{
	struct cause_tally *t = ctx;

	if (n->own)
		cause_tally_join(t, &n->own->sleeps, CAUSE_KINDS);
	return t->nr > 0;
}

static void sleeps_of(const struct descent *d, uint32_t node, struct cause_tally *t)
{
	struct witness_set set;

	memset(t, 0, sizeof(*t));
	result_visit_sleeps(d, node, tally_sleeps, t);
	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; !t->nr && i < set.nr_at; i++)
		if (witnesses_node(d->witnesses, set.at[i])->own)
			cause_tally_join(t, &witnesses_node(d->witnesses, set.at[i])->own->partial,
					 CAUSE_KINDS);
	if (!t->nr && result_blocked_at(d, node))
		cause_tally_join(t, &result_blocked_at(d, node)->causes, CAUSE_KINDS);
}

/* Returns the path of the same function with a cause of this kind; NULL: none. */
static struct descent_path *path_of_kind(const struct builder *b, uint32_t node,
					 enum cause_kind kind)
{
	for (unsigned int i = 0; i < b->r->nr_paths; i++) {
		struct descent_path *p = &b->r->paths[i];

		if (p->cause.kind == kind && p->frames[p->nr_frames - 1] == b->index[node])
			return p;
	}
	return NULL;
}

static void path_add_ns(const struct builder *b, struct descent_path *path, double ns)
{
	path->share += ratio(ns, b->latency);
	path->latency_ns += (uint64_t)ns;
}

/* Adds a path for one kind of sleep. The time in which requests were handed to a device and the
 * wait for them are one path. */
static void add_sleep(struct builder *b, uint32_t node, double ns, const struct cause *cause,
		      uint64_t votes)
{
	struct descent_path *path =
	    cause->kind == CAUSE_IO ? path_of_kind(b, node, CAUSE_IO) : NULL;

	if (path) {
		path_add_ns(b, path, ns);
		path->cause = *cause;
	} else {
		path = result_add_path(b, node, ns, cause, votes);
	}
	if (path)
		result_add_kernel(b, path, node, (int)cause->kind);
}

/* Adds one path for each kind of sleep that matters, with its part of the time. */
static void add_blocked(struct builder *b, uint32_t node, const struct own_times *own)
{
	uint64_t kind_ns[CAUSE_KINDS] = {0}, all = 0, shown = 0, votes;
	struct cause unknown = {.kind = CAUSE_UNKNOWN, .detail = "blocked"}, cause;
	struct cause_tally t, one;
	double ns = own->blocked + own->loop_blocked;

	votes = b->d->tree.node[node].own[CANDIDATE_BLOCKED];
	sleeps_of(b->d, node, &t);
	for (unsigned int i = 0; i < t.nr; i++) {
		kind_ns[t.entry[i].cause.kind] += t.entry[i].ns;
		all += t.entry[i].ns;
	}
	for (unsigned int kind = 0; kind < CAUSE_KINDS; kind++)
		if (kind_ns[kind] * 100 >= all * CAUSE_PART)
			shown += kind_ns[kind];
	if (!shown) {
		result_add_path(b, node, ns, &unknown, votes);
		return;
	}
	for (unsigned int kind = 0; kind < CAUSE_KINDS; kind++) {
		if (!kind_ns[kind] || kind_ns[kind] * 100 < all * CAUSE_PART)
			continue;
		memset(&one, 0, sizeof(one));
		cause_tally_join(&one, &t, (enum cause_kind)kind);
		cause_tally_lock(&one, &cause);
		add_sleep(b, node, ns * (double)kind_ns[kind] / (double)shown, &cause, votes);
	}
}

static void add_mean(char *out, size_t size, uint64_t nr, uint64_t records)
{
	double mean = ratio((double)nr, (double)records);

	snprintf(out, size, mean >= 10 ? "%.0f" : "%.2g", mean);
}

/* Adds a path for page faults: the time of counted faults, and the time that samples saw in
 * faults. */
static void add_fault(struct builder *b, uint32_t node, const struct own_times *own)
{
	const struct totals *t = descent_totals(b->d);
	struct cause cause = {.kind = CAUSE_PAGE_FAULT};
	double counted = b->d->tree.node[node].self_kept[CANDIDATE_FAULT] ? own->fault : 0;
	struct descent_path *path;
	char minor[32], major[32];

	add_mean(minor, sizeof(minor), t->minor_faults, t->records);
	add_mean(major, sizeof(major), t->major_faults, t->records);
	snprintf(cause.detail, sizeof(cause.detail), "%s minor, %s major in a call", minor, major);
	path = path_of_kind(b, node, CAUSE_PAGE_FAULT);
	if (path) {
		/* one path for waiting and for work in page faults */
		path_add_ns(b, path, counted + b->faults.ns);
		snprintf(path->cause.detail, sizeof(path->cause.detail), "%s", cause.detail);
		return;
	}
	path = result_add_path(b, node, counted + b->faults.ns, &cause,
			       b->d->tree.node[node].own[CANDIDATE_FAULT]);
	if (!path)
		return;
	if (b->faults.ns > counted)
		path->evidence = EVIDENCE_SAMPLED;
	else if (t->fault_estimated || b->faults.ns > 0)
		path->evidence = EVIDENCE_ESTIMATED;
	if (b->faults.kernel.nr)
		result_set_kernel(b, path, node, &b->faults.kernel, 1, EVIDENCE_SAMPLED);
	path->nr_below = b->faults.nr_below;
	memcpy(path->below, b->faults.below, sizeof(path->below));
}

/* Returns the deepest armed fnode that holds nearly all interrupt or run-queue time; f0 if no
 * callee does. */
static uint32_t place_of(const struct descent *d, bool interrupt)
{
	uint32_t at = 0, id = d->tree.node[0].first_child;
	struct means m;
	double all;

	fnode_means(d, 0, &m);
	all = interrupt ? m.interrupt : m.runqueue;
	while (id != NO_INDEX) {
		const struct fnode *n = &d->tree.node[id];

		fnode_means(d, id, &m);
		if (n->state == FNODE_ARMED && n->last == n->site &&
		    (interrupt ? m.interrupt : m.runqueue) * 100 >= all * MOSTLY) {
			at = id;
			id = n->first_child;
		} else {
			id = n->next;
		}
	}
	return at;
}

/* Sets the place where the host's time passed. The path itself stays at f0, because its depth would
 * depend on which fnodes happen to be armed. */
static void place(struct builder *b, struct descent_path *path, bool interrupt)
{
	uint32_t node = place_of(b->d, interrupt);

	if (path && b->index[node] != NO_INDEX)
		path->place = b->index[node];
}

/* Returns the time of one kind in a tally of host waits; *all: the time of all kinds. */
static uint64_t kind_ns(const struct cause_tally *t, enum cause_kind kind, uint64_t *all)
{
	uint64_t ns = 0;

	*all = 0;
	for (unsigned int i = 0; i < t->nr; i++) {
		*all += t->entry[i].ns;
		if (t->entry[i].cause.kind == kind)
			ns += t->entry[i].ns;
	}
	return ns;
}

static bool is_awaited(const struct builder *b, uint32_t tid)
{
	for (unsigned int i = 0; i < b->r->nr_paths; i++) {
		const struct cause *c = &b->r->paths[i].cause;

		if (c->kind == CAUSE_WAIT && c->tid == tid)
			return true;
	}
	return false;
}

/* Takes the task out of the tally that had the CPU of the thread and that the thread waits for,
 * too: it worked for the thread, which had woken it on its own CPU. Its time is a wait for that
 * task, not contention. Returns it, or 0. */
static uint64_t take_awaited(const struct builder *b, struct cause_tally *t, struct cause *out)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		struct cause_entry e = t->entry[i];

		if (e.cause.kind != CAUSE_PREEMPTION || !e.cause.tid || !is_awaited(b, e.cause.tid))
			continue;
		*out = e.cause;
		out->kind = CAUSE_WAIT;
		out->took_cpu = true;
		snprintf(out->detail, sizeof(out->detail), "%.96s, on the CPU of this thread",
			 e.cause.detail);
		t->entry[i] = t->entry[--t->nr];
		return e.ns;
	}
	return 0;
}

/* Adds a path for each kind that matters, of the waits that did not begin with a wakeup. */
static void add_preempted(struct builder *b, double ns, uint64_t votes)
{
	static const enum cause_kind kinds[] = {CAUSE_PREEMPTION, CAUSE_QUOTA, CAUSE_STOPPED};
	struct cause_tally t = b->d->preempted_by;
	uint64_t all, part, shown, awaited;
	struct cause cause = {.kind = CAUSE_PREEMPTION};

	shown = awaited = take_awaited(b, &t, &cause);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		part = kind_ns(&t, kinds[i], &all);
		shown += part * 100 >= all * CAUSE_PART ? part : 0;
	}
	if (!shown)
		place(b, result_add_path(b, 0, ns, &cause, votes), false);
	if (awaited) {
		double part_ns = ns * (double)awaited / (double)shown;

		b->awaited = part_ns / b->latency;
		place(b, result_add_path(b, 0, part_ns, &cause, votes), false);
	}
	for (unsigned int i = 0; shown && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		part = kind_ns(&t, kinds[i], &all);
		if (!part || part * 100 < all * CAUSE_PART)
			continue;
		cause_tally_tasks(&t, kinds[i], &cause);
		place(b, result_add_path(b, 0, ns * (double)part / (double)shown, &cause, votes),
		      false);
	}
}

bool result_add_unfollowed(struct builder *b, uint32_t node)
{
	unsigned int before = b->r->nr_paths;
	struct own_times own;
	double part;

	fnode_own_times(b->d, node, &own);
	part = (own.self + own.blocked) * CAUSE_PART / 100;
	memset(&b->faults, 0, sizeof(b->faults));
	if (own.self > part)
		add_self(b, node, &own);
	if (own.blocked > part)
		add_blocked(b, node, &own);
	return b->r->nr_paths > before;
}

static void add_host_times(struct builder *b)
{
	const struct totals *t = descent_totals(b->d);
	const struct fnode *root = &b->d->tree.node[0];
	struct cause queue, interrupt = {.kind = CAUSE_INTERRUPT};
	double calls = t->records ? (double)t->records : 1;

	cause_tally_tasks(&b->d->queued_by, CAUSE_RUN_QUEUE, &queue);
	if (cause_tally_top(&b->d->interrupts))
		interrupt = *cause_tally_top(&b->d->interrupts);
	if (root->self_kept[CANDIDATE_PREEMPTED])
		add_preempted(b, (double)t->preempted_ns / calls, root->own[CANDIDATE_PREEMPTED]);
	if (root->self_kept[CANDIDATE_RUNQUEUE])
		place(b,
		      result_add_path(b, 0, (double)t->runqueue_ns / calls, &queue,
				      root->own[CANDIDATE_RUNQUEUE]),
		      false);
	if (root->self_kept[CANDIDATE_INTERRUPT])
		place(b,
		      result_add_path(b, 0, (double)t->interrupt_ns / calls, &interrupt,
				      root->own[CANDIDATE_INTERRUPT]),
		      true);
}

void result_add_paths(struct builder *b)
{
	const struct ftree *t = &b->d->tree;
	struct own_times own;

	for (uint32_t i = 0; i < t->nr_nodes; i++) {
		const struct fnode *n = &t->node[i];

		if (!n->live || b->index[i] == NO_INDEX)
			continue;
		fnode_own_times(b->d, i, &own);
		memset(&b->faults, 0, sizeof(b->faults));
		if (n->self_kept[CANDIDATE_SELF])
			add_self(b, i, &own);
		if (n->self_kept[CANDIDATE_BLOCKED])
			add_blocked(b, i, &own);
		if (n->self_kept[CANDIDATE_FAULT] || b->faults.ns > 0)
			add_fault(b, i, &own);
		if (n->spread)
			add_spread(b, i, &own);
	}
	add_host_times(b);
}
