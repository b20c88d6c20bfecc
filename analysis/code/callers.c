// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/callers.h"

#include "analysis/code/arch.h"
#include "analysis/code/branch_index.h"
#include "analysis/code/placer.h"

/* Some instruction of the code takes the address. */
static bool taken_in_code(struct placer *p, uint64_t function)
{
	const struct branch_list *leas = &p->index.leas;
	size_t i = index_first(p, leas, function);

	for (; i < leas->nr && index_target(p, leas->keys[i]) == function; i++) {
		struct part_code *pc;
		const struct flow_insn *fi = index_verify(p, index_source(p, leas->keys[i]), &pc);
		struct insn insn;
		uint64_t address;

		if (fi && !part_insn(p, pc, (size_t)(fi - pc->insns), &insn) &&
		    arch_takes_address(&insn, &address) && address == function)
			return true;
	}
	return false;
}

/* A program at fixed addresses: the address itself stands in the code as 4 bytes. */
static bool taken_as_immediate(struct placer *p, uint64_t function)
{
	uint8_t want[4];

	if (!p->src->fixed || function > UINT32_MAX)
		return false;
	for (unsigned i = 0; i < 4; i++)
		want[i] = (uint8_t)(function >> (8 * i));
	for (size_t n = 0; n < p->src->nr_bytes; n++) {
		const struct code_bytes *b = &p->src->bytes[n];
		const uint8_t *at = b->bytes, *end = b->bytes + b->size;

		while ((at = memmem(at, (size_t)(end - at), want, sizeof(want)))) {
			struct part_code *pc;
			uint64_t vaddr = b->vaddr + (uint64_t)(at - b->bytes);
			const struct code_part *part = code_part_at(p->src, vaddr);

			/* in an immediate or displacement, that is: not the first byte */
			pc = part ? part_decode(p, part) : NULL;
			if (pc && part_find(pc, vaddr) < 0)
				return true;
			at++;
		}
	}
	return false;
}

/* Another function jumps to the start. */
static bool jumped_to(struct placer *p, const struct code_part *part)
{
	const struct branch_list *jumps = &p->index.jumps;
	const struct code_part *parts = p->src->parts, *last = parts + p->src->nr_parts;
	size_t i = index_first(p, jumps, part->start);

	for (; i < jumps->nr && index_target(p, jumps->keys[i]) == part->start; i++) {
		struct part_code *pc;
		const struct flow_insn *fi = index_verify(p, index_source(p, jumps->keys[i]), &pc);

		if (fi && fi->target == part->start)
			return true;
	}
	for (int side = 0; side < 2; side++) {
		const struct code_part *near = side ? part + 1 : part - 1;
		struct part_code *pc;

		if ((side && near >= last) || (!side && part == parts) ||
		    (near->flags & CODE_PART_COLD && near->parent == part->start))
			continue;
		pc = part_decode(p, near);
		for (size_t k = 0; pc && k < pc->nr; k++)
			if ((pc->insns[k].flow == INSN_JMP || pc->insns[k].flow == INSN_JCC) &&
			    pc->insns[k].target == part->start)
				return true;
	}
	return false;
}

/* True if the last instruction of the part before falls through into this part. */
static bool falls_in(struct placer *p, const struct code_part *part)
{
	const struct code_part *before = part - 1;
	const struct flow_insn *last;
	struct part_code *pc;

	if (part == p->src->parts || before->end != part->start)
		return false;
	pc = part_decode(p, before);
	if (!pc || !pc->nr)
		return false;
	last = &pc->insns[pc->nr - 1];
	if (before->start + last->off + last->length != part->start)
		return false;
	if (last->flow == INSN_NEXT) {
		struct insn insn;

		return part_insn(p, pc, pc->nr - 1, &insn) || !arch_is_padding(&insn);
	}
	return last->flow == INSN_JCC;
}

static uint32_t flags_of(struct placer *p, const struct code_part *part)
{
	const struct code_source *src = p->src;
	uint32_t flags = 0;

	if (taken_in_code(p, part->start) || taken_as_immediate(p, part->start) ||
	    (src->in_data && src->in_data(src->ctx, part->start)))
		flags |= CALLERS_ADDRESS_TAKEN;
	if (part->flags & CODE_PART_EXPORTED && src->shared)
		flags |= CALLERS_EXPORTED;
	if (part->flags & CODE_PART_IFUNC)
		flags |= CALLERS_IFUNC;
	if (jumped_to(p, part))
		flags |= CALLERS_TAIL_JUMPS;
	if (falls_in(p, part))
		flags |= CALLERS_FALLS_IN;
	if (p->index.truncated)
		flags |= CALLERS_TRUNCATED;
	return flags;
}

int callers_find(struct placer *p, uint64_t function, struct caller *out, size_t max,
		 uint32_t *flags)
{
	const struct code_part *part = code_part_at(p->src, function);
	const struct branch_list *calls = &p->index.calls;
	size_t n = 0;
	int err = index_build(p);

	*flags = 0;
	if (err)
		return err;
	if (!part || part->start != function)
		return -ENOENT;
	for (size_t i = index_first(p, calls, function);
	     i < calls->nr && index_target(p, calls->keys[i]) == function; i++) {
		struct part_code *pc;
		const struct flow_insn *fi = index_verify(p, index_source(p, calls->keys[i]), &pc);
		uint64_t call;

		if (!fi || fi->flow != INSN_CALL || fi->target != function)
			continue;
		call = pc->part->start + fi->off;
		if (n < max)
			out[n] = (struct caller){.call = call, .ret = call + fi->length};
		n++;
	}
	*flags = flags_of(p, part);
	return n > INT32_MAX ? -E2BIG : (int)n;
}
