// SPDX-License-Identifier: GPL-2.0-or-later
/* A decision (DARC, section 3.2): of each function on a root cause path, keep the callees, and the
 * function itself, whose votes are within maxcount_percentage of the largest. docs/notes/descent.md
 * explains why some candidates wait for more calls. */
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/descent/descent_impl.h"

enum {
	PATIENCE = 3,	/* how many decisions to wait while a candidate is near the threshold */
	MIN_VOTES = 10, /* a callee that is kept for its time needs 1/10 of the votes */
	LIMIT = 5,	/* the same for a function that only few of the calls execute */
};

/* Do not follow a callee that less than this share of the in-peak calls execute. Many such callees
 * are reported together, in their caller. */
#define MIN_PART 0.1

/* A callee with a smaller share of the peak's time cannot cause the peak: do not follow it. */
#define MIN_TIME 0.03

/* A callee with this share of the time is followed even with few votes, because few calls may have
 * most of the time. */
#define KEEP_TIME 0.2

/* The same limit for the time of a function itself, which opens no new path. */
#define KEEP_OWN 0.25

/* If a function is blocked for this share of its time, its callees need no measurement. */
#define MOSTLY_ASLEEP 0.9

/* Standard deviations within which a candidate is near the threshold. */
#define NEAR 1.5

bool fnode_alive(const struct fnode *n)
{
	return !n->replaced && n->state != FNODE_HOT && n->state != FNODE_UNTIMED;
}

static double percentage(const struct descent *d)
{
	return (double)d->ask.maxcount_ppm / 1e6;
}

/* Returns the largest number of votes among the callees and the function itself, without the
 * candidates of the host. */
static uint64_t largest_count(const struct descent *d, const struct fnode *n)
{
	uint64_t largest = 0;

	for (int i = 0; i < CANDIDATES; i++)
		if (!candidate_of_host((enum candidate)i) && n->own[i] > largest)
			largest = n->own[i];
	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next)
		if (fnode_alive(&d->tree.node[id]) && d->tree.node[id].maxcount > largest)
			largest = d->tree.node[id].maxcount;
	return largest;
}

/* Returns true if more calls might move the candidate to the other side of the threshold. */
static bool near_threshold(const struct descent *d, uint64_t count, uint64_t largest)
{
	double p = percentage(d), a = (double)largest, b = (double)count;

	return count && count < largest && fabs(b - p * a) < NEAR * sqrt(b + p * p * a);
}

static bool is_kept(const struct descent *d, uint64_t count, uint64_t largest)
{
	return count && (double)count >= percentage(d) * (double)largest;
}

/* Returns the share of the in-peak calls that took this path, by the votes along the path. */
static double path_part(const struct descent *d, uint32_t node)
{
	double part = 1;

	for (; node; node = d->tree.node[node].parent) {
		const struct fnode *n = &d->tree.node[node], *caller = &d->tree.node[n->parent];

		if (caller->votes)
			part *= (double)n->maxcount / (double)caller->votes;
	}
	return part;
}

/* Returns the share of `ns` in the program's time of the calls; 1 as long as that time is not
 * known. */
static double time_part(const struct descent *d, double ns)
{
	const struct totals *t = descent_totals(d);

	return t->latency_ns ? ns * (double)t->records / descent_program_ns(t) : 1;
}

static double callee_part(const struct descent *d, uint32_t node)
{
	struct means m;

	fnode_means(d, node, &m);
	return time_part(d, m.net);
}

static bool has_armed_child(const struct descent *d, const struct fnode *n)
{
	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next)
		if (d->tree.node[id].state == FNODE_ARMED)
			return true;
	return false;
}

static bool has_restored_child(const struct descent *d, const struct fnode *n)
{
	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next)
		if (d->tree.node[id].restored && fnode_alive(&d->tree.node[id]))
			return true;
	return false;
}

/* Returns true if the function makes a system call that can be timed. */
static bool has_timed_syscall(const struct descent *d, const struct fnode *n)
{
	const struct function_sites *f = fnode_function(&d->tree, n->id);

	return f &&
	       any_of(i, f->nr_sites,
		      code_is_syscall(f->sites[i].callee) && f->sites[i].flags & CALL_SITE_TIMED);
}

/* Returns true if the function was measured to be blocked nearly all of its time, and stack samples
 * show that it sleeps in its own system calls. */
static bool sleeps_itself(const struct descent *d, const struct fnode *n)
{
	struct means m;

	if (n->first_child != NO_INDEX || has_timed_syscall(d, n))
		return false;
	fnode_means(d, n->id, &m);
	return m.net > 0 && m.blocked >= MOSTLY_ASLEEP * m.net && fnode_is_call_of_kernel(d, n->id);
}

bool fnode_is_measured(const struct descent *d, uint32_t node)
{
	const struct fnode *n = &d->tree.node[node];
	struct own_times own;

	if (fnode_complete(&d->tree, node) || sleeps_itself(d, n))
		return true;
	if (!n->tried || !has_armed_child(d, n))
		return false;
	fnode_own_times(d, node, &own);
	return time_part(d, own.self + own.blocked + own.fault + own.dropped) < MIN_TIME;
}

/* Returns true if no callee of the function is armed yet. Then there is nothing to compare: the
 * function will be opened, whatever its time goes to. */
static bool is_unopened(const struct descent *d, const struct fnode *n)
{
	return !fnode_complete(&d->tree, n->id) && !has_armed_child(d, n);
}

/* Returns true if the function has enough votes to compare its candidates. Before its callees are
 * armed, one vote is enough; those of callees that a saved session had armed are compared
 * already. */
