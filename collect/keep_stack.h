/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the memory of a thread that does not run tells: in which call it is, and what it waits for.
 * Pure. */
#pragma once

#include "bpf/records.h"

/* An address to which calls of a watched function return, in one process. */
struct known_return {
	uint64_t address;
	uint32_t pid, slot;
};

struct known_returns {
	const struct known_return *list; /* sorted */
	size_t nr;
};

void known_returns_sort(struct known_return *list, size_t nr);

/* A word of a stack that is such an address. */
struct stack_return {
	uint64_t address, cfa;
	uint32_t slot;
};

/* Find the innermost such word of a stack that begins at `sp`. False: there is none. */
bool stack_find_return(const struct known_returns *known, uint32_t pid, uint64_t sp,
		       const uint64_t *words, size_t nr, struct stack_return *out);

/* Where the system call in which a thread sleeps says what ends the sleep. */
struct asked_by {
	uint64_t ns;	   /* the timeout itself; 0: none, or at `timespec` */
	uint64_t timespec; /* address; 0: none */
	uint32_t unit_ns;  /* of its second word */
	bool until;	   /* it is a point of CLOCK_MONOTONIC */
	uint64_t words;	   /* address of a futex; 0: none */
	uint32_t fd;	   /* PT_NO_FD: none, or at `fd_at` */
	uint64_t fd_at;
};

struct asked_by asked_by(const struct pt_task_now *now);
/* How long a sleep that began at `since` would last at most, by the two words there; 0: for ever.
 */
uint64_t asked_of_timespec(const struct asked_by *by, const uint64_t value[2], uint64_t since);
