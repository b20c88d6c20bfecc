// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames of stack samples that belong to one fnode. */
#include "analysis/base/array.h"
#include "analysis/descent/ftree.h"
#include "analysis/descent/witness.h"

static void add_at(struct witness_set *s, uint32_t node)
{
	if (s->nr_at < WITNESS_SET)
		s->at[s->nr_at++] = node;
}

static void add_beyond(struct witness_set *s, uint32_t node)
{
	if (s->nr_beyond < WITNESS_SET)
		s->beyond[s->nr_beyond++] = node;
}

void witness_set_root(const struct witnesses *w, struct witness_set *out)
{
	*out = (struct witness_set){.nr_at = 1};
	for (uint32_t id = witnesses_node(w, 0)->first_child; id != NO_INDEX;
	     id = witnesses_node(w, id)->next)
		if (!witnesses_node(w, id)->ret.module)
			add_beyond(out, id);
}

static void sort_in(const struct witnesses *w, uint32_t id, struct rec_code callee,
		    struct witness_set *out)
{
	if (!callee.module || code_equal(witnesses_node(w, id)->function, callee))
		add_at(out, id);
	else
		add_beyond(out, id);
}

void witness_set_callee(const struct witnesses *w, const struct witness_set *caller,
			struct rec_code ret, struct rec_code callee, struct witness_set *out)
{
	*out = (struct witness_set){0};
	if (!ret.offset) {
		for (unsigned int i = 0; i < caller->nr_beyond; i++)
			sort_in(w, caller->beyond[i], callee, out);
		/* A function that jumps to itself has one frame, however often it jumps. */
		for (unsigned int i = 0; i < caller->nr_at; i++)
			if (code_equal(witnesses_node(w, caller->at[i])->function, callee))
				add_at(out, caller->at[i]);
		return;
	}
	for (unsigned int i = 0; i < caller->nr_at; i++) {
		const struct witness_node *n = witnesses_node(w, caller->at[i]);

		for (uint32_t id = code_is_syscall(callee) ? n->first_syscall : n->first_child;
		     id != NO_INDEX; id = witnesses_node(w, id)->next)
			if (code_equal(witnesses_node(w, id)->ret, ret))
				sort_in(w, id, callee, out);
	}
}

uint64_t witness_set_weight(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += witnesses_node(w, s->at[i])->weight_ns;
	for (unsigned int i = 0; i < s->nr_beyond; i++)
		ns += witnesses_node(w, s->beyond[i])->weight_ns;
	return ns;
}

bool witness_is_trampoline(const struct witnesses *w, uint32_t node)
{
	uint32_t below = witnesses_node(w, node)->first_child;

	return below != NO_INDEX &&
	       code_equal(witnesses_node(w, below)->ret, witnesses_node(w, node)->function);
}

uint64_t witness_set_own_run(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += witnesses_node(w, s->at[i])->own_run_ns;
	return ns;
}

uint64_t witness_set_own_sleep(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += witnesses_node(w, s->at[i])->own_sleep_ns;
	return ns;
}

uint64_t witness_set_own_kernel(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = witness_set_own_sleep(w, s);

	for (unsigned int i = 0; i < s->nr_at; i++)
		if (witnesses_node(w, s->at[i])->own)
			ns += witnesses_node(w, s->at[i])->own->kernel_run_ns;
	return ns;
}

uint64_t witness_set_stacks(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t stacks = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		stacks += witnesses_node(w, s->at[i])->count;
	return stacks;
}
