// SPDX-License-Identifier: GPL-2.0-or-later
/* Rare slow calls: how many of them an answer needs, and what it explains of them. */
#include "tests/unit/descent/bench.h"

static const struct rec_sleep on_disk = {.syscall = 74,
					 .call = "fsync",
					 .object = OBJECT_FILE,
					 .name = "/var/journal",
					 .bracket = BRACKET(BRACKET_SOFT, 4)};

enum { PIECES = 60, GAP_MS = 125 };

/* f0 calls a in a loop, and four others that take next to nothing; a calls b. */
static void write_in_pieces(struct bench *b)
{
	site(b, '0', 'a')->flags |= CALL_SITE_LOOP;
	for (char other = 'c'; other <= 'f'; other++)
		site(b, '0', other)->flags |= CALL_SITE_LOOP;
	site(b, 'a', 'b');
}

/* One call of 10 ms, of which a takes most in many short pieces: `blocked` of it asleep. */
static void piecewise_call(struct bench *b, uint64_t blocked)
{
	uint64_t in_a = 9900 * US;

	b->call.blocked_ns = blocked;
	for (int i = 0; i < 4; i++)
		stack(b, "ab", blocked / 4, &on_disk);
	CALL(b, 10 * MS,
	     P("a", in_a - b->call.runqueue_ns, .max = in_a / PIECES, .count = PIECES,
	       .blocked = blocked),
	     P("ab", in_a - b->call.runqueue_ns - 50 * US, .max = in_a / PIECES, .count = PIECES,
	       .blocked = blocked));
	b->now += GAP_MS * MS;
}

/* Calls of a second, eight of them at once: five that are measured are enough. */
static void test_calls_of_a_second(void **state)
{
	struct record ask = ask_record(false);
	struct descent_progress p;
	struct bench b;
	int calls = 0;

	bench_begin(&b);
	site(&b, '0', 'a');
	ask.descent.low_ns = 900 * MS;
	ask.descent.high_ns = 1100 * MS;
	assert_int_equal(feed(&b, &ask), 0);
	act(&b);
	profile(&b, 200, 1000 * MS);
	for (; calls < 40 && !b.done; calls++) {
		stack(&b, "a", 990 * MS, &on_disk);
		b.call.blocked_ns = 990 * MS;
		CALL(&b, 1000 * MS, P("a", 995 * MS, .blocked = 990 * MS));
		b.now += GAP_MS * MS;
	}
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 1);
	assert_int_equal(p.calls_used, 10);
	bench_end(&b);
}

/*
 * Eight calls a second. Five of them bring enough stacks to open f0; ten more are measured. The
 * callees of f0 that no stack went through are not armed: what they could take is too little.
 */
static void test_few_calls_are_enough(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	write_in_pieces(&b);
	start(&b, false);
	for (int i = 0; i < 5; i++)
		piecewise_call(&b, 7 * MS);
	assert_non_null(armed(&b, "ab"));
	for (int i = 0; i < 10; i++) {
		assert_null(armed(&b, "c"));
		piecewise_call(&b, 7 * MS);
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 1);
	assert_int_equal(p.calls_used, 15);
	expect_path(&b, 0, "", CAUSE_IO);
	bench_end(&b);
}

/* The same calls, a thousand a second: as many as were asked for are measured. */
static void test_frequent_calls_wait_for_all(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	write_in_pieces(&b);
	start(&b, false);
	for (int i = 0; i < 40 && !b.done; i++) {
		piecewise_call(&b, 7 * MS);
		b.now -= GAP_MS * MS;
		assert_true(i >= 9 || !b.nr_armed);
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	descent_progress(b.d, &p);
	assert_int_equal(p.calls_used, 30);
	bench_end(&b);
}

/* Of a call 56% is asleep and wins every vote; the work between the waits is told all the same. */
static void test_a_large_part_needs_no_vote(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	write_in_pieces(&b);
	start(&b, false);
	for (int i = 0; i < 15; i++)
		piecewise_call(&b, 5600 * US);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_IO);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_LOOP);
	assert_true(r.explained > 0.95);
	descent_result_release(&r);
	bench_end(&b);
}

/* On a busy host, the votes of the run queue near the threshold keep nothing from being decided;
 * the program's own part is compared with the program's own time. */
