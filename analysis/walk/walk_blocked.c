// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the waits for another thread that are part of a request. A thread that waits for a lock
 * through a condition variable sleeps in the same system call as a thread that waits for its next
 * request. The place in the call tree tells them apart: a thread is idle in its own loop, beside
 * the function that does most of its work. A wait below that function, or below a function that
 * takes a lock, blocks a request. So does a wait for events that no client can end, if the thread
 * waits for its clients elsewhere. */

#include "analysis/base/array.h"
#include "analysis/walk/walk_tree.h"

enum {
	MIN_RUNS = 15, /* CPU snapshots needed to see where the threads of a pool work */
	/* a function with this percentage of a thread's time is its loop, or a caller of the
	 * loop */
	LOOP_PERCENT = 97,
	/* A thread's own loop seldom lies below more functions than this. Pools that wait for a
	 * condition may lie deeper in managed runtimes. */
	LOOP_DEPTH = 8,
	POOL_DEPTH = 12,
	/* a function below the loop with this percentage of the CPU time handles requests */
	WORK_PERCENT = 50,
	/* a loop that sleeps on purpose for this percentage of a thread's time is paced by that */
	PACE_PERCENT = 10,
};

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

/* Returns the CPU time of a thread in a node itself. */
static uint64_t ran_in(const struct walk_thread *t, uint32_t node)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		if (t->leaf[i].node == node)
			return t->leaf[i].run_ns;
	}
	return 0;
}

/* Returns the outermost frame of a stack. All complete stacks of a thread have the same one; those
 * that were cut below it cannot tell where the thread's loop is. */
static uint32_t outermost(const struct walk *w, uint32_t node)
{
	while (node && w->nodes[node].parent)
		node = w->nodes[node].parent;
	return node;
}

/* CPU time of threads: of all their code, of the function that has their loop without its callees,
 * of the function below it that leads to a wait, and of the wait itself. */
struct running {
	uint64_t all, loop, handler, wait;
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
		    spent_below(w, t, i, false) * 100 >= all * LOOP_PERCENT) {
			sum->loop += ran_in(t, i);
			break;
		}
		handler = below;
	}
	sum->handler += handler;
	sum->all += runs;
	/* those of the complete stacks, as `runs` */
	runs_of_all = spent_below(w, t, 0, true);
	sum->snapshots += runs_of_all ? (uint32_t)((uint64_t)t->runs * runs / runs_of_all) : 0;
}

/* Returns the CPU time of all threads that wait there. */
static struct running running_around(const struct walk *w, uint32_t node)
{
	struct running sum = {0};

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++) {
			if (w->judged[k].leaf[i].node == node && w->judged[k].leaf[i].idle_ns)
				add_running(w, &w->judged[k], node, &sum);
		}
	}
	return sum;
}

/* Returns true if the wait lies below a function that does most of the work of the threads that
 * wait there, apart from the wait itself. */
static bool is_in_request(const struct walk *w, uint32_t node)
{
	struct running sum = running_around(w, node);

	return sum.snapshots >= MIN_RUNS && sum.handler > sum.wait &&
	       (sum.handler - sum.wait) * 100 >= sum.all * WORK_PERCENT;
}

/* Returns true if the function that has the loop does most of the work itself, as interpreters do.
 * Then the place of the wait says nothing about it. */
static bool is_in_working_loop(const struct walk *w, uint32_t node)
{
	struct running sum = running_around(w, node);

	return sum.snapshots >= MIN_RUNS && sum.loop * 100 >= sum.all * WORK_PERCENT;
}

/* Returns the number of functions from a node up to `above`, without it. */
static unsigned int functions_below(const struct walk *w, uint32_t node, uint32_t above)
{
	unsigned int n = 0;

	for (; node && node != above; node = w->nodes[node].parent)
		n += w->nodes[node].kind == WALK_FUNCTION;
	return n;
}

/* Returns true if the thread waits for its clients elsewhere, below one of the functions that lead
 * to this wait, which no client can end: then this wait is part of a request. A wait for a
 * condition must lie deep below that function: a scheduler of coroutines waits for clients and for
 * work. */
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

