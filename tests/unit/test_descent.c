// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules of the search: when it counts, who gets votes, what is kept, when it ends. */
#include "tests/unit/descent/bench.h"

/* f0 calls a and c; a calls b. */
static void small_program(struct bench *b)
{
	site(b, '0', 'a');
	site(b, '0', 'c');
	site(b, 'a', 'b');
}

static void test_options(void **state)
{
	struct bench b;
	struct record rec = ask_record(false);
	struct descent_result r;

	bench_begin(&b);
	assert_int_equal(rec.descent.start_ops, 100);
	assert_int_equal(rec.descent.decision_ops, 20);
	assert_int_equal(rec.descent.maxcount_ppm, 500000);
	assert_int_equal(rec.descent.max_depth, 16);
	assert_int_equal(rec.descent.max_sites, 64);
	assert_int_equal(rec.descent.level_by_level, 0);
	rec.descent.low_ns = rec.descent.high_ns;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec = ask_record(false);
	rec.descent.function.module = 0;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec = ask_record(false);
	rec.descent.decision_ops = 0;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec = ask_record(false);
	rec.descent.max_sites = DESCENT_MAX_SITES + 1;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec = ask_record(false);
	rec.descent.max_depth = DESCENT_MAX_DEPTH + 1;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec = ask_record(false);
	rec.descent.maxcount_ppm = 1000001;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	/* Nothing is asked yet, and nothing is known. */
	CALL(&b, 10 * MS, NOTHING);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_nodes, 0);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_start_profile_first(void **state)
{
	struct bench b;

	bench_begin(&b);
	small_program(&b);
	ask(&b, true);
	profile(&b, 99, 10 * MS);
	assert_int_equal(b.arms, 0);
	assert_int_equal(b.expands, 0);
	profile(&b, 1, 10 * MS);
	assert_string_equal(b.expanded, "0");
	assert_int_equal(b.arms, 1);
	assert_int_equal(b.nr_armed, 2);
	bench_end(&b);
}

static void test_witness_mode_times_f0_alone_first(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	small_program(&b);
	start(&b, false);
	assert_int_equal(b.arms, 1);
	assert_int_equal(b.nr_armed, 0);
	assert_string_equal(b.expanded, "0");
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 0);
	/* Without witnesses it goes on level by level after decision_ops calls, but not before
	 * samples had their time. */
	CALLS(39, &b, 10 * MS, NOTHING);
	assert_int_equal(b.nr_armed, 0);
	CALL(&b, 10 * MS, NOTHING);
	assert_int_equal(b.nr_armed, 2);
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 1);
	bench_end(&b);
}

static void test_only_calls_in_the_peak_count(void **state)
{
	struct bench b;
	struct descent_progress p;
	struct record rec = {.type = REC_CALL};

	bench_begin(&b);
	small_program(&b);
	start(&b, true);
	CALLS(30, &b, 8 * MS - 1, P("a", 7 * MS));
	CALLS(30, &b, 16 * MS, P("a", 15 * MS));
	b.call.outcome = CALL_OPEN;
	CALLS(30, &b, 10 * MS, P("a", 9 * MS));
	b.call.outcome = CALL_RETURNED;
	rec.call = (struct rec_call){.op = OP, .epoch = b.epoch - 1, .latency_ns = 10 * MS};
	for (int i = 0; i < 30; i++)
		assert_int_equal(feed(&b, &rec), 0);
	rec.call.epoch = b.epoch;
	rec.call.op = OP + 1;
	for (int i = 0; i < 30; i++)
		assert_int_equal(feed(&b, &rec), 0);
	descent_progress(b.d, &p);
	assert_int_equal(p.calls_used, 0);
	assert_int_equal(p.decisions, 0);
	/* The bounds are half-open; calls that end by an exception count. */
	CALL(&b, 8 * MS, P("a", 7 * MS));
	b.call.outcome = CALL_ABNORMAL;
	CALL(&b, 16 * MS - 1, P("a", 7 * MS));
	descent_progress(b.d, &p);
	assert_int_equal(p.calls_used, 2);
	bench_end(&b);
}

