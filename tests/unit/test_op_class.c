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

/* The walk, the chains and the list of operations read one table: the same facts are one kind. */
static void test_one_classifier(void **state)
{
	static const struct {
		const char *call;
		struct wait_facts facts; /* as the chains get them */
		uint32_t object;	 /* as a descent and a thread snapshot get it */
		const char *name, *kernel;
		uint32_t exclusive;
		bool serves;
		const char *text;
		enum walk_class class;
	} cases[] = {
	    {"nanosleep", {0}, SLEEP_ON_NOTHING, "", "", 0, false, "sleeping", WALK_SLEEP},
	    {"poll", {0}, SLEEP_ON_NOTHING, "", "", 0, false, "sleeping", WALK_SLEEP},
	    {"poll",
	     {.args = {1, 2}},
	     SLEEP_ON_OTHER,
	     "",
	     "",
	     0,
	     false,
	     "waiting for events",
	     WALK_IDLE},
	    {"poll",
	     {.args = {1, 1}, .has_object = true, .object = OBJECT_SOCKET},
	     SLEEP_ON_SOCKET,
	     "10.0.0.1:5432",
	     "",
	     0,
	     false,
	     "waiting for data from the network",
	     WALK_WORK},
	    {"poll",
	     {.args = {1, 1}, .has_object = true, .object = OBJECT_SOCKET, .serves = true},
	     SLEEP_ON_SOCKET,
	     "10.0.0.1:5432",
	     "",
	     0,
	     true,
	     "waiting for events",
	     WALK_IDLE},
	    {"pause", {0}, SLEEP_ON_NOTHING, "", "", 0, false, "waiting for a signal", WALK_IDLE},
	    {"futex",
	     {.args = {8, FUTEX_WAIT_PRIVATE, 2}},
	     SLEEP_ON_FUTEX,
	     "",
	     "",
	     1,
	     false,
	     "waiting for a lock",
	     WALK_WORK},
	    {"futex",
	     {.args = {8, FUTEX_WAIT_BITSET_PRIVATE, 3}},
	     SLEEP_ON_FUTEX,
	     "",
	     "",
	     1,
	     false,
	     "waiting for a lock",
	     WALK_WORK},
	    {"futex",
	     {.args = {8, FUTEX_WAIT_BITSET_PRIVATE, 0}},
	     SLEEP_ON_FUTEX,
	     "",
	     "",
	     0,
	     false,
	     "waiting for a condition",
	     WALK_IDLE},
	    {"read",
	     {.has_object = true, .object = OBJECT_FILE},
	     SLEEP_ON_FILE,
	     "/tmp/fifo",
	     "vfs_read;fifo_pipe_read",
	     0,
	     false,
	     "waiting for data in a pipe",
	     WALK_IDLE},
	    {"read",
	     {.has_object = true, .object = OBJECT_TERMINAL},
	     SLEEP_ON_DEVICE,
	     "/dev/pts/3",
	     "",
	     0,
	     false,
	     "waiting for a terminal",
	     WALK_IDLE},
	    {"write",
	     {.has_object = true, .object = OBJECT_TERMINAL},
	     SLEEP_ON_DEVICE,
	     "/dev/pts/3",
	     "",
	     0,
	     false,
	     "waiting for a device",
	     WALK_WORK},
	    {"read",
	     {.has_object = true, .object = OBJECT_EVENT},
	     SLEEP_ON_OTHER,
	     "an eventfd",
	     "",
	     0,
	     false,
	     "waiting for a message",
	     WALK_IDLE},
	    {"recvfrom",
	     {.has_object = true, .object = OBJECT_SOCKET},
	     SLEEP_ON_SOCKET,
	     "10.0.0.1:80",
	     "",
	     0,
	     false,
	     "waiting for data from the network",
	     WALK_WORK},
	    {"recvfrom",
	     {.has_object = true, .object = OBJECT_LOCAL},
	     SLEEP_ON_LOCAL,
	     "",
	     "",
	     0,
	     true,
	     "waiting for events",
	     WALK_IDLE},
	    {"epoll_wait",
	     {0},
	     SLEEP_ON_OTHER,
	     "",
	     "do_epoll_wait;__mutex_lock",
	     0,
	     false,
	     "waiting for a kernel lock",
	     WALK_WORK},
	    {"msgsnd",
	     {0},
	     SLEEP_ON_OTHER,
	     "",
	     "",
	     0,
	     false,
	     "waiting for room for a message",
	     WALK_WORK},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_facts f = cases[i].facts;
		struct rec_thread_snapshot l = {.kind = WITNESS_SLEEP,
						.state = 'S',
						.serves = cases[i].serves,
						.kernel = cases[i].kernel,
						.sleep = {.syscall = syscall_number(cases[i].call),
							  .call = cases[i].call,
							  .object = cases[i].object,
							  .name = cases[i].name,
							  .exclusive = cases[i].exclusive}};
		enum wait_kind kind;

		f.syscall = syscall_number(cases[i].call);
		f.serves = cases[i].serves;
		f.hints = wait_hints(cases[i].kernel);
		kind = wait_kind_of(&f);
		assert_string_equal(wait_kind_info(kind)->text, cases[i].text);
		assert_int_equal(wait_kind_of_sleep(&l.sleep, l.kernel, l.serves), kind);
		assert_int_equal(walk_class_of(&l), cases[i].class);
		/* a recording of another architecture: the name counts, not the number */
		l.sleep.syscall = 9999;
		assert_int_equal(wait_kind_of_sleep(&l.sleep, l.kernel, l.serves), kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_classes_by_name), cmocka_unit_test(test_futex_by_its_arguments),
	    cmocka_unit_test(test_stuck),	    cmocka_unit_test(test_not_longer_than_ever),
	    cmocka_unit_test(test_one_classifier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
