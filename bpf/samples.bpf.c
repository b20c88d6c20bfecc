// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of the stacks of threads inside f0, and of tasks whose waits are traced. */
#include "bpf/stack.h"
#include "bpf/waits_sched.h"

enum { TICK_NS = 2000 }; /* assumed cost of a sampling interrupt that was not measured */

/*
 * Subtract the time of a sample from the interrupted call and from the interrupt it ran in.
 * Otherwise the call would look longer and fall out of the peak that its stack is sampled for.
 * `began`, `steal`: the time and the steal time of the CPU before the sample.
 */
INLINE void sample_charge(struct pt_control *c, struct task_struct *task, u64 began, u64 steal)
{
	struct pt_descent *d = descent_of(c, task);
	u64 ns = bpf_ktime_get_ns() - began + c->tick_ns - (steal_clock(c) - steal);
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

/* Slow calls are kept: true if the thread is in a call that has taken so long already that it will
 * be kept. The tick costs the target in any case. */
INLINE bool is_slow_by_now(struct pt_control *c, struct task_struct *task, u64 now)
{
	struct pt_descent *d = descent_of(c, task);

	if (d && now - d->start > keep_limit(c, d->slot))
		return true;
	__sync_fetch_and_add(&c->snapshot_ns, c->tick_ns ? c->tick_ns : TICK_NS);
	return false;
}

/* Runs at each tick of a timer on each CPU during a descent, or while slow calls are kept: samples
 * the stack of a thread inside f0. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 began = bpf_ktime_get_ns(), steal;

	if (!c || !c->descend_slot || !is_target(c, task->tgid) ||
	    (c->descend_sampled && !is_chosen(c, task->tgid, task->pid)))
		return 0;
	if (c->keep && !is_slow_by_now(c, task, began))
		return 0;
	steal = steal_clock(c);
	/* sample the user registers, also if the kernel was interrupted */
	descent_stack(ctx, c, task, user_regs(task), 1, !(ctx->regs.cs & 3));
	sample_charge(c, task, began, steal);
	return 0;
}

/* ---- tracing of waits */

/* True if only the sampling interrupt runs on top of the task: what another interrupt does is not
 * its work. */
INLINE bool only_tick(struct irq_context *irq)
{
	u64 depth = irq ? irq->brackets : 0;

	for (int i = 0; i < 2; i++) {
		u64 at = depth - 1;
		u32 kind;

		if (!depth)
			break;
		HIDE(at);
		at &= PT_BRACKETS - 1;
		kind = irq->bracket[at] >> 12;
		if (kind != IN_TIMER && kind != IN_CLOCK)
			break;
		depth--;
	}
	return !depth;
}

/* Runs at each tick of a timer on each CPU while a window is open: records where a followed task
 * is. */
SEC("perf_event")
int on_run_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	struct irq_context *irq = irq_here();
	struct pt_waits_sample *r;
	u32 kernel = 0, user = 0, tick;
	struct pt_follow *f;
	u64 now;

	if (!waits_on(c) || !task->pid || !only_tick(irq))
		return 0;
	f = follow_of(c, task);
	if (!f || !follow_is_open(c, f, task))
		return 0;
	now = bpf_ktime_get_ns();
	follow_show(c, f, task, now);
	if (!(f->flags & (IS_KERNEL | IS_URING)))
		user = user_trace(c, f, task, PT_SAMPLED_TRACE, now);
	if (!(ctx->regs.cs & 3))
		kernel = kernel_trace(ctx, PT_SAMPLED_TRACE, now);
	/* a sample without the stack of its program would say less than the next sleep does */
	if (user || (kernel && f->flags & (IS_KERNEL | IS_URING))) {
		WAITS_RECORD(c, r, PT_WAITS_SAMPLE, now);
		if (r) {
			r->tid = task->pid;
			r->kernel_stack = kernel;
			r->user_stack = user;
			r->irq_ns = irq && irq->total < 1ull << 32 ? irq->total : 0;
			WAITS_SEND(r);
		}
	}
	tick = c->tick_ns ? c->tick_ns : TICK_NS;
	waits_charge(now - tick);
	return 0;
}