/* Returns true if the thread's loop is paced by sleeping on purpose, and this wait lies further
 * below the loop than that sleep: the loop itself is not idle here. A sleep that lies deeper than
 * the wait is part of a request. */
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

/* Returns true if the sleep lies deeper below the thread's loop than the wait for its clients. */
static bool is_below_loop(const struct walk *w, const struct walk_leaf *sleep,
			  const struct walk_leaf *wait)
{
	uint32_t loop = wait->node;

	while (!is_below(w, sleep->node, loop))
		loop = w->nodes[loop].parent;
	return loop && w->nodes[loop].kind == WALK_FUNCTION &&
	       functions_below(w, sleep->node, loop) > functions_below(w, wait->node, loop);
}

double walk_sleep_in_requests(const struct walk *w)
{
	double ns = 0;

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		const struct walk_thread *t = &w->judged[k];

		for (uint32_t i = 0; i < t->nr; i++) {
			if (any_of(n, t->nr,
				   t->leaf[n].idle_ns && t->leaf[n].for_clients &&
				       is_below_loop(w, &t->leaf[i], &t->leaf[n])))
				ns += (double)t->leaf[i].sleep_ns;
		}
	}
	return ns;
}

/* Returns true if no function that leads to the wait is known. */
static bool has_no_callers(const struct walk *w, uint32_t node)
{
	return w->nodes[outermost(w, node)].kind == WALK_UNKNOWN && !functions_below(w, node, 0);
}

/* Returns the system call of a node; NO_NODE: none. */
static uint32_t call_above(const struct walk *w, uint32_t node)
{
	while (node && w->nodes[node].kind != WALK_SYSCALL)
		node = w->nodes[node].parent;
	return node ? w->nodes[node].name : NO_NODE;
}

/* Time of a thread in a system call below known functions, as it was judged. */
struct judged_time {
	uint64_t idle, blocked;
};

static struct judged_time judged_of_call(const struct walk_making *m, const struct walk_thread *t,
					 const struct walk_leaf *l)
{
	const struct walk *w = m->w;
	struct judged_time sum = {0};

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct walk_leaf *other = &t->leaf[i];

		if (has_no_callers(w, other->node) ||
		    call_above(w, other->node) != call_above(w, l->node))
			continue;
		if (m->blocked_own[other->node])
			sum.blocked += other->idle_ns;
		else
			sum.idle += other->idle_ns;
	}
	return sum;
}

/* Returns true if the wait need not be the idleness of the thread: it is in a paced loop, or in a
 * loop that does the work itself; is for children, which may do the thread's work, for a FIFO that
 * nobody opens, for an io_uring, or for a semaphore, which may be used as a lock; mostly lasts
 * while a client is not answered; or lies so deep that it need not be the thread's own loop. A
 * stack that ends early does not tell how deep. */
static bool is_unsure(const struct walk_making *m, const struct walk_thread *t,
		      const struct walk_leaf *l)
{
	const struct walk *w = m->w;
	struct judged_time others;

	if (l->idle_ns && (l->awaits_pair || l->doubtful || l->owed_ns * 2 >= l->idle_ns ||
			   (!l->serves && is_in_paced_loop(w, t, l))))
		return true;
	if (!l->idle_ns || !l->for_thread)
		return false;
	if (l->awaits_own && w->nodes[outermost(w, l->node)].kind == WALK_UNKNOWN)
		return true;
	if (has_no_callers(w, l->node)) {
		others = judged_of_call(m, t, l);
		return !others.idle && !others.blocked;
	}
	return functions_below(w, l->node, 0) > (l->awaits_own ? LOOP_DEPTH : POOL_DEPTH) ||
	       is_in_working_loop(w, l->node);
}

bool walk_is_unsure(const struct walk_making *m, uint32_t node)
{
	const struct walk *w = m->w;

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++) {
			const struct walk_leaf *l = &w->judged[k].leaf[i];

			if (l->node == node && is_unsure(m, &w->judged[k], l))
				return true;
		}
	}
	return false;
}