static bool enough_votes(const struct descent *d, const struct fnode *n)
{
	uint64_t need = descent_decision_ops(d), window = need;

	if (n->id)
		need = need > 6 ? need / 2 : 3;
	if (is_unopened(d, n))
		need = has_restored_child(d, n) && need > SAVED_LEAST ? SAVED_LEAST : 1;
	return n->votes >= need || d->window.records >= LIMIT * window;
}

/* Decides which callees are kept. Returns true if the votes of a callee are near the threshold. */
static bool decide_callees(struct descent *d, struct fnode *n, uint64_t largest)
{
	bool near = false;
	double part;

	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next) {
		struct fnode *c = &d->tree.node[id];

		if (!fnode_alive(c))
			continue;
		part = callee_part(d, id);
		c->kept = (is_kept(d, c->maxcount, largest) && part >= MIN_TIME) ||
			  (c->maxcount * MIN_VOTES >= n->votes && part >= KEEP_TIME);
		if (c->kept && part < KEEP_TIME && path_part(d, id) < MIN_PART) {
			c->kept = false;
			n->spread++;
			continue;
		}
		near |= near_threshold(d, c->maxcount, largest);
	}
	return near;
}

/* Returns the share of the program's time that a candidate of the function itself has. */
static double own_part(const struct descent *d, const struct own_times *own, enum candidate c)
{
	if (c == CANDIDATE_BLOCKED)
		return time_part(d, own->blocked + own->loop_blocked);
	if (c == CANDIDATE_FAULT)
		return time_part(d, own->fault);
	return time_part(d, own->self + own->loop - own->loop_blocked);
}

/* Returns true if a single call has most of the function's own time. Such a call does not speak for
 * the others: without votes, its time is no cause of the peak. */
static bool is_own_of_one_call(const struct descent *d, const struct fnode *n,
			       const struct own_times *own)
{
	double all = own->self * (double)n->window.armed;

	return n->window.armed >= descent_decision_ops(d) && all > 0 &&
	       (double)n->own_longest_ns > all / 2;
}

/* Decides which candidates of the function itself are kept. Comes after the callees: the loop
 * around a callee belongs to the function if the callee is not followed. Returns true if the votes
 * of a candidate are near the threshold. */
static bool decide_own(struct descent *d, struct fnode *n, uint64_t largest)
{
	bool measured = fnode_is_measured(d, n->id), near = false;
	/* its callees beside the saved path are measured again if it has that much time */
	bool restored = n->restored && d->window.records;
	struct own_times own;
	double part;
	bool by_time;

	fnode_own_times(d, n->id, &own);
	for (int i = 0; i < CANDIDATES; i++) {
		n->self_kept[i] = is_kept(d, n->own[i], largest);
		/* The host's time is kept by keep_host_by_time(); nothing can be opened below
		 * it. */
		if (candidate_of_host((enum candidate)i))
			continue;
		part = own_part(d, &own, (enum candidate)i);
		by_time = (measured || restored) && part >= KEEP_OWN &&
			  (i != CANDIDATE_SELF || !is_own_of_one_call(d, n, &own));
		n->self_kept[i] |= by_time;
		near |= !(measured && (part >= KEEP_OWN || part < MIN_TIME)) &&
			near_threshold(d, n->own[i], largest);
	}
	return near;
}

static void decide_function(struct descent *d, uint32_t node)
{
	struct fnode *n = &d->tree.node[node];
	uint64_t largest = largest_count(d, n);
	bool wait = d->window.records < (uint64_t)PATIENCE * descent_decision_ops(d), near;

	n->live = true;
	n->undecided = !enough_votes(d, n);
	n->decisions++;
	near = decide_callees(d, n, largest);
	for (uint32_t id = n->first_child; id != NO_INDEX; id = d->tree.node[id].next) {
		const struct fnode *c = &d->tree.node[id];

		if (c->kept && fnode_alive(c) && c->last == c->site)
			decide_function(d, id);
	}
	near |= decide_own(d, n, largest);
	n->undecided |= near && wait && !is_unopened(d, n);
}

/* Keeps candidates of the host by their time: many short interruptions get no votes, although they
 * may take much of the time. */
static void keep_host_by_time(struct descent *d)
{
	const struct totals *t = descent_totals(d);
	struct fnode *root = &d->tree.node[0];
	double all = KEEP_TIME * (double)t->latency_ns;

	if (!t->latency_ns)
		return;
	root->self_kept[CANDIDATE_PREEMPTED] |= (double)t->preempted_ns >= all;
	root->self_kept[CANDIDATE_RUNQUEUE] |= (double)t->runqueue_ns >= all;
	root->self_kept[CANDIDATE_INTERRUPT] |= (double)t->interrupt_ns >= all;
}

void descent_decide(struct descent *d)
{
	/* without memory the sites of now remain */
	descent_add_kernel_sites(d);
	for (uint32_t i = 0; i < d->tree.nr_nodes; i++) {
		struct fnode *n = &d->tree.node[i];

		fnode_drop_saved_votes(&d->tree, i);
		n->kept = n->live = n->undecided = false;
		n->spread = 0;
		n->opened = false;
		memset(n->self_kept, 0, sizeof(n->self_kept));
	}
	d->decisions++;
	d->decided = true;
	decide_function(d, 0);
	keep_host_by_time(d);
}

bool fnode_wants_opening(const struct descent *d, uint32_t node)
{
	const struct fnode *n = &d->tree.node[node];

	if (!n->live || fnode_is_measured(d, node))
		return false;
	return n->self_kept[CANDIDATE_SELF] || n->self_kept[CANDIDATE_BLOCKED] ||
	       (n->self_kept[CANDIDATE_FAULT] && !d->window.fault_of_root);
}

bool descent_all_decided(const struct descent *d)
{
	return !any_of(i, d->tree.nr_nodes, d->tree.node[i].live && d->tree.node[i].undecided);
}
