// SPDX-License-Identifier: GPL-2.0-or-later
/* Which waits are idle, by one table for all that show them, and which open calls are stuck. */
#include "tests/unit/model_feed.h"

#include <linux/futex.h>

#include "analysis/base/futex.h"
#include "analysis/base/syscall_names.h"
#include "analysis/waits/kinds.h"
#include "analysis/walk/class.h"

/* A session of `seconds` with one system call that takes 1 ms a hundred times each second. */
static struct model *session(const char *call, unsigned int seconds, bool finished,
			     const struct rec_open *open)
{
	struct model *m = model_new();
	uint32_t bucket = pt_bucket(MS);
	uint64_t count = 100;
	char name[64];

	snprintf(name, sizeof(name), "syscall:%s", call);
	assert_int_equal(feed_op(m, 1, LAYER_SYSCALL, name), 0);
	for (unsigned int i = 0; i < seconds; i++) {
		struct rec_profile p = {.op = 1,
					.start_ns = i * SECOND,
					.end_ns = (i + 1) * SECOND,
					.armed_ns = SECOND,
					.bucket = &bucket,
					.count = &count};
		struct rec_open o = *open;

		if (finished) {
			p.calls = count;
			p.sum_ns = count * MS;
			p.min_ns = p.max_ns = MS;
			p.nr_buckets = 1;
		}
		o.op = 1;
		o.comm = "";
		o.age_ns = (i + 1) * SECOND > o.start_ns ? (i + 1) * SECOND - o.start_ns : 0;
		model_feed(m, &(struct record){.type = REC_PROFILE, .profile = p});
		if (o.age_ns)
			model_feed(m, &(struct record){.type = REC_OPEN, .open = o});
		model_feed(m,
			   &(struct record){
			       .type = REC_TICK,
			       .tick = {.slice = i, .start_ns = p.start_ns, .end_ns = p.end_ns}});
	}
	return m;
}

static enum walk_class class_of(const char *call, const struct rec_open *open)
{
	struct model *m = session(call, 3, true, open);
	enum walk_class class = op_class(model_op_by_number(m, 1));

	model_free(m);
	return class;
}

static void test_classes_by_name(void **state)
{
	const struct rec_open open = {.start_ns = SECOND};

	assert_int_equal(class_of("epoll_wait", &open), WALK_IDLE);
	assert_int_equal(class_of("accept4", &open), WALK_IDLE);
	assert_int_equal(class_of("wait4", &open), WALK_IDLE);
	assert_int_equal(class_of("restart_syscall", &open), WALK_IDLE);
	assert_int_equal(class_of("nanosleep", &open), WALK_SLEEP);
	assert_int_equal(class_of("clock_nanosleep", &open), WALK_SLEEP);
	assert_int_equal(class_of("fdatasync", &open), WALK_WORK);
	assert_int_equal(class_of("read", &open), WALK_WORK);
}

static void test_futex_by_its_arguments(void **state)
{
	struct rec_open condition = {.start_ns = SECOND,
				     .known = SAMPLE_ARG0 << 1 | SAMPLE_ARG0 << 2,
				     .args = {0x1000, FUTEX_WAIT_BITSET_PRIVATE, 0}};
	struct rec_open lock = condition, unknown = {.start_ns = SECOND};
	struct record sample = {.type = REC_SAMPLE,
				.sample = {.op = 1,
					   .latency_ns = MS,
					   .known = SAMPLE_ARG0 << 1 | SAMPLE_ARG0 << 2,
					   .args = {0x1000, FUTEX_WAIT_PRIVATE, 2},
					   .chance_ppm = 1000000}};
	struct model *m;

	lock.args[2] = 2;
	assert_int_equal(class_of("futex", &condition), WALK_IDLE);
	assert_int_equal(class_of("futex", &lock), WALK_WORK);
	assert_int_equal(class_of("futex", &unknown), WALK_IDLE);

	/* 3 s in finished calls that wait for a mutex, and 1 s in an open one for a condition */
	condition.start_ns = 29 * SECOND;
	m = session("futex", 30, true, &condition);
	for (int i = 0; i < 50; i++)
		assert_int_equal(model_feed(m, &sample), 0);
	assert_true(model_op_by_number(m, 1)->lock_share > 0.7);
	assert_int_equal(op_class(model_op_by_number(m, 1)), WALK_WORK);
	model_free(m);
	m = session("read", 3, true, &lock);
	assert_true(model_op_by_number(m, 1)->lock_share < 0);
	model_free(m);
}

