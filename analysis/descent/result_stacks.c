// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of an answer that come from stacks alone: the kernel frames below a path, and the
 * callers above a system call. */

#include "analysis/descent/result_impl.h"

_Static_assert((int)DESCENT_KERNEL == (int)STACK_DEPTH, "frames of a kernel stack");

/* The number of frames down to the function of this fnode; 0: it is not among them. */
static uint32_t frames_of(const struct descent *d, uint32_t node, const struct rec_frame *frame,
			  uint32_t nr)
{
	const struct function_sites *f = fnode_function(&d->tree, node);

	while (f && nr &&
	       (f->key.module != frame[nr - 1].module || f->key.offset != frame[nr - 1].function))
		nr--;
	return f ? nr : 0;
}

/* If f0 is of the kernel, the first kernel frames are those of the path itself: leave them out. */
void result_set_kernel(const struct builder *b, struct descent_path *path, uint32_t node,
		       const struct kernel_frames *f, double share, enum evidence evidence)
{
	uint32_t own = 0;

	for (; !own; node = b->d->tree.node[node].parent) {
		own = frames_of(b->d, node, f->frame, f->nr);
		if (!node)
			break;
	}
	path->nr_kernel = f->nr - own;
	path->nr_deep = f->nr_deep - own;
	memcpy(path->kernel, f->frame + own, path->nr_deep * sizeof(path->kernel[0]));
	for (uint32_t i = own; i < f->nr_deep; i++)
		path->kernel_part[i - own] = share * f->part[i];
	path->kernel_evidence = evidence;
}

uint64_t result_kernel_frames(const struct stack_tally *t, uint32_t part, uint32_t least,
			      struct kernel_frames *out)
{
	uint64_t ns;

	out->nr = out->nr_deep = stack_tally_path(t, part, least, out->frame, &ns);
	for (uint32_t i = 0; i < out->nr; i++)
		out->part[i] = ratio((double)stack_tally_ns_of(t, out->frame, i + 1),
				     (double)stack_tally_ns_of(t, out->frame, 1));
	return ns;
}

uint32_t result_kernel_trunk(const struct kernel_frames *f, uint32_t percent)
{
	uint32_t i = 0;

	while (i < f->nr_deep && f->part[i] * 100 >= percent)
		i++;
	return i;
}

void result_name_by(struct kernel_frames *f, uint32_t nr)
{
	f->nr = nr;
	f->nr_deep = result_kernel_trunk(f, KERNEL_DEEP);
}

void result_gather(void *ctx, const struct witness_node *n)
{
	struct gathered *g = ctx;

	if (n->own && n->own->kernel)
		stack_tally_join(g->tally, n->own->kernel, g->tag);
}

static bool gather_any(void *ctx, const struct witness_node *n)
{
	struct gathered *g = ctx;

	result_gather(g, n);
	return g->tally->nr > 0;
}

void result_add_kernel(struct builder *b, struct descent_path *path, uint32_t node, int tag)
{
	struct gathered g = {.tally = calloc(1, sizeof(*g.tally)), .tag = tag};
	struct kernel_frames frames;

	if (!g.tally) {
		b->err = -ENOMEM;
		return;
	}
	result_visit_sleeps(b->d, node, gather_any, &g);
	if (!g.tally->nr && result_blocked_at(b->d, node))
		stack_tally_join(g.tally, &result_blocked_at(b->d, node)->kernel, tag);
	result_kernel_frames(g.tally, KERNEL_MAJORITY, 1, &frames);
	result_set_kernel(b, path, node, &frames, 1, EVIDENCE_WITNESSED);
	free(g.tally);
}

void result_add_callers(struct builder *b)
{
	const struct stack_tally *t = witnesses_callers(b->d->witnesses);
	struct descent_result *r = b->r;
	uint64_t all;
	uint32_t k;

	if (!t || !t->nr)
		return;
	all = stack_tally_ns(t);
	/* insertion sort that keeps the heaviest DESCENT_CALLERS */
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct stack_entry *e = &t->entry[i];
		double share = all ? (double)e->ns / (double)all : 0;

		for (k = 0; k < r->nr_callers && r->callers[k].share >= share; k++)
			;
		if (k == DESCENT_CALLERS)
			continue;
		if (r->nr_callers < DESCENT_CALLERS)
			r->nr_callers++;
		memmove(&r->callers[k + 1], &r->callers[k],
			(r->nr_callers - 1 - k) * sizeof(r->callers[0]));
		r->callers[k].share = share;
		r->callers[k].nr_frames = e->nr;
		memcpy(r->callers[k].frame, e->frame, e->nr * sizeof(e->frame[0]));
	}
}
