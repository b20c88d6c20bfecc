/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw snapshots whose copied stack ends inside a large frame. The collector is asked for the piece
 * of the stack that has the frame's return address; then the stack is unwound again. Private to
 * front*.c. */
#pragma once

#include "analysis/parser/protocol.h"
#include "analysis/session/record.h"

struct front;

enum { CUT_STACKS = 64 };

struct cut_stacks {
	struct cut_stack {
		struct record *rec;
		uint64_t wanted; /* address of the word that the unwinder needs */
	} list[CUT_STACKS];
	size_t nr;
};

/* Ask for what the unwinder lacked. Returns false if it cannot be had: the thread is not asleep any
 * more, the stack has all of its pieces, or too many stacks wait. */
bool cut_stacks_ask(struct cut_stacks *c, struct front *f, const struct record *rec,
		    const struct parsed_frames *p);
/* Takes the answer. Returns the snapshot with the piece added, or, if there is no such piece, one
 * that is not asked about again. The caller frees it. NULL: nobody waits for it, or no memory. */
struct record *cut_stacks_take(struct cut_stacks *c, const struct rec_stack_piece *piece);
void cut_stacks_release(struct cut_stacks *c);
