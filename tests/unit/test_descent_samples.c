// SPDX-License-Identifier: GPL-2.0-or-later
/* What few stack samples tell about calls that are too short, or too many, to be timed. */
#include "tests/unit/descent/bench.h"

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

/* A sample in f0 itself, in the kernel for a system call. */
static void sample_in_kernel(struct bench *b, uint64_t weight)
{
	struct rec_frame frame = {1, code('0').offset + 3, code('0').offset};
	struct rec_frame kernel[] = {
	    {REC_KERNEL_MODULE, REC_KERNEL_CALL | 77, REC_KERNEL_CALL | 77},
	    {REC_KERNEL_MODULE, 0x104, 0x100}};
	struct record rec = {.type = REC_WITNESS};

	rec.witness = (struct rec_witness){.op = OP,
					   .tid = 5,
					   .at_ns = b->now + 1000,
					   .weight_ns = weight,
					   .kind = WITNESS_RUN,
					   .nr_frames = 1,
					   .frames = &frame,
					   .nr_kernel = 2,
					   .kernel = kernel};
	assert_int_equal(feed(b, &rec), 0);
}

/* One sample in the kernel is not enough to name a function of it, but it was no own code. */
static void test_one_sample_in_the_kernel(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		if (i == 5)
			sample_in_kernel(&b, 9 * MS);
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

/* The samples are below a callee of the callee: that it is on the way is no root cause. */
static void test_untimed_callee_on_the_way(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags = 0;
	start(&b, false);
	for (int i = 0; i < 20; i++) {
		stack(&b, i % 10 ? "ab" : "a", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	CALLS(80, &b, 10 * MS, NOTHING);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_UNMEASURED);
	assert_int_equal(r.paths[0].looped.function.offset, code('a').offset);
	assert_int_equal(r.status, DESCENT_PARTLY);
	assert_true(r.named < 0.01 && r.missing.unmeasured > 0.99);
	descent_result_release(&r);
	bench_end(&b);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_sample_in_the_kernel),
	    cmocka_unit_test(test_untimed_callee),
	    cmocka_unit_test(test_untimed_callee_on_the_way),
	    cmocka_unit_test(test_recursive_callee),
	    cmocka_unit_test(test_hot_callee),
	    cmocka_unit_test(test_hot_callee_outside_of_the_loop),
	    cmocka_unit_test(test_own_code_without_a_sample),
	    cmocka_unit_test(test_short_calls_wait_for_samples),
	    cmocka_unit_test(test_half_known_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
