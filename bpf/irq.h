/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times the interrupts that interrupt a target's thread inside a call of f0, and notes for the
 * tracing of waits what runs on top of a task. */
#pragma once

#include "bpf/waits.h"

/* A task that ran when it was found is announced by the first interrupt on top of it. */
INLINE void irq_show(struct pt_control *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_follow *f = follow_of(c, task);

	if (f)
		follow_show(c, f, task, bpf_ktime_get_ns());
}

/* Note for the tracing of waits that an interrupt begins. */
INLINE void irq_bracket(u32 bracket, u32 number)
{
	struct pt_control *c = the_control();
	struct irq_context *irq = irq_here();

	if (!irq || !waits_on(c))
		return;
	bracket_push(irq, bracket, number, 0);
	if (bracket == IN_CLOCK)
		irq_show(c);
}

INLINE void irq_enter(u32 number, u32 bracket, u32 bracket_number)
{
	struct pt_control *c = the_control();
	struct irq_context *irq = irq_here();

	if (!c || !irq)
		return;
	irq_bracket(bracket, bracket_number);
	if (!irq->depth++) {
		irq->start = bpf_ktime_get_ns();
		irq->number = number;
		irq->looked = 0;
		irq->steal = steal_clock(c);
	}
	if (number >= PT_IRQ_VECTOR)
		irq->vectors = 1;
}

/*
 * True if a soft interrupt that begins now runs in the thread that raised it: on the loopback
 * network, sending a packet also receives it (__local_bh_enable_ip(), kernel/softirq.c). That is
 * the thread's own work. Behind a hard interrupt, a soft one begins within microseconds.
 */
INLINE bool irq_in_thread(u32 vector)
{
	enum { NET_TX = 2, NET_RX = 3, BEHIND_NS = 20000 };
	u32 zero = 0;
	struct irq_context *irq = bpf_map_lookup_elem(&irqs, &zero);
	struct pt_control *c = the_control();

	if (!c || !irq || irq->depth || (vector != NET_TX && vector != NET_RX))
		return false;
	/*
	 * This kernel does not report what other CPUs interrupt this one for, so a soft interrupt
	 * behind such an interrupt could not be told from the thread's own.
	 */
	if (!irq->vectors && c->nr_cpus > 1)
		return false;
	return bpf_ktime_get_ns() - irq->left > BEHIND_NS;
}

/* While the collector calibrates: measures the clock's interrupts of its own thread. */
INLINE void clock_measure(struct pt_control *c, struct irq_context *irq, u32 tid, u64 now)
{
	if (tid != c->clock_tid || irq->number != PT_IRQ_LOCAL_TIMER)
		return;
	c->clocks++;
	c->clock_ns += now - irq->start;
}

INLINE bool irq_is_soft(const struct irq_context *irq)
{
	return irq->number >= PT_IRQ_SOFT && irq->number < PT_IRQ_VECTOR;
}

/*
 * The time that the tracepoints of this interrupt do not see. On a virtual machine an interrupt
 * that does little takes most of its time there, on its way through the hypervisor. A soft
 * interrupt runs behind a hard one, whose time this is.
 */
INLINE u64 irq_outside(struct pt_control *c, struct irq_context *irq)
{
	return irq_is_soft(irq) ? 0 : c->irq_outside_ns;
}

/*
 * Names the interrupt that has more than half of the time in interrupts, if there is one: a
 * majority vote (Boyer and Moore), weighted by time. Many short ones may outweigh the longest.
 */
INLINE void irq_vote(struct pt_thread *t, u32 number, u64 ns)
{
	if (number == t->irq_number) {
		t->irq_lead += ns;
	} else if (ns > t->irq_lead) {
		t->irq_lead = ns - t->irq_lead;
		t->irq_number = number;
	} else {
		t->irq_lead -= ns;
	}
}

/*
 * Another CPU that leaves a soft interrupt to this one sends an interrupt for it (of received
 * packets: rps_trigger_softirq(), net/core/dev.c), which does nothing else: its time is that of the
 * soft one.
 */
INLINE void irq_vote_all(struct pt_thread *t, struct irq_context *irq, u64 ns, u64 now)
{
	enum { BEHIND_NS = 5000 };
	u64 asked_ns = irq->asked_ns;

	irq->asked_ns = 0;
	if (irq_is_soft(irq) && asked_ns && irq->start - irq->asked < BEHIND_NS) {
		if (t->irq_number >= PT_IRQ_VECTOR)
			t->irq_lead -= asked_ns < t->irq_lead ? asked_ns : t->irq_lead;
		ns += asked_ns;
	}
	irq_vote(t, irq->number, ns);
	if (irq->number < PT_IRQ_VECTOR)
		return;
	irq->asked = now;
	irq->asked_ns = ns;
}

INLINE void irq_leave(u32 bracket)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), now, ns, looked;
	struct irq_context *irq = irq_here();
	u32 tid = (u32)id;
	struct pt_thread *t;

	if (!c || !irq)
		return;
	if (waits_on(c))
		bracket_pop(irq, bracket);
	/* the first exit after attaching may have no entry */
	if (!irq->depth || --irq->depth)
		return;
	now = bpf_ktime_get_ns();
	if (!irq_is_soft(irq))
		irq->left = now;
	count_hit(PT_HIT_SCHED_OTHER);
	clock_measure(c, irq, (u32)id, now);
	if (waits_on(c))
		irq->total += now - irq->start;
	if (!is_target(c, id >> 32))
		return;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return;
	ns = now - irq->start + irq_outside(c, irq);
	looked = irq->looked + steal_clock(c) - irq->steal;
	ns = ns > looked ? ns - looked : 0;
	t->irq_ns += ns;
	irq_vote_all(t, irq, ns, now);
}
