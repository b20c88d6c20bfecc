// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls a descent explains: of a peak, near a latency, the slow ones; from their profile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/descent/choose.h"
#include "bpf/buckets.h"
#include "tests/unit/profiles.h"

enum { US = 1000, MS = 1000000 };
#define S 1000000000ull

/*
 * Ten calls in one bucket are a peak of 9% of its latency, and tracepoints may add as much to the
 * next call. So what lies beside them, where no call was seen, counts as the peak, up to half of
 * the way to the next one.
 */
static void room_beside_a_peak(void **state)
{
	struct choose_question q = {.start_ops = 10, .waited_s = 2};
	struct peak p[2] = {{.mode_ns = 5800 * US, .share_of_time = 0.3},
			    {.mode_ns = 8760 * US, .share_of_time = 0.7}};
	struct op op = {.nr_peaks = 2, .peaks = p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 2; i++) {
		p[i].range =
		    (struct bucket_range){pt_bucket(p[i].mode_ns), pt_bucket(p[i].mode_ns) + 1};
		p[i].low_ns = bucket_low_ns(p[i].range.low, PT_RESOLUTION);
		p[i].high_ns = bucket_low_ns(p[i].range.high, PT_RESOLUTION);
		p[i].calls = 10;
		for (int k = 0; k < 10; k++)
			profile_add(&op.total, p[i].mode_ns);
	}
	op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_PEAK);
	assert_true(a.low_ns < p[1].low_ns && a.low_ns > p[0].high_ns);
	assert_true(a.high_ns > 10500 * US && a.high_ns < 13 * MS);
	q.number = 1;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.high_ns > p[0].high_ns && a.high_ns < p[1].low_ns && a.low_ns > 4 * MS);
	/* a call beside the peak: up to half of the way to it */
	profile_add(&op.total, 10 * MS);
	q.number = 2;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.high_ns < 10 * MS);
	/* a range that was asked for stays as it is */
	q = (struct choose_question){
	    .start_ops = 10, .waited_s = 2, .low_ns = 8 * MS, .high_ns = 9 * MS};
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.low_ns == 8 * MS && a.high_ns == 9 * MS);
}

/*
 * Most of the time is in calls of a second, of which none has ended yet: they are waited for, but
 * not for ever, because a function that never returns is open for ever.
 */
static void longest_calls_are_open(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 1.1};
	struct peak p = {.range = {pt_bucket(8 * US), pt_bucket(20 * US)},
			 .low_ns = 8 * US,
			 .high_ns = 20 * US,
			 .mode_ns = 10 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 3000; i++)
		profile_add(&op.total, 10 * US);
	p.calls = op.seen_calls = op.total.calls;
	op.open = 1;
	op.oldest_open_ns = 9 * US; /* one like all others */
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	op.oldest_open_ns = 900 * MS;
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	/* a single one among calls that take most of a CPU does not matter */
	op.oldest_open_ns = 2 * MS;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	op.oldest_open_ns = 4 * S;
	q.waited_s = 4;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	/* which calls were asked for is known */
	q = (struct choose_question){.start_ops = 100, .waited_s = 1.1, .number = 1};
	assert_int_equal(choose_calls(&op, &q, &a), 0);
}

/* The 10 us of a peak and the 14 ms that it has swallowed are not one answer: asked for is what has
 * the time. */
static void swallowed(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 2};
	struct peak p = {.range = {pt_bucket(8 * US), pt_bucket(20 * MS)},
			 .low_ns = 8 * US,
			 .high_ns = 20 * MS,
			 .mode_ns = 10 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 3000; i++)
		profile_add(&op.total, 10 * US);
	for (int i = 0; i < 60; i++)
		profile_add(&op.total, i < 30 ? 100 * US : 14 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 100 * US && a.low_ns <= 14 * MS && a.high_ns == 20 * MS);
}

/*
 * A latency in the tail of a peak: with few calls there, wait for more, because it may be a peak of
 * its own. Then leave out what is shorter than half of it.
 */