bool walk_is_inside(const struct walk_making *m, uint32_t node)
{
	const struct walk *w = m->w;
	bool inside = false;

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		for (uint32_t i = 0; i < w->judged[k].nr; i++) {
			const struct walk_leaf *l = &w->judged[k].leaf[i];

			if (l->node != node || !l->idle_ns)
				continue;
			if (!l->inside)
				return false;
			inside = true;
		}
	}
	return inside;
}

bool walk_is_in_lock(const struct walk_making *m, uint32_t node)
{
	const struct walk_functions *names = m->functions;
	const struct walk *w = m->w;
	struct rec_code callee = {0};

	for (uint32_t i = node; names && names->locks && i; i = w->nodes[i].parent) {
		if (w->nodes[i].kind != WALK_FUNCTION)
			continue;
		if (names->locks(names->ctx, w->nodes[i].function, callee))
			return true;
		callee = w->nodes[i].function;
	}
	return false;
}

bool walk_is_scheduler(const struct walk_making *m, uint32_t node)
{
	const struct walk_functions *names = m->functions;
	const struct walk_tree_node *n = &m->w->nodes[node];

	return names && names->schedules && n->kind == WALK_FUNCTION &&
	       names->schedules(names->ctx, n->function);
}

/* Returns true if the node is below the scheduler of coroutines. */
static bool is_in_scheduler(const struct walk_making *m, uint32_t node)
{
	for (uint32_t i = node; i; i = m->w->nodes[i].parent) {
		if (walk_is_scheduler(m, i))
			return true;
	}
	return false;
}

static void add_blocked(struct walk_making *m, uint32_t node, uint64_t ns)
{
	m->blocked_own[node] += ns;
	for (uint32_t n = node;; n = m->w->nodes[n].parent) {
		m->blocked[n] += ns;
		if (!n)
			break;
	}
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
	add_blocked(m, node, ns);
}

static void judge_by_callers(struct walk_making *m, const struct walk_thread *t,
			     const struct walk_leaf *l)
{
	const struct walk *w = m->w;

	if (is_in_scheduler(m, l->node))
		m->unsure_ns += l->idle_ns;
	else if (walk_is_in_lock(m, l->node) ||
		 (l->for_thread && (is_in_request(w, l->node) || serves_elsewhere(w, t, l))))
		leaf_is_blocked(m, l->node);
	else if (is_unsure(m, t, l))
		m->unsure_ns += l->idle_ns;
}

/* Of waits whose callers are not known the same part is blocked as of the thread's other waits in
 * this system call. */
static void judge_by_others(struct walk_making *m, const struct walk_thread *t,
			    const struct walk_leaf *l)
{
	struct judged_time others = judged_of_call(m, t, l);

	if (l->for_thread && others.blocked)
		add_blocked(m, l->node,
			    (uint64_t)((double)l->idle_ns * (double)others.blocked /
				       (double)(others.blocked + others.idle)));
	else if (is_unsure(m, t, l))
		m->unsure_ns += l->idle_ns;
}

int walk_judge_waits(struct walk_making *m)
{
	const struct walk *w = m->w;

	m->blocked = calloc(w->nr_nodes, sizeof(*m->blocked));
	m->blocked_own = calloc(w->nr_nodes, sizeof(*m->blocked_own));
	if (!m->blocked || !m->blocked_own)
		return -1;
	/* first the waits with callers, by which the others are judged */
	for (int without = 0; without < 2; without++) {
		for (uint32_t k = 0; k < w->nr_judged; k++) {
			const struct walk_thread *t = &w->judged[k];

			for (uint32_t i = 0; i < t->nr; i++) {
				const struct walk_leaf *l = &t->leaf[i];

				if (!l->idle_ns || has_no_callers(w, l->node) != without)
					continue;
				if (without)
					judge_by_others(m, t, l);
				else
					judge_by_callers(m, t, l);
			}
		}
	}
	return 0;
}

void walk_judge_end(struct walk_making *m)
{
	free(m->blocked);
	free(m->blocked_own);
}
