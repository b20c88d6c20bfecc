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
	static const char *const names[] = {"schedule", "shrink_node", "ext4_file_write_iter"};

	return address < sizeof(names) / sizeof(names[0]) ? names[address] : NULL;
}

int kernel_side_dirtiers(const struct kernel_side *k)
{
	(void)k;
	return -1;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_full_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
