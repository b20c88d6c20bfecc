// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the sampled frames that stand for the time in which a function was blocked. */
#include "analysis/descent/result_impl.h"

/* Recursion is limited: a stack has at most DESCENT_MAX_WITNESS_FRAMES frames. */
static bool visit_all(const struct witnesses *w, uint32_t witness, sleep_visitor visit, void *ctx)
{
	const struct witness_node *n = witnesses_node(w, witness);
	bool found = visit(ctx, n);

	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		found |= visit_all(w, id, visit, ctx);
	return found;
}

/* Returns true if the caller calls this fnode repeatedly and the fnode is not on a root cause path:
 * then it belongs to the loop of the caller. */
static bool is_of_loop(const struct descent *d, uint32_t node)
{
	const struct fnode *n = &d->tree.node[node];
	struct means m;

	if (!fnode_alive(n) || n->live)
		return false;
	fnode_means(d, node, &m);
	return m.repeated > 0;
}

static bool visit_callee(const struct descent *d, uint32_t node, sleep_visitor visit, void *ctx)
{
	struct witness_set set;
	bool found = false;

	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++)
		found |= visit_all(d->witnesses, set.at[i], visit, ctx);
	for (unsigned int i = 0; i < set.nr_beyond; i++)
		found |= visit_all(d->witnesses, set.beyond[i], visit, ctx);
	return found;
}

void result_visit_sleeps(const struct descent *d, uint32_t node, sleep_visitor visit, void *ctx)
{
	struct witness_set set;
	bool found = false;

	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++)
		found |= visit(ctx, witnesses_node(d->witnesses, set.at[i]));
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next)
		if (is_of_loop(d, id))
			found |= visit_callee(d, id, visit, ctx);
	for (unsigned int i = 0; !found && i < set.nr_at; i++)
		found = visit_all(d->witnesses, set.at[i], visit, ctx);
	for (unsigned int i = 0; !found && i < set.nr_beyond; i++)
		found = visit_all(d->witnesses, set.beyond[i], visit, ctx);
}

static bool all_the_same(const struct cause_tally *t)
{
	for (unsigned int i = 1; i < t->nr; i++) {
		if (t->entry[i].cause.kind != t->entry[0].cause.kind)
			return false;
	}
	return t->nr > 0;
}

const struct blocked_node *result_blocked_at(const struct descent *d, uint32_t node)
{
	const struct blocked *b = witnesses_blocked(d->witnesses);
	const struct blocked_node *found = blocked_find(b, node);

	while (!found && node) {
		node = d->tree.node[node].parent;
		found = blocked_find(b, node);
		if (found && !all_the_same(&found->causes))
			return NULL;
	}
	return found;
}
