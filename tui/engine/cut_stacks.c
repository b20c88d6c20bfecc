// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/cut_stacks.h"

#include "analysis/base/array.h"
#include "analysis/session/record_copy.h"
#include "analysis/walk/known_stacks.h"
#include "tui/engine/front_state.h"

enum { PIECE_HEAD = 2 /* words before those of a piece: its address and their number */ };

static unsigned int nr_pieces(const struct rec_raw_snapshot *raw)
{
	unsigned int nr = 0;

	for (uint64_t i = 0; i + 1 < raw->nr_pieces && raw->pieces[i + 1] <= STACK_PIECE_WORDS;
	     i += PIECE_HEAD + raw->pieces[i + 1])
		nr++;
	return nr;
}

bool cut_stacks_ask(struct cut_stacks *c, struct front *f, const struct record *rec,
		    const struct parsed_frames *p)
{
	const struct rec_raw_snapshot *raw = &rec->raw_snapshot;
	struct stack_place at = stack_place_of(&raw->snapshot, raw->regs, raw->nr_regs);
	struct record ask = {.type = REQ_STACK_PIECE}, *copy;

	if (!p->missing || !raw->switches || !at.ip || c->nr == CUT_STACKS ||
	    nr_pieces(raw) == STACK_PIECES)
		return false;
	copy = record_copy(rec);
	if (!copy)
		return false;
	c->list[c->nr++] = (struct cut_stack){copy, p->missing};
	ask.req_stack_piece = (struct req_stack_piece){.pid = raw->snapshot.pid,
						       .tid = raw->snapshot.tid,
						       .switches = raw->switches,
						       .sp = at.sp,
						       .address = p->missing};
	front_request(f, &ask);
	return true;
}

static bool is_useful(const struct cut_stack *cut, const struct rec_stack_piece *piece)
{
	return cut->wanted >= piece->address && piece->nr_words <= STACK_PIECE_WORDS &&
	       (cut->wanted - piece->address) / sizeof(*piece->words) < piece->nr_words;
}

struct record *cut_stacks_take(struct cut_stacks *c, const struct rec_stack_piece *piece)
{
	struct cut_stack *cut =
	    find_first(i, c->list, c->nr,
		       c->list[i].wanted == piece->wanted &&
			   c->list[i].rec->raw_snapshot.snapshot.tid == piece->tid);
	uint64_t pieces[STACK_PIECES_WORDS];
	struct record *rec, more, *out;
	struct rec_raw_snapshot *raw;
	uint32_t n;

	if (!cut)
		return NULL;
	rec = cut->rec;
	if (!is_useful(cut, piece)) {
		rec->raw_snapshot.switches = 0;
		*cut = c->list[--c->nr];
		return rec;
	}
	*cut = c->list[--c->nr];
	more = *rec;
	raw = &more.raw_snapshot;
	n = raw->nr_pieces;
	if (n)
		memcpy(pieces, raw->pieces, n * sizeof(*pieces));
	pieces[n++] = piece->address;
	pieces[n++] = piece->nr_words;
	memcpy(pieces + n, piece->words, piece->nr_words * sizeof(*pieces));
	raw->nr_pieces = n + piece->nr_words;
	raw->pieces = pieces;
	out = record_copy(&more);
	free(rec);
	return out;
}

void cut_stacks_release(struct cut_stacks *c)
{
	while (c->nr)
		free(c->list[--c->nr].rec);
}
