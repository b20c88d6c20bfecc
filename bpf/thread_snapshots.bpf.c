// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread snapshots, which need no probes: a task iterator reports the sleeping threads of
 * the targets, and a timer on each CPU samples the running ones.
 */
#include "bpf/waits_objects.h"

/* Per-CPU buffers in which records are built. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_record_thread_snapshot);
} snapshot_room SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_task_now);
} task_room SEC(".maps");

/* Copy the stack from the stack pointer up, until it ends or the buffer is full. Returns the
 * number of bytes. */
INLINE u32 stack_copy(unsigned char *to, u64 sp)
{
	u32 bytes = 0;

	if (!bpf_probe_read_user(to, PT_SNAPSHOT_STACK, (void *)sp))
		return PT_SNAPSHOT_STACK;
	for (u32 i = 0; i < PT_SNAPSHOT_STACK / PT_SNAPSHOT_STEP; i++) {
		if (bpf_probe_read_user(to + i * PT_SNAPSHOT_STEP, PT_SNAPSHOT_STEP,
					(void *)(sp + i * PT_SNAPSHOT_STEP)))
			break;
		bytes += PT_SNAPSHOT_STEP;
	}
	return bytes;
}

SEC("perf_event")
int on_snapshot(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 begin = bpf_ktime_get_ns(), bytes;
	struct pt_record_thread_snapshot *r;
	u32 zero = 0;
	long got;

	if (!c || !c->snapshots || !is_target(c, task->tgid))
		return 0;
	if (c->snapshots_left <= 0) {
		__sync_fetch_and_add(&c->snapshots_dropped, 1);
		return 0;
	}
	r = bpf_map_lookup_elem(&snapshot_room, &zero);
	if (!r)
		return 0;
	__sync_fetch_and_add(&c->snapshots_left, -1);
	r->head.kind = PT_RECORD_THREAD_SNAPSHOT;
	r->head.slot = 0;
	r->head.tgid = task->tgid;
	r->head.tid = task->pid;
	r->head.at = begin;
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	r->in_kernel = !(ctx->regs.cs & 3);
	r->nr_kernel = 0;
	if (r->in_kernel) {
		got = bpf_get_stack(ctx, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	bytes = stack_copy(r->stack, r->regs[PT_REG_SP]);
	r->bytes = bytes;
	HIDE(bytes);
	if (bytes > PT_SNAPSHOT_STACK)
		return 0;
	if (bpf_ringbuf_output(&ring, r,
			       __builtin_offsetof(struct pt_record_thread_snapshot, stack) + bytes,
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->snapshots_dropped, 1);
	else
		__sync_fetch_and_add(&c->snapshots_done, 1);
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - begin);
	return 0;
}

/* Runs at each tick of a timer on each CPU: samples how often the target runs in functions
 * that are too short to be timed. */
SEC("perf_event")
int on_share(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 ip = ctx->regs.ip, begin;
	u32 tgid = task->tgid;

	if (!c || c->share_hold || !is_target(c, tgid))
		return 0;
	begin = bpf_ktime_get_ns();
	/* a sample in the kernel falls into no function of the program */
	if (!(ctx->regs.cs & 3))
		ip = 0;
	for (int i = 0; i < PT_SHARES; i++) {
		struct pt_share *s = &c->shares[i];

		if (s->tgid != tgid)
			continue;
		__sync_fetch_and_add(&s->ticks, 1);
		if (ip >= s->low && ip < s->high && is_chosen(c, tgid, task->pid))
			__sync_fetch_and_add(&s->in, 1);
	}
	__sync_fetch_and_add(&c->snapshots_done, 1);
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - begin);
	return 0;
}

enum { PRIO_FAIR = 100 }; /* lower values are real-time priorities */

/*
 * When a task last ran, or now if it runs; 0: not known. This is the time at which it got its
 * CPU plus its run time since then, which the kernel does not keep for real-time tasks.
 * se.exec_start is no alternative: it leaves out interrupts and time stolen by the hypervisor,
 * so the values of two CPUs differ by seconds.
 */
INLINE u64 ran_until(struct task_struct *task)
{
	u64 since, ran;

	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	since = task->sched_info.last_arrival;
	ran = task->prio >= PRIO_FAIR ? task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime
				      : 0;
	return since ? since + ran : 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_task_now *r;
	u32 zero = 0;
	long got;

	if (!task || !c || !is_target(c, task->tgid))
		return 0;
	r = bpf_map_lookup_elem(&task_room, &zero);
	if (!r)
		return 0;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->state = BPF_CORE_READ(task, __state);
	r->switches = task->nvcsw + task->nivcsw;
	r->cpu_ns = task->se.sum_exec_runtime;
	r->runq_ns = 0;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		r->runq_ns = task->sched_info.run_delay;
	r->ran_ns = ran_until(task);
	r->clock_ns = ran_until(bpf_get_current_task_btf());
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	r->nr_kernel = 0;
	r->awaits = PT_AWAITS_UNKNOWN;
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	if (r->state) {
		if (is_epoll_wait(r->regs[PT_REG_ORIG_AX]))
			r->awaits = epoll_awaits(file_of(task, r->regs[PT_REG_DI]));
		got = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	bpf_seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}

/* ---- tracing of waits: the tasks of the targets at the begin of a window */

SEC("iter/task")
int on_waits_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_follow *f;
	u32 state;
	u64 now;

	if (!task || !waits_on(c) || !is_target(c, task->tgid) || follow_of(c, task))
		return 0;
	f = follow_begin(c, task, 0, NEVER);
	if (!f)
		return 0;
	now = bpf_ktime_get_ns();
	state = BPF_CORE_READ(task, __state) & 0xffff;
	/* on a CPU or about to be: its first event or the next tick announces it */
	if (!state || BPF_CORE_READ(task, on_cpu)) {
		f->pending = 1;
		return 0;
	}
	waits_announce(c, task, f->flags,
		       state & 4   ? 'T'
		       : state & 8 ? 't'
		       : state & 2 ? 'D'
				   : 'S',
		       now);
	waits_asleep(c, task, false, now + 1);
	return 0;
}
