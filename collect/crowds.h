/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads' stacks are read if there are more of them than can be read. Threads at the same
 * place are a crowd. Those in small crowds are read first, and of a large one a part stands for the
 * others, which are joined with it. Pure.
 */
#pragma once

#include "bpf/records.h"

enum { CROWD_MAX = 256 }; /* stacks read of threads that are at the same place */

struct crowd_member {
	uint64_t place; /* equal for threads that seem to do the same */
	uint64_t order; /* of threads at one place those with the lowest ones are read */
	uint32_t index; /* of the thread; belongs to the caller */
	uint32_t waited;
	bool read;   /* its stack is known */
	bool gone;   /* it is not there any more: only its `ns` count */
	bool joined; /* result: it is not to be read */
	uint32_t crowd;
	uint64_t ns; /* time that its own stack does not tell */
};

/*
 * Where a thread is: the instruction, the system call, and how far its stack is used within a page.
 * Threads that were started alike and are in the same calls have the same.
 */
uint64_t crowd_place(const struct pt_task_now *now);
/*
 * Fills in `crowd` and `joined`. Of each place, as many threads are left to be read as are missing
 * to CROWD_MAX that are. Returns the number of threads that are to be read and moves these to the
 * front: first those in small crowds, or that have waited for many turns.
 */
size_t crowds_choose(struct crowd_member *list, size_t nr);
/*
 * Moves the time of threads that are joined or gone to those at the same place whose stacks are
 * known, in equal parts. Where there is none it stays.
 */
void crowds_spread(struct crowd_member *list, size_t nr);
