// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/stacks.h"

#include "analysis/base/array.h"

static bool same_frame(const struct stack_tally *t, const struct rec_frame *a,
		       const struct rec_frame *b)
{
	return a->module == b->module && a->function == b->function &&
	       (!t->by_place || a->offset == b->offset);
}

/* Returns true if the stack begins with these frames. */
static bool begins_with(const struct stack_tally *t, const struct stack_entry *e,
			const struct rec_frame *frame, uint32_t nr)
{
	if (e->nr < nr)
		return false;
	return !any_of(i, nr, !same_frame(t, &e->frame[i], &frame[i]));
}

static void add(struct stack_tally *t, const struct rec_frame *frame, uint32_t nr, int tag,
		uint64_t ns, uint32_t count)
{
	struct stack_entry *e = NULL;

	if (nr > STACK_DEPTH)
		nr = STACK_DEPTH;
	for (uint32_t i = 0; i < t->nr; i++) {
		struct stack_entry *one = &t->entry[i];

		if (one->tag == tag && one->nr == nr && begins_with(t, one, frame, nr)) {
			one->ns += ns;
			one->count += count;
			return;
		}
		if (!e || one->ns < e->ns)
			e = one;
	}
	if (t->nr < STACK_TALLY) {
		e = &t->entry[t->nr++];
		e->ns = 0;
		e->count = 0;
	}
	e->ns += ns;
	e->count += count;
	e->tag = tag;
	e->nr = nr;
	memcpy(e->frame, frame, nr * sizeof(*frame));
}

void stack_tally_add(struct stack_tally *t, const struct rec_frame *frame, uint32_t nr, int tag,
		     uint64_t ns)
{
	add(t, frame, nr, tag, ns, 1);
}

void stack_tally_join(struct stack_tally *t, const struct stack_tally *from, int tag)
{
	for (uint32_t i = 0; i < from->nr; i++)
		if (tag == STACK_ANY || from->entry[i].tag == tag)
			add(t, from->entry[i].frame, from->entry[i].nr, from->entry[i].tag,
			    from->entry[i].ns, from->entry[i].count);
}

uint64_t stack_tally_ns(const struct stack_tally *t)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		ns += t->entry[i].ns;
	return ns;
}

uint32_t stack_tally_count(const struct stack_tally *t)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		count += t->entry[i].count;
	return count;
}

/* Returns the heaviest frame that follows these frames in at least `least` stacks; NULL: none. */
static const struct rec_frame *next_frame(const struct stack_tally *t, const struct rec_frame *path,
					  uint32_t nr, uint32_t least, uint64_t *ns)
{
	const struct rec_frame *best = NULL;

	*ns = 0;
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct stack_entry *e = &t->entry[i];
		uint64_t sum = 0;
		uint32_t count = 0;

		if (e->nr <= nr || !begins_with(t, e, path, nr))
			continue;
		for (uint32_t k = 0; k < t->nr; k++) {
			if (t->entry[k].nr > nr && begins_with(t, &t->entry[k], path, nr) &&
			    same_frame(t, &t->entry[k].frame[nr], &e->frame[nr])) {
				sum += t->entry[k].ns;
				count += t->entry[k].count;
			}
		}
		if (sum > *ns && count >= least) {
			*ns = sum;
			best = &e->frame[nr];
		}
	}
	return best;
}

uint32_t stack_tally_path(const struct stack_tally *t, uint32_t part, uint32_t least,
			  struct rec_frame out[STACK_DEPTH], uint64_t *ns)
{
	uint64_t next_ns, all = stack_tally_ns(t);
	const struct rec_frame *next;
	uint32_t nr = 0;

	*ns = all;
	while (nr < STACK_DEPTH) {
		next = next_frame(t, out, nr, least, &next_ns);
		if (!next || next_ns * part < *ns)
			break;
		out[nr++] = *next;
		*ns = next_ns;
	}
	return nr;
}

uint64_t stack_tally_ns_of(const struct stack_tally *t, const struct rec_frame *path, uint32_t nr)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		if (begins_with(t, &t->entry[i], path, nr))
			ns += t->entry[i].ns;
	return ns;
}

void stack_tally_remove(struct stack_tally *t, const struct rec_frame *path, uint32_t nr)
{
	uint32_t i = 0;

	while (i < t->nr) {
		if (begins_with(t, &t->entry[i], path, nr))
			t->entry[i] = t->entry[--t->nr];
		else
			i++;
	}
}