static void test_a_decision_every_decision_ops(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	small_program(&b);
	start(&b, true);
	CALLS(19, &b, 10 * MS, P("a", 9 * MS));
	descent_progress(b.d, &p);
	assert_int_equal(p.decisions, 0);
	assert_int_equal(p.until_next, 1);
	assert_null(armed(&b, "ab"));
	CALL(&b, 10 * MS, P("a", 9 * MS));
	descent_progress(b.d, &p);
	assert_int_equal(p.decisions, 1);
	assert_non_null(armed(&b, "ab"));
	assert_non_null(armed(&b, "a"));
	assert_null(armed(&b, "c"));
	CALLS(20, &b, 10 * MS, P("a", 9 * MS), P("ab", 8500 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	assert_int_equal(nr_paths(&b), 1);
	bench_end(&b);
}

/* Two contributors in one doubling both get the vote; across its border only the larger. */
static void test_same_doubling(void **state)
{
	static const struct {
		uint64_t a, c;
		unsigned int paths;
	} row[] = {
	    {4200 * US, 5000 * US, 2}, /* 2^22 = 4194 us */
	    {4194304, 8388607, 2},     /* the ends of one doubling */
	    {4194303, 4194304, 1},     /* neighbours in two */
	    {1, 8 * MS, 1},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bench b;

		bench_begin(&b);
		site(&b, '0', 'a');
		site(&b, '0', 'c');
		start(&b, true);
		CALLS(40, &b, row[i].a + row[i].c + 8 * US, P("a", row[i].a), P("c", row[i].c));
		expect_done(&b, DESCENT_ROOT_CAUSE);
		assert_int_equal(nr_paths(&b), row[i].paths);
		expect_path(&b, 0, "c", CAUSE_OWN_CODE);
		bench_end(&b);
	}
}

/* Calls through a, then calls through c, in turns of n and m. */
static void turns(struct bench *b, unsigned int n, unsigned int m, unsigned int total)
{
	for (unsigned int i = 0; i < total; i++) {
		if (i % (n + m) < n)
			CALL(b, 10 * MS, P("a", 9 * MS), P("c", 100 * US));
		else
			CALL(b, 10 * MS, P("c", 9 * MS), P("a", 100 * US));
	}
}

static void test_maxcount_percentage(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	turns(&b, 6, 4, 200); /* 60% and 40%: both */
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 2);
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	expect_path(&b, 1, "c", CAUSE_OWN_CODE);
	bench_end(&b);
	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	turns(&b, 9, 1, 200); /* 90% and 10%: one */
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 1);
	bench_end(&b);
}

static void test_maxcount_percentage_is_an_option(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	rec.descent.maxcount_ppm = 150000;
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	turns(&b, 4, 1, 200);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 2);
	bench_end(&b);
}

/* A candidate near the threshold waits for more calls, but not for ever. */
static void test_near_the_threshold_it_waits(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	turns(&b, 2, 1, 20);
	expect_done(&b, DESCENT_IN_PROGRESS);
	turns(&b, 2, 1, 20);
	expect_done(&b, DESCENT_IN_PROGRESS);
	turns(&b, 2, 1, 20);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	descent_progress(b.d, &p);
	assert_int_equal(p.calls_used, 60);
	assert_int_equal(p.decisions, 3);
	bench_end(&b);
}

