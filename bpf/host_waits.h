/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a thread inside a call of f0 is not running although it could: another task has its CPU,
 * its CPU quota is used up, or it was stopped. */
#pragma once

#include "bpf/descend.h"
#include "bpf/groups.h"

/* Bits of task_struct.__state and, before 6.1, of its flags. They are macros of the kernel, so
 * BTF does not have them. */
enum {
	STATE_STOPPED = 4,
	STATE_TRACED = 8,
	STATE_FROZEN = 0x8000,
	FLAG_FROZEN = 0x10000,
	JOBCTL_TRAP_FREEZE = 1 << 23
};

INLINE struct pt_cpu *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* ---- who runs on a CPU that a thread waits for */

/* Add a task's time to its entry in `list`; if there is no room, to other_ns. */
SEPARATE int runner_add(struct pt_runners *list, struct pt_runner *task)
{
	if (!list || !task)
		return 0;
#pragma nounroll
	for (u64 i = 0; i < PT_RUNNERS; i++) {
		struct pt_runner *r;

		HIDE(i);
		if (i >= PT_RUNNERS)
			break;
		r = &list->one[i];
		if (r->ns && r->pid != task->pid)
			continue;
		if (!r->ns) {
			r->pid = task->pid;
			r->tid = task->tid;
			__builtin_memcpy(r->comm, task->comm, PT_COMM);
		}
		if (r->tid != task->tid)
			r->tid = 0;
		r->ns += task->ns;
		return 0;
	}
	list->other_ns += task->ns;
	return 0;
}

SEPARATE int runners_join(struct pt_runners *to, struct pt_runners *from)
{
	if (!to || !from)
		return 0;
#pragma nounroll
	for (u64 i = 0; i < PT_RUNNERS; i++) {
		HIDE(i);
		if (i >= PT_RUNNERS)
			break;
		if (from->one[i].ns)
			runner_add(to, &from->one[i]);
	}
	to->other_ns += from->other_ns;
	return 0;
}

/* Charge the time of the task that ran on this CPU until now to each thread that waits for the
 * CPU. A task that got the CPU before switches were recorded (`opened`) may have left it since. */
SEPARATE int waiting_charge(struct pt_cpu *cpu, u64 now, u64 opened)
{
	struct pt_runner task = {};
	u32 nr = 0;

	if (!cpu || cpu->since < opened)
		return 0;
	task.pid = cpu->pid;
	task.tid = cpu->tid;
	__builtin_memcpy(task.comm, cpu->comm, PT_COMM);
#pragma nounroll
	for (u64 i = 0; i < PT_WAITING; i++) {
		struct pt_waiting *w;
		u64 since;

		HIDE(i);
		if (i >= PT_WAITING)
			break;
		w = &cpu->waiting[i];
		if (!w->tid)
			continue;
		nr++;
		since = w->since > cpu->since ? w->since : cpu->since;
		if (!task.pid || now <= since || w->tid == task.tid)
			continue;
		task.ns = now - since;
		runner_add(&w->runners, &task);
	}
	cpu->nr_waiting = nr;
	return 0;
}

/*
 * Note that the thread waits for the CPU from now on. If too many threads wait already, the
 * tasks that run meanwhile are not recorded for it.
 */
SEPARATE int waiting_begin(struct pt_cpu *cpu, u32 tid, u64 now)
{
	if (!cpu)
		return 0;
#pragma nounroll
	for (u64 i = 0; i < PT_WAITING; i++) {
		struct pt_waiting *w;

		HIDE(i);
		if (i >= PT_WAITING)
			break;
		w = &cpu->waiting[i];
		/* an entry older than 10 s is stale: its thread has ended or waits elsewhere */
		if (w->tid && w->tid != tid && now - w->since < 10000000000ull)
			continue;
		__builtin_memset(w, 0, sizeof(*w));
		w->since = now;
		w->tid = tid;
		cpu->nr_waiting++;
		break;
	}
	return 0;
}

/* The thread has got a CPU: add the time of the tasks that ran meanwhile to `to`; NULL: drop
 * it. */
SEPARATE int waiting_end(struct pt_cpu *cpu, u32 tid, struct pt_runners *to)
{
	if (!cpu)
		return 0;
#pragma nounroll
	for (u64 i = 0; i < PT_WAITING; i++) {
		struct pt_waiting *w;

		HIDE(i);
		if (i >= PT_WAITING)
			break;
		w = &cpu->waiting[i];
		if (w->tid != tid)
			continue;
		w->tid = 0;
		if (to)
			runners_join(to, &w->runners);
		break;
	}
	return 0;
}

