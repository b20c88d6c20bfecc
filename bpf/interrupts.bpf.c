// SPDX-License-Identifier: GPL-2.0-or-later
/* Interrupts, also those that another CPU sends. A kernel may lack the tracepoints of the latter.
 */
#include "bpf/irq.h"

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int number)
{
	irq_enter(number, IN_HARD, number);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int number)
{
	irq_leave(IN_HARD);
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer_entry, int vector)
{
	irq_enter(PT_IRQ_LOCAL_TIMER, IN_CLOCK, 0);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_exit, int vector)
{
	irq_leave(IN_CLOCK);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	if (irq_in_thread(vector))
		irq_bracket(IN_SOFT, vector);
	else
		irq_enter(PT_IRQ_SOFT + vector, IN_SOFT, vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	irq_leave(IN_SOFT);
	return 0;
}

/* ---- what another CPU asks this one for */

#define FROM_ANOTHER_CPU(name, tracepoint, vector)                                                 \
	SEC("tp_btf/" tracepoint "_entry")                                                         \
	int BPF_PROG(on_##name##_entry)                                                            \
	{                                                                                          \
		irq_enter(PT_IRQ_VECTOR + (vector), IN_IPI, vector);                               \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" tracepoint "_exit")                                                          \
	int BPF_PROG(on_##name##_exit)                                                             \
	{                                                                                          \
		irq_leave(IN_IPI);                                                                 \
		return 0;                                                                          \
	}

FROM_ANOTHER_CPU(reschedule, "reschedule", PT_VECTOR_RESCHEDULE)
FROM_ANOTHER_CPU(call, "call_function", PT_VECTOR_CALL)
FROM_ANOTHER_CPU(call_single, "call_function_single", PT_VECTOR_CALL_SINGLE)
FROM_ANOTHER_CPU(irq_work, "irq_work", PT_VECTOR_IRQ_WORK)

/* ---- timers that expire, and work items: only for the tracing of waits */

INLINE void expiry_begin(u64 function)
{
	struct irq_context *irq = irq_here();

	if (irq && waits_on(the_control()))
		bracket_push(irq, IN_TIMER, 0, function);
}

INLINE void expiry_end(void)
{
	struct irq_context *irq = irq_here();

	if (irq && waits_on(the_control()))
		bracket_pop(irq, IN_TIMER);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_entry, struct hrtimer *timer)
{
	expiry_begin((u64)BPF_CORE_READ(timer, function));
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_hrtimer_exit, struct hrtimer *timer)
{
	expiry_end();
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_expiry_entry, struct timer_list *timer)
{
	expiry_begin((u64)BPF_CORE_READ(timer, function));
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(on_expiry_exit, struct timer_list *timer)
{
	expiry_end();
	return 0;
}