static void test_a_busy_host_delays_nothing(void **state)
{
	struct bench b;
	struct descent_result r;
	struct descent_progress p;

	bench_begin(&b);
	write_in_pieces(&b);
	start(&b, false);
	for (int i = 0; i < 15; i++) {
		/* its votes: in half of the calls it is in the doubling of the largest */
		b.call.runqueue_ns = i % 2 ? 7 * MS : 1000 * US;
		piecewise_call(&b, 1700 * US);
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	descent_progress(b.d, &p);
	assert_int_equal(p.calls_used, 15);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(r.explained > 0.9);
	descent_result_release(&r);
	bench_end(&b);
}

/* fsync calls the kernel, and before that two functions of its library: these are not armed. */
static void test_who_calls_the_kernel_is_an_end(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'y');
	site(&b, 'a', 'z');
	start(&b, false);
	b.call.blocked_ns = 9700 * US;
	for (int i = 0; i < 15; i++) {
		for (int k = 0; k < 4; k++)
			stack(&b, "a", 2 * MS, &on_disk);
		CALL(&b, 10 * MS, P("a", 9900 * US, .blocked = 9700 * US));
		b.now += GAP_MS * MS;
		assert_null(armed(&b, "ay"));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 1);
	expect_path(&b, 0, "a", CAUSE_IO);
	bench_end(&b);
}

/* The same stacks, but half of the time was not asleep: then the callees are looked at. */
static void test_who_calls_the_kernel_may_be_busy(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'y');
	start(&b, false);
	b.call.blocked_ns = 4 * MS;
	for (int i = 0; i < 15; i++) {
		for (int k = 0; k < 4; k++)
			stack(&b, "a", MS, &on_disk);
		CALL(&b, 10 * MS, P("a", 9900 * US, .blocked = 4 * MS));
		b.now += GAP_MS * MS;
	}
	assert_non_null(armed(&b, "ay"));
	for (int i = 0; i < 10; i++) {
		CALL(&b, 10 * MS, P("a", 9900 * US, .blocked = 4 * MS), P("ay", 5500 * US));
		b.now += GAP_MS * MS;
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ay", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* Twenty calls in which a takes 9.9 ms, and f0 itself takes `own` in every call and `once` in one.
 */
static void measure_own_time(struct bench *b, uint64_t own, uint64_t once)
{
	struct record rec = ask_record(true);

	bench_begin(b);
	site(b, '0', 'a');
	rec.descent.high_ns = 1000 * MS;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	profile(b, 100, 10 * MS);
	assert_non_null(armed(b, "a"));
	for (int i = 0; i < 60 && !b->done; i++)
		CALL(b, 9900 * US + own + (i % 20 == 7 ? once : 0), P("a", 9900 * US));
}

/* Own code that each call spends gets no vote beside a, but a path for its time. */
static void test_own_time_of_all_calls(void **state)
{
	struct bench b;
	struct descent_result r;

	measure_own_time(&b, 4900 * US, 0);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_true(r.explained > 0.95);
	descent_result_release(&r);
	bench_end(&b);
}

/* As much own time, but of one call in twenty: it is no cause of the peak, and the answer is only
 * a partial one. */
static void test_own_time_of_one_call(void **state)
{
	struct bench b;
	struct descent_result r;

	measure_own_time(&b, 100 * US, 190 * MS);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_int_equal(r.nr_paths, 1);
	assert_true(r.explained < 0.6);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The host has most of the time. Each call spends a little in a; b waits so long in one call of 20
 * that it takes most of the program's own time, but wins few votes.
 */
static void test_the_largest_own_part_is_rare(void **state)
{
	struct record ask = ask_record(false);
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'b');
	ask.descent.high_ns = 1000 * MS;
	assert_int_equal(feed(&b, &ask), 0);
	act(&b);
	profile(&b, 100, 10 * MS);
	for (int i = 0; i < 100 && !b.done; i++) {
		uint64_t in_b = i % 20 == 7 ? 25 * MS : 0;

		b.call.runqueue_ns = 9 * MS;
		b.call.blocked_ns = in_b;
		stack(&b, "a", 400 * US, NULL);
		if (in_b) {
			stack(&b, "b", in_b, &on_disk);
			CALL(&b, 9500 * US + in_b, P("a", 400 * US), P("b", in_b, .blocked = in_b));
		} else {
			CALL(&b, 9500 * US, P("a", 400 * US));
		}
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(r.nr_paths >= 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_RUN_QUEUE);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_IO);
	assert_int_equal(r.paths[1].nr_frames, 2);
	assert_int_equal(r.missing.largest, 0);
	descent_result_release(&r);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls_of_a_second),
	    cmocka_unit_test(test_few_calls_are_enough),
	    cmocka_unit_test(test_frequent_calls_wait_for_all),
	    cmocka_unit_test(test_a_large_part_needs_no_vote),
	    cmocka_unit_test(test_a_busy_host_delays_nothing),
	    cmocka_unit_test(test_who_calls_the_kernel_is_an_end),
	    cmocka_unit_test(test_who_calls_the_kernel_may_be_busy),
	    cmocka_unit_test(test_own_time_of_all_calls),
	    cmocka_unit_test(test_own_time_of_one_call),
	    cmocka_unit_test(test_the_largest_own_part_is_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
