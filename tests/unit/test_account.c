// SPDX-License-Identifier: GPL-2.0-or-later
/* The account of --max-overhead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/latency/account.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

enum { PPM = 10000, STEPS = 4000, STEP_MS = 10 };

/* Time passes and nothing is spent; the targets use this percentage of one CPU. */
static void pass(struct account *a, uint64_t ns, unsigned int cpu_percent)
{
	account_turn(a, &(struct account_turn){.ns = ns, .ran_ns = ns / 100 * cpu_percent});
}

static void test_advance_is_earned_back(void **state)
{
	struct account a;
	int64_t advance;

	(void)state;
	account_open(&a, PPM, false);
	advance = a.left;
	account_draw(&a, advance);
	assert_true(advance > 0 && advance <= (int64_t)(2 * SECOND / 100));
	pass(&a, SECOND, 100);
	assert_int_equal(a.earned, 0);
	assert_int_equal(a.left, advance);
	pass(&a, SECOND, 100);
	pass(&a, SECOND, 100);
	assert_true(a.earned > 0);
	/* nothing was spent: no more than a second's allowance is kept */
	assert_int_equal(a.left, account_given(&a, SECOND));
	pass(&a, 100 * SECOND, 100);
	assert_int_equal(a.left, account_given(&a, SECOND));
}

/* What was not drawn at the start is given out while the advance is earned back, and no more. */
static void test_undrawn_advance_follows(void **state)
{
	int64_t advance, given = 0;
	struct account a;

	(void)state;
	account_open(&a, PPM, false);
	advance = a.left;
	account_draw(&a, advance / 4);
	for (unsigned int i = 0; i < 20; i++) {
		pass(&a, SECOND / 10, 100);
		if (i < 15)
			assert_true(a.earned > 0);
		given += a.earned;
	}
	assert_int_equal(a.advance, 0);
	assert_int_equal(given, advance - advance / 4);
	assert_int_equal(a.left, account_given(&a, SECOND));
	/* more than the advance was drawn: nothing follows */
	account_open(&a, PPM, false);
	account_draw(&a, 2 * advance);
	pass(&a, SECOND, 100);
	assert_int_equal(a.earned, 0);
}

/* P percent of the targets' CPU time or of one CPU, whichever is larger. */
static void test_larger_of_both(void **state)
{
	struct account idle, busy;

	(void)state;
	account_open(&idle, PPM, false);
	account_open(&busy, PPM, false);
	pass(&idle, SECOND, 1);
	assert_int_equal(idle.allowed_ns, SECOND / 100);
	pass(&busy, SECOND, 400);
	assert_int_equal(busy.allowed_ns, 4 * SECOND / 100);
}

/*
 * What is never paused costs from nothing to nearly twice what is earned. It and the parts of all
 * others sum to what was earned; what it takes beyond that, they get less later.
 */
static void test_parts_sum_to_what_is_earned(void **state)
{
	struct account a;

	(void)state;
	for (unsigned int parts = 1; parts <= 4; parts++) {
		int64_t earned = 0, spent = 0, given = 0, before;

		account_open(&a, PPM, false);
		for (unsigned int i = 0; i < STEPS; i++) {
			int64_t fixed;

			pass(&a, STEP_MS * MS, 100);
			/* in the last quarter: nothing */
			fixed = i < STEPS * 3 / 4 ? rand() % (STEP_MS * (int)MS * 3 / 200) : 0;
			earned += a.earned;
			spent += fixed;
			before = given;
			given += parts * account_part(&a, (uint64_t)fixed, parts);
			assert_true(given + spent <= earned - a.missing);
			assert_true(!a.missing || given == before);
		}
		assert_int_equal(a.missing, 0);
		assert_true(given + spent > earned - (int64_t)(STEPS * parts));
		assert_true(given > earned / 10);
	}
}

/*
 * Somebody spends all that there is, at random times. What was spent by then is within the
 * allowance of each run of two seconds or more, and of any ten seconds.
 */
