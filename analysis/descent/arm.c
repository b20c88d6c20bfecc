// SPDX-License-Identifier: GPL-2.0-or-later
/* After a decision, finds the next set to arm: opens root cause candidates that have callees
 * without a measurement. When nothing is left to open, the descent ends. */

#include "analysis/descent/callee_pick.h"

enum {
	SECOND_LOOKS = 2,   /* times that the callees of one function are armed again */
	LOOK_AGAIN_AT = 24, /* at most this many callees are armed again */
	MAX_CHUNKS = 16,    /* at most this many sets for the call sites of one function */
	CANDIDATE_PART =
	    8, /* a callee with 1/8 of its caller's time stays armed while others are tried */
};

static void disarm(struct descent *d, uint32_t node)
{
	struct fnode *n = &d->tree.node[node];
	struct fnode *caller = &d->tree.node[n->parent];

	if (n->all.records) {
		n->state = FNODE_MEASURED;
		return;
	}
	n->state = FNODE_UNTRIED;
	for (uint32_t i = n->site; caller->tried && i <= n->last; i++)
		fnode_set_tried(caller, i, false);
}

static void arm(struct descent *d, uint32_t node)
{
	struct fnode *n = &d->tree.node[node];
	struct fnode *caller = &d->tree.node[n->parent];
	bool first = n->state == FNODE_UNTRIED;

	n->state = FNODE_ARMED;
	n->pending = n->trusted = false;
	if (!n->only_callee || ftree_site_discovered(&d->tree, n->parent, n->site))
		for (uint32_t i = n->site; caller->tried && i <= n->last; i++)
			fnode_set_tried(caller, i, true);
	if (first)
		fnode_reset_votes(&d->tree, n->parent);
	caller->opened |= first;
}

void fnode_report(const struct descent *d, uint32_t node, struct descent_armed *out)
{
	const struct fnode *n = &d->tree.node[node];

	*out = (struct descent_armed){
	    .node = node,
	    .parent = n->parent,
	    .site = n->site_key,
	    .ret = n->ret,
	    .last_site = n->last_key,
	    .last_ret = n->last_ret,
	    .kind = n->kind,
	    .only_callee = n->only_callee,
	    .in_loop = n->in_loop,
	};
	if (n->function != NO_INDEX)
		out->callee = d->tree.function[n->function].key;
}

void pick_commit(struct descent *d, const struct pick *p)
{
	for (uint32_t i = 0; i < p->nr_witnessed; i++)
		d->tree.node[p->witnessed[i]].by_witness = true;
	for (uint32_t i = 0; i < d->nr_armed; i++)
		if (!picked(p, d->armed[i]) && d->tree.node[d->armed[i]].state == FNODE_ARMED)
			disarm(d, d->armed[i]);
	for (uint32_t i = 0; i < p->nr; i++) {
		arm(d, p->node[i]);
		d->armed[i] = p->node[i];
		fnode_report(d, p->node[i], &d->armed_out[i]);
	}
	for (uint32_t i = 0; i < d->cap_vector; i++)
		memset(&d->vector[i], 0, sizeof(d->vector[i]));
	d->nr_armed = p->nr;
	d->epoch++;
	d->rounds += p->nr > 0;
	d->change.fixed |= p->nr > 0;
	d->say_arm = true;
	d->epoch_armed = true;
	d->decided = false;
	memset(&d->window, 0, sizeof(d->window));
	d->seen = (struct armed_profile){0};
	for (uint32_t i = 0; i < d->tree.nr_nodes; i++) {
		memset(&d->tree.node[i].window, 0, sizeof(d->tree.node[i].window));
		d->tree.node[i].own_longest_ns = 0;
		fnode_sum_dropped(&d->tree, i);
	}
}

void descent_arm_nothing(struct descent *d)
{
	struct pick p = {.d = d};

	pick_commit(d, &p);
}

