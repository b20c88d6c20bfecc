// SPDX-License-Identifier: GPL-2.0-or-later
/* What few stack samples tell about calls that are too short, or too many, to be timed. */
#include "tests/unit/descent/bench.h"

#include <math.h>

#include "analysis/descent/result_impl.h"

static void start_short(struct bench *b)
{
	struct record rec = ask_record(false);

	rec.descent.low_ns = 64 * US;
	rec.descent.high_ns = 256 * US;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	profile(b, 200, 100 * US);
}

/* One sample in the kernel is not enough to name a function of it, but it was no own code. */
static void test_one_sample_in_the_kernel(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	b.kernel = "a";
	for (int i = 0; i < 20; i++) {
		if (i == 5)
			stack(&b, "", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(r.paths[0].nr_kernel, 1);
	assert_int_equal(r.paths[0].kernel[0].function, REC_KERNEL_CALL | 77);
	assert_int_equal(r.paths[0].kernel_trunk, 1);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * All samples in one system call are one path, which the deepest function with 60% of them names;
 * none of them has that much at the next level.
 */
static void test_one_system_call_is_one_path(void **state)
{
	static const char *const below[] = {"abd", "abe", "ab", "abf", "ac", "abd", "abe", "ab"};
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	for (int i = 0; i < 40; i++) {
		b.kernel = below[i % 8];
		stack(&b, "", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_KERNEL);
	assert_true(r.paths[0].share > 0.99);
	assert_int_equal(r.paths[0].nr_kernel, 3);
	assert_int_equal(r.paths[0].kernel_trunk, 3);
	assert_int_equal(r.paths[0].kernel[2].function, (uint64_t)'b' * 0x100);
	assert_true(r.paths[0].kernel_named > 0.8 && r.paths[0].kernel_named < 0.95);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * Too few samples, of several system calls, to tell their paths apart: the function that names the
 * heaviest has 60% of that call's time, too, and its share is told. `other_ns`: of the others.
 */
static void ask_few(uint64_t other_ns, struct descent_result *r)
{
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		b.kernel = i == 3 ? "ab" : "ac";
		b.other_call = i == 5;
		if (i >= 3 && i <= 5)
			stack(&b, "", i == 3 ? 9 * MS : i == 4 ? other_ns : 3 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(descent_result(b.d, r), 0);
	assert_int_equal(r->paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(r->paths[0].kernel[0].function, REC_KERNEL_CALL | 77);
	bench_end(&b);
}

static void test_few_samples_in_system_calls(void **state)
{
	struct descent_result r;

	ask_few(3 * MS, &r);
	assert_int_equal(r.paths[0].kernel_trunk, 3);
	assert_int_equal(r.paths[0].kernel[2].function, (uint64_t)'b' * 0x100);
	assert_true(fabs(r.paths[0].kernel_named - 0.75) < 1e-9);
	descent_result_release(&r);
	ask_few(8 * MS, &r);
	assert_int_equal(r.paths[0].kernel_trunk, 2);
	assert_int_equal(r.paths[0].kernel[1].function, (uint64_t)'a' * 0x100);
	assert_true(fabs(r.paths[0].kernel_named - 1) < 1e-9);
	descent_result_release(&r);
}

/* The callee cannot be timed, but the samples are below it. */
static void test_untimed_callee(void **state)
{
	struct descent_result r;
	struct bench b;

	for (int samples = SAMPLED_LEAST - 1; samples <= SAMPLED_LEAST; samples++) {
		bench_begin(&b);
		site(&b, '0', 'a')->flags = 0;
		start(&b, false);
		for (int i = 0; i < 20; i++) {
			if (i < samples)
				stack(&b, i ? "a" : "", 9 * MS, NULL);
			CALL(&b, 10 * MS, NOTHING);
		}
		CALLS(80, &b, 10 * MS, NOTHING);
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.paths[0].cause.kind, CAUSE_UNMEASURED);
		if (samples < SAMPLED_LEAST) {
			assert_int_equal(r.status, DESCENT_PARTLY);
			assert_true(r.named < 0.01 && r.missing.unmeasured > 0.99);
		} else {
			assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
			assert_int_equal(r.paths[0].looped.function.offset, code('a').offset);
			assert_true(r.named > 0.8 && r.named < 0.9);
			assert_true(r.missing.unmeasured > 0.1 && r.missing.unmeasured < 0.2);
		}
		descent_result_release(&r);
		bench_end(&b);
	}
}

/* An answer about calls in which a cannot be timed, and samples that end in one of `below`. */
static void ask_below(struct bench *b, const char *const *below, int nr, struct descent_result *r)
{
	bench_begin(b);
	site(b, '0', 'a')->flags = 0;
	start(b, false);
	for (int i = 0; i < 20; i++) {
		stack(b, i % 10 ? below[i % nr] : "a", 9 * MS, NULL);
		CALL(b, 10 * MS, NOTHING);
	}
	CALLS(80, b, 10 * MS, NOTHING);
	assert_int_equal(descent_result(b->d, r), 0);
	assert_int_equal(r->paths[0].cause.kind, CAUSE_UNMEASURED);
}

/* The samples are below callees of the callee: that it is on the way is no root cause. */
static void test_untimed_callee_on_the_way(void **state)
{
	static const char *const below[] = {"ab", "ac", "ad"};
	struct descent_result r;
	struct bench b;

	ask_below(&b, below, 3, &r);
	assert_int_equal(r.paths[0].looped.function.offset, code('a').offset);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_true(r.named < 0.01 && r.missing.unmeasured > 0.99);
	descent_result_release(&r);
	bench_end(&b);
}

/* The samples end in one function below the callee: that one is the cause. */
static void test_untimed_callee_leads_to_one(void **state)
{
	static const char *const below[] = {"ab", "acb"};
	struct descent_result r;
	struct bench b;

	for (int nr = 1; nr <= 2; nr++) {
		ask_below(&b, below, nr, &r);
		assert_int_equal(r.paths[0].looped.function.offset, code('b').offset);
		assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
		assert_true(r.named > 0.85 && r.named < 0.95);
		assert_true(r.missing.unmeasured > 0.05 && r.missing.unmeasured < 0.15);
		descent_result_release(&r);
		bench_end(&b);
	}
}

/*
 * A function that calls itself cannot be timed in each of its calls. Its samples name the callee
 * below any of them, not the function.
 */
static void test_recursive_callee(void **state)
{
	struct descent_result r;
	struct bench b;

	(void)state;
	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'a')->flags = 0;
	site(&b, 'a', 'b')->flags = 0;
	start(&b, false);
	for (int i = 0; i < 2 * SAMPLED_LEAST; i++) {
		stack(&b, i % 4 ? "aaab" : "aa", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	CALLS(80, &b, 10 * MS, P("a", 9900 * US));
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_UNMEASURED);
	assert_int_equal(r.nodes[r.paths[0].frames[1]].function.offset, code('a').offset);
	assert_int_equal(r.paths[0].looped.function.offset, code('b').offset);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * Without samples, the callee whose fuse has blown is the one that the loop calls so often. If
 * there are two, it is not known which one takes the time, unless samples place it in the loop.
 */
static void test_hot_callee(void **state)
{
	struct descent_result r;
	struct bench b;

	for (int callees = 1; callees <= 3; callees++) {
		bench_begin(&b);
		site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
		if (callees > 1)
			site(&b, '0', 'b')->flags |= CALL_SITE_LOOP;
		start(&b, true);
		CALLS(10, &b, 10 * MS, NOTHING);
		lose(&b, "a", FNODE_BLOWN);
		if (callees > 1)
			lose(&b, "b", FNODE_BLOWN);
		for (int i = 0; i < 40; i++) {
			if (callees == 3 && i < 10)
				stack(&b, i % 3 ? "" : "a", 9 * MS, NULL);
			CALL(&b, 10 * MS, NOTHING);
		}
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.paths[0].cause.kind, CAUSE_LOOP);
		assert_int_equal(r.paths[0].looped.function.offset,
				 callees == 1 ? code('a').offset : 0);
		assert_true(r.paths[0].looped.share == 0);
		assert_int_equal(r.paths[0].looped.own, callees == 3);
		assert_true(r.explained > 0.99);
		assert_true(callees == 2 ? r.named == 0 : r.named > 0.99);
		assert_true(callees == 2 ? r.missing.unmeasured > 0.99 : r.missing.unmeasured == 0);
		assert_int_equal(r.status, callees == 2 ? DESCENT_PARTLY : DESCENT_ROOT_CAUSE);
		descent_result_release(&r);
		bench_end(&b);
	}
}

/* Beside the loop, a callee that is called once was too hot as well: either may have the time. */
static void test_hot_callee_outside_of_the_loop(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, '0', 'b');
	start(&b, true);
	CALLS(10, &b, 10 * MS, NOTHING);
	lose(&b, "a", FNODE_BLOWN);
	lose(&b, "b", FNODE_BLOWN);
	CALLS(40, &b, 10 * MS, NOTHING);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_LOOP);
	assert_int_equal(r.paths[0].looped.function.module, 0);
	assert_int_equal(r.status, DESCENT_PARTLY);
	descent_result_release(&r);
	bench_end(&b);
}

/* Own code that ran for 400 ms must have been sampled; one stack confirms it. */
static void test_own_code_without_a_sample(void **state)
{
	static const struct {
		bool level_by_level, sample;
		enum descent_status status;
	} rows[] = {
	    {false, false, DESCENT_PARTLY},
	    {false, true, DESCENT_ROOT_CAUSE},
	    {true, false, DESCENT_ROOT_CAUSE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct descent_result r;
		struct bench b;

		bench_begin(&b);
		start(&b, rows[i].level_by_level);
		if (rows[i].sample)
			stack(&b, "", 9 * MS, NULL);
		CALLS(40, &b, 10 * MS, NOTHING);
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.paths[0].cause.kind, CAUSE_OWN_CODE);
		assert_int_equal(r.status, rows[i].status);
		assert_true((r.missing.unsampled > 0.99) == (r.status == DESCENT_PARTLY));
		descent_result_release(&r);
		bench_end(&b);
	}
}

/* Twenty calls of 100 us may end without a sample: the answer waits for some, but not for ever. */
static void test_short_calls_wait_for_samples(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags = 0;
	start_short(&b);
	CALLS(4000, &b, 100 * US, NOTHING);
	assert_false(b.done);
	for (int i = 0; i < SAMPLED_LEAST; i++) {
		stack(&b, "a", 90 * US, NULL);
		CALL(&b, 100 * US, NOTHING);
	}
	CALLS(40, &b, 100 * US, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	bench_end(&b);

	bench_begin(&b);
	site(&b, '0', 'a')->flags = 0;
	start_short(&b);
	CALLS(90000, &b, 100 * US, NOTHING);
	assert_true(b.done);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_PARTLY);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The scheduler was not watched during all of the longest calls: they would make a wait own code.
 */
static void test_half_known_calls(void **state)
{
	struct descent_result r;
	struct bench b;

	for (int known = 0; known <= 1; known++) {
		bench_begin(&b);
		start(&b, true);
		for (int i = 0; i < 60; i++) {
			b.known = known && i % 3 == 0 ? ALL_KNOWN
						      : ALL_KNOWN & ~(uint32_t)CALL_KNOWN_BLOCKED;
			b.call.blocked_ns = 9 * MS;
			CALL(&b, 10 * MS, NOTHING);
		}
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.paths[0].cause.kind, CAUSE_UNKNOWN);
		assert_string_equal(r.paths[0].cause.detail,
				    known ? "blocked" : "not known whether it was running");
		assert_int_equal(r.calls_used, 20);
		descent_result_release(&r);
		bench_end(&b);
	}
}

static void begin_sampled(struct bench *b)
{
	struct record rec = ask_record(false);

	bench_begin(b);
	rec.descent.sampled = true;
	rec.descent.low_ns = 1;
	rec.descent.high_ns = UINT64_MAX;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	profile(b, 1000, US);
}

static const struct descent_share *share_of(const struct descent_result *r, char function)
{
	for (unsigned int i = 0; i < r->sampled.nr; i++)
		if (code_equal(r->sampled.function[i].function, code(function)))
			return &r->sampled.function[i];
	fail_msg("%c is not in the table", function);
	return NULL;
}

/* The calls are too short for probes: no callee is armed, no call counts, and samples answer. */
static void test_by_samples_alone(void **state)
{
	struct descent_result r;
	struct bench b;

	begin_sampled(&b);
	assert_int_equal(b.arms, 1);
	assert_int_equal(b.nr_armed, 0);
	CALLS(50, &b, 10 * US, NOTHING);
	for (int i = 0; i < 400 && !b.done; i++) {
		stack(&b, i % 4 ? i % 4 == 1 ? "abcb" : "ac" : "d", MS, NULL);
		act(&b);
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
	assert_int_equal(r.calls_used, 0);
	assert_int_equal(r.latency_ns, US);
	assert_int_equal(r.sampled.samples, 400);
	assert_int_equal(r.nr_paths, 3);
	assert_string_equal(letters_of(&r, 0), "ac");
	assert_int_equal(r.paths[0].cause.kind, CAUSE_OWN_CODE);
	assert_int_equal(r.paths[0].evidence, EVIDENCE_SAMPLED);
	assert_true(r.paths[0].share > 0.49 && r.paths[0].share < 0.51);
	assert_int_equal(r.paths[0].latency_ns, US / 2);
	/* a function that calls itself counts once with its callees */
	assert_true(share_of(&r, 'b')->inclusive > 0.24 && share_of(&r, 'b')->inclusive < 0.26);
	assert_true(share_of(&r, 'b')->own > 0.24 && share_of(&r, 'b')->own < 0.26);
	assert_true(share_of(&r, 'c')->inclusive > 0.74 && share_of(&r, 'c')->inclusive < 0.76);
	assert_true(share_of(&r, 'c')->own > 0.49 && share_of(&r, 'c')->own < 0.51);
	assert_true(share_of(&r, '0')->inclusive > 0.99 && share_of(&r, '0')->own < 0.01);
	assert_int_equal(r.sampled.nr_rest, 0);
	descent_result_release(&r);
	bench_end(&b);
}

/* The kernel has the time of a function: its function is named with its share of the call. */
static void test_kernel_by_samples_alone(void **state)
{
	struct descent_result r;
	struct bench b;

	begin_sampled(&b);
	CALLS(50, &b, 10 * US, NOTHING);
	for (int i = 0; i < 400 && !b.done; i++) {
		b.kernel = i % 4 ? "ab" : "c";
		stack(&b, "a", MS, NULL);
		act(&b);
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(r.paths[0].kernel_trunk, 3);
	assert_int_equal(r.paths[0].kernel[2].function, (uint64_t)'b' * 0x100);
	assert_true(fabs(r.paths[0].kernel_named - 0.75) < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

/* No function has a tenth of the time: the heaviest is named, and the rest adds up in the table. */
static void test_flat_by_samples(void **state)
{
	const char *callees = "abcdefghijklmnopqrst";
	struct descent_result r;
	double sum = 0;
	struct bench b;

	begin_sampled(&b);
	for (int i = 0; i < 101; i++)
		stack(&b, (char[]){callees[i % 20], 0}, MS, NULL);
	assert_int_equal(descent_status(b.d), DESCENT_IN_PROGRESS);
	descent_stop(b.d);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_int_equal(r.nr_paths, 1);
	assert_string_equal(letters_of(&r, 0), "a");
	assert_int_equal(r.sampled.nr, 11);
	assert_int_equal(r.sampled.nr_rest, 10);
	for (unsigned int i = 0; i < r.sampled.nr; i++)
		sum += r.sampled.function[i].own;
	assert_true(fabs(sum + r.sampled.rest - 1) < 1e-9);
	assert_true(r.sampled.rest > 0.45);
	descent_result_release(&r);
	bench_end(&b);
}

/* Few samples are no answer; after some seconds fifty are enough. */
static void test_few_samples_alone(void **state)
{
	struct bench b;

	begin_sampled(&b);
	for (int i = 0; i < SAMPLED_LEAST - 1; i++)
		stack(&b, "a", MS, NULL);
	descent_stop(b.d);
	assert_int_equal(descent_status(b.d), DESCENT_TOO_FEW);
	bench_end(&b);

	begin_sampled(&b);
	for (int i = 0; i < 49; i++) {
		stack(&b, "a", MS, NULL);
		b.now += 200 * MS;
	}
	assert_int_equal(descent_status(b.d), DESCENT_IN_PROGRESS);
	stack(&b, "a", MS, NULL);
	assert_int_equal(descent_status(b.d), DESCENT_ROOT_CAUSE);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_sample_in_the_kernel),
	    cmocka_unit_test(test_one_system_call_is_one_path),
	    cmocka_unit_test(test_few_samples_in_system_calls),
	    cmocka_unit_test(test_untimed_callee),
	    cmocka_unit_test(test_untimed_callee_on_the_way),
	    cmocka_unit_test(test_untimed_callee_leads_to_one),
	    cmocka_unit_test(test_recursive_callee),
	    cmocka_unit_test(test_hot_callee),
	    cmocka_unit_test(test_hot_callee_outside_of_the_loop),
	    cmocka_unit_test(test_own_code_without_a_sample),
	    cmocka_unit_test(test_short_calls_wait_for_samples),
	    cmocka_unit_test(test_half_known_calls),
	    cmocka_unit_test(test_by_samples_alone),
	    cmocka_unit_test(test_kernel_by_samples_alone),
	    cmocka_unit_test(test_flat_by_samples),
	    cmocka_unit_test(test_few_samples_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
