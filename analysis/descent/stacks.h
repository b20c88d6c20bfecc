/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tallies of stacks with their weights, for frames that cannot be probed: the kernel frames below a
 * function (outermost first), and the callers above a system call (innermost first). In both, the
 * first frame is the nearest to f0. Internal to analysis/descent/. */
#pragma once

#include "analysis/session/record.h"

enum {
	STACK_DEPTH = 24,
	STACK_TALLY = 48,
	STACK_ANY = -1,
};

struct stack_entry {
	uint64_t ns;
	uint32_t count; /* number of stacks */
	/* of a sleep: its enum cause_kind; of a CPU sample: WITNESS_RAN or below */
	int tag;
	uint32_t nr;
	struct rec_frame frame[STACK_DEPTH];
};

/* Keeps the heaviest entries. A new entry replaces the lightest and inherits its weight
 * (space saving algorithm). */
struct stack_tally {
	uint32_t nr;
	bool by_place; /* frames differ by their address; false: by their function only */
	struct stack_entry entry[STACK_TALLY];
};

void stack_tally_add(struct stack_tally *t, const struct rec_frame *frame, uint32_t nr, int tag,
		     uint64_t ns);
/* Adds all entries of `from` that have this tag (STACK_ANY: all entries). */
void stack_tally_join(struct stack_tally *t, const struct stack_tally *from, int tag);
uint64_t stack_tally_ns(const struct stack_tally *t);

/* Finds the heaviest path. From the first frame on, it goes to the heaviest next frame as long as
 * that one has at least 1/`part` of the time so far and occurs in `least` stacks. Returns the
 * number of frames; *ns is the time of the stacks through the last one. */
uint32_t stack_tally_path(const struct stack_tally *t, uint32_t part, uint32_t least,
			  struct rec_frame out[STACK_DEPTH], uint64_t *ns);
/* Returns the time of the stacks that begin with these frames. */
uint64_t stack_tally_ns_of(const struct stack_tally *t, const struct rec_frame *path, uint32_t nr);
uint32_t stack_tally_count(const struct stack_tally *t);
/* Removes all stacks that go through the last frame of `path`. */
void stack_tally_remove(struct stack_tally *t, const struct rec_frame *path, uint32_t nr);