void pick_bind_live(struct pick *p)
{
	uint32_t child;

	for (uint32_t id = 0; id < p->d->tree.nr_nodes; id++) {
		const struct fnode *n = &p->d->tree.node[id];

		if (!n->live || n->tried)
			continue;
		for (child = n->first_child; child != NO_INDEX; child = p->d->tree.node[child].next)
			if (p->d->tree.node[child].site == NO_INDEX)
				break;
		if (child != NO_INDEX && pick_expand(p, n->function))
			ftree_open(&p->d->tree, id);
	}
}

void pick_live(struct pick *p)
{
	for (uint32_t id = 1; id < p->d->tree.nr_nodes; id++)
		if (p->d->tree.node[id].live)
			pick_node(p, id);
}

void descent_arm_rest(struct descent *d)
{
	struct pick p = {.d = d};

	for (uint32_t i = 0; i < d->nr_armed; i++)
		pick_node(&p, d->armed[i]);
	pick_commit(d, &p);
}

/* --- what to do about each candidate */

/* Stop arming callees of this function. Its rest was one candidate; from now on own code, blocking
 * and faults are separate candidates. If the function has callees, take its votes again. */
static void close_node(struct descent *d, uint32_t node)
{
	struct fnode *n = &d->tree.node[node];

	n->closed = true;
	n->unmeasured = true;
	if (n->first_child == NO_INDEX)
		return;
	fnode_reset_votes(&d->tree, node);
	n->undecided = true;
}

/* Opens basic blocks that were kept: their call sites will be armed one by one. */
static void open_blocks(struct descent *d)
{
	for (uint32_t id = 1; id < d->tree.nr_nodes; id++) {
		struct fnode *n = &d->tree.node[id], *caller = &d->tree.node[n->parent];

		if (!n->kept || !caller->live || n->last == n->site || n->replaced)
			continue;
		n->replaced = true;
		if (n->state == FNODE_ARMED)
			n->state = FNODE_MEASURED;
		for (uint32_t i = n->site; i <= n->last; i++)
			fnode_set_tried(caller, i, false);
		caller->self_kept[CANDIDATE_SELF] = true;
		/* The votes of the block now belong to its members. */
		fnode_reset_votes(&d->tree, n->parent);
	}
}

/* Prepares to arm callees of a candidate. Returns false if it is closed, or if an answer is
 * awaited. */
static bool can_open(struct pick *p, uint32_t node)
{
	struct fnode *n = &p->d->tree.node[node];
	struct function_sites *f;

	if (n->function == NO_INDEX && !n->discovered) {
		pick_learn(p, node);
		return false;
	}
	if (n->function == NO_INDEX || n->chunks >= MAX_CHUNKS) {
		close_node(p->d, node);
		return false;
	}
	if (!pick_expand(p, n->function)) {
		f = fnode_function(&p->d->tree, node);
		if (f->state == FUNCTION_UNREADABLE)
			close_node(p->d, node);
		return false;
	}
	if (fnode_complete(&p->d->tree, node))
		return false;
	if (n->depth >= p->d->ask.max_depth) {
		n->depth_limit = true;
		close_node(p->d, node);
		return false;
	}
	if (ftree_open(&p->d->tree, node)) {
		close_node(p->d, node);
		return false;
	}
	if (!fnode_complete(&p->d->tree, node))
		return true;
	/* None of its call sites needs arming. Its rest was one candidate; now it is several. */
	n = &p->d->tree.node[node];
	if (n->first_child != NO_INDEX) {
		fnode_reset_votes(&p->d->tree, node);
		n->undecided = true;
	}
	return false;
}

/* Keeps those callees armed that may be among the largest in the end, while further ones are
 * tried. */