static void latency_in_a_tail(void **state)
{
	struct choose_question q = {
	    .start_ops = 100, .waited_s = 2, .low_ns = 30 * MS, .high_ns = 30 * MS};
	struct peak p = {.range = {pt_bucket(1 * MS), pt_bucket(50 * MS)},
			 .low_ns = 1 * MS,
			 .high_ns = 50 * MS,
			 .mode_ns = 2500 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 200; i++)
		profile_add(&op.total, 2500 * US);
	for (int i = 0; i < 12; i++)
		profile_add(&op.total, 30 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	for (int i = 0; i < 12; i++)
		profile_add(&op.total, 30 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 13 * MS && a.low_ns < 30 * MS && a.high_ns == 50 * MS);
}

/*
 * 2% of the calls, of 4 ms, among the slowest 10% by count: the others are the flank of a peak. If
 * most of the slowest calls are alike, all of them are meant.
 */
static void slowest_of_another_kind(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 1.5, .slowest = 10};
	struct op op = {.share_seen = 1}, alike = {.share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 450; i++)
		profile_add(&op.total, i < 400 ? 30 * US : 66 * US);
	for (int i = 0; i < 4; i++)
		profile_add(&op.total, 4 * MS);
	op.seen_calls = op.total.calls;
	/* a few may be chance */
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	for (int i = 0; i < 6; i++)
		profile_add(&op.total, 4 * MS);
	op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_SLOWEST);
	assert_true(a.low_ns > 100 * US && a.low_ns < 4 * MS && a.high_ns == UINT64_MAX);
	for (int i = 0; i < 500; i++)
		profile_add(&alike.total, i < 440 ? 30 * US : (uint64_t)(60 + i - 440) * US);
	alike.seen_calls = alike.total.calls;
	assert_int_equal(choose_calls(&alike, &q, &a), 0);
	assert_true(a.low_ns > 60 * US && a.low_ns < 75 * US);
	/* when it is time to choose, one such call is no reason to leave out the others */
	profile_add(&alike.total, 40 * MS);
	alike.seen_calls = alike.total.calls;
	q.last_chance = true;
	assert_int_equal(choose_calls(&alike, &q, &a), 0);
	assert_true(a.low_ns > 60 * US && a.low_ns < 75 * US);
}

/* One call in a thousand is no peak, but a user who names its latency means it. */
static void latency_of_few_calls(void **state)
{
	struct choose_question q = {
	    .start_ops = 100, .waited_s = 1.5, .low_ns = 28 * US, .high_ns = 28 * US};
	struct peak p = {.range = {pt_bucket(3 * US), pt_bucket(10 * US) + 1},
			 .low_ns = 3 * US,
			 .mode_ns = 3300,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	p.high_ns = bucket_low_ns(p.range.high, PT_RESOLUTION);
	for (int i = 0; i < 9000; i++)
		profile_add(&op.total, 3300);
	for (int i = 0; i < 10; i++)
		profile_add(&op.total, i < 2 ? 60 * US : i < 4 ? 27 * US : 29 * US);
	p.calls = op.seen_calls = op.total.calls;
	/* they may still become a peak */
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	q.waited_s = 4;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 18 * US && a.low_ns < 27 * US && a.high_ns > 33 * US &&
		    a.high_ns < 50 * US);
	/* two calls are too few */
	q.low_ns = q.high_ns = 60 * US;
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	q.last_chance = true;
	assert_int_equal(choose_calls(&op, &q, &a), -ENOENT);
	q.low_ns = q.high_ns = 5 * MS;
	assert_int_equal(choose_calls(&op, &q, &a), -ENOENT);
}

/* A latency in a wide peak, far from its mode, means the calls like it; near the mode, the peak. A
 * latency beside a peak is not answered by the peak. */
static void latency_far_from_the_mode(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 4};
	struct peak p = {.range = {pt_bucket(12600), pt_bucket(40 * US) + 1},
			 .low_ns = 12600,
			 .mode_ns = 15 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	p.high_ns = bucket_low_ns(p.range.high, PT_RESOLUTION);
	for (int i = 0; i < 1000; i++)
		profile_add(&op.total, i % 50 ? 15 * US : 28 * US);
	p.calls = op.seen_calls = op.total.calls;
	q.low_ns = q.high_ns = 28 * US;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 20 * US && a.low_ns < 28 * US && a.high_ns > 28 * US &&
		    a.high_ns < 45 * US);
	q.low_ns = q.high_ns = 17 * US;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_PEAK);
	q.low_ns = q.high_ns = p.high_ns * 14 / 10;
	q.last_chance = true;
	assert_int_equal(choose_calls(&op, &q, &a), -ENOENT);
}

/* Of calls that take seconds, three are enough when it is time to choose; of others, more come. */
static void few_calls_that_take_seconds(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 10.1, .last_chance = true};

	for (int slow = 0; slow < 2; slow++) {
		uint64_t ns = slow ? 2 * S : 2 * MS;
		struct peak p = {.range = {pt_bucket(ns), pt_bucket(ns) + 1},
				 .low_ns = ns,
				 .high_ns = ns + ns / 8,
				 .mode_ns = ns,
				 .calls = 4,
				 .share_of_calls = 1,
				 .share_of_time = 1};
		struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1, .seen_calls = 4};
		struct choose_answer a;

		for (int i = 0; i < 4; i++)
			profile_add(&op.total, ns);
		assert_int_equal(choose_calls(&op, &q, &a), slow ? 0 : -EAGAIN);
		q.last_chance = false;
		assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
		q.last_chance = true;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(room_beside_a_peak),
	    cmocka_unit_test(longest_calls_are_open),
	    cmocka_unit_test(swallowed),
	    cmocka_unit_test(latency_in_a_tail),
	    cmocka_unit_test(slowest_of_another_kind),
	    cmocka_unit_test(latency_of_few_calls),
	    cmocka_unit_test(latency_far_from_the_mode),
	    cmocka_unit_test(few_calls_that_take_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
