// SPDX-License-Identifier: GPL-2.0-or-later
/* What stacks alone say: the kernel below a path, the callers of a system call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/descent.h"
#include "analysis/descent/stacks.h"
#include "bpf/buckets.h"

enum { OP = 12, NR = 17, US = 1000, MS = 1000000 };

static const struct rec_code f0 = {REC_KERNEL_MODULE, REC_KERNEL_CALL | NR};

static struct rec_frame kernel(uint64_t function)
{
	return (struct rec_frame){
	    .module = REC_KERNEL_MODULE, .offset = function + 4, .function = function};
}

static struct rec_frame user(uint64_t offset)
{
	return (struct rec_frame){.module = 3, .offset = offset, .function = offset & ~0xffull};
}

/* --- the tally */

static void add(struct stack_tally *t, int tag, uint64_t ns, const char *path)
{
	struct rec_frame frame[STACK_DEPTH + 8];
	uint32_t nr = 0;

	for (; *path; path++)
		frame[nr++] = kernel((uint64_t)(unsigned char)*path << 8);
	stack_tally_add(t, frame, nr, tag, ns);
}

static void assert_path(const struct stack_tally *t, uint32_t part, const char *path,
			uint64_t wanted)
{
	struct rec_frame frame[STACK_DEPTH];
	uint64_t ns;
	uint32_t nr = stack_tally_path(t, part, 1, frame, &ns);

	assert_int_equal(nr, strlen(path));
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(frame[i].function, (uint64_t)(unsigned char)path[i] << 8);
	assert_int_equal(ns, wanted);
}

static void test_path(void **state)
{
	struct stack_tally t = {0}, joined = {0};
	struct rec_frame ab[2] = {kernel('a' << 8), kernel('b' << 8)};

	assert_path(&t, 2, "", 0);
	add(&t, 1, 50, "abc");
	add(&t, 1, 30, "abd");
	add(&t, 1, 30, "abde");
	add(&t, 1, 20, "x");
	/* d has 60 of the 110 that came through b, and half of it ends there */
	assert_path(&t, 2, "abde", 30);
	assert_path(&t, 1, "", 130);
	add(&t, 1, 1, "abd");
	assert_path(&t, 2, "abd", 61);
	/* one of another tag does not mix in */
	add(&t, 2, 1000, "y");
	stack_tally_join(&joined, &t, 1);
	assert_path(&joined, 2, "abd", 61);
	stack_tally_remove(&joined, ab, 2);
	assert_path(&joined, 2, "x", 20);
	assert_int_equal(stack_tally_ns(&t), 1131);
}

static void test_full(void **state)
{
	struct stack_tally t = {0};
	struct rec_frame deep[STACK_DEPTH + 8], frame[STACK_DEPTH];
	uint64_t all = 0, ns;

	add(&t, 0, 100000, "heavy");
	all += 100000;
	for (uint64_t i = 0; i < 4 * STACK_TALLY; i++, all += 10) {
		struct rec_frame one = kernel(0x10000 + (i << 8));

		stack_tally_add(&t, &one, 1, 0, 10);
	}
	/* the heavy one stays, and no weight is lost */
	assert_int_equal(t.nr, STACK_TALLY);
	assert_path(&t, 2, "heavy", 100000);
	assert_int_equal(stack_tally_ns(&t), all);
	for (uint32_t i = 0; i < STACK_DEPTH + 8; i++)
		deep[i] = kernel(0x900000 + ((uint64_t)i << 8));
	t.nr = 0;
	stack_tally_add(&t, deep, STACK_DEPTH + 8, 0, 5);
	assert_int_equal(stack_tally_path(&t, 2, 1, frame, &ns), STACK_DEPTH);
}

static void test_places(void **state)
{
	struct stack_tally t = {.by_place = true};
	struct rec_frame a = user(0x110), b = user(0x120);

	stack_tally_add(&t, &a, 1, 0, 5);
	stack_tally_add(&t, &b, 1, 0, 5);
	assert_int_equal(t.nr, 2);
	t = (struct stack_tally){0};
	stack_tally_add(&t, &a, 1, 0, 5);
	stack_tally_add(&t, &b, 1, 0, 5);
	assert_int_equal(t.nr, 1);
}

