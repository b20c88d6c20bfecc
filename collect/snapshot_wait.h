/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what a sleeping thread waits for, from its system call and /proc: descriptor, lock
 * and holder, peer.
 */
#ifndef PEAKTOP_SNAPSHOT_WAIT_H
#define PEAKTOP_SNAPSHOT_WAIT_H

#include <stdbool.h>

#include "analysis/session/record.h"
#include "bpf/records.h"
#include "collect/kernel_pipes.h"
#include "collect/kernel_work.h"

struct wait_text {
	char name[256], holder[96], waker[96], doing[64];
	struct kernel_work work;
};

/*
 * Fill `sleep`, `args`, `serves` and `awaits` of a snapshot of this thread. The strings point into
 * `text`. A sleeping thread that is in no system call waits for a page.
 */
void snapshot_wait(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		   struct wait_text *text);
/* Argument `i` of the system call in which the thread is. */
uint64_t snapshot_argument(const struct pt_task_now *t, int i);
/* Name the process at the other end of the pipe that the thread waits for, if there is only one. */
void snapshot_pipe(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text);
/*
 * Replace `sleep` by the work that the kernel does for the thread, if its kernel frames tell. A
 * thread that does not sleep waits for nothing.
 */
void snapshot_work(const struct pt_task_now *t, bool sleeps, struct rec_thread_snapshot *out,
		   struct wait_text *text);

#endif
