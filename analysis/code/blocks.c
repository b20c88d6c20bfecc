// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/blocks.h"
#include "analysis/base/array.h"

/* Blocks that only tables name, which every jump through a table may go to. */
struct loop_search {
	struct blocks *b;
	uint32_t *table;
	size_t nr_table;
	uint32_t *stack, *path; /* Tarjan's stack; the blocks on the way down */
	size_t *edge;		/* the next edge of each block on the way down */
	size_t nr_stack, nr_path;
	uint32_t clock;
};

static bool ends_block(uint8_t flow)
{
	return flow != INSN_NEXT && flow != INSN_CALL && flow != INSN_CALL_INDIRECT;
}

static void close_block(struct block *k, const struct flow_insn *last)
{
	k->falls = !ends_block(last->flow) || last->flow == INSN_JCC;
	if (last->flow == INSN_JCC || last->flow == INSN_JMP)
		k->target = last->target;
	k->indirect = last->flow == INSN_JMP_INDIRECT;
}

static void blocks_of_part(struct placer *p, const struct part_code *pc, struct blocks *b)
{
	const struct flow_insn *last = NULL;

	for (size_t i = 0; i < pc->nr; i++) {
		const struct flow_insn *fi = &pc->insns[i];
		uint64_t vaddr = pc->part->start + fi->off;
		struct block *k = b->nr ? &b->block[b->nr - 1] : NULL;

		if (!last || ends_block(last->flow) || last->off + last->length != fi->off ||
		    flow_is_target(&p->flow, vaddr)) {
			if (last)
				close_block(k, last);
			k = &b->block[b->nr++];
			*k = (struct block){.start = vaddr};
		}
		k->end = vaddr + fi->length;
		last = fi;
	}
	if (last)
		close_block(&b->block[b->nr - 1], last);
}

static int by_start(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static struct block *find(const struct blocks *b, uint64_t vaddr)
{
	size_t low = lower_bound(i, b->nr, b->block[i].end <= vaddr);

	return low < b->nr && b->block[low].start <= vaddr ? &b->block[low] : NULL;
}

const struct block *blocks_at(const struct blocks *b, uint64_t vaddr)
{
	return find(b, vaddr);
}

/* The block at the end of edge number `n` of a block: false past the last edge; NULL: leaves the
 * function. */
static bool edge_of(const struct loop_search *s, const struct block *k, size_t n, struct block **to)
{
	*to = NULL;
	if (n == 0) {
		*to = k->falls ? find(s->b, k->end) : NULL;
		return true;
	}
	if (n == 1) {
		*to = k->target ? find(s->b, k->target) : NULL;
		return true;
	}
	if (!k->indirect || n - 2 >= s->nr_table)
		return false;
	*to = &s->b->block[s->table[n - 2]];
	return true;
}

static void enter(struct loop_search *s, struct block *k)
{
	k->index = k->low = ++s->clock;
	k->on_stack = true;
	s->stack[s->nr_stack++] = s->path[s->nr_path] = (uint32_t)(k - s->b->block);
	s->edge[s->nr_path++] = 0;
}

/* The block is the root of a component: take that off the stack. */
static void component(struct loop_search *s, const struct block *root)
{
	bool several = &s->b->block[s->stack[s->nr_stack - 1]] != root;
	struct block *k;

	do {
		k = &s->b->block[s->stack[--s->nr_stack]];
		k->on_stack = false;
		k->loop |= several;
	} while (k != root);
}

static void walk_from(struct loop_search *s, struct block *start)
{
	enter(s, start);
	while (s->nr_path) {
		struct block *k = &s->b->block[s->path[s->nr_path - 1]], *to;

		if (edge_of(s, k, s->edge[s->nr_path - 1]++, &to)) {
			if (!to)
				continue;
			if (to == k)
				k->loop = true;
			if (!to->index)
				enter(s, to);
			else if (to->on_stack && to->index < k->low)
				k->low = to->index;
			continue;
		}
		if (k->low == k->index)
			component(s, k);
		if (--s->nr_path) {
			struct block *up = &s->b->block[s->path[s->nr_path - 1]];

			if (k->low < up->low)
				up->low = k->low;
		}
	}
}

static void table_targets(const struct placer *p, struct loop_search *s)
{
	for (size_t i = 0; i < s->b->nr; i++) {
		struct block *to = s->b->block[i].target ? find(s->b, s->b->block[i].target) : NULL;

		if (to)
			to->jumped_to = true;
	}
	for (size_t i = 0; i < p->flow.nr_targets; i++) {
		struct block *k = find(s->b, p->flow.targets[i]);

		if (k && !k->jumped_to && k->start == p->flow.targets[i])
			s->table[s->nr_table++] = (uint32_t)(k - s->b->block);
	}
}

static int find_loops(struct placer *p, struct blocks *b)
{
	struct loop_search s = {.b = b};
	int err = -ENOMEM;

	s.table = calloc(b->nr + p->flow.nr_targets + 1, sizeof(*s.table));
	s.stack = calloc(b->nr + 1, sizeof(*s.stack));
	s.path = calloc(b->nr + 1, sizeof(*s.path));
	s.edge = calloc(b->nr + 1, sizeof(*s.edge));
	if (s.table && s.stack && s.path && s.edge) {
		table_targets(p, &s);
		for (size_t i = 0; i < b->nr; i++) {
			if (!b->block[i].index)
				walk_from(&s, &b->block[i]);
		}
		err = 0;
	}
	free(s.table);
	free(s.stack);
	free(s.path);
	free(s.edge);
	return err;
}

int blocks_find(struct placer *p, struct blocks *b)
{
	size_t insns = 0;
	int err;

	*b = (struct blocks){.unresolved = p->flow.nr_unresolved > 0};
	for (size_t n = 0; n < p->flow.nr_parts; n++)
		insns += p->flow.parts[n]->nr;
	b->block = calloc(insns + 1, sizeof(*b->block));
	if (!b->block)
		return -ENOMEM;
	for (size_t n = 0; n < p->flow.nr_parts; n++)
		blocks_of_part(p, p->flow.parts[n], b);
	qsort(b->block, b->nr, sizeof(*b->block), by_start);
	err = find_loops(p, b);
	if (err)
		blocks_release(b);
	return err;
}

void blocks_release(struct blocks *b)
{
	free(b->block);
	*b = (struct blocks){0};
}
