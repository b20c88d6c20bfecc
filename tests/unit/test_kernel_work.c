// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel did for a thread, by the addresses of a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* pure but for the names, in the collector, whose library is not linked here */
#include "collect/host_waits.c"
#include "collect/kernel_work.c"

/* The addresses of this test are numbers of names. */
const char *kernel_name(uint64_t address)
{
	static const char *const names[] = {"schedule",
					    "shrink_node",
					    "ext4_file_write_iter",
					    "balance_dirty_pages",
					    "rwsem_spin_on_owner",
					    "do_mmap",
					    "do_swap_page",
					    "asm_sysvec_call_function_single",
					    "asm_exc_int3",
					    "net_rx_action",
					    "asm_common_interrupt",
					    "task_work_run",
					    "handle_softirqs",
					    "submit_bio_noacct",
					    "do_user_addr_fault",
					    "rt_mutex_slowlock_block.constprop.0",
					    "rt_mutex_wait_proxy_lock",
					    "futex_lock_pi",
					    "get_signal",
					    "do_signal_stop",
					    "__refrigerator",
					    "try_charge_memcg"};

	return address < sizeof(names) / sizeof(names[0]) ? names[address] : NULL;
}

int kernel_side_dirtiers(const struct kernel_side *k)
{
	(void)k;
	return -1;
}

void target_thread_comm(pid_t pid, pid_t tid, char *out, size_t n)
{
	assert_int_equal(pid, tid);
	snprintf(out, n, "keeper");
}

static uint32_t object_at_depth(uint32_t depth)
{
	static struct pt_record_stack stack;
	static struct pt_record_sleep sleep;
	struct kernel_work work;

	stack.nr_kernel = depth;
	for (uint32_t i = 0; i < depth && i < PT_KERNEL_FRAMES; i++)
		stack.kernel[i] = i == 3 ? 1 : i ? 2 : 0;
	kernel_work_of_sleep(NULL, &sleep, &stack, &work);
	return work.object;
}

/* Memory is freed deep in the kernel: the stack fills all the room that there is for it, and is
 * known all the same. */
static void test_full_stack(void **state)
{
	(void)state;
	assert_int_equal(object_at_depth(PT_KERNEL_FRAMES - 1), SLEEP_IN_RECLAIM);
	assert_int_equal(object_at_depth(PT_KERNEL_FRAMES), SLEEP_IN_RECLAIM);
	/* more than there is room for: no stack of ours */
	assert_int_equal(object_at_depth(PT_KERNEL_FRAMES + 1), 0);
}

/* A sample in a probe or in an interrupt shows nothing of the program. */
static void test_on_top_of_the_program(void **state)
{
	static struct pt_record_stack stack = {.nr_kernel = 3, .kernel = {9, 7, 2}};

	(void)state;
	assert_true(kernel_in_interrupt(&stack));
	assert_false(kernel_in_probe(&stack));
	stack.kernel[1] = 10;
	assert_true(kernel_in_interrupt(&stack));
	/* work of the thread that waited for its return from the kernel; a soft interrupt */
	stack.kernel[0] = 11;
	assert_false(kernel_in_interrupt(&stack));
	stack.kernel[2] = 12;
	assert_true(kernel_in_interrupt(&stack));
	stack.kernel[0] = 9;
	stack.kernel[2] = 2;
	stack.kernel[1] = 8;
	assert_true(kernel_in_probe(&stack));
	assert_false(kernel_in_interrupt(&stack));
	/* the same work, but of the program: a packet to itself */
	stack.kernel[1] = 5;
	assert_false(kernel_in_probe(&stack) || kernel_in_interrupt(&stack));
}

static struct rec_sleep of_snapshot(uint64_t inner, uint64_t outer, uint32_t state)
{
	static struct kernel_work work;
	struct rec_sleep s = {.name = "/a/file", .holder = "", .about = ""};
	struct pt_task_now t = {.state = state, .nr_kernel = 3, .kernel = {0, inner, outer}};

