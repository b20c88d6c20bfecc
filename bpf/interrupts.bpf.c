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

SEC("tp_btf/reschedule_entry")
int BPF_PROG(on_reschedule_entry)
{
	irq_enter(PT_IRQ_VECTOR + PT_VECTOR_RESCHEDULE, IN_IPI, PT_VECTOR_RESCHEDULE);
	return 0;
}

SEC("tp_btf/reschedule_exit")
int BPF_PROG(on_reschedule_exit)
{
	irq_leave(IN_IPI);
	return 0;
}

SEC("tp_btf/call_function_entry")
int BPF_PROG(on_call_entry)
{
	irq_enter(PT_IRQ_VECTOR + PT_VECTOR_CALL, IN_IPI, PT_VECTOR_CALL);
	return 0;
}

SEC("tp_btf/call_function_exit")
int BPF_PROG(on_call_exit)
{
	irq_leave(IN_IPI);
	return 0;
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(on_call_single_entry)
{
	irq_enter(PT_IRQ_VECTOR + PT_VECTOR_CALL_SINGLE, IN_IPI, PT_VECTOR_CALL_SINGLE);
	return 0;
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(on_call_single_exit)
{
	irq_leave(IN_IPI);
	return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(on_irq_work_entry)
{
	irq_enter(PT_IRQ_VECTOR + PT_VECTOR_IRQ_WORK, IN_IPI, PT_VECTOR_IRQ_WORK);
	return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(on_irq_work_exit)
{
	irq_leave(IN_IPI);
	return 0;
}

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
