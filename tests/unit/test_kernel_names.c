// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the kernel's functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* in the collector, whose library is not linked here */
#include "collect/kernel_names.c"

#define ASSERT_TRACING(n, ...)                                                                     \
	do {                                                                                       \
		const char *const functions[] = {__VA_ARGS__};                                     \
                                                                                                   \
		assert_int_equal(kernel_names_of_tracing(functions, ARRAY_SIZE(functions)), n);    \
	} while (0)

static void test_functions_of_the_tracing(void **state)
{
	(void)state;
	assert_int_equal(kernel_names_of_tracing(NULL, 0), 0);
	ASSERT_TRACING(0, "try_to_wake_up", "wake_up_q");
	/* a task goes to sleep; the program's own code has no name */
	ASSERT_TRACING(5, NULL, "bpf_trace_run4", "__bpf_trace_sched_switch",
		       "__traceiter_sched_switch", "__schedule", "schedule", "pipe_read");
	ASSERT_TRACING(2, "bpf_trampoline_6442", "__schedule.constprop.0", "schedule");
}

/* A waking by an interrupt that came while another task went to sleep. */
static void test_interrupt_inside_of_the_scheduler(void **state)
{
	(void)state;
	ASSERT_TRACING(2, "bpf_trace_run1", "__traceiter_sched_waking", "try_to_wake_up",
		       "tcp_v4_rcv", "handle_softirqs", "__irq_exit_rcu",
		       "asm_sysvec_apic_timer_interrupt", "__schedule", "schedule", "do_sys_poll");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_functions_of_the_tracing),
	    cmocka_unit_test(test_interrupt_inside_of_the_scheduler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
