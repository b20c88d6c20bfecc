// SPDX-License-Identifier: GPL-2.0-or-later
/* Witnesses: where a thread was inside f0 when it slept. */
#include "tui/engine/descend_private.h"

static const struct descent_armed *armed_node(const struct descend *d, uint32_t node)
{
	for (uint32_t i = 0; i < d->nr_armed; i++) {
		if (d->armed[i].node == node)
			return &d->armed[i];
	}
	return NULL;
}

/*
 * The frames that the open fnodes themselves tell, from f0 down to the callee of
 * `node`. Returns how many; 0 if the node is not one of the armed set.
 */
static uint32_t frames_of_node(const struct descend *d, uint32_t node,
			       struct rec_frame frames[DESCENT_MAX_DEPTH + 1])
{
	const struct descent_armed *path[DESCENT_MAX_DEPTH], *a;
	struct rec_code function = d->ask.function;
	uint32_t depth = 0, n = 0;

	for (; node; node = a->parent) {
		a = armed_node(d, node);
		if (!a || depth == DESCENT_MAX_DEPTH)
			return 0;
		path[depth++] = a;
	}
	for (; depth; depth--) {
		a = path[depth - 1];
		/* a tail call leaves no return address behind: its site stands for it */
		frames[n++] = (struct rec_frame){.module = a->site.module,
						 .offset = a->ret ? a->ret : a->site.offset,
						 .function = function.offset};
		if (!a->callee.module)
			return n;
		function = a->callee;
	}
	frames[n++] = (struct rec_frame){
	    .module = function.module, .offset = function.offset, .function = function.offset};
	return n;
}

void descend_witness(struct descend *d, const struct rec_witness *w)
{
	struct rec_frame frames[DESCENT_MAX_DEPTH + 1];
	struct record rec = {.type = REC_WITNESS, .witness = *w};

	if (!d->live || !d->asked)
		return;
	if (!w->nr_frames) {
		if (w->epoch != d->epoch)
			return;
		rec.witness.nr_frames = frames_of_node(d, w->node, frames);
		rec.witness.frames = frames;
		/* below a system call there is nothing that could be armed */
		rec.witness.partial = !descend_of_syscall(d);
	}
	if (rec.witness.nr_frames)
		d->host.feed(d->host.ctx, &rec);
}

void descend_stack(struct descend *d, const struct rec_stack *s, const struct rec_frame *frames,
		   uint32_t nr)
{
	struct rec_witness w = {.op = s->op,
				.tid = s->tid,
				.at_ns = s->at_ns,
				.weight_ns = s->weight_ns,
				.kind = s->kind,
				.sleep = s->sleep,
				.epoch = s->epoch,
				.node = s->node,
				.nr_frames = nr,
				.frames = frames,
				.nr_kernel = s->nr_kernel,
				.kernel = s->kernel};

	if (descend_of_syscall(d)) {
		w.nr_callers = nr;
		w.callers = frames;
		w.nr_frames = 0;
		w.epoch = d->epoch;
		descend_witness(d, &w);
		return;
	}
	/* a sample says where it was only by its stack; a sleep also by the fnodes that were open
	 */
	if (nr || s->kind == WITNESS_SLEEP)
		descend_witness(d, &w);
}
