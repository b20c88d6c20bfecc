// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits whose stack could not be unwound, and loops whose callee is named. */
#include <math.h>

#include "tests/unit/descent/bench.h"

static const struct rec_sleep on_a_file = {.syscall = 74,
					   .call = "fsync",
					   .object = OBJECT_FILE,
					   .name = "/a",
					   .bracket = BRACKET(BRACKET_SOFT, 4)};

/* A sleep inside the next call while `node` was the innermost open fnode; its stack ends in code
 * that nobody knows. */
static void sleep_at(struct bench *b, uint32_t node, const struct rec_sleep *sleep)
{
	struct rec_frame frames[] = {{1, code('0').offset + 3, code('0').offset},
				     {1, code('z').offset + 9, code('z').offset}};
	struct rec_frame kernel = {REC_KERNEL_MODULE, REC_KERNEL_CALL | 35, REC_KERNEL_CALL | 35};
	struct record rec = {.type = REC_WITNESS};

	rec.witness = (struct rec_witness){.op = OP,
					   .tid = 5,
					   .at_ns = b->now + 1000,
					   .weight_ns = 8 * MS,
					   .kind = WITNESS_SLEEP,
					   .sleep = *sleep,
					   .nr_frames = 2,
					   .frames = frames,
					   .partial = 1,
					   .node = node,
					   .nr_kernel = 1,
					   .kernel = &kernel};
	assert_int_equal(feed(b, &rec), 0);
}

static void begin(struct bench *b)
{
	bench_begin(b);
	site(b, '0', 'a');
	start(b, true);
	b->call.blocked_ns = 8 * MS;
}

