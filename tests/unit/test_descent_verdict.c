// SPDX-License-Identifier: GPL-2.0-or-later
/* What an answer may claim: root cause or a part of it, what is missing, how sure its figures are,
 * and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/descent/bench.h"

/* --- figures that contradict each other */

static struct descent_fnode node[3];
static uint32_t frame[] = {0, 1, 2};
static struct descent_path path;

static struct descent_result good(void)
{
	node[0] = (struct descent_fnode){.node = 0, .share = 1, .latency_ns = 10 * MS};
	node[1] = (struct descent_fnode){.node = 1, .share = 0.9, .latency_ns = 9 * MS};
	node[2] = (struct descent_fnode){.node = 2, .share = 0.8, .latency_ns = 8 * MS};
	path = (struct descent_path){
	    .share = 0.8, .latency_ns = 8 * MS, .nr_frames = 3, .frames = frame};
	return (struct descent_result){.calls_used = 20,
				       .latency_ns = 10 * MS,
				       .nr_paths = 1,
				       .paths = &path,
				       .nr_nodes = 3,
				       .nodes = node};
}

static bool contradicts(const struct descent_result *r, uint64_t low, uint64_t high, uint64_t wall)
{
	struct rec_descent ask = {.low_ns = low, .high_ns = high};
	char why[160] = "";
	bool is = descent_contradicts(r, &ask, wall, why, sizeof(why));

	assert_int_equal(is, why[0] != '\0');
	return is;
}

static void test_good_figures(void **state)
{
	struct descent_result r = good();

	assert_false(contradicts(&r, 8 * MS, 12 * MS, 0));
	assert_false(contradicts(&r, 8 * MS, UINT64_MAX, 500 * MS));
	/* before any call there is nothing to contradict */
	r.calls_used = r.latency_ns = 0;
	assert_false(contradicts(&r, 8 * MS, 12 * MS, 0));
}

static void test_mean_outside_of_the_peak(void **state)
{
	struct descent_result r = good();

	assert_true(contradicts(&r, 20 * US, 30 * US, 0));
	assert_true(contradicts(&r, 20 * MS, UINT64_MAX, 0));
}

static void test_longer_than_the_clock(void **state)
{
	struct descent_result r = good();

	assert_true(contradicts(&r, 8 * MS, 12 * MS, 5 * MS));
}

static void test_longer_than_its_caller(void **state)
{
	struct descent_result r = good();

	node[2].latency_ns = 12 * MS;
	assert_true(contradicts(&r, 8 * MS, 12 * MS, 0));
	r = good();
	node[2].share = 0.95;
	assert_true(contradicts(&r, 8 * MS, 12 * MS, 0));
	r = good();
	path.latency_ns = 11 * MS;
	assert_true(contradicts(&r, 8 * MS, 12 * MS, 0));
}

/* --- root cause or a part of it */

static const struct rec_sleep on_file = {
    .call = "fsync", .object = OBJECT_FILE, .name = "/data", .waker = "", .holder = ""};

/* One callee that is blocked for `ns` of 10 ms; `known`: its stack says on what. The rest is spread
 * over many. */
static void blocked_for(struct bench *b, uint64_t ns, bool known, struct descent_result *r)
{
	uint64_t mean = b->mean_ns;

	bench_begin(b);
	b->mean_ns = mean;
	site(b, '0', 'a');
	start(b, true);
	for (int i = 0; i < 40; i++) {
		if (known)
			stack(b, "a", ns, &on_file);
		b->call.blocked_ns = ns;
		CALL(b, 10 * MS, P("a", ns, .blocked = ns));
	}
	assert_int_equal(descent_result(b->d, r), 0);
}