/* Called at every context switch during a descent. */
INLINE void cpu_switched(struct pt_control *c, struct task_struct *next, u64 now)
{
	struct pt_cpu *cpu = cpu_of(bpf_get_smp_processor_id());

	if (!cpu)
		return;
	if (cpu->nr_waiting)
		waiting_charge(cpu, now, c->gate_ns[GATE_RUNQUEUE]);
	cpu->since = now;
	cpu->pid = next->tgid;
	cpu->tid = next->pid;
	bpf_probe_read_kernel(cpu->comm, PT_COMM, next->comm);
}

INLINE u32 cpu_of_task(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	return BPF_CORE_READ(task, cpu);
}

/* The thread begins to wait for `cpu` because of `wait` (enum pt_wait). */
INLINE void wait_begin(struct pt_thread *t, u32 tid, u32 wait, u32 cpu, u64 now)
{
	t->wait = wait;
	t->wait_cpu = 0;
	if (wait >= PT_RUNNER_KINDS)
		return;
	waiting_begin(cpu_of(cpu), tid, now);
	t->wait_cpu = cpu + 1;
}

/* The thread has waited for `ns` and runs now. */
INLINE void wait_end(struct pt_descent *d, struct pt_thread *t, u32 tid, u64 ns, u64 now,
		     u64 opened)
{
	struct pt_cpu *cpu = t->wait_cpu ? cpu_of(t->wait_cpu - 1) : 0;
	struct pt_host_waits *waits = d ? &d->record.waits : 0;
	u64 wait = t->wait;

	HIDE(wait);
	if (wait >= PT_WAITS)
		return;
	if (waits) {
		d->waited = 1;
		waits->ns[wait] += ns;
	}
	if (!cpu)
		return;
	/* it got another CPU than it waited for, where the running task is not charged yet */
	if (t->wait_cpu - 1 != bpf_get_smp_processor_id())
		waiting_charge(cpu, now, opened);
	waiting_end(cpu, tid,
		    !waits			? 0
		    : wait == PT_WAIT_PREEMPTED ? &waits->runners[1]
						: &waits->runners[0]);
	t->wait_cpu = 0;
}

/* ---- who has stopped it */

/*
 * Whether the freezer of cgroup v2 holds the task. Its bit `frozen` alone does not tell: a task
 * that waits in vfork() has it, too, so that its cgroup can become frozen (kernel/fork.c,
 * wait_for_vfork_done()).
 */
INLINE bool is_frozen(struct task_struct *task)
{
	return bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen) &&
	       BPF_CORE_READ(task, jobctl) & JOBCTL_TRAP_FREEZE;
}

/* Why a task is stopped: PT_WAIT_STOPPED, _TRACED or _FROZEN; 0: it sleeps. */
INLINE u32 stop_of(struct task_struct *task, u32 state)
{
	if (state & STATE_TRACED)
		return PT_WAIT_TRACED;
	if (state & STATE_STOPPED)
		return PT_WAIT_STOPPED;
	if (state & STATE_FROZEN || BPF_CORE_READ(task, flags) & FLAG_FROZEN)
		return PT_WAIT_FROZEN;
	return is_frozen(task) ? PT_WAIT_FROZEN : 0;
}

/* Describe the cgroup that froze the task: of version 2 if the task's `frozen` bit is set,
 * else of the freezer of version 1. */
INLINE void fill_frozen(struct pt_host_waits *waits, struct task_struct *task)
{
	struct cgroup_subsys_state *css;

	if (is_frozen(task)) {
		fill_group(&waits->frozen, BPF_CORE_READ(task, cgroups, dfl_cgrp));
		return;
	}
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return;
	css = group_state(task, bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id));
	if (css)
		fill_group(&waits->frozen, BPF_CORE_READ(css, cgroup));
}

/* The task was stopped inside a call of f0: fill in by whom. */
INLINE void fill_stop(struct pt_descent *d, struct task_struct *task, u32 wait)
{
	struct pt_host_waits *waits = &d->record.waits;
	u32 tgid = task->tgid;
	struct pt_stopper *s;
	struct task_struct *tracer;

	d->waited = 1;
	if (wait == PT_WAIT_FROZEN) {
		fill_frozen(waits, task);
	} else if (wait == PT_WAIT_TRACED) {
		tracer = BPF_CORE_READ(task, parent);
		waits->stopper_pid = BPF_CORE_READ(tracer, tgid);
		bpf_probe_read_kernel(waits->stopper, PT_COMM, tracer->comm);
	} else {
		s = bpf_map_lookup_elem(&stoppers, &tgid);
		waits->stopper_pid = s ? s->pid : 0;
		waits->stop_signal = s ? s->signal : 0;
		if (s)
			__builtin_memcpy(waits->stopper, s->comm, PT_COMM);
	}
}
