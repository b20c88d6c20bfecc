// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the waits for another thread that are part of a request. A thread that waits for a lock
 * through a condition variable sleeps in the same system call as a thread that waits for its next
 * request. The place in the call tree tells them apart: a thread is idle in its own loop, beside
 * the function that does most of its work. A wait below that function, or below a function that
 * takes a lock, blocks a request. So does a wait for events that no client can end, if the thread
 * waits for its clients elsewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/walk/walk_tree.h"

enum {
	MIN_RUNS = 15, /* CPU snapshots needed to see where the threads of a pool work */
	/*
	 * a function with this percentage of a thread's time is its loop, or a caller of the loop
	 */
	LOOP_PERCENT = 97,
	/*
	 * A thread's own loop seldom lies below more functions than this. Pools that wait for a
	 * condition may lie deeper in managed runtimes.
	 */
	LOOP_DEPTH = 8,
	POOL_DEPTH = 12,
	/* a function below the loop with this percentage of the CPU time handles requests */
	WORK_PERCENT = 50,
	/* a loop that sleeps on purpose for this percentage of a thread's time is paced by that */
	PACE_PERCENT = 10,
};

static struct walk_thread *thread_of(struct walk *w, uint32_t tid)
{
	for (uint32_t i = 0; i < w->nr_judged; i++) {
		if (w->judged[i].tid == tid)
			return &w->judged[i];
	}
	if (!w->judged)
		w->judged = calloc(WALK_JUDGED, sizeof(*w->judged));
	if (!w->judged || w->nr_judged == WALK_JUDGED)
		return NULL;
	w->judged[w->nr_judged].tid = tid;
	return &w->judged[w->nr_judged++];
}

/* Space saving: a new leaf replaces the lightest, whose time is not judged any more. */
static struct walk_leaf *leaf_of(struct walk_thread *t, uint32_t node)
{
	struct walk_leaf *lightest = &t->leaf[0];

	for (uint32_t i = 0; i < t->nr; i++) {
		struct walk_leaf *l = &t->leaf[i];

		if (l->node == node)
			return l;
		if (l->all_ns < lightest->all_ns)
			lightest = l;
	}
	if (t->nr < WALK_LEAVES)
		lightest = &t->leaf[t->nr++];
	*lightest = (struct walk_leaf){.node = node};
	return lightest;
}

void walk_note_thread(struct walk *w, const struct rec_thread_snapshot *snapshot,
		      enum walk_class class, uint32_t node)
{
	const char *call = snapshot->sleep.call ? snapshot->sleep.call : "";
	struct walk_thread *t;
	struct walk_leaf *l;

	t = thread_of(w, snapshot->tid);
	if (!t)
		return;
	l = leaf_of(t, node);
	l->all_ns += snapshot->weight_ns;
	if (snapshot->kind == WITNESS_RUN) {
		l->run_ns += snapshot->weight_ns;
		t->runs++;
	} else if (class == WALK_SLEEP) {
		l->sleep_ns += snapshot->weight_ns;
	} else if (class == WALK_IDLE) {
		l->idle_ns += snapshot->weight_ns;
		l->awaits_own = snapshot->awaits == AWAITS_OWN;
		l->awaits_pair = snapshot->awaits == AWAITS_PAIR;
		l->serves = snapshot->serves || snapshot->awaits == AWAITS_OTHERS;
		l->for_thread = snapshot->sleep.object == SLEEP_ON_FUTEX ||
				!strncmp(call, "sem", 3) || l->awaits_own ||
				(l->awaits_pair && !l->serves);
	}
}

static bool is_below(const struct walk *w, uint32_t node, uint32_t above)
{
	/* a child has a higher number than its parent */
	while (node > above)
		node = w->nodes[node].parent;
	return node == above;
}

/* Returns the time of a thread below a node: on a CPU, or all of its time. */
static uint64_t spent_below(const struct walk *w, const struct walk_thread *t, uint32_t node,
			    bool on_cpu)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		if (is_below(w, t->leaf[i].node, node))
			ns += on_cpu ? t->leaf[i].run_ns : t->leaf[i].all_ns;
	}
	return ns;
}

/*
 * Returns the outermost frame of a stack. All complete stacks of a thread have the same one; those
 * that were cut below it cannot tell where the thread's loop is.
 */
static uint32_t outermost(const struct walk *w, uint32_t node)
{
	while (node && w->nodes[node].parent)
		node = w->nodes[node].parent;
	return node;
}

/*
 * CPU time of threads: of all their code, of the function below their loop that leads to a wait,
 * and of the wait itself.
 */
struct running {
	uint64_t all, handler, wait;
	uint32_t snapshots;
};

static void add_running(const struct walk *w, const struct walk_thread *t, uint32_t node,
			struct running *sum)
{
	uint32_t top = outermost(w, node);
	uint64_t all = spent_below(w, t, top, false), runs = spent_below(w, t, top, true),
		 handler = 0, runs_of_all;
	bool found = false;

	for (uint32_t i = node; i; i = w->nodes[i].parent) {
		uint64_t below = spent_below(w, t, i, true);

		if (!found && w->nodes[i].kind == WALK_FUNCTION) {
			sum->wait += below;
			found = true;
		}
		if (below * 100 >= runs * LOOP_PERCENT &&
		    spent_below(w, t, i, false) * 100 >= all * LOOP_PERCENT)
			break;
		handler = below;
	}
	sum->handler += handler;
	sum->all += runs;
	/* those of the complete stacks, as `runs` */
	runs_of_all = spent_below(w, t, 0, true);
	sum->snapshots += runs_of_all ? (uint32_t)((uint64_t)t->runs * runs / runs_of_all) : 0;
}

