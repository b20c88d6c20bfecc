// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/boundary.h"
#include "analysis/base/array.h"

enum { MARK_START = 1 << 0, MARK_INSIDE = 1 << 1, MARK_QUEUED = 1 << 2, MARK_SWEPT = 1 << 3 };

/* Positions still to be decoded from. Each byte of the range is queued at most once. */
struct decode_queue {
	uint32_t *at;
	size_t nr, cap;
};

static int queue_add(struct boundaries *b, struct decode_queue *q, uint64_t vaddr)
{
	uint64_t at = vaddr - b->start;

	if (vaddr < b->start || at >= b->size || b->marks[at] & MARK_QUEUED)
		return 0;
	if (array_grow(q->at, q->nr, q->cap, b->size))
		return -ENOMEM;
	b->marks[at] |= MARK_QUEUED;
	q->at[q->nr++] = (uint32_t)at;
	return 0;
}

/* Does execution go on behind this instruction? A call is taken to return. */
static bool goes_on(const struct insn *insn)
{
	return insn->flow == INSN_NEXT || insn->flow == INSN_JCC || insn->flow == INSN_CALL ||
	       insn->flow == INSN_CALL_INDIRECT;
}

/* Decode from `at` until the flow ends or is known. */
static int follow(struct boundaries *b, struct decoder *d, const uint8_t *code, size_t at,
		  struct decode_queue *q)
{
	while (at < b->size && !(b->marks[at] & MARK_START)) {
		struct insn insn;
		int err = 0;

		if (decode_insn(d, code + at, b->size - at, b->start + at, &insn))
			return 0;
		b->marks[at] |= MARK_START;
		for (size_t i = 1; i < insn.length; i++)
			b->marks[at + i] |= MARK_INSIDE;
		if (insn.flow == INSN_JCC || insn.flow == INSN_JMP)
			err = queue_add(b, q, insn.target);
		if (err || !goes_on(&insn))
			return err;
		at += insn.length;
	}
	return 0;
}

int boundaries_init(struct boundaries *b, struct decoder *d, const uint8_t *code,
		    const uint64_t *roots, size_t nr)
{
	struct decode_queue q = {0};
	int err;

	b->marks = NULL;
	if (!b->size || b->size > BOUNDARY_MAX_RANGE)
		return -E2BIG;
	b->marks = calloc(b->size, 1);
	if (!b->marks)
		return -ENOMEM;
	err = queue_add(b, &q, b->start);
	for (size_t i = 0; i < nr && !err; i++)
		err = queue_add(b, &q, roots[i]);
	while (q.nr && !err)
		err = follow(b, d, code, q.at[--q.nr], &q);
	free(q.at);
	if (err)
		boundaries_release(b);
	return err;
}

/* No flow that could be followed leads here: a target of a jump table, a landing pad, padding.
 * Decode on from the last instruction before it that is known, which ends at or before `at`. What
 * was passed on the way is marked: the next question about this part begins there. */
static enum boundary check_linear(struct boundaries *b, struct decoder *d, const uint8_t *code,
				  size_t at)
{
	struct insn insn;
	size_t pos = at;

	while (pos > 0 && !(b->marks[pos] & MARK_SWEPT) &&
	       !(b->marks[pos - 1] & (MARK_START | MARK_INSIDE)))
		pos--;
	while (pos < at) {
		b->marks[pos] |= MARK_SWEPT;
		if (decode_insn(d, code + pos, b->size - pos, b->start + pos, &insn))
			return BOUNDARY_NO_CODE;
		pos += insn.length;
	}
	if (pos > at)
		return BOUNDARY_INSIDE;
	if (decode_insn(d, code + at, b->size - at, b->start + at, &insn))
		return BOUNDARY_NO_CODE;
	/* what flow reaches within its bytes says that this is no instruction */
	for (size_t i = 1; i < insn.length; i++) {
		if (b->marks[at + i] & (MARK_START | MARK_INSIDE))
			return BOUNDARY_INSIDE;
	}
	return BOUNDARY_YES;
}

enum boundary boundaries_check(struct boundaries *b, struct decoder *d, const uint8_t *code,
			       uint64_t vaddr)
{
	size_t at = (size_t)(vaddr - b->start);

	if (vaddr < b->start || at >= b->size)
		return BOUNDARY_NO_CODE;
	/* also where another path begins inside of it: a breakpoint would change what the first
	 * path executes */
	if (b->marks[at] & MARK_INSIDE)
		return BOUNDARY_INSIDE;
	return b->marks[at] & MARK_START ? BOUNDARY_YES : check_linear(b, d, code, at);
}

void boundaries_release(struct boundaries *b)
{
	free(b->marks);
	*b = (struct boundaries){0};
}
