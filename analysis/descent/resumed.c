// SPDX-License-Identifier: GPL-2.0-or-later
/* The first set of a descent that goes on with a saved one. Rounds that were decided in the saved
 * session are not armed again, but for the paths to what comes next; docs/descent.md. */

#include "analysis/descent/callee_pick.h"

void descent_distrust_ends(struct descent *d)
{
	for (uint32_t id = 0; id < d->tree.nr_nodes; id++) {
		const struct fnode *n = &d->tree.node[id];

		if (n->live && fnode_complete(&d->tree, id) && !n->closed &&
		    (n->self_kept[CANDIDATE_SELF] || n->self_kept[CANDIDATE_BLOCKED] ||
		     n->self_kept[CANDIDATE_FAULT]))
			fnode_distrust(&d->tree, id);
	}
}

/* Adds the callees of functions whose round was armed in the saved session, but not decided. */
static void pick_undecided(struct pick *p)
{
	const struct ftree *t = &p->d->tree;

	for (uint32_t id = 1; id < t->nr_nodes; id++) {
		const struct fnode *caller = &t->node[t->node[id].parent];

		if (t->node[id].restored && caller->live && caller->undecided)
			pick_node(p, id);
	}
}

int descent_go_on(struct descent *d)
{
	struct pick p = {.d = d};
	uint32_t *list, nr;

	d->resuming = true;
	pick_bind_live(&p);
	if (p.asked)
		return 0;
	list = calloc(d->tree.nr_nodes, sizeof(*list));
	if (!list)
		return -ENOMEM;
	descent_distrust_ends(d);
	/* nothing is opened below a round that was not decided */
	nr = descent_all_decided(d) ? pick_candidates(&p, list) : 0;
	if (!p.asked) {
		d->resuming = false;
		pick_live(&p);
		pick_undecided(&p);
		pick_open(&p, list, nr);
	}
	free(list);
	if (p.asked || p.err) {
		d->resuming = true;
		return p.err;
	}
	for (uint32_t i = 0; i < p.nr; i++) { /* arming them keeps their votes */
		struct fnode *n = &d->tree.node[p.node[i]];

		if (n->restored && n->state == FNODE_UNTRIED)
			n->state = FNODE_MEASURED;
	}
	pick_count_chunks(d, &p);
	pick_commit(d, &p);
	return 0;
}

bool descent_compare_saved(struct descent *d,
			   bool (*compare)(struct change *c, const struct profile *saved))
{
	if (!d->saved_start.calls || d->changed_since_saved ||
	    !compare(&d->change, &d->saved_start))
		return false;
	d->changed_since_saved = true;
	if (d->ask.resumes == DESCENT_RESUMES_ANYWAY)
		return false;
	change_settle(&d->change);
	return true;
}
