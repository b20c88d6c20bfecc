// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/entry_args.h"

#include "analysis/code/blocks.h"
#include "analysis/code/placer.h"

enum { MAX_BLOCKS = 4096, ALL_ARGS = 0x3f };

/* What a block does to the registers that still hold what the caller passed. */
struct passage {
	uint8_t reads;	/* before it writes them */
	uint8_t writes; /* a call writes all: its callee may */
	uint8_t called; /* not written at a call */
	uint8_t in;	/* registers that may be as the caller passed them at its begin */
};

struct entry_search {
	struct placer *p;
	struct blocks blocks;
	struct passage *passage; /* of each block */
	uint8_t left_alone;	 /* when the function jumps to another one */
};

/* False: the code cannot be decoded. */
static bool passage_of(struct placer *p, const struct block *b, struct passage *out)
{
	const struct part_code *pc = flow_part(&p->flow, b->start);
	long first = pc ? part_find(pc, b->start) : -1;
	struct insn_effects e;
	struct insn insn;

	if (first < 0)
		return false;
	for (size_t i = (size_t)first; i < pc->nr && pc->part->start + pc->insns[i].off < b->end;
	     i++) {
		if (part_insn(p, pc, i, &insn) || decode_effects(p->decoder, &insn, &e))
			return false;
		out->reads |= e.args_read & ~out->writes;
		if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT) {
			out->called |= ALL_ARGS & ~out->writes;
			out->writes = ALL_ARGS;
		}
		out->writes |= e.args;
	}
	return true;
}

/* The block at `vaddr` may begin with these registers. Returns true if that is news. */
static bool enters(struct entry_search *s, uint64_t vaddr, uint8_t args)
{
	const struct block *to = blocks_at(&s->blocks, vaddr);
	uint8_t *in = to ? &s->passage[to - s->blocks.block].in : &s->left_alone, was = *in;

	*in |= args;
	return *in != was;
}

static bool leaves(struct entry_search *s, const struct block *b, const struct passage *at)
{
	uint8_t args = at->in & ~at->writes;
	bool news = false;

	if (b->falls)
		news |= enters(s, b->end, args);
	if (b->target)
		news |= enters(s, b->target, args);
	if (!b->indirect)
		return news;
	/* through a table, or to another function */
	s->left_alone |= args;
	for (size_t i = 0; i < s->p->flow.nr_targets; i++)
		news |= enters(s, s->p->flow.targets[i], args);
	return news;
}

static uint8_t search(struct entry_search *s, uint64_t vaddr)
{
	uint8_t reads = 0, called = 0;
	bool news;

	for (size_t i = 0; i < s->blocks.nr; i++)
		if (!passage_of(s->p, &s->blocks.block[i], &s->passage[i]))
			return ENTRY_ARGS_UNKNOWN;
	enters(s, vaddr, ALL_ARGS);
	do {
		news = false;
		for (size_t i = 0; i < s->blocks.nr; i++)
			news |= leaves(s, &s->blocks.block[i], &s->passage[i]);
	} while (news);
	for (size_t i = 0; i < s->blocks.nr; i++) {
		reads |= s->passage[i].reads & s->passage[i].in;
		called |= s->passage[i].called & s->passage[i].in;
	}
	reads |= s->left_alone;
	return reads || !called ? reads : ENTRY_ARGS_UNKNOWN;
}

uint8_t code_entry_args(struct placer *p, uint64_t vaddr)
{
	struct entry_search s = {.p = p};
	uint8_t args = ENTRY_ARGS_UNKNOWN;
	enum place_why why;

	if (flow_load(p, vaddr, &why) || blocks_find(p, &s.blocks))
		return args;
	if (s.blocks.nr <= MAX_BLOCKS)
		s.passage = calloc(s.blocks.nr + 1, sizeof(*s.passage));
	if (s.passage)
		args = search(&s, vaddr);
	free(s.passage);
	blocks_release(&s.blocks);
	return args;
}
