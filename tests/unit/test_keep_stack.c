// SPDX-License-Identifier: GPL-2.0-or-later
/* What the stack and the registers of a sleeping thread tell of the call that it is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/keep_stack.c" /* not among the pure libraries */

static struct known_return list[] = {
    {0x5000, 8, 2}, {0x4000, 7, 1}, {0x5000, 7, 3}, {0x1000, 7, 4}};
static const struct known_returns known = {list, ARRAY_SIZE(list)};

static int sort(void **state)
{
	(void)state;
	known_returns_sort(list, ARRAY_SIZE(list));
	return 0;
}

static void test_innermost_return(void **state)
{
	const uint64_t words[] = {1, 0x4001, 0x5000, 0x4000, 0};
	struct stack_return at;

	(void)state;
	assert_true(stack_find_return(&known, 7, 0x7f00, words, ARRAY_SIZE(words), &at));
	assert_int_equal(at.address, 0x5000);
	assert_int_equal(at.slot, 3);
	/* the word is at 0x7f10: the caller's frame begins above it */
	assert_int_equal(at.cfa, 0x7f18);
}

static void test_return_of_another_process(void **state)
{
	const uint64_t words[] = {0x4000, 0x5000};
	struct stack_return at;

	(void)state;
	assert_true(stack_find_return(&known, 8, 0x7f00, words, ARRAY_SIZE(words), &at));
	assert_int_equal(at.slot, 2);
	assert_int_equal(at.cfa, 0x7f10);
	assert_false(stack_find_return(&known, 9, 0x7f00, words, ARRAY_SIZE(words), &at));
}

static void test_no_return(void **state)
{
	const struct known_returns none = {NULL, 0};
	const uint64_t words[] = {0x4000};
	struct stack_return at;

	(void)state;
	assert_false(stack_find_return(&none, 7, 0x7f00, words, ARRAY_SIZE(words), &at));
	assert_false(stack_find_return(&known, 7, 0x7f00, words, 0, &at));
	known_returns_sort(NULL, 0);
}

static struct asked_by by_of(uint64_t call, uint64_t di, uint64_t si, uint64_t dx, uint64_t r10)
{
	struct pt_task_now now = {.state = 1};

	now.regs[PT_REG_ORIG_AX] = call;
	now.regs[PT_REG_DI] = di;
	now.regs[PT_REG_SI] = si;
	now.regs[PT_REG_DX] = dx;
	now.regs[PT_REG_R10] = r10;
	return asked_by(&now);
}

static void test_sleeps_with_a_timeout(void **state)
{
	struct asked_by by = by_of(SYS_nanosleep, 0x100, 0, 0, 0);
	const uint64_t value[] = {2, 5};

	(void)state;
	assert_int_equal(by.timespec, 0x100);
	assert_int_equal(by.fd, PT_NO_FD);
	assert_int_equal(asked_of_timespec(&by, value, 0), 2000000005);
	/* until a point in time */
	by = by_of(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, 0x200, 0);
	assert_int_equal(by.timespec, 0x200);
	assert_int_equal(asked_of_timespec(&by, value, 1500000000), 500000005);
	assert_int_equal(asked_of_timespec(&by, value, 3000000000), 0);
	/* by a clock that is not ours */
	by = by_of(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, 0x200, 0);
	assert_int_equal(by.timespec, 0);
	/* of select() the second word is in microseconds */
	by = by_of(SYS_select, 0, 0, 0, 0);
	by.timespec = 0x300;
	assert_int_equal(asked_of_timespec(&by, value, 0), 2000005000);
}

static void test_waits_for_descriptors(void **state)
{
	struct asked_by by = by_of(SYS_poll, 0x400, 2, 50, 0);

	(void)state;
	assert_int_equal(by.ns, 50000000);
	assert_int_equal(by.fd_at, 0x400);
	by = by_of(SYS_poll, 0x400, 0, (uint32_t)-1, 0);
	assert_int_equal(by.ns, 0);
	assert_int_equal(by.fd_at, 0);
	by = by_of(SYS_epoll_wait, 6, 0x500, 16, 20);
	assert_int_equal(by.ns, 20000000);
	assert_int_equal(by.fd, 6);
	by = by_of(SYS_read, 4, 0, 0, 0);
	assert_int_equal(by.fd, 4);
	/* a page fault */
	by = by_of(UINT64_MAX, 4, 0, 0, 0);
	assert_int_equal(by.fd, PT_NO_FD);
}

static void test_waits_for_a_lock(void **state)
{
	struct asked_by by = by_of(SYS_futex, 0x600, FUTEX_WAIT_PRIVATE, 2, 0x700);

	(void)state;
	assert_int_equal(by.words, 0x600);
	assert_int_equal(by.timespec, 0x700);
	by = by_of(SYS_futex, 0x600, FUTEX_WAIT_BITSET_PRIVATE, 2, 0x700);
	assert_int_equal(by.timespec, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_innermost_return),
	    cmocka_unit_test(test_return_of_another_process),
	    cmocka_unit_test(test_no_return),
	    cmocka_unit_test(test_sleeps_with_a_timeout),
	    cmocka_unit_test(test_waits_for_descriptors),
	    cmocka_unit_test(test_waits_for_a_lock),
	};

	return cmocka_run_group_tests(tests, sort, NULL);
}
