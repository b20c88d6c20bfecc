// SPDX-License-Identifier: GPL-2.0-or-later
/* Fork, exec and exit of targets. */
#include "bpf/phases.h"
#include "bpf/waits.h"

/* ---- tracing of waits */

/* include/linux/sched/signal.h */
enum { SIGNAL_GROUP_EXIT = 1 << 2 };
/* enum life_event */
enum { LIFE_FORKED = 0, LIFE_EXECUTED = 2, LIFE_EXITED, LIFE_RENAMED };

INLINE void life_send(struct pt_control *c, u32 event, struct task_struct *task,
		      struct pt_waits_life *about, u64 now)
{
	struct pt_waits_life *r;

	WAITS_RECORD(c, r, PT_WAITS_LIFE, now);
	if (!r)
		return;
	r->start = task->start_boottime;
	r->child_start = about->child_start;
	r->event = event;
	r->tid = task->pid;
	r->child_tid = about->child_tid;
	r->child_pid = about->child_pid;
	r->flags = about->flags;
	r->kernel = BPF_CORE_READ(task, flags);
	/* a new task has the name of its parent */
	bpf_probe_read_kernel(r->comm, PT_COMM, task->comm);
	WAITS_SEND(r);
}

/* Follow what a followed task starts: threads, and processes that it may wait for. */
NOINLINE int waits_forked(struct pt_control *c, struct task_struct *parent,
			  struct task_struct *child)
{
	struct pt_follow *f = follow_of(c, parent), *g = 0;
	struct pt_waits_life about = {};
	bool thread;
	u64 now;

	if (!f)
		return 0;
	now = bpf_ktime_get_ns();
	follow_show(c, f, parent, now);
	thread = parent->tgid == child->tgid;
	if (f->flags & IS_TARGET || follow_spreads(c, f) ||
	    (f->is_parent && f->hops < c->waits.hops))
		g = follow_begin(c, child, thread ? f->hops : f->hops + 1,
				 f->until == NEVER ? NEVER : now + EXPIRES_NS);
	about.child_start = child->start_boottime;
	about.child_tid = child->pid;
	about.child_pid = child->tgid;
	about.flags = g ? g->flags : kind_flags(child);
	life_send(c, LIFE_FORKED, parent, &about, now);
	waits_charge(now);
	return 0;
}

NOINLINE int waits_executed(struct pt_control *c, struct task_struct *task, u32 old_tid)
{
	struct pt_waits_life about = {.child_tid = old_tid};
	u32 tgid = task->tgid;
	struct pt_follow *f, *old;
	u64 now = bpf_ktime_get_ns();

	if (c->waits.check)
		bpf_map_delete_elem(&traceable, &tgid);
	f = follow_of(c, task);
	if (old_tid != (u32)task->pid) {
		/* it has taken over the identity of the process's first thread */
		old = bpf_map_lookup_elem(&followed, &old_tid);
		if (!f && old && old->window == c->waits.window)
			f = follow_begin(c, task, old->hops, old->until);
		bpf_map_delete_elem(&followed, &old_tid);
	}
	if (!f)
		return 0;
	f->flags |= restriction(c, task);
	life_send(c, LIFE_EXECUTED, task, &about, now);
	return 0;
}

/* The task still runs until its last switch, where it is forgotten. */
INLINE void waits_exited(struct pt_control *c, struct task_struct *task)
{
	struct pt_waits_life about = {};
	struct pt_follow *f = follow_of(c, task);
	u64 now = bpf_ktime_get_ns();

	if (!f)
		return;
	follow_show(c, f, task, now);
	life_send(c, LIFE_EXITED, task, &about, now);
}

/* Fires before the name changes. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct pt_control *c = the_control();
	struct pt_waits_life *r;
	u64 now;

	if (!waits_on(c) || !follow_of(c, task))
		return 0;
	now = bpf_ktime_get_ns();
	WAITS_RECORD(c, r, PT_WAITS_LIFE, now);
	if (!r)
		return 0;
	r->start = task->start_boottime;
	r->child_start = 0;
	r->event = LIFE_RENAMED;
	r->tid = task->pid;
	r->child_tid = r->child_pid = r->flags = r->kernel = 0;
	bpf_probe_read_kernel_str(r->comm, PT_COMM, comm);
	WAITS_SEND(r);
	return 0;
}

/* ---- targets */