static void pick_contenders(struct pick *p, uint32_t node)
{
	const struct sums *own = &p->d->tree.node[node].all;
	uint32_t id, room = pick_room(p) / 2;

	for (id = p->d->tree.node[node].first_child; id != NO_INDEX && room;
	     id = p->d->tree.node[id].next) {
		const struct fnode *c = &p->d->tree.node[id];
		double mean = c->all.records ? (double)c->all.max_ns / (double)c->all.records : 0;
		double of = own->records ? (double)own->max_ns / (double)own->records : 0;

		if (!fnode_alive(c) || c->state == FNODE_UNTRIED || picked(p, id))
			continue;
		if (c->maxcount || mean * CANDIDATE_PART >= of)
			room -= pick_node(p, id);
	}
}

static void pick_voted(struct pick *p)
{
	for (uint32_t id = 1; id < p->d->tree.nr_nodes; id++) {
		const struct fnode *n = &p->d->tree.node[id];

		if (n->state == FNODE_ARMED && n->maxcount && p->d->tree.node[n->parent].live)
			pick_node(p, id);
	}
}

uint32_t pick_candidates(struct pick *p, uint32_t *list)
{
	uint32_t nr = 0;

	for (uint32_t id = 0; id < p->d->tree.nr_nodes; id++)
		if (fnode_wants_opening(p->d, id) && can_open(p, id))
			list[nr++] = id;
	return nr;
}

void pick_open(struct pick *p, const uint32_t *list, uint32_t nr)
{
	bool *witnessed = calloc(nr ? nr : 1, sizeof(*witnessed));

	if (!witnessed) {
		p->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		pick_contenders(p, list[i]);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t before = p->nr_new;

		witnessed[i] = pick_witnessed(p, list[i]) && (p->nr_new > before || p->asked);
	}
	for (uint32_t i = 0; i < nr; i++)
		if (!witnessed[i])
			pick_untried(p, list[i], UINT32_MAX);
	for (uint32_t i = 0; i < p->nr_ends; i++)
		if (!fnode_is_call_of_kernel(p->d, p->end[i]))
			pick_untried(p, p->end[i], UINT32_MAX);
	for (uint32_t i = 0; i < p->nr_ends; i++)
		pick_siblings(p, p->end[i]);
	free(witnessed);
}

/* Adds the measured but disarmed callees that take most time, as many as there is room for. Returns
 * their number. */
static uint32_t pick_dropped(struct pick *p, uint32_t node)
{
	const struct ftree *t = &p->d->tree;
	struct means m;
	uint32_t best, nr = 0;
	double most;

	for (;;) {
		best = NO_INDEX;
		most = 0;
		for (uint32_t id = t->node[node].first_child; id != NO_INDEX;
		     id = t->node[id].next) {
			if (t->node[id].state != FNODE_MEASURED || !fnode_alive(&t->node[id]) ||
			    picked(p, id))
				continue;
			fnode_means(p->d, id, &m);
			if (m.net > most) {
				most = m.net;
				best = id;
			}
		}
		if (best == NO_INDEX || nr == LOOK_AGAIN_AT || !pick_node(p, best))
			return nr;
		nr++;
	}
}

/* Dropped callees have only a mean. If their means exceed what is left for the function
 * itself, the vote is uncertain: a callee that takes much time in a few calls looks like
 * own code. Arm such callees again. */
static bool wants_a_second_look(const struct descent *d, uint32_t node)
{
	const struct fnode *n = &d->tree.node[node];
	struct own_times own;
	double kept = 0;

	if (!n->live || n->second_looks >= SECOND_LOOKS || !fnode_complete(&d->tree, node))
		return false;
	fnode_own_times(d, node, &own);
	if (n->self_kept[CANDIDATE_SELF])
		kept += own.self;
	if (n->self_kept[CANDIDATE_BLOCKED])
		kept += own.blocked + own.loop_blocked;
	if (n->self_kept[CANDIDATE_FAULT])
		kept += own.fault;
	return kept > 0 && own.dropped > kept;
}