/* A function of a static C library: the open fnode says where it slept. */
static void test_blocked_without_frames(void **state)
{
	struct descent_result r;
	struct bench b;

	begin(&b);
	for (int i = 0; i < 20; i++) {
		sleep_at(&b, armed(&b, "a")->node, &on_purpose);
		CALL(&b, 10 * MS, P("a", 9 * MS, .blocked = 8 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_SLEEP);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].nr_kernel, 1);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The thread wakes a task on its own CPU, which takes it, and then waits for the same task: both
 * are waiting for that task. Another task that takes the CPU is contention.
 */
static void test_awaited_task_has_the_cpu(void **state)
{
	const struct rec_sleep answer = {.syscall = 0,
					 .call = "read",
					 .object = OBJECT_PIPE,
					 .name = "pipe:[7]",
					 .waker = "server",
					 .waker_pid = 90,
					 .waker_tid = 99,
					 .holder = ""};
	const struct rec_host_wait waits[] = {
	    {.kind = HOST_WAIT_PREEMPTED, .ns = 4 * MS, .name = "server", .pid = 90, .tid = 99},
	    {.kind = HOST_WAIT_PREEMPTED, .ns = MS, .name = "make", .pid = 7, .tid = 7}};
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.blocked_ns = 4 * MS;
	b.call.runqueue_ns = b.call.preempted_ns = 5 * MS;
	b.call.waits = waits;
	b.call.nr_waits = 2;
	for (int i = 0; i < 20; i++) {
		sleep_at(&b, armed(&b, "a")->node, &answer);
		CALL(&b, 10 * MS, P("a", 9 * MS, .blocked = 4 * MS, .runqueue = 5 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(r.nr_paths >= 3);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(r.paths[i].cause.kind, CAUSE_WAIT);
		assert_int_equal(r.paths[i].cause.tid, 99);
		assert_true(fabs(r.paths[i].share - 0.4) < 1e-9);
	}
	assert_int_equal(r.paths[2].cause.kind, CAUSE_PREEMPTION);
	assert_string_equal(r.paths[2].cause.name, "make");
	assert_true(fabs(r.paths[2].share - 0.1) < 1e-9);
	assert_true(r.missing.host < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

/* Before it was armed its caller was the innermost one: good enough if all of that was the same
 * kind of sleep. */
static void test_blocked_below_the_caller(void **state)
{
	struct bench b;

	begin(&b);
	for (int i = 0; i < 20; i++) {
		sleep_at(&b, 0, &on_purpose);
		CALL(&b, 10 * MS, P("a", 9 * MS, .blocked = 8 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_SLEEP);
	bench_end(&b);
}

static void test_blocked_for_two_things(void **state)
{
	struct bench b;

	begin(&b);
	for (int i = 0; i < 20; i++) {
		sleep_at(&b, 0, i % 2 ? &on_purpose : &on_a_file);
		CALL(&b, 10 * MS, P("a", 9 * MS, .blocked = 8 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 1);
	expect_path(&b, 0, "a", CAUSE_UNKNOWN);
	bench_end(&b);
}

static void looped(uint64_t sum, uint32_t count, struct descent_looped *out)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", sum, .max = sum / count + US, .count = count));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_LOOP);
	assert_int_equal(descent_result(b.d, &r), 0);
	*out = r.paths[0].looped;
	descent_result_release(&r);
	bench_end(&b);
}

/* Seven long calls are named with their number, and so are forty; thousands of short ones are not.
 */
static void test_callee_of_a_loop(void **state)
{
	struct descent_looped l;

	looped(8800 * US, 7, &l);
	assert_int_equal(l.function.offset, code('a').offset);
	assert_true(l.calls > 6.99 && l.calls < 7.01);
	assert_true(l.share > 0.87 && l.share < 0.89);
	assert_true(l.mean_ns > 1250 * US && l.mean_ns < 1260 * US);
	looped(9000 * US, 40, &l);
	assert_true(l.calls > 39.9 && l.calls < 40.1);
	looped(9000 * US, 9000, &l);
	assert_true(l.calls == 0);
}

/* A sample that met a page fault in f0 itself, or in its callee a() with `in_callee`. */
static void sample_in_fault(struct bench *b, uint64_t weight, bool in_callee)
{
	struct rec_frame frame[] = {{1, site_offset('0', 0) + 5, code('0').offset},
				    {1, code('a').offset + 3, code('a').offset}};
	struct rec_frame kernel = {REC_KERNEL_MODULE, REC_KERNEL_FAULT, REC_KERNEL_FAULT};
	struct record rec = {.type = REC_WITNESS};

	rec.witness = (struct rec_witness){.op = OP,
					   .tid = 5,
					   .at_ns = b->now + 1000,
					   .weight_ns = weight,
					   .kind = WITNESS_RUN,
					   .nr_frames = 1 + in_callee,
					   .frames = frame,
					   .nr_kernel = 1,
					   .kernel = &kernel};
	if (!in_callee)
		frame[0].offset = code('0').offset + 3;
	assert_int_equal(feed(b, &rec), 0);
}

/* A loop whose time is all in page faults: the loop's callee is no part of that answer. */
static void test_loop_of_faults(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		sample_in_fault(&b, 9 * MS, true);
		CALL(&b, 10 * MS, P("a", 9 * MS, .max = US, .count = 9000));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_PAGE_FAULT);
	assert_true(r.paths[0].looped.share == 0);
	assert_int_equal(r.paths[0].nr_below, 1);
	assert_int_equal(r.paths[0].below[0].function.offset, code('a').offset);
	descent_result_release(&r);
	bench_end(&b);
}

/* What f0 runs itself is all in page faults; the handler of a signal that came meanwhile is still
 * told. */
static void test_handler_beside_faults(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	b.call.handlers = 1;
	b.call.handler = code('h');
	b.call.handler_signal = 14;
	for (int i = 0; i < 40; i++) {
		if (i % 4)
			sample_in_fault(&b, 9 * MS, false);
		else
			stack(&b, "h", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_PAGE_FAULT);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_SIGNAL);
	assert_true(r.paths[1].share > 0.2 && r.paths[1].share < 0.3);
	assert_true(r.explained > 0.99);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The last call of the handler is a jump, so the frame of x() is in its place. The samples of a
 * function that the loop calls lie at the call site, and those of a handler in no call.
 */
static void test_handler_that_jumps(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	b.call.handlers = 1;
	b.call.handler = code('h');
	b.call.handler_signal = 14;
	for (int i = 0; i < 20; i++) {
		stack(&b, i % 5 == 0 ? "" : i % 5 == 1 ? "a" : "aTxy", 9 * MS, NULL);
		CALL(&b, 10 * MS, P("a", 9 * MS, .max = US, .count = 9000));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_SIGNAL);
	assert_int_equal(r.paths[0].below[0].function.offset, code('h').offset);
	assert_true(r.paths[0].share > 0.55 && r.paths[0].share < 0.65);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_LOOP);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * Two handlers run in each call, and only the last is known: nobody can say whose the time is. A
 * handler that interrupts a callee with a path of its own is no part of the caller's loop.
 */
static void test_handlers_that_are_not_known(void **state)
{
	struct descent_result r;
	struct bench b;
	double signals = 0;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	b.call.handlers = 2;
	b.call.handler = code('h');
	b.call.handler_signal = 14;
	for (int i = 0; i < 20; i++) {
		stack(&b,
		      i % 5 == 0   ? ""
		      : i % 5 == 1 ? "a"
		      : i % 5 == 2 ? "aTz"
				   : "aTxy",
		      9 * MS, NULL);
		CALL(&b, 10 * MS, P("a", 9 * MS, .max = US, .count = 9000));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_SIGNAL);
	assert_string_equal(r.paths[0].cause.detail, "");
	assert_int_equal(r.paths[0].below[0].function.offset, code('x').offset);
	descent_result_release(&r);
	bench_end(&b);

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, '0', 'g');
	start(&b, true);
	b.call.handlers = 1;
	b.call.handler = code('h');
	b.call.handler_signal = 14;
	for (int i = 0; i < 20; i++) {
		stack(&b, i % 5 == 0 ? "a" : i % 5 == 1 ? "g" : "gTh", 9 * MS, NULL);
		CALL(&b, 10 * MS, P("a", 4 * MS, .max = US, .count = 4000), P("g", 5 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	for (unsigned int i = 0; i < r.nr_paths; i++) {
		if (r.paths[i].cause.kind == CAUSE_SIGNAL)
			signals += r.paths[i].share;
		if (r.paths[i].cause.kind == CAUSE_LOOP)
			assert_true(r.paths[i].share > 0.3);
	}
	assert_true(signals > 0 && signals < 0.51);
	descent_result_release(&r);
	bench_end(&b);
}

/* Two short callees of a loop: the places of the samples below them are their call sites. */
static void test_places_of_short_calls(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, '0', 'b')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		stack(&b, i % 8 == 0 ? "" : i % 4 ? "bc" : "a", 9 * MS, NULL);
		CALL(&b, 10 * MS, P("a", 2 * MS, .max = US, .count = 2000),
		     P("b", 7 * MS, .max = US, .count = 7000));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_LOOP);
	assert_int_equal(r.paths[0].nr_pcs, 3);
	assert_int_equal(r.paths[0].pcs[0].place.offset, site_offset('0', 1) + 4);
	assert_int_equal(r.paths[0].pcs[0].ns, 15 * 9 * MS);
	descent_result_release(&r);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blocked_without_frames),
	    cmocka_unit_test(test_awaited_task_has_the_cpu),
	    cmocka_unit_test(test_blocked_below_the_caller),
	    cmocka_unit_test(test_blocked_for_two_things),
	    cmocka_unit_test(test_callee_of_a_loop),
	    cmocka_unit_test(test_loop_of_faults),
	    cmocka_unit_test(test_handler_beside_faults),
	    cmocka_unit_test(test_handler_that_jumps),
	    cmocka_unit_test(test_handlers_that_are_not_known),
	    cmocka_unit_test(test_places_of_short_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
