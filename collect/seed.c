// SPDX-License-Identifier: GPL-2.0-or-later
/* Records the threads that a process already has when it becomes a target. */
#include "collect/seed.h"
#include "analysis/base/array.h"
#include "collect/state.h"

enum { MAX_THREADS = 1 << 20 };

struct thread_list {
	struct thread_now *one;
	size_t nr, cap;
	pid_t pid;
};

static void thread_listed(void *ctx, pid_t tid)
{
	struct thread_list *l = ctx;

	array_append(l->one, l->nr, l->cap, MAX_THREADS,
		     (struct thread_now){.pid = l->pid, .tid = tid});
}

/* For system calls that are already open, the age counts from now, and their end is not
 * counted as a call. */
void threads_seed(struct collector *c, pid_t pid)
{
	struct thread_list l = {.pid = pid};

	target_threads(pid, thread_listed, &l);
	target_threads_now(l.one, l.nr);
	for (size_t i = 0; i < l.nr; i++) {
		const struct thread_now *now = &l.one[i];
		struct pt_thread t = {.tgid = (uint32_t)pid};

		if (now->known && !now->running && now->nr >= 0) {
			t.sys_open = PT_SYS_BEFORE;
			t.sys_nr = (uint32_t)now->nr;
			t.sys_start = now_ns();
			memcpy(t.sys_args, now->args, sizeof(t.sys_args));
		}
		kernel_side_thread_seed(c->kernel, (uint32_t)now->tid, &t);
	}
	free(l.one);
}
