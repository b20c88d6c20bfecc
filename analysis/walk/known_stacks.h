/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of sleeping threads, by thread, instruction and stack pointer. A thread that sleeps for
 * less than it takes to read its stack is seen without frames; if it slept at the same place
 * before, with its stack at the same height, these are its frames. Pure.
 */
#ifndef PEAKTOP_KNOWN_STACKS_H
#define PEAKTOP_KNOWN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

struct known_stacks;

/* Where a thread sleeps. */
struct stack_place {
	uint32_t pid, tid;
	uint64_t ip, sp;
};

/* The place of a snapshot, from its registers. ip is 0 if they are not known. */
struct stack_place stack_place_of(const struct rec_thread_snapshot *l, const uint64_t *regs,
				  uint32_t nr_regs);

/* NULL: no memory. */
struct known_stacks *known_stacks_new(void);
void known_stacks_free(struct known_stacks *k);
/* Keep the frames of a snapshot of a sleeping thread whose stack is complete. */
void known_stacks_note(struct known_stacks *k, struct stack_place at,
		       const struct rec_thread_snapshot *l);
/* Give a sleep the frames of an earlier one at the same place, which stay valid until the next
 * note. False: there is none, or several callers came there. */
bool known_stacks_fill(const struct known_stacks *k, struct stack_place at,
		       struct rec_thread_snapshot *l);

#endif
