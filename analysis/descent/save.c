// SPDX-License-Identifier: GPL-2.0-or-later
/* Saves the tree as records, and restores it to continue a descent. */

#include "analysis/descent/armed_set.h"
#include "analysis/descent/descent_impl.h"
#include "analysis/latency/profile_record.h"

static void fill(const struct descent *d, const struct fnode *n, struct rec_fnode *out)
{
	*out = (struct rec_fnode){
	    .op = d->ask.op,
	    .node = n->id,
	    .parent = n->id ? n->parent : 0,
	    .site = n->site_key,
	    .last_site = n->last_key,
	    .state = n->state,
	    .maxcount = n->maxcount,
	    .votes = n->votes,
	    .decisions = n->decisions,
	    .armed = n->all.armed,
	    .records = n->all.records,
	    .called = n->all.called,
	    .sum_ns = n->all.net_ns,
	    .max_sum_ns = n->all.max_ns,
	    .max_ns = n->longest_ns,
	    .blocked_ns = n->all.blocked_ns,
	    .fault_ns = n->all.fault_ns,
	    .loop_ns = n->all.loop_ns,
	    .repeated_ns = n->all.repeated_ns,
	};
	if (n->restored && !n->all.records) { /* not measured again yet */
		out->records = n->saved_records;
		out->max_sum_ns = n->saved_max_ns;
	}
	if (n->function != NO_INDEX)
		out->callee = d->tree.function[n->function].key;
	for (int i = 0; i < CANDIDATES; i++)
		out->own[i] = n->own[i];
}

int descent_save(const struct descent *d, int (*emit)(void *ctx, const struct record *rec),
		 void *ctx)
{
	struct record rec;
	int err;

	for (uint32_t i = 0; i < d->tree.nr_nodes; i++) {
		const struct fnode *n = &d->tree.node[i];

		if (n->replaced ||
		    (i && !n->all.armed && n->state == FNODE_UNTRIED && !n->restored))
			continue;
		memset(&rec, 0, sizeof(rec));
		rec.type = REC_FNODE;
		fill(d, n, &rec.fnode);
		err = emit(ctx, &rec);
		if (err)
			return err;
	}
	return 0;
}

int descent_take_saved_profile(struct descent *d, const struct rec_profile *saved)
{
	struct profile p;

	if (d->phase != PHASE_START || !d->ask.resumes || saved->op != d->ask.op || !saved->calls ||
	    profile_of_record(&p, saved))
		return -EINVAL;
	d->saved_start = p;
	return 0;
}

/* Can this saved fnode, which is not f0, have a place in this descent? */
static bool is_restorable(const struct descent *d, const struct rec_fnode *saved)
{
	uint32_t parent = d->restored[saved->parent];

	/* a host on which the kernel is not probed */
	if (saved->callee.module == REC_KERNEL_MODULE && !armed_set_goes_into_kernel(&d->ask))
		return false;
	return parent != NO_INDEX && saved->site.module &&
	       d->tree.node[parent].depth < DESCENT_MAX_DEPTH;
}

int descent_restore(struct descent *d, const struct rec_fnode *saved)
{
	uint32_t parent = NO_INDEX;
	int id;

	if (d->phase != PHASE_START || d->nr_armed || saved->op != d->ask.op ||
	    saved->node >= DESCENT_MAX_NODES || saved->parent >= DESCENT_MAX_NODES)
		return -EINVAL;
	if (!d->restored) {
		d->restored = malloc(DESCENT_MAX_NODES * sizeof(*d->restored));
		if (!d->restored)
			return -ENOMEM;
		for (uint32_t i = 0; i < DESCENT_MAX_NODES; i++)
			d->restored[i] = NO_INDEX;
		d->restored[0] = 0;
	} else if (saved->node && d->restored[saved->node] != NO_INDEX) {
		return -EINVAL;
	}
	if (saved->node) {
		if (!is_restorable(d, saved))
			return -EINVAL;
		parent = d->restored[saved->parent];
	} else if (saved->callee.module != d->ask.function.module ||
		   saved->callee.offset != d->ask.function.offset) {
		return -EINVAL;
	}
	id = ftree_restore(&d->tree, saved, parent);
	if (id < 0)
		return id;
	d->restored[saved->node] = (uint32_t)id;
	return 0;
}
