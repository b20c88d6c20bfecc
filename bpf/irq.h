/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times the interrupts that interrupt a target's thread inside a call of f0. */
#ifndef PEAKTOP_BPF_IRQ_H
#define PEAKTOP_BPF_IRQ_H

#include "bpf/measure.h"

INLINE void irq_enter(u32 number)
{
	u32 zero = 0;
	struct irq_context *irq = bpf_map_lookup_elem(&irqs, &zero);
	struct pt_control *c = the_control();

	if (!c || !irq)
		return;
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
	/* else what other CPUs ask for is not seen, and neither what it is that runs behind it */
	if (!irq->vectors && c->nr_cpus > 1)
		return false;
	return bpf_ktime_get_ns() - irq->left > BEHIND_NS;
}

INLINE void irq_leave(void)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), now, ns, looked;
	u32 zero = 0, tid = (u32)id;
	struct irq_context *irq = bpf_map_lookup_elem(&irqs, &zero);
	struct pt_thread *t;

	/* the first exit after attaching may have no entry */
	if (!c || !irq || !irq->depth || --irq->depth)
		return;
	now = bpf_ktime_get_ns();
	if (irq->number < PT_IRQ_SOFT || irq->number >= PT_IRQ_VECTOR)
		irq->left = now;
	count_hit(PT_HIT_SCHED_OTHER);
	if (!is_target(c, id >> 32))
		return;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return;
	ns = now - irq->start;
	looked = irq->looked + steal_clock(c) - irq->steal;
	ns = ns > looked ? ns - looked : 0;
	t->irq_ns += ns;
	if (ns > t->irq_longest) {
		t->irq_longest = ns;
		t->irq_number = irq->number;
	}
}

#endif
