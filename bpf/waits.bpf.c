// SPDX-License-Identifier: GPL-2.0-or-later
/* Scheduling, interrupts, block requests and lock contention of targets; fork, exec and exit. */
#include "bpf/asleep.h"
#include "bpf/host_waits.h"
#include "bpf/irq.h"
#include "bpf/phases.h"

/* Flags of the contention tracepoints. */
enum {
	CONTENDS_SPIN = 1,
	CONTENDS_READ = 2,
	CONTENDS_WRITE = 4,
	CONTENDS_RT = 8,
	CONTENDS_PERCPU = 16,
	CONTENDS_MUTEX = 32
};
enum { IRQ_LOCAL_TIMER = PT_IRQ_LOCAL_TIMER, IRQ_SOFT = PT_IRQ_SOFT };

INLINE void irq_forget(void)
{
	u32 zero = 0;
	struct irq_context *irq = bpf_map_lookup_elem(&irqs, &zero);

	if (irq)
		irq->depth = 0;
}

/* Discard timestamps from an earlier burst: the events since then were not observed. */
INLINE void burst_check(struct pt_control *c, struct pt_thread *t)
{
	if (t->sched_burst == c->sched_burst)
		return;
	t->sched_burst = c->sched_burst;
	t->off_since = 0;
	t->wake_since = 0;
	t->wait_cpu = 0;
	t->off_wait = 0;
}

INLINE void woken(struct task_struct *p)
{
	struct pt_control *c = the_control();
	u32 tid = p->pid, tgid = p->tgid;
	struct pt_thread *t;
	u64 now;

	if (!c)
		return;
	if (!is_target(c, tgid)) {
		count_hit(PT_HIT_SCHED_OTHER);
		return;
	}
	count_hit(PT_HIT_SCHED);
	t = thread_of(c, tgid, tid);
	if (!t)
		return;
	burst_check(c, t);
	if (t->wake_since)
		return;
	now = bpf_ktime_get_ns();
	t->wake_since = now;
	t->wake_outside = !in_phase(c, tgid);
	t->wait = PT_WAIT_WOKEN;
	if (descent_of(c, p))
		wait_begin(t, tid, is_throttled(p) ? PT_WAIT_QUOTA : PT_WAIT_WOKEN, cpu_of_task(p),
			   now);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	woken(p);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	woken(p);
	return 0;
}

/*
 * Why a runnable thread waits that leaves the CPU (enum pt_wait). If the CPU is idle
 * afterwards, nothing has preempted the thread.
 */
INLINE u32 wait_of(struct task_struct *prev, struct task_struct *next)
{
	if (is_throttled(prev))
		return PT_WAIT_QUOTA;
	return next->pid ? PT_WAIT_PREEMPTED : PT_WAIT_WOKEN;
}

INLINE void switched_out(void *ctx, struct pt_control *c, struct task_struct *prev,
			 struct task_struct *next, u64 now)
{
	u32 tid = prev->pid, state;
	struct pt_thread *t = thread_of(c, prev->tgid, tid);
	struct pt_descent *d;

	if (!t)
		return;
	burst_check(c, t);
	state = BPF_CORE_READ(prev, __state);
	t->off_since = now;
	/* state 0: preempted or yielding, it waits for a CPU from now on */
	t->wake_since = state ? 0 : now;
	t->wake_outside = !in_phase(c, prev->tgid);
	t->wait = PT_WAIT_WOKEN;
	t->wait_cpu = 0;
	t->off_wait = 0;
	d = descent_of(c, prev);
	if (!state) {
		t->wait = next->pid ? PT_WAIT_PREEMPTED : PT_WAIT_WOKEN;
		t->next_pid = next->pid;
		bpf_probe_read_kernel(t->next_comm, PT_COMM, next->comm);
		if (d)
			wait_begin(t, tid, wait_of(prev, next), bpf_get_smp_processor_id(), now);
		if (d && t->wait == PT_WAIT_QUOTA)
			fill_quota(&d->record.waits, quota_group(prev));
		return;
	}
	if (!d)
		return;
	t->off_wait = stop_of(prev, state);
	if (t->off_wait)
		fill_stop(d, prev, t->off_wait);
	else
		asleep_note(prev, (struct pt_regs *)bpf_task_pt_regs(prev), d->goroutine, now);
	if (!t->off_wait)
		descent_stack(ctx, c, prev, (struct pt_regs *)bpf_task_pt_regs(prev), 0, true);
}

