// SPDX-License-Identifier: GPL-2.0-or-later
/* Witnesses: where a thread was inside f0 when it slept. */
#include "analysis/descent/armed_set.h"
#include "analysis/parser/frames.h"
#include "tui/engine/descent_driver_private.h"

void driver_witness(struct descent_driver *d, const struct rec_witness *w)
{
	struct rec_frame frames[DESCENT_MAX_DEPTH + 1];
	struct record rec = {.type = REC_WITNESS, .witness = *w};

	if (!d->live || !d->asked)
		return;
	if (!w->nr_frames) {
		if (w->epoch != d->epoch)
			return;
		rec.witness.nr_frames =
		    armed_set_frames(d->armed, d->nr_armed, d->ask.function, w->node, frames);
		rec.witness.frames = frames;
		rec.witness.partial = !driver_is_in_kernel(d) || d->nr_armed;
	}
	if (rec.witness.nr_frames)
		d->host.feed(d->host.ctx, &rec);
}

/* A stack sample inside a call of f0, which is of the kernel: the kernel's frames from f0 on, and
 * its callers, in the kernel and in the program, the innermost first. */
static void kernel_witness(struct descent_driver *d, struct rec_witness *w)
{
	struct rec_frame callers[2 * DESCENT_MAX_WITNESS_FRAMES];
	uint32_t above, n = 0;

	if (w->nr_kernel > DESCENT_MAX_WITNESS_FRAMES)
		w->nr_kernel = DESCENT_MAX_WITNESS_FRAMES;
	above = frames_kernel_callers(w->kernel, w->nr_kernel, d->ask.function, callers);
	if (above < w->nr_kernel)
		n = above;
	else if (w->nr_kernel) /* taken before f0 began, or after it returned */
		w->nr_callers = 0;
	for (uint32_t i = 0; i < w->nr_callers && n < DESCENT_MAX_WITNESS_FRAMES; i++)
		callers[n++] = w->callers[i];
	w->callers = callers;
	w->nr_callers = n;
	w->kernel += above;
	w->nr_kernel -= above;
	if (armed_set_goes_into_kernel(&d->ask) && w->nr_kernel) {
		w->frames = w->kernel;
		w->nr_frames = w->nr_kernel;
	}
	driver_witness(d, w);
}

void driver_stack(struct descent_driver *d, const struct rec_stack *s,
		  const struct rec_frame *frames, uint32_t nr)
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
				.kernel = s->kernel,
				.functions = s->functions};

	if (driver_is_in_kernel(d)) {
		w.nr_callers = nr;
		w.callers = frames;
		w.nr_frames = 0;
		w.epoch = d->nr_armed ? s->epoch : d->epoch;
		kernel_witness(d, &w);
		return;
	}
	/* Without frames a stack sample is useless; a sleep can still be placed by its open fnode.
	 */
	if (nr || s->kind == WITNESS_SLEEP)
		driver_witness(d, &w);
}
