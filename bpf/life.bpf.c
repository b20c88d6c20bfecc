// SPDX-License-Identifier: GPL-2.0-or-later
/* Fork, exec and exit of targets. */
#include "bpf/phases.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct pt_control *c = the_control();
	u32 tgid = child->tgid, state = PT_TARGET_WATCHED | PT_TARGET_NEW;
	struct pt_record_fork *r;

	/* a new thread is recorded at its first event */
	if (!c || !c->follow || tgid != (u32)child->pid || !is_target(c, parent->tgid))
		return 0;
	bpf_map_update_elem(&targets, &tgid, &state, BPF_ANY);
	__sync_fetch_and_add(&c->nr_targets, 1);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return 0;
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

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct pt_control *c = the_control();
	struct pt_thread *t;
	u32 tid = p->pid;

	if (!c || !is_target(c, p->tgid))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	/* the thread ends inside the system call that is its phase */
	if (t && c->phase_begin_call && phase_nests(c) && t->sys_nr + 1 == c->phase_begin_call &&
	    (t->sys_open == PT_SYS_COUNTS || t->sys_open == PT_SYS_OUTSIDE))
		phase_end(c, p->tgid);
	bpf_map_delete_elem(&threads, &tid);
	new_target_forget(p);
	record_send(c, PT_RECORD_EXIT, 0, p->tgid, tid, 0);
	return 0;
}