static void test_root_cause(void **state)
{
	struct descent_result r;
	struct bench b = {.mean_ns = 0};

	blocked_for(&b, 9 * MS, true, &r);
	assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
	assert_true(r.named > 0.85 && fabs(r.named - r.explained) < 1e-9);
	assert_true(r.latency_interval.low <= 10e6 && r.latency_interval.high >= 10e6);
	assert_true(r.explained_interval.low < r.explained &&
		    r.explained_interval.high >= r.explained);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * Calls of 10 ms explain nothing of calls of 40 ms. If they were 4 ms before, the probes made them
 * longer. Calls of 9 ms are like them.
 */
static void test_unlike_the_watched_calls(void **state)
{
	struct descent_result r;
	struct bench b = {.mean_ns = 40 * MS};

	blocked_for(&b, 9 * MS, true, &r);
	/* longer ones may come */
	assert_int_equal(r.status, DESCENT_IN_PROGRESS);
	assert_true(r.expected_ns == 40 * MS && !r.enough && r.named > 0.2 && r.named < 0.25);
	descent_result_release(&r);
	bench_end(&b);
	b.mean_ns = 4 * MS;
	blocked_for(&b, 9 * MS, true, &r);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_true(r.expected_ns == 4 * MS && r.named > 0.85);
	descent_result_release(&r);
	bench_end(&b);
	b.mean_ns = 9 * MS;
	blocked_for(&b, 9 * MS, true, &r);
	assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
	assert_true(!r.expected_ns && r.enough);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_unnamed_is_no_root_cause(void **state)
{
	struct descent_result r;
	struct bench b = {.mean_ns = 0};

	blocked_for(&b, 9 * MS, false, &r);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_true(r.named < 0.2 && r.missing.unknown > 0.8);
	descent_result_release(&r);
	bench_end(&b);
}

/* The host has 55%, what the program does in the rest is not known: that is told, and no root
 * cause. */
static void test_host_alone_is_no_root_cause(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (int i = 0; i < 40; i++) {
		b.call.runqueue_ns = 5500 * US;
		b.call.blocked_ns = 4 * MS;
		CALL(&b, 10 * MS, P("a", 4 * MS, .blocked = 4 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_RUN_QUEUE);
	assert_true(r.nr_paths > 1 && r.explained > 0.9);
	assert_int_equal(r.status, DESCENT_PARTLY);
	descent_result_release(&r);
	bench_end(&b);
}

/* The quota of a cgroup is told as what it is: it must not be missing a second time, as a wait for
 * a CPU. */
static void test_quota_is_not_missing(void **state)
{
	const struct rec_host_wait wait = {
	    .kind = HOST_WAIT_QUOTA, .ns = 3 * MS, .name = "/web", .detail = ""};
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	for (char c = 'a'; c < 'i'; c++)
		site(&b, '0', c);
	start(&b, true);
	for (int i = 0; i < 60; i++) {
		b.call.runqueue_ns = b.call.preempted_ns = 3 * MS;
		b.call.nr_waits = 1;
		b.call.waits = &wait;
		CALL(&b, 10 * MS, P("a", 4 * MS), P("b", 1 * MS), P("c", 1 * MS), P("d", 1 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(r.nr_paths > 1);
	assert_true(r.explained < 0.9 && r.missing.host < 0.01);
	assert_true(r.missing.other > 0.1);
	descent_result_release(&r);
	bench_end(&b);
}

/* A wait of 30 ms in calls of 10 ms: such records are wrong, and no cause is told from them. */
static void test_more_than_the_whole(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (int i = 0; i < 40; i++) {
		b.call.runqueue_ns = 30 * MS;
		CALL(&b, 10 * MS, P("a", 4 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 0);
	assert_string_equal(r.refused, "its paths together take 3.4 times as long as the calls");
	assert_true(r.explained < 1e-9 && r.status != DESCENT_ROOT_CAUSE);
	descent_result_release(&r);
	bench_end(&b);
}

/* An exception or a longjmp() leaves such a call. Samples then show that its time is not f0's own.
 */
static void test_time_in_calls_that_do_not_return(void **state)
{
	struct bench b;
	struct descent_result r;

	for (int most = 0; most < 2; most++) {
		bench_begin(&b);
		site(&b, '0', 'x')->flags = CALL_SITE_NORETURN;
		site(&b, '0', 'c');
		start(&b, true);
		for (int i = 0; i < 20; i++) {
			stack(&b, (i % 4 > 0) == most ? "x" : "", MS, NULL);
			CALL(&b, 10 * MS, P("c", 100 * US));
		}
		expect_path(&b, 0, "", most ? CAUSE_UNMEASURED : CAUSE_OWN_CODE);
		assert_int_equal(descent_result(b.d, &r), 0);
		/* the samples name it */
		if (most)
			assert_int_equal(r.paths[0].looped.function.offset, code('x').offset);
		descent_result_release(&r);
		bench_end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good_figures),
	    cmocka_unit_test(test_mean_outside_of_the_peak),
	    cmocka_unit_test(test_longer_than_the_clock),
	    cmocka_unit_test(test_longer_than_its_caller),
	    cmocka_unit_test(test_root_cause),
	    cmocka_unit_test(test_unlike_the_watched_calls),
	    cmocka_unit_test(test_unnamed_is_no_root_cause),
	    cmocka_unit_test(test_host_alone_is_no_root_cause),
	    cmocka_unit_test(test_quota_is_not_missing),
	    cmocka_unit_test(test_more_than_the_whole),
	    cmocka_unit_test(test_time_in_calls_that_do_not_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