/* --- a descent into a system call */

struct run {
	struct descent *d;
	uint64_t now;
	uint32_t epoch;
	uint32_t outcome;	       /* of the next calls */
	bool witnessed;		       /* they are */
	const struct rec_sleep *sleep; /* of their stacks; NULL: a pipe */
};

static void feed(struct run *r, const struct record *rec)
{
	struct descent_action a;

	assert_int_equal(descent_feed(r->d, rec), 0);
	for (;;) {
		descent_next(r->d, &a);
		if (a.kind == DESCENT_ARM) {
			assert_int_equal(a.nr_armed, 0);
			r->epoch = a.epoch;
		} else if (a.kind == DESCENT_EXPAND) {
			struct record leaf = {.type = REC_CALLEES,
					      .callees = {.function = a.function}};

			assert_true(a.function.module == f0.module &&
				    a.function.offset == f0.offset);
			assert_int_equal(descent_feed(r->d, &leaf), 0);
		} else {
			assert_true(a.kind == DESCENT_WAIT || a.kind == DESCENT_DONE);
			return;
		}
	}
}

static void begin(struct run *r)
{
	struct record ask = {.type = REC_DESCENT}, profile = {.type = REC_PROFILE};
	const uint32_t bucket = pt_bucket(3 * MS);
	const uint64_t count = 200;

	*r = (struct run){.d = descent_new(), .now = MS, .witnessed = true};
	descent_options_init(&ask.descent);
	ask.descent.op = OP;
	ask.descent.function = f0;
	ask.descent.low_ns = 2 * MS;
	ask.descent.high_ns = 4 * MS;
	feed(r, &ask);
	profile.profile = (struct rec_profile){.op = OP,
					       .calls = count,
					       .sum_ns = count * 3 * MS,
					       .min_ns = 3 * MS,
					       .max_ns = 3 * MS,
					       .nr_buckets = 1,
					       .bucket = &bucket,
					       .count = &count};
	feed(r, &profile);
}

static const struct rec_sleep from_pipe = {.syscall = 0,
					   .call = "read",
					   .object = OBJECT_PIPE,
					   .name = "pipe:[7]",
					   .waker = "feeder",
					   .waker_tid = 99,
					   .holder = ""};

/* One in-peak call that ran for `run_ns` and slept for `sleep_ns`, each witnessed with this stack.
 */
static void call(struct run *r, uint64_t run_ns, uint64_t sleep_ns, const struct rec_frame *stack,
		 uint32_t nr, const struct rec_frame *callers, uint32_t nr_callers)
{
	struct record c = {.type = REC_CALL}, w = {.type = REC_WITNESS};
	const struct rec_frame frame = {
	    .module = f0.module, .offset = f0.offset, .function = f0.offset};
	uint64_t latency = run_ns + sleep_ns;

	c.call =
	    (struct rec_call){.epoch = r->epoch,
			      .op = OP,
			      .pid = 5,
			      .tid = 5,
			      .start_ns = r->now,
			      .latency_ns = latency,
			      .raw_ns = latency,
			      .outcome = r->outcome,
			      .oncpu_ns = run_ns,
			      .blocked_ns = sleep_ns,
			      .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED | CALL_KNOWN_RUNQUEUE |
				       CALL_KNOWN_INTERRUPT | CALL_KNOWN_FAULTS,
			      .interrupt_name = "",
			      .preempted_by = ""};
	w.witness = (struct rec_witness){.op = OP,
					 .tid = 5,
					 .at_ns = r->now + latency / 2,
					 .epoch = r->epoch,
					 .nr_frames = 1,
					 .frames = &frame,
					 .kernel = stack,
					 .nr_kernel = nr,
					 .callers = callers,
					 .nr_callers = nr_callers};
	w.witness.kind = sleep_ns > run_ns ? WITNESS_SLEEP : WITNESS_RUN;
	w.witness.weight_ns = sleep_ns > run_ns ? sleep_ns : run_ns;
	w.witness.sleep = r->sleep ? *r->sleep : from_pipe;
	if (r->witnessed)
		feed(r, &w);
	feed(r, &c);
	r->now += 5 * MS;
}

