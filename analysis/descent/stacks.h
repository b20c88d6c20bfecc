/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that code cannot be probed along, with their weights: the kernel's part below a
 * function, the callers above a system call. Frames come outermost first for the
 * former, innermost first for the latter: from f0 outwards. Internal to analysis/descent/.
 */
#ifndef PEAKTOP_DESCENT_STACKS_H
#define PEAKTOP_DESCENT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

enum {
	STACK_DEPTH = 24,
	STACK_TALLY = 48,
	STACK_ANY = -1,
};

struct stack_entry {
	uint64_t ns;
	uint32_t count; /* of stacks */
	int tag;	/* kind of a sleep's cause; of a sample: a number that is no kind */
	uint32_t nr;
	struct rec_frame frame[STACK_DEPTH];
};

/*
 * Keeps the heaviest entries. A new entry replaces the lightest and inherits its weight
 * (space saving algorithm).
 */
struct stack_tally {
	uint32_t nr;
	bool by_place; /* two calls of one function from two places are two frames */
	struct stack_entry entry[STACK_TALLY];
};

void stack_tally_add(struct stack_tally *t, const struct rec_frame *frame, uint32_t nr, int tag,
		     uint64_t ns);
/* Add all of another one that have this tag (STACK_ANY: all). */
void stack_tally_join(struct stack_tally *t, const struct stack_tally *from, int tag);
uint64_t stack_tally_ns(const struct stack_tally *t);

/*
 * The heaviest path: from the first frame on always to the heaviest next one, as long as
 * that has at least 1/`part` of what came so far, and `least` stacks. Returns its number of frames,
 * *ns what goes through its last one.
 */
uint32_t stack_tally_path(const struct stack_tally *t, uint32_t part, uint32_t least,
			  struct rec_frame out[STACK_DEPTH], uint64_t *ns);
/* How many leading frames of a path at least 1/`part` of what goes through its first one goes
 * through. */
uint32_t stack_tally_trunk(const struct stack_tally *t, const struct rec_frame *path, uint32_t nr,
			   uint32_t part);
uint32_t stack_tally_count(const struct stack_tally *t);
/* Take out what goes through the last frame of a path. */
void stack_tally_remove(struct stack_tally *t, const struct rec_frame *path, uint32_t nr);

#endif
