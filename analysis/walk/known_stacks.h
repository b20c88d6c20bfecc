/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the frames of sleeping threads by thread, instruction pointer and stack pointer. If a
 * sleep is shorter than the time to read its stack, its snapshot has no frames. If the thread slept
 * at the same place before, with its stack at the same height, it has the frames of that sleep.
 * Pure. */
#pragma once

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

/* Returns NULL if out of memory. */
struct known_stacks *known_stacks_new(void);
void known_stacks_free(struct known_stacks *k);
/* Stores the frames of a snapshot if its thread sleeps and its stack is complete. */
void known_stacks_note(struct known_stacks *k, struct stack_place at,
		       const struct rec_thread_snapshot *l);
/* Gives a sleep the frames of an earlier sleep at the same place. The frames stay valid until the
 * next note. Returns false if no frames are stored, or if different callers were seen at this
 * place. */
bool known_stacks_fill(const struct known_stacks *k, struct stack_place at,
		       struct rec_thread_snapshot *l);
/* The same for a sleep whose stack was cut, if its frames are the innermost of those stored. */
bool known_stacks_complete(const struct known_stacks *k, struct stack_place at,
			   struct rec_thread_snapshot *l);