/* Send a record of a sleep inside a call of f0 that has ended: its length, its system call and
 * its waker. */
INLINE void emit_sleep(struct pt_control *c, struct task_struct *task, struct pt_thread *t, u64 now)
{
	struct pt_descent *d = descent_of(c, task);
	u64 slept = (t->wake_since > t->off_since ? t->wake_since : now) - t->off_since;
	struct pt_record_sleep *r;
	struct pt_regs *regs;

	if (!d || slept < DESCEND_SLEEP_MIN_NS)
		return;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->head.kind = PT_RECORD_SLEEP;
	r->head.slot = c->descend_slot;
	r->head.tgid = t->tgid;
	r->head.tid = task->pid;
	r->head.at = now;
	r->slept = slept;
	r->since = t->off_since;
	r->syscall = -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (regs) {
		r->syscall = (s64)regs->orig_ax;
		r->args[0] = regs->di;
		r->args[1] = regs->si;
		r->args[2] = regs->dx;
	}
	if (r->syscall == -1)
		r->fault = t->fault;
	r->waker_tid = t->waker_tid;
	r->waker_tgid = t->waker_tgid;
	r->waker_irq = t->waker_irq;
	__builtin_memcpy(r->waker_comm, t->waker_comm, PT_COMM);
	r->fnode = innermost(d);
	asleep_tell(r, task, regs, t->off_since, t->off_since + slept);
	work_copy(&r->work, d);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* The thread is no longer stopped. Count the stop as time of the host, like a wait for a CPU,
 * because the program did not ask for it. */
INLINE void stop_end(struct pt_descent *d, struct pt_thread *t, u64 now)
{
	u64 until = t->wake_since > t->off_since ? t->wake_since : now, wait = t->off_wait;

	t->off_wait = 0;
	HIDE(wait);
	if (!d || !wait || wait >= PT_WAITS)
		return;
	d->record.waits.ns[wait] += until - t->off_since;
	t->runq_ns += until - t->off_since;
	t->preempt_ns += until - t->off_since;
}

INLINE void switched_in(struct pt_control *c, struct task_struct *next, u64 now)
{
	u32 tid = next->pid, slot = c->slot_runqueue;
	struct pt_thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct pt_descent *d = descent_of(c, next);
	struct pt_record_sample *r;
	u64 ns;

	if (!t)
		return;
	burst_check(c, t);
	if (t->off_since && now > t->off_since) {
		t->off_ns += now - t->off_since;
		if (t->off_wait)
			stop_end(d, t, now);
		else if (d && t->wake_since != t->off_since)
			emit_sleep(c, next, t, now);
		/* throttling has no end tracepoint: it ends with the sleep */
		if (d)
			d->work.doing &= ~PT_DOING_DIRTY;
	}
	/* if it left its CPU before the scheduler was watched, off_since is 0: an interval
	 * from 0 */
	if (c->descend_slot)
		past_note(next, t, now);
	t->off_since = 0;
	if (!t->wake_since || now < t->wake_since)
		return;
	ns = now - t->wake_since;
	t->runq_ns += ns;
	if (t->wait != PT_WAIT_WOKEN)
		t->preempt_ns += ns;
	wait_end(d, t, tid, ns, now);
	if (d && t->wait == PT_WAIT_QUOTA && !d->record.waits.quota_ns)
		fill_quota(&d->record.waits, quota_group(next));
	if (slot && slot < PT_SLOTS && !t->wake_outside &&
	    gate_is_open(c, GATE_RUNQUEUE, t->wake_since)) {
		ns = hist_count(c, slot, ns);
		r = sample_begin(c, slot, t->tgid, tid, t->wake_since, ns);
		if (r) {
			r->known = KNOWN_ARG0 * 3;
			r->args[0] = t->wait == PT_WAIT_PREEMPTED;
			r->args[1] = bpf_get_smp_processor_id();
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		}
	}
	t->wake_since = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct pt_control *c = the_control();
	bool out, in;
	u64 now;

	if (!c)
		return 0;
	/* an interrupt never spans a switch: reset the depth, in case an exit was missed */
	irq_forget();
	out = is_target(c, prev->tgid);
	in = is_target(c, next->tgid);
	now = out || in || c->descend_slot ? bpf_ktime_get_ns() : 0;
	if (c->descend_slot)
		cpu_switched(next, now);
	if (!out && !in) {
		count_hit(PT_HIT_SCHED_OTHER);
		return 0;
	}
	count_hit(PT_HIT_SCHED);
	if (out)
		switched_out(ctx, c, prev, next, now);
	if (in)
		switched_in(c, next, now);
	return 0;
}

/* Record the waker here, because sched_wakeup may fire on another CPU. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	struct irq_context *irq;
	u32 tid = p->pid, zero = 0;
	struct pt_thread *t;

	if (!c || !c->descend_slot || !is_target(c, p->tgid))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return 0;
	irq = bpf_map_lookup_elem(&irqs, &zero);
	t->waker_irq = irq && irq->depth ? irq->number + 1 : 0;
	t->waker_tid = (u32)id;
	t->waker_tgid = id >> 32;
	bpf_get_current_comm(t->waker_comm, PT_COMM);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int number)
{
	irq_enter(number);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int number)
{
	irq_leave();
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer_entry, int vector)
{
	irq_enter(IRQ_LOCAL_TIMER);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_exit, int vector)
{
	irq_leave();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	irq_enter(IRQ_SOFT + vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	irq_leave();
	return 0;
}

/* Record the address of a page fault: if the thread then sleeps, the address leads to the
 * file. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	u32 tid = (u32)id;
	struct pt_thread *t;

	if (!c || !c->descend_slot || !is_target(c, id >> 32))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->fault = address;
	return 0;
}

INLINE void request_seen(struct request *rq)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), key = (u64)rq;
	struct pt_request q = {};
	struct gendisk *disk;

	if (!c || !is_target(c, id >> 32))
		return;
	if (bpf_map_lookup_elem(&requests, &key))
		return;
	count_hit(PT_HIT_BLOCK);
	/* record a request from outside of a phase, too, or its next step would be taken for
	 * its start */
	q.start = bpf_ktime_get_ns();
	if (!in_phase(c, id >> 32) || !gate_is_open(c, GATE_BLOCK, q.start))
		q.start = 0;
	q.sector = rq->__sector;
	q.bytes = rq->__data_len;
	q.flags = rq->cmd_flags;
	q.tgid = id >> 32;
	q.tid = (u32)id;
	disk = BPF_CORE_READ(rq, q, disk);
	if (disk)
		q.device = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	bpf_map_update_elem(&requests, &key, &q, BPF_ANY);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_block_start, struct request *rq)
{
	request_seen(rq);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	request_seen(rq);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	request_seen(rq);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_complete, struct request *rq, int error, unsigned int bytes)
{
	struct pt_control *c = the_control();
	u64 now = bpf_ktime_get_ns(), key = (u64)rq, ns;
	struct pt_record_sample *r;
	struct pt_request *q;

	if (!c)
		return 0;
	q = bpf_map_lookup_elem(&requests, &key);
	/* a request can complete in parts: the last part ends it */
	if (!q || rq->__data_len > bytes)
		return 0;
	count_hit(PT_HIT_BLOCK);
	if (q->start && c->slot_block && c->slot_block < PT_SLOTS) {
		ns = hist_count(c, c->slot_block, now - q->start);
		r = sample_begin(c, c->slot_block, q->tgid, q->tid, q->start, ns);
		if (r) {
			r->known = KNOWN_RET | KNOWN_ARG0 * 0xf;
			r->ret = (u32)error & 0xff;
			r->args[0] = q->flags & 0xff;
			r->args[1] = q->bytes;
			r->args[2] = q->sector;
			r->args[3] = q->device;
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

/* In a descent: record the holder of the lock, if the type of lock names it. */
INLINE void contention_note(struct pt_control *c, void *lock, unsigned int flags)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());
	struct pt_lock_owner owner = {};

	if (!d)
		return;
	d->work.doing |= PT_DOING_LOCK;
	if (flags & CONTENDS_MUTEX)
		fill_owner(&owner, BPF_CORE_READ((struct mutex *)lock, owner.counter));
	else if (flags & (CONTENDS_READ | CONTENDS_WRITE) &&
		 !(flags & (CONTENDS_SPIN | CONTENDS_RT | CONTENDS_PERCPU)))
		fill_owner(&owner, BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter));
	d->work.holder_pid = owner.pid;
	__builtin_memcpy(d->work.holder, owner.comm, PT_COMM);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid();
	struct pt_thread *t;

	if (!c)
		return 0;
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_LOCK_OTHER);
		return 0;
	}
	count_hit(PT_HIT_LOCK);
	contention_note(c, lock, flags);
	t = thread_of(c, id >> 32, (u32)id);
	if (!t || t->lock_open || !in_phase(c, id >> 32))
		return 0;
	t->lock_start = bpf_ktime_get_ns();
	if (!gate_is_open(c, GATE_LOCK, t->lock_start))
		return 0;
	t->lock_open = 1;
	t->lock_address = (u64)lock;
	t->lock_flags = flags;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock, int ret)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), ns;
	struct pt_record_sample *r;
	u32 tid = (u32)id, slot;
	struct pt_thread *t;

	if (!c || !is_target(c, id >> 32))
		return 0;
	work_end(c, PT_DOING_LOCK);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t || !t->lock_open || t->lock_address != (u64)lock)
		return 0;
	t->lock_open = 0;
	slot = c->slot_lock;
	if (!slot || slot >= PT_SLOTS)
		return 0;
	ns = hist_count(c, slot, bpf_ktime_get_ns() - t->lock_start);
	r = sample_begin(c, slot, id >> 32, tid, t->lock_start, ns);
	if (r) {
		r->known = KNOWN_RET | KNOWN_ARG0 * 3;
		r->ret = ret;
		r->args[0] = t->lock_address;
		r->args[1] = t->lock_flags;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

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

/*
 * Subtract the time of a sample from the interrupted call and from the interrupt it ran in.
 * Otherwise the call would look longer and fall out of the peak that its stack is sampled for.
 */
INLINE void sample_charge(struct pt_control *c, struct task_struct *task, u64 began)
{
	struct pt_descent *d = descent_of(c, task);
	u64 ns = bpf_ktime_get_ns() - began + c->tick_ns;
	struct irq_context *irq;
	u32 zero = 0;

	__sync_fetch_and_add(&c->snapshot_ns, ns);
	if (!d)
		return;
	d->sampled += ns;
	irq = bpf_map_lookup_elem(&irqs, &zero);
	if (irq && irq->depth)
		irq->looked += ns;
}

/* Runs at each tick of a timer on each CPU during a descent: samples the stack of a thread
 * inside f0. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 began = bpf_ktime_get_ns();

	if (!c || !c->descend_slot || !is_target(c, task->tgid))
		return 0;
	/* sample the user registers, also if the kernel was interrupted */
	descent_stack(ctx, c, task, (struct pt_regs *)bpf_task_pt_regs(task), 1,
		      !(ctx->regs.cs & 3));
	sample_charge(c, task, began);
	return 0;
}
