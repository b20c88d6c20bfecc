/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds who holds the lock for which a thread sleeps: a futex, or a lock on a file. */
#pragma once

#include "bpf/records.h"

enum { FUTEX_WORDS = 5 };

/* A thread that holds a lock; `tid` 0: not known. */
struct lock_holder {
	uint32_t pid, tid;
};

/*
 * The holder of the lock for which a thread of process `tgid` sleeps in futex(). `op`, `value`:
 * the call's arguments; `word`: the memory at its address, of a PI futex only the first word. `pid`
 * of the result is `tgid`, or `tid` if the thread may belong to any process.
 */
struct lock_holder futex_holder(uint32_t tgid, uint32_t op, uint32_t value,
				const uint32_t word[FUTEX_WORDS]);

/*
 * The process that has the lock on a file for which a thread of our pid namespace sleeps in flock()
 * or fcntl(), with these arguments; 0: not known. While the kernel lists the file locks it blocks
 * the file-lock operations of the whole host. So the list is read at most four times a second,
 * whatever the number of threads, and for some seconds not at all if it is long.
 */
uint32_t file_lock_owner(const struct pt_task_now *t, bool is_flock, const uint64_t args[2]);