static void greedy(uint32_t ppm, bool borrows)
{
	const unsigned int of_ten = 10000 / STEP_MS;
	uint64_t spent[STEPS + 1] = {0}, allowed[STEPS + 1] = {0};
	struct account a;

	account_open(&a, ppm, borrows);
	for (unsigned int i = 0; i < STEPS; i++) {
		struct account_turn t = {.ns = STEP_MS * MS, .ran_ns = STEP_MS * MS};

		if (a.left > 0 && rand() % 8 == 0) {
			t.attach_ns = (uint64_t)a.left / 10;
			t.hits_ns = (uint64_t)a.left - t.attach_ns;
			if (t.hits_ns > t.ran_ns)
				t.hits_ns = t.ran_ns;
		}
		account_turn(&a, &t);
		spent[i + 1] = spent[i] + t.attach_ns + t.hits_ns;
		allowed[i + 1] = a.allowed_ns;
		if ((i + 1) * STEP_MS >= 2000)
			assert_true(spent[i + 1] <= allowed[i + 1]);
		if (i + 1 > of_ten)
			assert_true(spent[i + 1] - spent[i + 1 - of_ten] <=
				    allowed[i + 1] - allowed[i + 1 - of_ten]);
	}
	/* and most of it is given out */
	assert_true(spent[STEPS] * 4 > allowed[STEPS] * 3);
}

static void test_limit_holds(void **state)
{
	(void)state;
	srand(1);
	for (unsigned int i = 0; i < 50; i++) {
		greedy(1000 + (uint32_t)(rand() % 50000), false);
		greedy(1000 + (uint32_t)(rand() % 50000), true);
	}
}

static void test_overdrawn(void **state)
{
	struct account a;

	(void)state;
	account_open(&a, PPM, false);
	account_turn(&a,
		     &(struct account_turn){.ns = SECOND, .ran_ns = SECOND, .hits_ns = 100 * MS});
	assert_true(a.left < 0);
	/* ten seconds' allowance was spent: it lasts until then */
	for (unsigned int i = 0; i < 9; i++)
		pass(&a, SECOND, 100);
	assert_true(a.left < 0);
	for (unsigned int i = 0; i < 4; i++)
		pass(&a, SECOND, 100);
	assert_true(a.left > 0);
}

/* Probes cannot have taken more than the targets ran, but of two clocks one is read first. */
static void test_charge(void **state)
{
	uint64_t owed = 0, charged = 0;

	(void)state;
	assert_int_equal(account_charge(&owed, 5, 3), 3);
	assert_int_equal(owed, 2);
	assert_int_equal(account_charge(&owed, 0, 10), 2);
	assert_int_equal(owed, 0);
	for (unsigned int i = 0; i < 100; i++)
		charged += account_charge(&owed, 7, i % 2 ? 14 : 0);
	assert_int_equal(charged, 700);
	/* a price that is too high: no more than all of their time */
	charged = 0;
	for (unsigned int i = 0; i < 100; i++)
		charged += account_charge(&owed, 20, 10);
	assert_int_equal(charged, 1000);
}

static void test_descent_borrows(void **state)
{
	struct account a, whole;
	int64_t before;

	(void)state;
	account_open(&a, PPM, false);
	account_open(&whole, PPM, true);
	assert_int_equal(whole.left, 3 * a.left);
	for (unsigned int i = 0; i < 5; i++)
		pass(&a, SECOND, 100);
	before = a.left;
	account_borrow(&a, true);
	assert_int_equal(a.left, before + whole.left);
	account_borrow(&a, true);
	assert_int_equal(a.left, before + whole.left);
	assert_int_equal(account_advance(&a), 3 * 2 * SECOND / 100);
	/* what it did not use is not kept */
	account_borrow(&a, false);
	assert_int_equal(a.left, account_given(&a, SECOND));
	assert_int_equal(a.advance, 0);
}

static void test_sleeps_in_probes(void **state)
{
	struct account a;
	int64_t before, least;

	(void)state;
	account_open(&a, PPM, false);
	before = a.left;
	least = -account_given(&a, 10 * SECOND);
	account_slept(&a, 1000);
	assert_int_equal(a.left, before - 1000);
	account_slept(&a, 100 * SECOND);
	assert_int_equal(a.left, least);
	/* what else was overdrawn stays so */
	a.left = least - 5;
	account_slept(&a, 1000);
	assert_int_equal(a.left, least - 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_advance_is_earned_back),
	    cmocka_unit_test(test_undrawn_advance_follows),
	    cmocka_unit_test(test_larger_of_both),
	    cmocka_unit_test(test_parts_sum_to_what_is_earned),
	    cmocka_unit_test(test_limit_holds),
	    cmocka_unit_test(test_overdrawn),
	    cmocka_unit_test(test_charge),
	    cmocka_unit_test(test_descent_borrows),
	    cmocka_unit_test(test_sleeps_in_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
