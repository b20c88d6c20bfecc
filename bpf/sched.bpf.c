// SPDX-License-Identifier: GPL-2.0-or-later
/* Scheduling of targets, and what a thread waits for that leaves its CPU. */
#include "bpf/asleep.h"
#include "bpf/host_waits.h"
#include "bpf/phases.h"
#include "bpf/stack.h"
#include "bpf/waits_sched.h"

INLINE void irq_forget(struct irq_context *irq)
{
	irq->depth = irq->left = 0;
	irq->brackets = 0;
	irq->before = irq->total;
	irq->total = 0;
}

/*
 * True if slow calls are kept and the thread is between two of its measured calls. Then what
 * happens to it belongs to no call, unless the run queue is counted. A thread that has made no
 * measured call is none of these: it may hold up another one that has.
 */
INLINE bool is_between_calls(struct pt_control *c, struct task_struct *task)
{
	struct pt_descent *d;

	if (!c->keep || c->slot_runqueue)
		return false;
	d = bpf_task_storage_get(&descents, task, 0, 0);
	return d && !d->active && d->burst == c->descend_burst;
}

/* Count an event of such a thread. It costs the target about an eighth of one inside a call. */
INLINE void count_skipped(void)
{
	count_hit(bpf_get_prandom_u32() & 7 ? PT_HIT_SCHED_OTHER : PT_HIT_SCHED);
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
	if (is_between_calls(c, p)) {
		count_skipped();
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
	t->wake_outside = !counts_now(c, tgid, tid);
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
	steal_add(c, t, steal_clock(c));
	t->steal_cpu = 0;
	state = BPF_CORE_READ(prev, __state);
	t->off_since = now;
	/* state 0: preempted or yielding, it waits for a CPU from now on */
	t->wake_since = state ? 0 : now;
	t->wake_outside = !counts_now(c, prev->tgid, tid);
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
			fill_quota_of(&d->record.waits.quota, prev);
		return;
	}
	if (!d)
		return;
	t->off_wait = stop_of(prev, state);
	if (t->off_wait)
		fill_stop(d, prev, t->off_wait);
	else
		asleep_note(c, d, prev, user_regs(prev), now);
	if (c->keep)
		asleep_stack_note(c, d, now);
	else if (!t->off_wait)
		descent_stack(ctx, c, prev, user_regs(prev), 0, true);
}

enum { KEPT_SLEEP_PART = 8 };

/*
 * Where one more sleep of a call whose longest sleeps are kept has room: an unused place, or that
 * of the shortest one. PT_KEPT_SLEEPS: this one is shorter, or too short to make a call slow.
 */
SEPARATE u64 kept_sleep_index(struct pt_control *c, struct pt_descent *d, u64 slept)
{
	u64 shortest = 0, least = ~0ull;

	if (!c || !d)
		return PT_KEPT_SLEEPS;
	d->record.blocked++;
	if (slept < keep_limit(c, d->slot) / KEPT_SLEEP_PART)
		return PT_KEPT_SLEEPS;
	if (d->nr_sleeps < PT_KEPT_SLEEPS)
		return d->nr_sleeps++;
#pragma nounroll
	for (u64 i = 0; i < PT_KEPT_SLEEPS; i++) {
		HIDE(i);
		if (i >= PT_KEPT_SLEEPS)
			break;
		if (d->sleeps[i].slept < least) {
			least = d->sleeps[i].slept;
			shortest = i;
		}
	}
	return slept > least ? shortest : PT_KEPT_SLEEPS;
}

/* Room for the record of a sleep that has ended: it is kept there until the call ends, or sent from
 * there. NULL: it is not needed. */
INLINE struct pt_record_sleep *sleep_room(struct pt_control *c, struct pt_descent *d, u64 slept)
{
	u64 i = c->keep ? kept_sleep_index(c, d, slept) : 0;

	HIDE(i);
	if (i >= PT_KEPT_SLEEPS)
		return 0;
	HIDE(i);
	i &= PT_KEPT_SLEEPS - 1;
	return &d->sleeps[i];
}

/* Send or keep a record of a sleep inside a call of f0 that has ended: its length, its system call
 * and its waker. */