static void test_blocked_call(void **state)
{
	const struct rec_frame stack[] = {
	    {f0.module, f0.offset, f0.offset}, kernel(0x100), kernel(0x200)};
	const struct rec_frame odd[] = {
	    {f0.module, f0.offset, f0.offset}, kernel(0x100), kernel(0x900)};
	const struct rec_frame one[] = {user(0x1010), user(0x2020)},
			       two[] = {user(0x1010), user(0x3030)};
	struct descent_result result;
	struct run r;

	begin(&r);
	for (int i = 0; i < 20; i++)
		call(&r, 100 * US, 2900 * US, i % 5 ? stack : odd, 3, i % 4 ? one : two, 2);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_int_equal(result.nr_paths, 1);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_WAIT);
	assert_string_equal(result.paths[0].cause.name, "feeder");
	/* f0 is the first frame of the stack already */
	assert_int_equal(result.paths[0].nr_frames, 1);
	assert_int_equal(result.paths[0].nr_kernel, 2);
	assert_int_equal(result.paths[0].kernel[0].function, 0x100);
	assert_int_equal(result.paths[0].kernel[1].function, 0x200);
	assert_int_equal(result.paths[0].kernel_evidence, EVIDENCE_WITNESSED);
	assert_int_equal(result.nr_callers, 2);
	assert_true(result.callers[0].share > 0.74 && result.callers[0].share < 0.76);
	assert_int_equal(result.callers[0].frame[1].offset, 0x2020);
	assert_int_equal(result.callers[1].frame[1].offset, 0x3030);
	descent_result_release(&result);
	descent_free(r.d);
}

/* Sleeps are told at once, their stacks when they are unwound: the answer waits for some. */
static void test_stacks_come_late(void **state)
{
	const struct rec_frame stack[] = {
	    {f0.module, f0.offset, f0.offset}, kernel(0x100), kernel(0x200)};
	const struct rec_frame caller[] = {user(0x1010)};
	struct descent_result result;
	struct run r;

	begin(&r);
	for (int i = 0; i < 60; i++)
		call(&r, 100 * US, 2900 * US, NULL, 0, NULL, 0);
	assert_int_not_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	for (int i = 0; i < 20; i++)
		call(&r, 100 * US, 2900 * US, stack, 3, caller, 1);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_int_equal(result.paths[0].nr_kernel, 2);
	assert_int_equal(result.nr_callers, 1);
	descent_result_release(&result);
	descent_free(r.d);
}

static void test_running_call(void **state)
{
	const struct rec_frame copy[] = {
	    {f0.module, f0.offset, f0.offset}, kernel(0x100), kernel(0x200)};
	const struct rec_frame lookup[] = {
	    {f0.module, f0.offset, f0.offset}, kernel(0x100), kernel(0x300), kernel(0x400)};
	struct descent_result result;
	struct run r;
	double sum = 0;

	begin(&r);
	for (int i = 0; i < 40; i++)
		call(&r, 3000 * US, 0, i % 4 ? copy : lookup, i % 4 ? 3 : 4, NULL, 0);
	assert_int_equal(descent_result(r.d, &result), 0);
	/* what runs in the kernel is told apart by its samples, and nothing is lost or counted
	 * twice */
	assert_int_equal(result.nr_paths, 2);
	for (unsigned int i = 0; i < result.nr_paths; i++) {
		assert_int_equal(result.paths[i].cause.kind, CAUSE_KERNEL);
		assert_int_equal(result.paths[i].evidence, EVIDENCE_SAMPLED);
		assert_int_equal(result.paths[i].kernel_evidence, EVIDENCE_SAMPLED);
		sum += result.paths[i].share;
	}
	assert_true(sum > 0.99 && sum < 1.01 && result.explained > 0.99);
	assert_true(result.paths[0].share > 0.7 && result.paths[0].share < 0.8);
	assert_int_equal(result.paths[0].kernel[1].function, 0x200);
	assert_int_equal(result.paths[1].nr_kernel, 3);
	assert_int_equal(result.paths[1].kernel[2].function, 0x400);
	assert_int_equal(result.nr_callers, 0);
	descent_result_release(&result);
	descent_free(r.d);
}

