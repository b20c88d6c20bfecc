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

#define ASSERT_PROGRAMS(n, ...)                                                                    \
	do {                                                                                       \
		const char *const functions[] = {__VA_ARGS__};                                     \
                                                                                                   \
		assert_int_equal(kernel_names_of_programs(functions, ARRAY_SIZE(functions)), n);   \
	} while (0)

static void test_functions_of_programs(void **state)
{
	(void)state;
	assert_int_equal(kernel_names_of_programs(NULL, 0), 0);
	ASSERT_PROGRAMS(0, "mutex_lock", "vfs_read");
	/* a sample while a program runs: also in what the program calls */
	ASSERT_PROGRAMS(3, "htab_map_lookup", "bpf_prog_1a2b3c4d5e6f7081_on_contention_end",
			"bpf_trace_run2", "mutex_lock", "vfs_read");
	ASSERT_PROGRAMS(2, NULL, "bpf_trampoline_6442", "ext4_create");
	ASSERT_PROGRAMS(1, "bpf_trampoline_6442", "ext4_create");
	/* this one calls the function that is traced */
	ASSERT_PROGRAMS(0, "ext4_add_entry", "ext4_create", "bpf_trampoline_6442", "path_openat");
	/* no tracing: a system call, and a program that filters packets */
	ASSERT_PROGRAMS(0, "bpf_prog_load", "__sys_bpf");
	ASSERT_PROGRAMS(0, "bpf_prog_1a2b3c4d5e6f7081_filter", "sk_filter_trim_cap");
}

static void add_name(uint64_t address, const char *name)
{
	size_t n = strlen(name) + 1;

	assert_true(room(n));
	names[nr_names++] = (struct name){address, (uint32_t)text_bytes};
	memcpy(texts + text_bytes, name, n);
	text_bytes += n;
}

/*
 * All but the innermost address are return addresses. One behind the last instruction of a function
 * that never gets its call back is where the next function begins.
 */
static void test_line_of_a_stack(void **state)
{
	const uint64_t stack[] = {0x2000, 0x3000, 0x1010};
	char line[64];

	(void)state;
	kernel_names_release();
	add_name(0x1000, "outer");
	add_name(0x2000, "panics");
	add_name(0x3000, "next");
	tried = true;
	kernel_names_line(stack, 3, line, sizeof(line));
	assert_string_equal(line, "outer;panics;panics");
	kernel_names_line(stack + 1, 2, line, sizeof(line));
	assert_string_equal(line, "outer;next");
	kernel_names_line(stack, 0, line, sizeof(line));
	assert_string_equal(line, "");
	/* what has no room is cut between two names */
	kernel_names_line(stack, 3, line, sizeof("outer;pani"));
	assert_string_equal(line, "outer");
	assert_null(kernel_name(0xfff));
	kernel_names_release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_functions_of_the_tracing),
	    cmocka_unit_test(test_interrupt_inside_of_the_scheduler),
	    cmocka_unit_test(test_functions_of_programs),
	    cmocka_unit_test(test_line_of_a_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
