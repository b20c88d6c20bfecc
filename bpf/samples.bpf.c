// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of the stacks of threads inside f0. */
#include "bpf/stack.h"

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

/* Runs at each tick of a timer on each CPU during a descent: samples the stack of a thread
 * inside f0. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 began = bpf_ktime_get_ns(), steal;

	if (!c || !c->descend_slot || !is_target(c, task->tgid))
		return 0;
	steal = steal_clock(c);
	/* sample the user registers, also if the kernel was interrupted */
	descent_stack(ctx, c, task, (struct pt_regs *)bpf_task_pt_regs(task), 1,
		      !(ctx->regs.cs & 3));
	sample_charge(c, task, began, steal);
	return 0;
}