/* A few samples that each ended elsewhere: the answer goes down to where they part, and no further.
 */
static void test_few_samples(void **state)
{
	struct descent_result result;
	struct run r;

	begin(&r);
	for (int i = 0; i < 1000; i++) {
		const struct rec_frame stack[] = {{f0.module, f0.offset, f0.offset},
						  kernel(0x100),
						  kernel(0x200),
						  kernel(0x1000 + 0x100 * (uint64_t)i),
						  kernel(0x10000)};

		r.witnessed = i % 250 == 0;
		call(&r, 3000 * US, 0, stack, 5, NULL, 0);
	}
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_int_equal(result.nr_paths, 1);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(result.paths[0].nr_kernel, 2);
	assert_int_equal(result.paths[0].kernel[1].function, 0x200);
	descent_result_release(&result);
	descent_free(r.d);
}

/* Samples in page faults are page faults and not own code, whatever the faults are thought to take;
 * all of them as one. */
static void test_faults_by_samples(void **state)
{
	const struct rec_frame zero[] = {
	    {REC_KERNEL_MODULE, REC_KERNEL_FAULT, REC_KERNEL_FAULT}, kernel(0x100), kernel(0x200)};
	const struct rec_frame charge[] = {
	    {REC_KERNEL_MODULE, REC_KERNEL_FAULT, REC_KERNEL_FAULT}, kernel(0x100), kernel(0x300)};
	const struct rec_frame copy[] = {{f0.module, f0.offset, f0.offset}, kernel(0x500)};
	struct descent_result result;
	struct run r;

	for (int mixed = 0; mixed < 2; mixed++) {
		begin(&r);
		for (int i = 0; i < 40; i++) {
			const struct rec_frame *stack = mixed && i % 4 == 1 ? copy
							: i % 4		    ? zero
									    : charge;

			call(&r, 3000 * US, 0, stack, stack == copy ? 2 : 3, NULL, 0);
		}
		assert_int_equal(descent_result(r.d, &result), 0);
		assert_int_equal(result.nr_paths, 1 + mixed);
		assert_int_equal(result.paths[0].cause.kind, CAUSE_PAGE_FAULT);
		assert_int_equal(result.paths[0].evidence, EVIDENCE_SAMPLED);
		assert_int_equal(result.paths[0].nr_kernel, 3);
		assert_int_equal(result.paths[0].kernel[2].function, 0x200);
		assert_true(result.explained > 0.99);
		if (mixed) {
			assert_true(result.paths[0].share > 0.7 && result.paths[0].share < 0.8);
			assert_int_equal(result.paths[1].cause.kind, CAUSE_KERNEL);
			assert_int_equal(result.paths[1].kernel[0].function, 0x500);
		}
		descent_result_release(&result);
		descent_free(r.d);
	}
}

/* A quarter of the samples freed memory, the rest did many things, none of them often: that rest is
 * no reclaim. */
static void test_work_is_not_the_rest(void **state)
{
	static const struct rec_sleep frees = {.work = SLEEP_IN_RECLAIM, .name = "/web"};
	struct descent_result result;
	double reclaim = 0;
	struct run r;

	begin(&r);
	for (int i = 0; i < 80; i++) {
		const struct rec_frame stack[] = {
		    kernel(i % 4 ? 0x1000 + 0x100 * (uint64_t)(i % 40) : 0x100), kernel(0x20000)};

		r.sleep = i % 4 ? NULL : &frees;
		call(&r, 3000 * US, 0, stack, 2, NULL, 0);
	}
	assert_int_equal(descent_result(r.d, &result), 0);
	for (unsigned int i = 0; i < result.nr_paths; i++)
		reclaim += result.paths[i].cause.kind == CAUSE_RECLAIM ? result.paths[i].share : 0;
	assert_true(reclaim > 0.2 && reclaim < 0.3);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_KERNEL);
	assert_true(result.explained > 0.99);
	descent_result_release(&result);
	descent_free(r.d);
}

