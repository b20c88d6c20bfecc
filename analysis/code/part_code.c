// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/part_code.h"
#include "analysis/base/array.h"

#include "analysis/code/arch.h"
#include "analysis/code/placer.h"

void part_release(struct part_code *pc)
{
	free(pc->insns);
	*pc = (struct part_code){0};
}

/* Make room for one more instruction. */
static int part_grow(struct part_code *pc)
{
	return array_grow(pc->insns, pc->nr, pc->cap, PART_MAX_INSNS);
}

/* The nearest place after `off` that decoded branches of the part go to; 0 if none. */
static uint32_t resume_at(const struct part_code *pc, uint32_t off)
{
	uint64_t best = pc->part->end, from = pc->part->start + off;

	for (size_t i = 0; i < pc->nr; i++) {
		uint64_t t = pc->insns[i].target;

		if (t > from && t < best)
			best = t;
	}
	return best < pc->part->end ? (uint32_t)(best - pc->part->start) : 0;
}

static int part_fill(struct placer *p, struct part_code *pc)
{
	const struct code_part *part = pc->part;
	const uint8_t *bytes;
	uint32_t off = 0, size;
	size_t len;
	int err;

	if (!code_bytes_at(p->src, part->start, &bytes, &len))
		return -ENOENT;
	if (len > part->end - part->start)
		len = (size_t)(part->end - part->start);
	if (len > UINT32_MAX)
		return -E2BIG;
	size = (uint32_t)len;
	while (off < size) {
		struct insn insn;

		err = part_grow(pc);
		if (err == -E2BIG)
			pc->too_large = true;
		if (err)
			return err == -E2BIG ? 0 : err;
		if (decode_insn(p->decoder, bytes + off, size - off, part->start + off, &insn)) {
			pc->undecodable = true;
			off = resume_at(pc, off);
			if (!off)
				return 0;
			continue;
		}
		pc->insns[pc->nr++] = (struct flow_insn){
		    .target = insn.target,
		    .off = off,
		    .length = insn.length,
		    .flow = insn.flow,
		};
		off += insn.length;
	}
	return 0;
}

struct part_code *part_decode(struct placer *p, const struct code_part *part)
{
	struct part_code *oldest = NULL;

	for (size_t i = 0; i < PLACER_CACHE; i++) {
		struct part_code *pc = &p->cache[i];

		if (pc->part == part) {
			pc->used = ++p->clock;
			return pc;
		}
		if (!pc->pinned && (!oldest || pc->used < oldest->used))
			oldest = pc;
	}
	if (!oldest)
		return NULL;
	oldest->part = part;
	oldest->nr = 0;
	oldest->undecodable = oldest->too_large = false;
	oldest->used = ++p->clock;
	if (part_fill(p, oldest)) {
		part_release(oldest);
		return NULL;
	}
	return oldest;
}

long part_find(const struct part_code *pc, uint64_t vaddr)
{
	uint64_t off = vaddr - pc->part->start;
	size_t lo = lower_bound(i, pc->nr, pc->insns[i].off < off);

	return lo < pc->nr && pc->insns[lo].off == off ? (long)lo : -1;
}

int part_insn(struct placer *p, const struct part_code *pc, size_t i, struct insn *out)
{
	const struct flow_insn *fi = &pc->insns[i];
	uint64_t vaddr = pc->part->start + fi->off;
	const uint8_t *bytes;
	size_t len;

	*out = (struct insn){.vaddr = vaddr, .length = fi->length};
	if (!code_bytes_at(p->src, vaddr, &bytes, &len) || len < fi->length)
		return -ENOENT;
	memcpy(out->bytes, bytes, fi->length);
	arch_analyse(out);
	return 0;
}
