// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of many threads are looked at, and which of them stand for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/crowds.c" /* not among the pure libraries */

enum { MANY = 1000 };
static struct crowd_member list[MANY + 10];

static size_t crowd_fill(size_t nr, uint64_t place, size_t at)
{
	for (size_t i = 0; i < nr; i++)
		list[at + i] = (struct crowd_member){
		    .place = place, .order = (i * 7919) % nr, .index = (uint32_t)(at + i)};
	return at + nr;
}

static void test_rare_first(void **state)
{
	size_t nr = crowd_fill(MANY, 5, 0), to_read;

	nr = crowd_fill(2, 9, nr);
	nr = crowd_fill(1, 1, nr);
	to_read = crowds_choose(list, nr);
	assert_int_equal(to_read, CROWD_MAX + 3);
	assert_int_equal(list[0].place, 1);
	assert_int_equal(list[1].place, 9);
	assert_int_equal(list[2].place, 9);
	for (size_t i = 3; i < to_read; i++) {
		assert_int_equal(list[i].place, 5);
		assert_int_equal(list[i].crowd, MANY);
		/* those of the crowd with the lowest order */
		assert_int_equal(list[i].order, i - 3);
	}
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(list[i].joined, i >= to_read);
}

static void test_read_ones_count(void **state)
{
	size_t nr = crowd_fill(MANY, 5, 0);

	for (size_t i = 0; i < 200; i++)
		list[i].read = true;
	assert_int_equal(crowds_choose(list, nr), CROWD_MAX - 200);
	for (size_t i = 0; i < nr; i++)
		assert_false(list[i].read && list[i].joined);
}

static void test_small_is_read(void **state)
{
	size_t nr = crowd_fill(CROWD_MAX, 5, 0);

	assert_int_equal(crowds_choose(list, nr), nr);
	assert_int_equal(crowds_choose(list, 0), 0);
	crowds_spread(list, 0);
}

static void test_waiting_has_its_turn(void **state)
{
	size_t nr = crowd_fill(100, 5, 0);

	for (size_t i = 0; i < 100; i++)
		list[i].waited = 99;
	nr = crowd_fill(10, 7, nr);
	crowds_choose(list, nr);
	assert_int_equal(list[0].place, 5);
}

static void test_time_is_spread(void **state)
{
	size_t nr = crowd_fill(10, 5, 0);
	uint64_t told = 0, own = 0;

	list[1].read = list[4].read = list[7].read = true;
	list[4].ns = 1000; /* told before */
	list[2].joined = list[3].joined = true;
	list[2].ns = 50;
	list[3].ns = 20;
	list[5].gone = true;
	list[5].ns = 30;
	list[6].ns = 7; /* to be read: its time is its own */
	nr = crowd_fill(1, 6, nr);
	list[10].joined = true; /* none there is read: its time is told by nobody */
	list[10].ns = 40;
	crowds_spread(list, nr);
	for (size_t i = 0; i < nr; i++) {
		if (list[i].read) {
			told += list[i].ns;
			assert_in_range(list[i].ns - (list[i].index == 4 ? 1000 : 0), 33, 34);
		} else {
			own += list[i].ns;
			assert_int_equal(list[i].ns, list[i].index == 6	   ? 7
						     : list[i].index == 10 ? 40
									   : 0);
		}
	}
	assert_int_equal(told, 1000 + 100);
	assert_int_equal(own, 47);
}

static void test_places(void **state)
{
	struct pt_task_now a = {.tgid = 3, .tid = 4, .state = 1}, b = a;

	a.regs[PT_REG_SP] = 0x7000a100;
	b.regs[PT_REG_SP] = 0x7f00b100;
	b.tid = 5;
	assert_int_equal(crowd_place(&a), crowd_place(&b));
	b.regs[PT_REG_SP] += 8;
	assert_int_not_equal(crowd_place(&a), crowd_place(&b));
	b = a;
	b.regs[PT_REG_IP]++;
	assert_int_not_equal(crowd_place(&a), crowd_place(&b));
	b = a;
	b.tgid++;
	assert_int_not_equal(crowd_place(&a), crowd_place(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rare_first),	   cmocka_unit_test(test_read_ones_count),
	    cmocka_unit_test(test_small_is_read),  cmocka_unit_test(test_waiting_has_its_turn),
	    cmocka_unit_test(test_time_is_spread), cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
