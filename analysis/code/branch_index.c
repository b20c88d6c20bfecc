// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/branch_index.h"
#include "analysis/base/array.h"

#include "analysis/code/arch.h"
#include "analysis/code/part_code.h"
#include "analysis/code/placer.h"

uint64_t index_target(const struct placer *p, uint64_t key)
{
	return p->index.base + (key >> 32);
}

uint64_t index_source(const struct placer *p, uint64_t key)
{
	return p->index.base + (uint32_t)key;
}

size_t index_first(const struct placer *p, const struct branch_list *list, uint64_t target)
{
	uint64_t key = target > p->index.base ? target - p->index.base : 0;
	size_t lo;

	if (key > UINT32_MAX)
		return list->nr;
	key <<= 32;
	lo = lower_bound(i, list->nr, list->keys[i] < key);
	return lo;
}

void index_release(struct branch_index *x)
{
	free(x->calls.keys);
	free(x->jumps.keys);
	free(x->leas.keys);
	*x = (struct branch_index){0};
}

static int list_add(struct branch_list *list, uint64_t key)
{
	return array_append(list->keys, list->nr, list->cap, INDEX_MAX, key);
}

/* By target; sources are ascending already and stay so. */
static int list_sort(struct branch_list *list)
{
	uint64_t *from = list->keys, *to;

	if (!list->nr)
		return 0;
	to = malloc(list->nr * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (unsigned shift = 32; shift < 64; shift += 8) {
		size_t at[257] = {0};
		uint64_t *swap;

		for (size_t i = 0; i < list->nr; i++)
			at[(from[i] >> shift & 0xff) + 1]++;
		for (unsigned i = 0; i < 256; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < list->nr; i++)
			to[at[from[i] >> shift & 0xff]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	list->keys = from;
	list->cap = list->nr;
	free(to);
	return 0;
}

static bool starts_part(const struct code_source *src, uint64_t vaddr)
{
	const struct code_part *part = code_part_at(src, vaddr);

	return part && part->start == vaddr;
}

static int scan_one(struct placer *p, const struct code_part *part, int what, uint64_t vaddr,
		    uint64_t target)
{
	struct branch_index *x = &p->index;
	uint64_t key;

	if (target < x->base || target - x->base > UINT32_MAX || vaddr - x->base > UINT32_MAX)
		return 0;
	key = (target - x->base) << 32 | (vaddr - x->base);
	switch (what) {
	case ARCH_SCAN_CALL:
		return starts_part(p->src, target) ? list_add(&x->calls, key) : 0;
	case ARCH_SCAN_LEA:
		return starts_part(p->src, target) ? list_add(&x->leas, key) : 0;
	default:
		if (target >= part->start && target < part->end)
			return 0;
		return code_part_at(p->src, target) ? list_add(&x->jumps, key) : 0;
	}
}

static int scan_part(struct placer *p, const struct code_part *part)
{
	uint64_t start = part->start, size = part->end - part->start;
	uint8_t tail[2 * ARCH_SCAN_BYTES] = {0};
	const uint8_t *bytes;
	size_t len, i, whole;
	uint64_t target;
	int what, err = 0;

	if (!code_bytes_at(p->src, start, &bytes, &len))
		return 0;
	if (len > size)
		len = (size_t)size;
	whole = len > ARCH_SCAN_BYTES ? len - ARCH_SCAN_BYTES : 0;
	for (i = 0; i < whole && !err; i++) {
		what = arch_scan(bytes + i, start + i, &target);
		if (what)
			err = scan_one(p, part, what, start + i, target);
	}
	/* the last few through a copy, so that nothing after the end is looked at */
	memcpy(tail, bytes + whole, len - whole);
	for (; i < len && !err; i++) {
		what = arch_scan(tail + (i - whole), start + i, &target);
		if (what)
			err = scan_one(p, part, what, start + i, target);
	}
	return err;
}

int index_build(struct placer *p)
{
	const struct code_source *src = p->src;
	struct branch_index *x = &p->index;
	int err = 0;

	if (x->built)
		return 0;
	x->base = src->nr_parts ? src->parts[0].start : 0;
	x->truncated = src->nr_parts && src->parts[src->nr_parts - 1].end - x->base > UINT32_MAX;
	for (size_t i = 0; i < src->nr_parts && !err; i++)
		if (!(src->parts[i].flags & CODE_PART_PLT))
			err = scan_part(p, &src->parts[i]);
	if (err == -E2BIG) {
		x->truncated = true;
		err = 0;
	}
	if (!err)
		err = list_sort(&x->calls);
	if (!err)
		err = list_sort(&x->jumps);
	if (!err)
		err = list_sort(&x->leas);
	if (err)
		index_release(x);
	else
		x->built = true;
	return err;
}

const struct flow_insn *index_verify(struct placer *p, uint64_t vaddr, struct part_code **in)
{
	const struct code_part *part = code_part_at(p->src, vaddr);
	struct part_code *pc = part ? part_decode(p, part) : NULL;
	unsigned back;
	long i = -1;

	/* a bnd, rex or operand size prefix may stand before the byte that was found */
	for (back = 0; pc && back <= 4 && i < 0; back++)
		if (vaddr - part->start >= back)
			i = part_find(pc, vaddr - back);
	if (i < 0 || pc->insns[i].off + pc->insns[i].length <= vaddr - part->start)
		return NULL;
	*in = pc;
	return &pc->insns[i];
}
