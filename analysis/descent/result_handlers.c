// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signal handlers: the program does not call them, but a stack sample in a handler shows which
 * function it interrupted.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/descent/result_impl.h"

enum {
	/* a handler with this percentage of a function's samples gets a path of its own */
	HANDLER_PART = 10,
	/*
	 * frames from the interrupted function to the handler: the signal trampoline lies between
	 */
	HANDLER_DEPTH = 2,
};

/* Recursion is limited: a stack has at most DESCENT_MAX_WITNESS_FRAMES frames. */
static uint64_t run_below(const struct witnesses *w, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(w, witness);
	uint64_t ns = n->own_run_ns;
	uint32_t id;

	for (id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		ns += run_below(w, id);
	return ns;
}

/*
 * Returns the time of a handler that interrupted this function, or a function up to `depth` - 1
 * frames below.
 */
static uint64_t run_in_handler(const struct witnesses *w, uint32_t witness, struct rec_code handler,
			       unsigned int depth)
{
	uint64_t ns = 0;
	uint32_t id;

	for (id = witnesses_node(w, witness)->first_child; id != NO_INDEX;
	     id = witnesses_node(w, id)->next) {
		if (code_equal(witnesses_node(w, id)->function, handler))
			ns += run_below(w, id);
		else if (depth > 1)
			ns += run_in_handler(w, id, handler, depth - 1);
	}
	return ns;
}

static void add_handler(struct builder *b, struct descent_path *path, uint32_t node,
			const struct handler *h, double part)
{
	struct cause cause = {.kind = CAUSE_SIGNAL};
	double share = path->share, latency = (double)path->latency_ns;
	const char *name = sigabbrev_np((int)h->signal);
	struct descent_path *one;

	if (name)
		snprintf(cause.detail, sizeof(cause.detail), "SIG%s", name);
	else
		snprintf(cause.detail, sizeof(cause.detail), "signal %u", (unsigned int)h->signal);
	one = result_add_path(b, node, 0, &cause, path->maxcount);
	if (!one)
		return;
	one->share = share * part;
	one->latency_ns = (uint64_t)(latency * part + 0.5);
	one->evidence = EVIDENCE_SAMPLED;
	one->nr_below = 1;
	one->below[0] = (struct descent_below){.function = h->function, .share = one->share};
	path->share = share - one->share;
	path->latency_ns = (uint64_t)(latency * (1 - part) + 0.5);
	path->evidence = EVIDENCE_SAMPLED;
}

void result_split_handlers(struct builder *b, struct descent_path *path, uint32_t node)
{
	const struct descent *d = b->d;
	struct witness_set set;
	uint64_t own, in[DESCENT_HANDLERS], left;
	unsigned int i, k;

	if (!d->nr_handlers)
		return;
	fnode_witness_set(d, node, &set);
	own = witness_set_own_run(d->witnesses, &set);
	for (k = 0; k < d->nr_handlers; k++) {
		in[k] = 0;
		for (i = 0; i < set.nr_at; i++)
			in[k] += run_in_handler(d->witnesses, set.at[i], d->handler[k].function,
						HANDLER_DEPTH);
		own += in[k];
	}
	left = own;
	for (k = 0; k < d->nr_handlers; k++) {
		if (!in[k] || in[k] * 100 < own * HANDLER_PART)
			continue;
		add_handler(b, path, node, &d->handler[k], (double)in[k] / (double)left);
		left -= in[k];
		if (!left)
			break;
	}
}
