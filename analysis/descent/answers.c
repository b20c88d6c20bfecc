// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the answers to requests of the descent: call sites, callees that were learnt from a burst,
 * lost call sites. */

#include "analysis/descent/descent_impl.h"

enum { DROWNED_CALLS = 5 }; /* such calls show that the armed set costs too much */
/* A call that took this many times what is left of it without its probes consists of probes. Their
 * cost is known to a tenth or less well, and the collector subtracts three quarters at most. */
#define DROWNED 3.5

/* An answer came: continue the step that waited for it. */
static int go_on(struct descent *d)
{
	if (d->phase != PHASE_RUN)
		return 0;
	if (d->resuming)
		return descent_go_on(d);
	return d->plan_again ? descent_plan(d) : 0;
}

int descent_take_callees(struct descent *d, const struct rec_callees *r)
{
	uint32_t function = d->tree.slot ? ftree_find_function(&d->tree, r->function) : NO_INDEX;
	int err, e;

	if (function == NO_INDEX)
		return 0;
	err = ftree_set_sites(&d->tree, function, r);
	if (err == -EINVAL)
		d->tree.function[function].state = FUNCTION_UNREADABLE;
	e = descent_add_kernel_sites(d);
	err = err ? err : e;
	e = go_on(d);
	return err ? err : e;
}

static void add_discovered(struct descent *d, uint32_t base, const struct rec_indirect_callees *r)
{
	uint32_t parent = d->tree.node[base].parent, site = d->tree.node[base].site, i;
	int id;

	for (i = 0; i < r->nr_callees; i++) {
		if (!r->callees[i].module)
			continue;
		id = ftree_node(&d->tree, parent, site, site, r->callees[i]);
		if (id < 0) {
			d->tree.node[parent].unmeasured = true;
			continue;
		}
		d->tree.node[id].only_callee = true;
		d->tree.node[id].pending = d->tree.node[id].state == FNODE_UNTRIED;
	}
}

static bool has_other_callees(const struct descent *d, uint32_t base)
{
	const struct fnode *n = &d->tree.node[base];

	for (uint32_t id = d->tree.node[n->parent].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next)
		if (id != base && d->tree.node[id].site == n->site && d->tree.node[id].only_callee)
			return true;
	return false;
}

int descent_take_indirect_callees(struct descent *d, const struct rec_indirect_callees *r)
{
	struct fnode *n, *caller;
	uint32_t function;

	if (!r->node || r->node >= d->tree.nr_nodes)
		return -EINVAL;
	n = &d->tree.node[r->node];
	if (!n->learn_asked || n->discovered || n->function != NO_INDEX)
		return 0;
	n->discovered = true;
	if (r->nr_callees == 1 && !r->error && !has_other_callees(d, r->node)) {
		function = ftree_function(&d->tree, r->callees[0]);
		n->function = function;
		return go_on(d);
	}
	if (r->error || !r->nr_callees) {
		if (!has_other_callees(d, r->node))
			return go_on(d);
		d->tree.node[n->parent].unmeasured = true;
	}
	n->replaced = true;
	if (n->state == FNODE_ARMED)
		n->state = FNODE_MEASURED;
	add_discovered(d, r->node, r);
	n = &d->tree.node[r->node];
	caller = &d->tree.node[n->parent];
	if (caller->tried)
		fnode_set_tried(caller, n->site, true);
	if (!r->error && r->nr_callees) {
		/* One candidate has become several: take the votes again, with each callee by
		 * itself. */
		caller->self_kept[CANDIDATE_SELF] |= caller->live;
		fnode_reset_votes(&d->tree, n->parent);
		caller->undecided = caller->live && fnode_complete(&d->tree, n->parent);
	}
	return go_on(d);
}

static void lose(struct descent *d, struct fnode *n, enum fnode_lost reason)
{
	struct fnode *caller = &d->tree.node[n->parent];
	bool was_live = n->live;

	n->state = reason == FNODE_BLOWN ? FNODE_HOT : FNODE_UNTIMED;
	n->live = n->kept = false;
	fnode_give_up(&d->tree, n->id);
	fnode_reset_votes(&d->tree, n->parent);
	/* Until there are new votes, let the answer end with the caller. */
	caller->self_kept[CANDIDATE_SELF] |= was_live && caller->live;
	for (uint32_t id = n->id + 1; was_live && id < d->tree.nr_nodes; id++)
		d->tree.node[id].live &= d->tree.node[d->tree.node[id].parent].live;
}

void descent_lose_armed(struct descent *d)
{
	for (uint32_t i = 0; i < d->nr_armed; i++)
		lose(d, &d->tree.node[d->armed[i]], FNODE_BLOWN);
	change_forget_window(&d->change);
	descent_arm_rest(d);
}

bool descent_drowns(struct descent *d, const struct rec_call *call)
{
	uint64_t calls = 0;
	bool lost = false;

	if (!call->nr_nodes || (double)call->raw_ns < DROWNED * (double)call->latency_ns)
		return false;
	if (++d->seen.drowned < DROWNED_CALLS || d->seen.drowned < d->window.records)
		return true;
	for (uint32_t i = 0; i < call->nr_nodes; i++)
		calls += call->nodes[i].count;
	for (uint32_t i = 0; i < call->nr_nodes; i++) {
		const struct rec_call_node *n = &call->nodes[i];

		if (n->node >= d->tree.nr_nodes || d->tree.node[n->node].state != FNODE_ARMED ||
		    n->count * call->nr_nodes <= calls)
			continue;
		lose(d, &d->tree.node[n->node], FNODE_BLOWN);
		lost = true;
	}
	if (lost) {
		change_forget_window(&d->change);
		descent_arm_rest(d);
	} else {
		descent_lose_armed(d);
	}
	return true;
}

int descent_take_lost(struct descent *d, const struct rec_fnode_lost *r)
{
	const struct fnode *lost;

	if (!r->node || r->node >= d->tree.nr_nodes || r->reason > FNODE_REFUSED)
		return -EINVAL;
	lost = &d->tree.node[r->node];
	if (d->phase != PHASE_RUN || r->epoch > d->epoch || lost->state == FNODE_HOT ||
	    lost->state == FNODE_UNTIMED || lost->site == NO_INDEX)
		return 0;
	/* The call site is the same in every path: lose all fnodes that share it. */
	for (uint32_t i = 1; i < d->tree.nr_nodes; i++) {
		struct fnode *n = &d->tree.node[i];

		if (code_equal(n->site_key, lost->site_key) && n->last_key == lost->last_key &&
		    n->site != NO_INDEX && (!lost->only_callee || n->function == lost->function) &&
		    n->state != FNODE_HOT && n->state != FNODE_UNTIMED)
			lose(d, n, (enum fnode_lost)r->reason);
	}
	if (r->reason == FNODE_BLOWN)
		change_forget_window(&d->change);
	descent_arm_rest(d);
	return 0;
}