/* The time in which requests are handed to a device is a part of the I/O that the calls wait for.
 */
static void test_submission(void **state)
{
	static const struct rec_sleep submits = {.work = SLEEP_IN_SUBMIT,
						 .name = "",
						 .about = "handing requests to the device"},
				      waits = {.syscall = 0,
					       .call = "read",
					       .object = OBJECT_FILE,
					       .name = "/data",
					       .flags = SLEEP_IN_IOWAIT,
					       .waker = "",
					       .holder = ""};
	const struct rec_frame stack[] = {{f0.module, f0.offset, f0.offset}, kernel(0x100)};
	struct descent_result result;
	struct run r;

	for (int waited = 0; waited < 2; waited++) {
		begin(&r);
		for (int i = 0; i < 40; i++) {
			bool sleep = waited && i % 2;

			r.sleep = sleep ? &waits : &submits;
			call(&r, sleep ? 0 : 3000 * US, sleep ? 3000 * US : 0, stack, 2, NULL, 0);
		}
		assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
		assert_int_equal(descent_result(r.d, &result), 0);
		assert_int_equal(result.nr_paths, 1);
		assert_int_equal(result.paths[0].cause.kind, CAUSE_IO);
		assert_string_equal(result.paths[0].cause.name, waited ? "/data" : "");
		assert_string_equal(result.paths[0].cause.detail, waited ? "read" : submits.about);
		assert_true(result.paths[0].share > 0.99 && result.paths[0].share < 1.01);
		descent_result_release(&result);
		descent_free(r.d);
	}
}

/* What a sample made longer is known by its stack; its times are not the peak's. */
static void test_blurred_calls(void **state)
{
	const struct rec_frame stack[] = {{f0.module, f0.offset, f0.offset}, kernel(0x100)};
	const struct rec_frame odd[] = {{f0.module, f0.offset, f0.offset}, kernel(0x900)};
	struct descent_result result;
	struct run r;

	begin(&r);
	r.outcome = CALL_BLURRED;
	for (int i = 0; i < 40; i++)
		call(&r, 9000 * US, 0, stack, 2, NULL, 0);
	assert_int_not_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	r.outcome = CALL_RETURNED;
	for (int i = 0; i < 40; i++)
		call(&r, 3000 * US, 0, odd, 2, NULL, 0);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	/* 360 ms of the blurred ones beside 60 of the first window's */
	assert_int_equal(result.nr_paths, 2);
	assert_int_equal(result.paths[0].nr_kernel, 1);
	assert_int_equal(result.paths[0].kernel[0].function, 0x100);
	assert_true(result.paths[0].share > 0.85 && result.paths[0].share < 0.86);
	assert_int_equal(result.paths[0].latency_ns + result.paths[1].latency_ns, 3000 * US);
	descent_result_release(&result);
	descent_free(r.d);
}

static void test_no_stacks(void **state)
{
	struct descent_result result;
	struct run r;

	begin(&r);
	for (int i = 0; i < 20; i++)
		call(&r, 3000 * US, 0, NULL, 0, NULL, 0);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_int_equal(result.nr_paths, 1);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(result.paths[0].evidence, EVIDENCE_MEASURED);
	assert_int_equal(result.paths[0].nr_kernel, 0);
	descent_result_release(&result);
	descent_free(r.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_path),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_blocked_call),
	    cmocka_unit_test(test_running_call),
	    cmocka_unit_test(test_stacks_come_late),
	    cmocka_unit_test(test_few_samples),
	    cmocka_unit_test(test_no_stacks),
	    cmocka_unit_test(test_blurred_calls),
	    cmocka_unit_test(test_faults_by_samples),
	    cmocka_unit_test(test_work_is_not_the_rest),
	    cmocka_unit_test(test_submission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