	t.memory.limit = 64 << 20;
	snprintf(t.memory.group.part[0], PT_GROUP_NAME, "web");
	kernel_work_of_snapshot(&t, &work);
	kernel_work_send(&work, &s);
	return s;
}

/* The snapshots of a walk show no more than names, and these suffice. */
static void test_snapshot(void **state)
{
	struct rec_sleep s = of_snapshot(3, 2, 1);

	(void)state;
	assert_int_equal(s.work, SLEEP_IN_DIRTY);
	assert_string_equal(s.name, "/a/file");
	assert_int_equal(of_snapshot(6, 2, 1).work, SLEEP_IN_SWAP);
	assert_int_equal(of_snapshot(1, 6, 0).work, SLEEP_IN_RECLAIM);
	assert_string_equal(of_snapshot(1, 6, 0).about, "the host is short of memory");
	/* of the cgroup at its limit only if the kernel frees its memory */
	s = of_snapshot(1, 21, 0);
	assert_string_equal(s.about, "memory limit of 64 MiB reached");
	assert_string_equal(s.name, "/web");
	s = of_snapshot(4, 5, 0);
	assert_int_equal(s.work, SLEEP_IN_SPIN);
	assert_string_equal(s.about, "spinning for a kernel lock in do_mmap");
	/* asleep for a lock: not spinning */
	assert_int_equal(of_snapshot(4, 5, 1).work, 0);
	/* on a CPU, requests are handed to a device; a page fault that does it stays one */
	s = of_snapshot(13, 2, 0);
	assert_int_equal(s.work, SLEEP_IN_SUBMIT);
	assert_string_equal(s.name, "/a/file");
	assert_int_equal(of_snapshot(13, 2, 1).work, 0);
	assert_int_equal(of_snapshot(13, 14, 0).work, 0);
	assert_int_equal(of_snapshot(4, 13, 0).work, SLEEP_IN_SPIN);
	/* no such work: the sleep stays as it is */
	s = of_snapshot(2, 2, 1);
	assert_int_equal(s.object, 0);
	assert_string_equal(s.name, "/a/file");
}

/* A thread that is stopped, traced or frozen is so whatever it was doing. */
static void test_held_up(void **state)
{
	struct rec_sleep s = of_snapshot(19, 18, 0x104);

	(void)state;
	assert_int_equal(s.work, SLEEP_STOPPED);
	assert_string_equal(s.about, "by a signal");
	assert_string_equal(s.name, "");
	/* what it was stopped in does not count: a debugger may hold it in a page fault */
	assert_int_equal(of_snapshot(6, 14, 8).work, SLEEP_TRACED);
	assert_int_equal(of_snapshot(2, 2, 0x8000).work, SLEEP_FROZEN);
	/* no state tells of the freezer of version 2, nor of older kernels: the stack does */
	assert_int_equal(of_snapshot(18, 2, 1).work, SLEEP_FROZEN);
	assert_int_equal(of_snapshot(20, 18, 2).work, SLEEP_FROZEN);
	/* something that is called for a signal sleeps, or it runs */
	assert_int_equal(of_snapshot(2, 18, 1).work, 0);
	assert_int_equal(of_snapshot(18, 2, 0).work, 0);
}

/* A thread spins for a mutex with priority inheritance while its owner runs: the futex's word has
 * the owner's number, and the name is looked up. */
static void test_futex_owner(void **state)
{
	static struct pt_record_stack stack = {
	    .nr_kernel = 3, .kernel = {15, 16, 17}, .owners[PT_OWNER_OBJECT] = {.pid = 77}};
	struct kernel_work work;

	(void)state;
	kernel_work_of_sample(NULL, &stack, &work);
	assert_int_equal(work.object, SLEEP_IN_SPIN);
	assert_string_equal(work.holder, "keeper 77");
	assert_string_equal(work.about, "spinning for a kernel lock in futex_lock_pi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_full_stack),	cmocka_unit_test(test_on_top_of_the_program),
	    cmocka_unit_test(test_snapshot),	cmocka_unit_test(test_held_up),
	    cmocka_unit_test(test_futex_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