static void assert_stuck(const char *call, unsigned int seconds, bool finished,
			 const struct rec_open *open, bool stuck)
{
	struct model *m = session(call, seconds, finished, open);

	assert_int_equal(op_is_stuck(model_op_by_number(m, 1), model_elapsed_ns(m)), stuck);
	model_free(m);
}

static void test_stuck(void **state)
{
	const struct rec_open open = {.start_ns = SECOND}, since_attach = {.start_ns = 0};

	assert_stuck("fdatasync", 20, true, &open, true);
	assert_stuck("fdatasync", 20, false, &open, true);
	assert_stuck("fdatasync", 20, true, &since_attach, true);
	/* not for long, or not known to be longer than usual */
	assert_stuck("fdatasync", 9, true, &open, false);
	assert_stuck("fdatasync", 20, false, &since_attach, false);
	/* normal waits, and reads that may wait for input */
	assert_stuck("epoll_wait", 20, true, &open, false);
	assert_stuck("nanosleep", 20, true, &open, false);
	assert_stuck("futex", 20, true, &open, false);
	assert_stuck("read", 20, true, &open, false);
}

/* A call of 20 s is not stuck if a call of 30 s has finished before. */
static void test_not_longer_than_ever(void **state)
{
	const struct rec_open open = {.start_ns = SECOND};
	struct model *m = session("fdatasync", 21, true, &open);
	uint32_t bucket = pt_bucket(30 * SECOND);
	uint64_t count = 1;
	struct rec_open again = {.op = 1, .comm = "", .age_ns = 20 * SECOND};

	assert_true(op_is_stuck(model_op_by_number(m, 1), model_elapsed_ns(m)));
	model_feed(m, &(struct record){.type = REC_PROFILE,
				       .profile = {.op = 1,
						   .start_ns = 21 * SECOND,
						   .end_ns = 22 * SECOND,
						   .armed_ns = SECOND,
						   .calls = 1,
						   .sum_ns = 30 * SECOND,
						   .min_ns = 30 * SECOND,
						   .max_ns = 30 * SECOND,
						   .nr_buckets = 1,
						   .bucket = &bucket,
						   .count = &count}});
	model_feed(m, &(struct record){.type = REC_OPEN, .open = again});
	model_feed(m, &(struct record){
			  .type = REC_TICK,
			  .tick = {.slice = 21, .start_ns = 21 * SECOND, .end_ns = 22 * SECOND}});
	assert_false(op_is_stuck(model_op_by_number(m, 1), model_elapsed_ns(m)));
	model_free(m);
}

/* The share of a CPU outside of 100 calls a second that take 1 ms each. */
static double own_share(const char *call, double cpu, uint32_t layers)
{
	struct model *m = session(call, 10, true, &(struct rec_open){.start_ns = 100 * SECOND});
	double share;

	model_feed(m, &(struct record){.type = REC_COST,
				       .cost = {.at_ns = 10 * SECOND,
						.target_cpu_ns = (uint64_t)(cpu * 10 * SECOND)}});
	model_feed(m, &(struct record){.type = REC_TICK,
				       .tick = {.slice = 10,
						.start_ns = 10 * SECOND,
						.end_ns = 11 * SECOND,
						.layers = layers}});
	share = own_code_share(m);
	model_free(m);
	return share;
}

static void test_own_code(void **state)
{
	const uint32_t on = 1U << LAYER_SYSCALL;

	/* what a call takes may have been on a CPU, but for a wait */
	assert_float_equal(own_share("pread64", 0.7, on), 0.6, 0.01);
	assert_float_equal(own_share("epoll_wait", 0.7, on), 0.7, 0.01);
	assert_float_equal(own_share("pread64", 0.05, on), 0, 0.001);
	/* calls that are not measured may have it */
	assert_float_equal(own_share("pread64", 0.7, 1U << LAYER_FUNCTION), 0, 0);
	assert_float_equal(own_share("pread64", 0.7, 0), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_classes_by_name), cmocka_unit_test(test_futex_by_its_arguments),
	    cmocka_unit_test(test_stuck),	    cmocka_unit_test(test_not_longer_than_ever),
	    cmocka_unit_test(test_own_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
