/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what a sleeping thread waits for, from its system call and /proc: descriptor, lock
 * and holder, peer.
 */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"
#include "collect/kernel_pipes.h"
#include "collect/kernel_work.h"
#include "collect/snapshot_children.h"

struct wait_text {
	char name[256], holder[96], waker[96], doing[64];
	uint32_t children[CHILDREN_MAX], nr_children; /* of a thread that waits for any child */
	struct kernel_work work;
};

/*
 * Fill `sleep`, `args`, `serves` and `awaits` of a snapshot of this thread. The strings point into
 * `text`. A sleeping thread that is in no system call waits for a page.
 */
void snapshot_wait(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text);
/* Argument `i` of the system call in which the thread is. */
uint64_t snapshot_argument(const struct pt_task_now *t, int i);
/* Name the process at the other end of the pipe that the thread waits for, if there is only one. */
void snapshot_pipe(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text);
/*
 * Replace `sleep` by what holds the thread up from outside, or by the work that the kernel does for
 * it, if its state or its kernel frames tell.
 */
void snapshot_work(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		   struct wait_text *text);