static void test_f0_itself(void **state)
{
	struct bench b;

	bench_begin(&b);
	small_program(&b);
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 1 * MS), P("c", 500 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_f0_without_callees(void **state)
{
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	assert_int_equal(b.arms, 1);
	assert_int_equal(b.nr_armed, 0);
	CALLS(19, &b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_IN_PROGRESS);
	CALL(&b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_unmeasured_callees_are_not_own_code(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags = 0; /* cannot be timed */
	site(&b, '0', 'c');
	start(&b, true);
	assert_int_equal(b.nr_armed, 1);
	CALLS(20, &b, 10 * MS, P("c", 100 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	bench_end(&b);
}

static void test_calls_that_do_not_return_are_no_callees(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'x')->flags = CALL_SITE_NORETURN;
	site(&b, '0', 'c');
	start(&b, true);
	assert_int_equal(b.nr_armed, 1);
	CALLS(20, &b, 10 * MS, P("c", 100 * US));
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* Samples show that it was the function itself, though not all of it can be timed. */
static void test_samples_tell_own_code(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a')->flags = 0;
	site(&b, '0', 'c');
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		stack(&b, "", MS, NULL);
		CALL(&b, 10 * MS, P("c", 100 * US));
	}
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].evidence, EVIDENCE_SAMPLED);
	assert_int_equal(r.paths[0].nr_pcs, 1);
	assert_int_equal(r.paths[0].pcs[0].ns, 20 * MS);
	assert_int_equal(r.paths[0].pcs[0].place.offset, code('0').offset + 3);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_code_that_cannot_be_read(void **state)
{
	struct bench b;
	struct record rec = {.type = REC_CALLEES};

	bench_begin(&b);
	site(&b, '0', 'a');
	b.hold_expand = false;
	start(&b, true);
	b.hold_expand = true;
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	assert_string_equal(b.expanded, "0a");
	expect_done(&b, DESCENT_IN_PROGRESS);
	rec.callees.function = code('a');
	rec.callees.error = -ENOENT;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED);
	bench_end(&b);
}

/* The answer of a parser that went mad counts as none. */
static void test_mad_answers(void **state)
{
	struct rec_call_site wild[2] = {
	    {.offset = 50, .kind = CALLEE_DIRECT, .flags = CALL_SITE_TIMED},
	    {.offset = 40, .kind = CALLEE_DIRECT, .flags = CALL_SITE_TIMED}};
	struct record rec = {.type = REC_CALLEES};
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	b.hold_expand = true;
	start(&b, true);
	rec.callees.function = code('z'); /* nobody asked */
	assert_int_equal(feed(&b, &rec), 0);
	rec.callees.function = code('0');
	rec.callees.nr_sites = rec.callees.total = 2;
	rec.callees.sites = wild;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	act(&b);
	CALLS(20, &b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	bench_end(&b);
}

static void test_max_depth(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	site(&b, 'b', 'c');
	rec.descent.max_depth = 2;
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	CALLS(40, &b, 10 * MS, P("a", 9 * MS), P("ab", 9 * MS), P("abc", 9 * MS));
	expect_done(&b, DESCENT_DEPTH_REACHED);
	expect_path(&b, 0, "ab", CAUSE_UNMEASURED);
	bench_end(&b);
	/* A leaf at that depth is a root cause all the same. */
	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	CALLS(40, &b, 10 * MS, P("a", 9 * MS), P("ab", 9 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* Too few calls for a decision: where they point is told, and that they are too few. */
static void test_stopped_with_few_calls(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	CALLS(8, &b, 10 * MS, P("a", 9900 * US), P("c", 10 * US));
	descent_stop(b.d);
	assert_string_equal(descent_status_text(descent_status(b.d)), "not enough calls");
	expect_path(&b, 0, "a", CAUSE_UNMEASURED);
	bench_end(&b);
}

/* The cost of the pairs, their own and those below, is taken off before they are compared. */
static void test_probe_cost_is_subtracted(void **state)
{
	struct bench b;
	struct descent_result r;
	struct bench_site *s;
	const uint64_t below = 1000 * 1260;

	bench_begin(&b);
	s = site(&b, '0', 'a');
	s->inside_ns = 700, s->total_ns = 1260;
	s = site(&b, 'a', 'b');
	s->inside_ns = 700, s->total_ns = 1260, s->flags |= CALL_SITE_LOOP;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS + 700));
	/* b: a thousand calls of 100 ns each; measured, each of them seems to take 800. */
	CALLS(20, &b, 10 * MS, P("a", 9 * MS + 700 + below),
	      P("ab", 800000, .count = 1000, .max = 800));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_nodes, 3);
	assert_in_range(r.nodes[1].latency_ns, 9 * MS - 2, 9 * MS + 2);
	assert_int_equal(r.nodes[2].latency_ns, 100000);
	assert_in_range(r.paths[0].latency_ns, 8900 * US - 2, 8900 * US + 2);
	descent_result_release(&r);
	bench_end(&b);
}

/* Many callees of which each is the largest in few calls are one answer. */
static void test_spread_over_many(void **state)
{
	struct bench b;
	char name[2] = "A";
	struct descent_result r;

	bench_begin(&b);
	for (char c = 'A'; c < 'A' + 20; c++)
		site(&b, '0', c);
	start(&b, true);
	for (int i = 0; i < 200 && !b.done; i++) {
		name[0] = (char)('A' + i % 20);
		CALL(&b, 10 * MS, P(name, 9 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_string_equal(r.paths[0].cause.detail, "spread over 20 callees");
	assert_true(r.paths[0].share > 0.85);
	descent_result_release(&r);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_options),
	    cmocka_unit_test(test_start_profile_first),
	    cmocka_unit_test(test_witness_mode_times_f0_alone_first),
	    cmocka_unit_test(test_only_calls_in_the_peak_count),
	    cmocka_unit_test(test_a_decision_every_decision_ops),
	    cmocka_unit_test(test_same_doubling),
	    cmocka_unit_test(test_maxcount_percentage),
	    cmocka_unit_test(test_maxcount_percentage_is_an_option),
	    cmocka_unit_test(test_near_the_threshold_it_waits),
	    cmocka_unit_test(test_f0_itself),
	    cmocka_unit_test(test_f0_without_callees),
	    cmocka_unit_test(test_unmeasured_callees_are_not_own_code),
	    cmocka_unit_test(test_calls_that_do_not_return_are_no_callees),
	    cmocka_unit_test(test_samples_tell_own_code),
	    cmocka_unit_test(test_code_that_cannot_be_read),
	    cmocka_unit_test(test_mad_answers),
	    cmocka_unit_test(test_max_depth),
	    cmocka_unit_test(test_stopped_with_few_calls),
	    cmocka_unit_test(test_probe_cost_is_subtracted),
	    cmocka_unit_test(test_spread_over_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
