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
	TRAMPOLINE = 1, /* frames between an interrupted function and the handler */
	ALL_FRAMES = DESCENT_MAX_WITNESS_FRAMES,
};

uint64_t result_run_below(const struct witnesses *w, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(w, witness);
	uint64_t ns = n->own_run_ns;
	uint32_t id;

	for (id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		ns += result_run_below(w, id);
	return ns;
}

/* The time in each handler; the last entry is of handlers that are not among the known ones. */
struct handled {
	uint64_t ns[DESCENT_HANDLERS + 1];
	struct handler unknown; /* signal 0 */
};

/*
 * Returns the number of the handler that begins with this frame, or -1 if none does. If the last
 * call of a handler was a jump, the frame of the function that it jumped to is there instead.
 */
static int handler_at(const struct descent *d, uint32_t witness)
{
	const struct rec_code function = witnesses_node(d->witnesses, witness)->function;

	for (unsigned int k = 0; k < d->nr_handlers; k++)
		if (code_equal(function, d->handler[k].function))
			return (int)k;
	if (!witness_is_trampoline(d->witnesses, witnesses_node(d->witnesses, witness)->parent))
		return -1;
	return d->nr_handlers == 1 ? 0 : DESCENT_HANDLERS;
}

/* Adds the time of the handlers that interrupted this function or one up to `depth` frames below.
 */
static void handlers_below(const struct descent *d, uint32_t witness, unsigned int depth,
			   struct handled *out)
{
	const struct witnesses *w = d->witnesses;

	for (uint32_t id = witnesses_node(w, witness)->first_child; id != NO_INDEX;
	     id = witnesses_node(w, id)->next) {
		int k = handler_at(d, id);

		if (k >= 0)
			out->ns[k] += result_run_below(w, id);
		else if (depth)
			handlers_below(d, id, depth - 1, out);
		if (k == DESCENT_HANDLERS)
			out->unknown.function = witnesses_node(w, id)->function;
	}
}

static void add_handler(struct builder *b, struct descent_path *path, uint32_t node,
			const struct handler *h, double part)
{
	struct cause cause = {.kind = CAUSE_SIGNAL};
	double share = path->share, latency = (double)path->latency_ns;
	const char *name = sigabbrev_np((int)h->signal);
	struct descent_path *one;

	if (!h->signal)
		;
	else if (name)
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
	/* the time of short callees belongs to the path, and so do handlers that interrupt them */
	bool callees = result_has_callees(path);
	struct handled in = {.unknown = {.signal = 0}};
	struct witness_set set;
	uint64_t own = 0, left;

	if (!d->nr_handlers)
		return;
	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++) {
		handlers_below(d, set.at[i], callees ? ALL_FRAMES : TRAMPOLINE, &in);
		if (callees)
			own += result_run_below(d->witnesses, set.at[i]);
	}
	if (!callees) {
		own = witness_set_own_run(d->witnesses, &set);
		for (unsigned int k = 0; k <= DESCENT_HANDLERS; k++)
			own += in.ns[k];
	}
	left = own;
	for (unsigned int k = 0; left && k <= DESCENT_HANDLERS; k++) {
		if (!in.ns[k] || in.ns[k] * 100 < own * HANDLER_PART)
			continue;
		add_handler(b, path, node, k < DESCENT_HANDLERS ? &d->handler[k] : &in.unknown,
			    (double)in.ns[k] / (double)left);
		left -= in.ns[k];
	}
}
