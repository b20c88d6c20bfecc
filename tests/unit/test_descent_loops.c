// SPDX-License-Identifier: GPL-2.0-or-later
/* Loops: their longest call ranks, the rest is their caller's; loops whose calls wait. */
#include <math.h>

#include "tests/unit/descent/bench.h"

/* A loop: its longest call ranks, the rest is its caller's. */
static void test_loop_is_blamed(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .max = 20 * US, .count = 900));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_LOOP);
	bench_end(&b);
}

/* ... and when its calls do nothing but wait, the loop waits. */
static void test_loop_of_waits(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .max = 20 * US, .count = 900, .blocked = 8 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 1);
	expect_path(&b, 0, "", CAUSE_UNKNOWN); /* no stack says what for */
	bench_end(&b);
}

/* Half and half: both are told, and nothing is told twice. */
static void test_loop_of_waits_and_work(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	CALLS(20, &b, 10 * MS,
	      P("a", 9600 * US, .max = 20 * US, .count = 900, .blocked = 4800 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_LOOP);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_UNKNOWN);
	assert_true(r.paths[0].share > 0.45 && r.paths[0].share < 0.55);
	assert_true(r.paths[1].share > 0.45 && r.paths[1].share < 0.5);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_one_long_call_of_a_loop(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .max = 8 * MS, .count = 900));
	assert_non_null(armed(&b, "ab"));
	/* b is called by each a, and is short but in the long one. */
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .max = 8 * MS, .count = 900),
	      P("ab", 8500 * US, .max = 7900 * US, .count = 900));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* The loop of the callee, when the callee itself is called many times. */
static void test_loop_in_a_callee(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9800 * US));
	CALLS(20, &b, 10 * MS, P("a", 9800 * US),
	      P("ab", 9500 * US, .max = 12 * US, .count = 3000));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_LOOP);
	bench_end(&b);
}

/*
 * A loop around a system call is one path, the loop's, wherever in the kernel it ends; if f0 makes
 * the call itself, the kernel has a path of its own.
 */
static void test_loop_around_a_system_call(void **state)
{
	static const char *const below[] = {"x", "xy", "xz", "", "xyz"};
	struct descent_result r;
	struct bench b;

	for (int own = 0; own < 2; own++) {
		bench_begin(&b);
		site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
		start(&b, true);
		for (int i = 0; i < 40; i++) {
			b.kernel = i % 8 ? below[i % 5] : NULL;
			stack(&b, own && b.kernel ? "" : "a", 9 * MS, NULL);
			CALL(&b, 10 * MS, P("a", 9 * MS, .max = 20 * US, .count = 900));
		}
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.nr_paths, 1 + own);
		assert_int_equal(r.paths[own].cause.kind, CAUSE_LOOP);
		if (own) {
			assert_int_equal(r.paths[0].cause.kind, CAUSE_KERNEL);
			assert_true(r.paths[0].share > 0.8 && r.paths[0].share < 0.9);
			assert_true(r.paths[1].looped.kernel < 0.01);
		} else {
			assert_int_equal(r.paths[0].looped.function.offset, code('a').offset);
			assert_true(r.paths[0].share > 0.99);
			assert_true(r.paths[0].looped.kernel > 0.8 &&
				    r.paths[0].looped.kernel < 0.9);
			assert_int_equal(r.paths[0].nr_kernel, 2);
			assert_int_equal(r.paths[0].kernel[1].function, (uint64_t)'x' * 0x100);
			/* below it, with their shares: the functions that have most of the rest */
			assert_int_equal(r.paths[0].nr_deep, 4);
			assert_int_equal(r.paths[0].kernel[2].function, (uint64_t)'y' * 0x100);
			assert_true(fabs(r.paths[0].kernel_part[0] * r.paths[0].share -
					 r.paths[0].looped.kernel) < 1e-9);
			assert_true(r.paths[0].kernel_part[1] > 0.6 &&
				    r.paths[0].kernel_part[1] < 0.8);
			assert_true(r.paths[0].kernel_part[2] > 0.3 &&
				    r.paths[0].kernel_part[2] < 0.4);
		}
		descent_result_release(&r);
		bench_end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_loop_is_blamed),
	    cmocka_unit_test(test_loop_of_waits),
	    cmocka_unit_test(test_loop_of_waits_and_work),
	    cmocka_unit_test(test_one_long_call_of_a_loop),
	    cmocka_unit_test(test_loop_in_a_callee),
	    cmocka_unit_test(test_loop_around_a_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