/*
 * Returns true if the wait lies below a function that does most of the work of the threads that
 * wait there, apart from the wait itself.
 */
static bool is_in_request(const struct walk *w, uint32_t node)
{
	struct running sum = {0};

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++) {
			if (w->judged[k].leaf[i].node == node && w->judged[k].leaf[i].idle_ns)
				add_running(w, &w->judged[k], node, &sum);
		}
	}
	return sum.snapshots >= MIN_RUNS && sum.handler > sum.wait &&
	       (sum.handler - sum.wait) * 100 >= sum.all * WORK_PERCENT;
}

/* Returns the number of functions from a node up to `above`, without it. */
static unsigned int functions_below(const struct walk *w, uint32_t node, uint32_t above)
{
	unsigned int n = 0;

	for (; node && node != above; node = w->nodes[node].parent)
		n += w->nodes[node].kind == WALK_FUNCTION;
	return n;
}

/*
 * Returns true if the thread waits for its clients elsewhere, below one of the functions that lead
 * to this wait, which no client can end: then this wait is part of a request. A wait for a
 * condition must lie deep below that function: a scheduler of coroutines waits for clients and for
 * work.
 */
static bool serves_elsewhere(const struct walk *w, const struct walk_thread *t,
			     const struct walk_leaf *l)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t above = t->leaf[i].node;

		if (!t->leaf[i].idle_ns || !t->leaf[i].serves || above == l->node)
			continue;
		while (!is_below(w, l->node, above))
			above = w->nodes[above].parent;
		if (above && w->nodes[above].kind == WALK_FUNCTION &&
		    (l->awaits_own || functions_below(w, l->node, above) >= LOOP_DEPTH))
			return true;
	}
	return false;
}

/*
 * Returns true if the thread's loop is paced by sleeping on purpose, and this wait lies further
 * below the loop than that sleep: the loop itself is not idle here. A sleep that lies deeper than
 * the wait is part of a request.
 */
static bool is_in_paced_loop(const struct walk *w, const struct walk_thread *t,
			     const struct walk_leaf *l)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		all += t->leaf[i].all_ns;
	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t loop = t->leaf[i].node;

		if (t->leaf[i].sleep_ns * 100 < all * PACE_PERCENT || !t->leaf[i].sleep_ns)
			continue;
		while (!is_below(w, l->node, loop))
			loop = w->nodes[loop].parent;
		if (loop && w->nodes[loop].kind == WALK_FUNCTION &&
		    functions_below(w, l->node, loop) > functions_below(w, t->leaf[i].node, loop))
			return true;
	}
	return false;
}

/*
 * Returns true if the wait need not be the idleness of the thread: it is in a paced loop, or lies
 * so deep that it need not be the thread's own loop. A stack that ends early does not tell how deep
 * a wait lies.
 */
static bool is_unsure(const struct walk *w, const struct walk_thread *t, const struct walk_leaf *l)
{
	if (l->idle_ns && (l->awaits_pair || (!l->serves && is_in_paced_loop(w, t, l))))
		return true;
	if (!l->idle_ns || !l->for_thread)
		return false;
	if (l->awaits_own && w->nodes[outermost(w, l->node)].kind == WALK_UNKNOWN)
		return true;
	return functions_below(w, l->node, 0) > (l->awaits_own ? LOOP_DEPTH : POOL_DEPTH);
}

bool walk_is_unsure(const struct walk_making *m, uint32_t node)
{
	const struct walk *w = m->w;

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++) {
			const struct walk_leaf *l = &w->judged[k].leaf[i];

			if (l->node == node && is_unsure(w, &w->judged[k], l))
				return true;
		}
	}
	return false;
}

bool walk_is_in_lock(const struct walk_making *m, uint32_t node)
{
	const struct walk *w = m->w;

	for (uint32_t i = node; m->locks && i; i = w->nodes[i].parent) {
		if (w->nodes[i].kind == WALK_FUNCTION && m->locks(m->ctx, w->nodes[i].function))
			return true;
	}
	return false;
}

/* Counts the waits of all threads at this leaf as blocked, once. */
static void leaf_is_blocked(struct walk_making *m, uint32_t node)
{
	const struct walk *w = m->w;
	uint64_t ns = 0;

	if (m->blocked_own[node])
		return;
	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++)
			ns += w->judged[k].leaf[i].node == node ? w->judged[k].leaf[i].idle_ns : 0;
	}
	m->blocked_own[node] = ns;
	for (uint32_t n = node;; n = w->nodes[n].parent) {
		m->blocked[n] += ns;
		if (!n)
			break;
	}
}

int walk_judge_waits(struct walk_making *m)
{
	const struct walk *w = m->w;

	m->blocked = calloc(w->nr_nodes, sizeof(*m->blocked));
	m->blocked_own = calloc(w->nr_nodes, sizeof(*m->blocked_own));
	if (!m->blocked || !m->blocked_own)
		return -1;
	for (uint32_t k = 0; k < w->nr_judged; k++) {
		const struct walk_thread *t = &w->judged[k];

		for (uint32_t i = 0; i < t->nr; i++) {
			const struct walk_leaf *l = &t->leaf[i];

			if (!l->idle_ns)
				continue;
			if (walk_is_in_lock(m, l->node) ||
			    (l->for_thread &&
			     (is_in_request(w, l->node) || serves_elsewhere(w, t, l))))
				leaf_is_blocked(m, l->node);
			else if (is_unsure(w, t, l))
				m->unsure_ns += l->idle_ns;
		}
	}
	return 0;
}

void walk_judge_end(struct walk_making *m)
{
	free(m->blocked);
	free(m->blocked_own);
}