static bool look_again(struct descent *d)
{
	struct pick p = {.d = d};
	uint32_t looked[DESCENT_MAX_ARMED], nr = 0, id;

	pick_live(&p);
	for (id = 0; id < d->tree.nr_nodes && nr < DESCENT_MAX_ARMED; id++)
		if (wants_a_second_look(d, id) && pick_dropped(&p, id))
			looked[nr++] = id;
	if (!nr)
		return false;
	pick_voted(&p);
	pick_commit(d, &p);
	for (id = 0; id < nr; id++) {
		d->tree.node[looked[id]].second_looks++;
		d->tree.node[looked[id]].opened = true;
		fnode_reset_votes(&d->tree, looked[id]);
	}
	return true;
}

void pick_count_chunks(struct descent *d, const struct pick *p)
{
	uint32_t k;

	for (uint32_t i = 0; i < p->nr; i++) {
		const struct fnode *n = &d->tree.node[p->node[i]];

		if (n->state != FNODE_UNTRIED)
			continue;
		for (k = 0; k < i; k++)
			if (d->tree.node[p->node[k]].parent == n->parent &&
			    d->tree.node[p->node[k]].state == FNODE_UNTRIED)
				break;
		if (k == i)
			d->tree.node[n->parent].chunks++;
	}
}

static void finish(struct descent *d)
{
	bool path = false, limit = false;

	for (uint32_t i = 0; i < d->tree.nr_nodes; i++) {
		const struct fnode *n = &d->tree.node[i];

		for (int k = 0; n->live && k < CANDIDATES; k++) {
			path |= n->self_kept[k];
			limit |= n->self_kept[k] && n->depth_limit;
		}
		path |= n->live && n->spread;
	}
	/* The votes of a saved session may belong to paths that no call takes any more. Start again
	 * with no votes, once. */
	if (!path && !d->restarted) {
		for (uint32_t i = 0; i < d->tree.nr_nodes; i++)
			fnode_reset_votes(&d->tree, i);
		d->restarted = true;
		d->decided = false;
		return;
	}
	if (path && !limit &&
	    (descent_wants_samples(d) || descent_awaits_longer_calls(d) ||
	     descent_awaits_kernel_sites(d)))
		return;
	d->phase = PHASE_DONE;
	if (!path)
		d->status = DESCENT_TOO_FEW;
	else if (descent_compare_saved(d, change_moved_since_saved))
		d->status = DESCENT_CHANGED;
	else
		d->status = limit ? DESCENT_DEPTH_REACHED : DESCENT_ROOT_CAUSE;
}

/* Makes one pass of planning. Returns true if another pass is needed because candidates were
 * closed. */
static bool plan_once(struct descent *d, int *err)
{
	struct pick p = {.d = d};
	uint32_t *list = calloc(d->tree.nr_nodes, sizeof(*list)), nr, id, closed = 0;

	if (!list) {
		*err = -ENOMEM;
		return false;
	}
	open_blocks(d);
	pick_bind_live(&p);
	descent_distrust_ends(d);
	nr = pick_candidates(&p, list);
	if (!p.asked && !nr && !d->epoch_armed) {
		/* No callee can be armed: time f0 alone, to measure what f0 itself does. */
		free(list);
		descent_arm_nothing(d);
		return false;
	}
	if (!p.asked && !nr && descent_all_decided(d) && !look_again(d))
		finish(d);
	if (!p.asked && nr) {
		pick_live(&p);
		pick_open(&p, list, nr);
	}
	*err = p.err;
	d->plan_again = p.asked;
	if (p.asked || !nr || p.err) {
		free(list);
		return false;
	}
	if (!p.nr_new) {
		for (id = 0; id < nr; id++, closed++)
			close_node(d, list[id]);
		free(list);
		return closed > 0;
	}
	free(list);
	pick_voted(&p);
	pick_count_chunks(d, &p);
	pick_commit(d, &p);
	return false;
}

int descent_plan(struct descent *d)
{
	int err = 0;

	d->plan_again = false;
	while (d->phase == PHASE_RUN && d->decided && descent_all_decided(d) && plan_once(d, &err))
		;
	return err;
}