INLINE void emit_sleep(struct pt_control *c, struct task_struct *task, struct pt_thread *t, u64 now)
{
	struct pt_descent *d = descent_of(c, task);
	u64 slept = (t->wake_since > t->off_since ? t->wake_since : now) - t->off_since;
	struct pt_record_sleep *r;
	struct pt_regs *regs;

	if (!d || slept < DESCEND_SLEEP_MIN_NS)
		return;
	r = sleep_room(c, d, slept);
	if (!r)
		return;
	__builtin_memset(r, 0, sizeof(*r));
	r->head.kind = PT_RECORD_SLEEP;
	r->head.slot = c->keep ? d->slot : c->descend_slot;
	r->head.tgid = t->tgid;
	r->head.tid = task->pid;
	r->head.at = now;
	r->slept = slept;
	r->since = t->off_since;
	r->syscall = -1;
	regs = user_regs(task);
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
	asleep_tell(r, task, regs, t->off_since, t->off_since + slept, t->waker_switches);
	work_copy(&r->work, d);
	if (!c->keep && bpf_ringbuf_output(&ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->lost_ring, 1);
	if (c->keep && d->asleep_at == t->off_since)
		asleep_stack_send(c, d, task, now);
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

/* Count a wait for a CPU that has ended, and sample it. */
INLINE void runqueue_count(struct pt_control *c, struct pt_thread *t, u32 tid, u64 ns)
{
	struct pt_record_sample *r;
	u32 slot = c->slot_runqueue;

	if (!slot || slot >= PT_SLOTS || t->wake_outside || !counts_still(c, t->wake_since) ||
	    !gate_is_open(c, GATE_RUNQUEUE, t->wake_since))
		return;
	ns = hist_count(c, slot, ns);
	r = sample_begin(c, slot, t->tgid, tid, t->wake_since, ns);
	if (!r)
		return;
	r->known = KNOWN_ARG0 * 3;
	r->args[0] = t->wait == PT_WAIT_PREEMPTED;
	r->args[1] = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

INLINE void switched_in(struct pt_control *c, struct task_struct *next, u64 now)
{
	u32 tid = next->pid;
	struct pt_thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct pt_descent *d = descent_of(c, next);
	u64 ns;

	if (!t)
		return;
	burst_check(c, t);
	steal_add(c, t, steal_clock(c));
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
	wait_end(d, t, tid, ns, now, c->gate_ns[GATE_RUNQUEUE]);
	if (d && t->wait == PT_WAIT_QUOTA && !d->record.waits.quota.ns)
		fill_quota_of(&d->record.waits.quota, next);
	runqueue_count(c, t, tid, ns);
	t->wake_since = 0;
}

/* True if the task is a target's and not between two calls; *skipped is set if it is. */
INLINE bool is_observed(struct pt_control *c, struct task_struct *task, bool *skipped)
{
	if (!is_target(c, task->tgid))
		return false;
	if (!is_between_calls(c, task))
		return true;
	*skipped = true;
	return false;
}

/* Count a switch from or to a thread of a target. */
NOINLINE int targets_switched(void *ctx, struct pt_control *c, struct task_struct *prev,
			      struct task_struct *next)
{
	bool skipped = false;
	/* a CPU's idle task waits for nothing */
	bool out = prev->pid && is_observed(c, prev, &skipped),
	     in = next->pid && is_observed(c, next, &skipped);
	u64 now = out || in || c->descend_slot ? bpf_ktime_get_ns() : 0;

	if (c->descend_slot)
		cpu_switched(c, next, now);
	if (!out && !in) {
		if (skipped)
			count_skipped();
		else
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

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct pt_control *c = the_control();
	struct irq_context *irq = irq_here();

	if (!c || !irq)
		return 0;
	/* an interrupt never spans a switch: reset the depth, in case an exit was missed */
	irq_forget(irq);
	if (c->layers & ON_RUNQUEUE)
		targets_switched(ctx, c, prev, next);
	if (!waits_on(c))
		return 0;
	irq->followed = follow_bit(next->pid);
	if (irq->followed || follow_bit(prev->pid))
		waits_switched(ctx, c, preempt, prev, next);
	else
		others_count();
	return 0;
}

/*
 * Record the waker here, because sched_wakeup may fire on another CPU. For tasks that are not
 * followed the program calls no helper: a call costs as much as all the rest.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct pt_control *c = the_control();
	struct irq_context *irq = irq_here();
	struct pt_thread *t;
	u32 tid = p->pid;
	u64 id;

	if (!c || !irq)
		return 0;
	if (waits_on(c)) {
		if (follow_bit(tid))
			waits_woken(ctx, c, p);
		else if (irq->followed)
			stranger_woken(c, bpf_get_current_task_btf());
		else
			others_count();
	}
	if (!c->descend_slot || !is_target(c, p->tgid))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return 0;
	id = bpf_get_current_pid_tgid();
	t->waker_irq = irq->depth ? irq->number + 1 : 0;
	t->waker_tid = (u32)id;
	t->waker_tgid = id >> 32;
	t->waker_switches = switches_of(bpf_get_current_task_btf());
	bpf_get_current_comm(t->waker_comm, PT_COMM);
	return 0;
}

/* Record the address of a page fault: if the thread then sleeps, the address leads to the
 * file. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address)
{
	struct pt_control *c = the_control();
	struct pt_thread *t;
	u64 id;
	u32 tid;

	if (!c || !c->descend_slot)
		return 0;
	id = bpf_get_current_pid_tgid();
	tid = (u32)id;
	if (!is_target(c, id >> 32))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->fault = address;
	return 0;
}
