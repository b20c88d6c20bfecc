// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/latency/armed.h"

#define MS 1000000ULL

static struct armed_clock at(uint64_t ms, uint64_t cpu_ms)
{
	return (struct armed_clock){ms * MS, cpu_ms * MS};
}

static void test_always_on(void **state)
{
	struct armed_time a = {0};
	struct armed_period p;

	(void)state;
	armed_begin(&a, at(100, 10));
	armed_on(&a, at(100, 10));
	p = armed_period(&a, at(1100, 510));
	assert_int_equal(p.start_ns, 100 * MS);
	assert_int_equal(p.end_ns, 1100 * MS);
	assert_int_equal(p.armed_ns, 1000 * MS);
	assert_int_equal(p.armed_cpu_ns, 500 * MS);
	assert_int_equal(p.cpu_ns, 500 * MS);
}

/* The measurement ends with the gate: what the target does behind it is not a gap to be filled. */
static void test_end_without_bursts(void **state)
{
	struct armed_time a = {0};
	struct armed_period p;

	(void)state;
	armed_begin(&a, at(100, 10));
	armed_on(&a, at(100, 10));
	armed_off(&a, 400 * MS, at(400, 210));
	p = armed_period(&a, at(450, 255));
	assert_int_equal(p.end_ns, 400 * MS);
	assert_int_equal(p.armed_ns, 300 * MS);
	assert_int_equal(p.cpu_ns, 200 * MS);
	assert_int_equal(p.armed_cpu_ns, 200 * MS);
}

static void test_a_cut_is_a_gap_and_its_burst(void **state)
{
	struct armed_time a = {.bursting = true};

	(void)state;
	armed_begin(&a, at(1, 0));
	armed_on(&a, at(100, 50));
	armed_off(&a, 110 * MS, at(110, 58));
	assert_true(armed_cut(&a, at(115, 60)));
	assert_true(a.has_cut);
	assert_int_equal(a.cut.start_ns, 1 * MS);
	/* what the drain of open calls took belongs to the next gap */
	assert_int_equal(a.cut.end_ns, 110 * MS);
	assert_int_equal(a.cut.armed_ns, 10 * MS);
	assert_int_equal(a.cut.armed_cpu_ns, 8 * MS);
	assert_int_equal(a.cut.cpu_ns, 58 * MS);
	assert_int_equal(a.start.ns, 110 * MS);
	/* a second burst before the first was told joins it */
	armed_on(&a, at(200, 80));
	armed_off(&a, 205 * MS, at(205, 84));
	assert_true(armed_cut(&a, at(206, 84)));
	assert_int_equal(a.cut.start_ns, 1 * MS);
	assert_int_equal(a.cut.end_ns, 205 * MS);
	assert_int_equal(a.cut.armed_ns, 15 * MS);
	assert_int_equal(a.cut.cpu_ns, 84 * MS);
}

static void test_a_short_burst_is_not_cut(void **state)
{
	struct armed_time a = {.bursting = true};

	(void)state;
	armed_begin(&a, at(1, 0));
	armed_on(&a, at(100, 0));
	armed_off(&a, 100 * MS + ARMED_MIN_NS / 2, at(101, 0));
	assert_false(armed_cut(&a, at(101, 0)));
	assert_false(a.has_cut);
	armed_on(&a, at(200, 0));
	armed_off(&a, 200 * MS + ARMED_MIN_NS / 2, at(201, 0));
	assert_true(armed_cut(&a, at(201, 0)));
	assert_int_equal(a.cut.armed_ns, ARMED_MIN_NS);
	assert_int_equal(a.cut.end_ns, 200 * MS + ARMED_MIN_NS / 2);
}

/* A time that was taken before the gate was opened, as the loop's stale time was. */
static void test_stale_times(void **state)
{
	struct armed_time a = {.bursting = true};
	struct armed_period p;

	(void)state;
	armed_begin(&a, at(100, 10));
	armed_on(&a, at(110, 11));
	p = armed_period(&a, at(105, 10));
	assert_int_equal(p.armed_ns, 0);
	assert_int_equal(p.end_ns - p.start_ns, 5 * MS);
	armed_off(&a, 108 * MS, at(109, 11));
	assert_int_equal(a.on_ns, 0);
	p = armed_period(&a, at(90, 5));
	assert_int_equal(p.end_ns, p.start_ns);
	assert_int_equal(p.armed_ns, 0);
	assert_int_equal(p.cpu_ns, 0);
}

/* Whatever the order of the times: never more armed than there was time, never less than nothing.
 */
static void test_any_order(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int run = 0; run < 2000; run++) {
		struct armed_time a = {.bursting = true};
		struct armed_period p;

		armed_begin(&a, at(500, 500));
		for (int step = 0; step < 20; step++) {
			struct armed_clock now;

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			now = at(random >> 54, random >> 44 & 1023);
			if (random & 1 << 20)
				armed_on(&a, now);
			else if (random & 1 << 21)
				armed_off(&a, now.ns > 3 * MS ? now.ns - 3 * MS : 0, now);
			else
				armed_cut(&a, now);
			p = armed_period(&a, now);
			assert_true(p.armed_ns <= p.end_ns - p.start_ns);
			assert_true(p.armed_cpu_ns <= p.cpu_ns);
			assert_true(p.end_ns < 1u << 31);
			if (a.has_cut)
				assert_true(a.cut.end_ns >= a.cut.start_ns &&
					    a.cut.armed_ns < UINT64_MAX / 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_always_on),
	    cmocka_unit_test(test_end_without_bursts),
	    cmocka_unit_test(test_a_cut_is_a_gap_and_its_burst),
	    cmocka_unit_test(test_a_short_burst_is_not_cut),
	    cmocka_unit_test(test_stale_times),
	    cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