INLINE void target_forked(struct pt_control *c, struct task_struct *parent,
			  struct task_struct *child)
{
	u32 tgid = child->tgid, state = PT_TARGET_WATCHED | PT_TARGET_NEW;
	struct pt_record_fork *r;

	/* a new thread is recorded at its first event */
	if (!c->follow || tgid != (u32)child->pid || !is_target(c, parent->tgid))
		return;
	bpf_map_update_elem(&targets, &tgid, &state, BPF_ANY);
	__sync_fetch_and_add(&c->nr_targets, 1);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return;
	}
	r->head.kind = PT_RECORD_FORK;
	r->head.slot = 0;
	r->head.tgid = parent->tgid;
	r->head.tid = parent->pid;
	r->head.at = bpf_ktime_get_ns();
	r->child_tgid = tgid;
	r->child_tid = child->pid;
	r->child_start = child->start_boottime;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct pt_control *c = the_control();

	if (!c)
		return 0;
	target_forked(c, parent, child);
	if (waits_on(c))
		waits_forked(c, parent, child);
	return 0;
}

/* Suspend a target that called execve(): the new program may have rights (setuid) that the
 * invoking user must not inspect. Count nothing until the collector has checked. */
INLINE void target_suspend(struct pt_control *c, u32 tgid)
{
	u32 *state = bpf_map_lookup_elem(&targets, &tgid);

	if (state)
		*state = PT_TARGET_SUSPENDED;
	if (c->only_tgid == tgid)
		c->only_tgid = 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, pid_t old_pid)
{
	struct pt_control *c = the_control();
	bool target = c && is_target(c, p->tgid);

	if (target)
		record_send(c, PT_RECORD_EXEC, 0, p->tgid, p->pid, old_pid);
	if (target && c->check_exec)
		target_suspend(c, p->tgid);
	if (waits_on(c))
		waits_executed(c, p, old_pid);
	if (target && c->phase_mode) {
		u32 tgid = p->tgid;

		/* the new program begins outside of a phase */
		bpf_map_delete_elem(&phases, &tgid);
	}
	return 0;
}

/* A child ended before the collector confirmed it: forget it. Its pid may be reused. */
INLINE void new_target_forget(struct task_struct *p)
{
	u32 tgid = p->tgid, *state;

	if (p->pid != p->tgid)
		return;
	state = bpf_map_lookup_elem(&targets, &tgid);
	/* only clear the state: the collector, which receives the fork record, removes the
	 * entry and counts targets */
	if (state && *state & PT_TARGET_NEW)
		*state = 0;
}

/*
 * What the end of this thread tells about the end of its process: PT_EXIT_KNOWN and the status as
 * waitpid() gives it, or 0 (wait_task_zombie() of kernel/exit.c).
 */
INLINE u64 exit_status(struct task_struct *p)
{
	if (p->signal->flags & SIGNAL_GROUP_EXIT)
		return PT_EXIT_KNOWN | (u32)p->signal->group_exit_code;
	return p->pid == p->tgid ? PT_EXIT_KNOWN | (u32)p->exit_code : 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct pt_control *c = the_control();
	u32 tid = p->pid, tgid = p->tgid;
	struct pt_thread *t;

	if (waits_on(c))
		waits_exited(c, p);
	/* a suspended target may end, too */
	if (!c || !(c->host || bpf_map_lookup_elem(&targets, &tgid)))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	/* the thread ends inside the system call that is its phase */
	if (t && c->phase_begin_call && phase_nests(c) && t->sys_nr + 1 == c->phase_begin_call &&
	    (t->sys_open == PT_SYS_COUNTS || t->sys_open == PT_SYS_OUTSIDE))
		phase_end(c, p->tgid);
	bpf_map_delete_elem(&threads, &tid);
	new_target_forget(p);
	record_send(c, PT_RECORD_EXIT, 0, tgid, tid, exit_status(p));
	return 0;
}
