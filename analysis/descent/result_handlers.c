// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal handlers: the program does not call them, but a stack sample in a handler shows which
 * function it interrupted. */

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

	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		ns += result_run_below(w, id);
	return ns;
}

/* The time in each handler; the last entry is of handlers that are not among the known ones. */
struct handled {
	struct live_callees live;
	bool callees; /* the time of the other callees belongs to the path */
	uint64_t all; /* of handlers; with `callees` also of these */
	uint64_t ns[DESCENT_HANDLERS + 1];
	struct handler unknown; /* signal 0; the function with the most time */
	uint64_t unknown_ns;
};

/* Returns the number of the handler that begins with this frame, or -1 if none does. If the last
 * call of a handler was a jump, the frame of the function that it jumped to is there instead. */
static int handler_at(const struct descent *d, uint32_t witness)
{
	const struct rec_code function = witnesses_node(d->witnesses, witness)->function;

	for (unsigned int k = 0; k < d->nr_handlers; k++)
		if (code_equal(function, d->handler[k].function))
			return (int)k;
	if (!witness_is_trampoline(d->witnesses, witnesses_node(d->witnesses, witness)->parent))
		return -1;
	/* only the last handler of a call is known */
	return d->nr_handlers == 1 && !d->several_handlers ? 0 : DESCENT_HANDLERS;
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
		uint64_t ns = k >= 0 ? result_run_below(w, id) : 0;

		if (k >= 0) {
			out->ns[k] += ns;
			out->all += ns;
		} else if (depth && !result_is_live(&out->live, id)) {
			out->all += out->callees ? witnesses_node(w, id)->own_run_ns : 0;
			handlers_below(d, id, depth - 1, out);
		}
		if (k == DESCENT_HANDLERS && ns > out->unknown_ns) {
			out->unknown.function = witnesses_node(w, id)->function;
			out->unknown_ns = ns;
		}
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
	struct handled in = {.callees = result_has_callees(path)};
	struct witness_set set;
	uint64_t own = 0, left;

	if (!d->nr_handlers)
		return;
	result_live_callees(d, node, &in.live);
	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++)
		handlers_below(d, set.at[i], in.callees ? ALL_FRAMES : TRAMPOLINE, &in);
	own = witness_set_own_run(d->witnesses, &set) + in.all;
	left = own;
	for (unsigned int k = 0; left && k <= DESCENT_HANDLERS; k++) {
		if (!in.ns[k] || in.ns[k] * 100 < own * HANDLER_PART)
			continue;
		add_handler(b, path, node, k < DESCENT_HANDLERS ? &d->handler[k] : &in.unknown,
			    (double)in.ns[k] / (double)left);
		left -= in.ns[k];
	}
}
