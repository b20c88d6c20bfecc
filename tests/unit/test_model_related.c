// SPDX-License-Identifier: GPL-2.0-or-later
/* Related peaks of several operations, from records. */
#include "tests/unit/model_feed.h"
#include "tests/unit/profiles.h"

static int setup(void **state)
{
	*state = model_new();
	return *state && !feed_op(*state, 1, LAYER_SYSCALL, "syscall:read") ? 0 : -1;
}

static int teardown(void **state)
{
	model_free(*state);
	return 0;
}

enum { USUAL_NS = 300, USUAL_CALLS = 500 };

/* One slice with calls of one latency, beside what the operation usually does. */
static int feed_beside_usual(struct model *m, uint32_t op, uint64_t slice, uint64_t ns,
			     unsigned int calls)
{
	struct profile p;

	profile_init(&p);
	for (unsigned int i = 0; i < calls; i++)
		profile_add(&p, ns);
	for (unsigned int i = 0; i < USUAL_CALLS; i++)
		profile_add(&p, USUAL_NS);
	return feed_profile(m, op, slice, &p);
}

static void test_related_operations(void **state)
{
	struct model *m = *state;
	struct rng rng = {5};
	const struct op *op;

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:lseek"), 0);
	assert_int_equal(feed_op(m, 3, LAYER_SYSCALL, "syscall:getpid"), 0);
	for (uint64_t slice = 0; slice < 40; slice++) {
		struct profile read, lseek, getpid;
		unsigned int burst = 20 + rng_next(&rng) % 200;

		profile_init(&read);
		profile_init(&lseek);
		profile_init(&getpid);
		for (unsigned int i = 0; i < 700; i++)
			profile_add(&read, rng_latency(&rng, 4000, 0.4));
		for (unsigned int i = 0; i < 3000; i++)
			profile_add(&lseek, rng_latency(&rng, 300, 0.4));
		for (unsigned int i = 0; i < 900; i++)
			profile_add(&getpid, rng_latency(&rng, 200, 0.4));
		/* lseek waits for the lock that read holds while it waits for the disk. */
		for (unsigned int i = 0; i < burst; i++) {
			profile_add(&read, rng_latency(&rng, 3e6, 0.5));
			profile_add(&lseek, rng_latency(&rng, 3e6, 0.5));
		}
		assert_int_equal(feed_profile(m, 1, slice, &read), 0);
		assert_int_equal(feed_profile(m, 2, slice, &lseek), 0);
		assert_int_equal(feed_profile(m, 3, slice, &getpid), 0);
		assert_int_equal(feed_tick(m, slice), 0);
	}
	op = model_op_peaks(m, 2);
	assert_int_equal(op->nr_peaks, 2);
	assert_int_equal(op->peaks[0].nr_related, 0);
	assert_int_equal(op->peaks[1].nr_related, 1);
	assert_int_equal(op->peaks[1].related[0].op, 1);
	assert_int_equal(op->peaks[1].related[0].peak_id, model_op_by_number(m, 1)->peaks[1].id);
	assert_string_equal(op->peaks[1].related[0].by, "count, shape, slices");
	assert_true(op->peaks[1].related[0].score > 0.9);
	/* And the other way round. */
	op = model_op_peaks(m, 1);
	assert_int_equal(op->peaks[1].nr_related, 1);
	assert_int_equal(op->peaks[1].related[0].op, 2);
}

/* A server reads, writes and waits for each request, most reads find data: its load, no relation.
 */
static void test_related_not_by_load(void **state)
{
	struct model *m = *state;
	struct rng rng = {13};

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:write"), 0);
	assert_int_equal(feed_op(m, 3, LAYER_SYSCALL, "syscall:epoll_wait"), 0);
	for (uint64_t slice = 0; slice < 60; slice++) {
		unsigned int requests = 100 + rng_next(&rng) % 1000;
		struct profile read, write, wait;

		profile_init(&read);
		profile_init(&write);
		profile_init(&wait);
		for (unsigned int i = 0; i < requests; i++) {
			profile_add(&read, rng_latency(&rng, 4000, 0.3));
			profile_add(&write, rng_latency(&rng, 20000, 0.3));
			profile_add(&wait, rng_latency(&rng, rng_next(&rng) % 3 ? 1e6 : 300, 0.3));
			if (rng_next(&rng) % 4)
				profile_add(&read, rng_latency(&rng, 300, 0.3));
		}
		assert_int_equal(feed_profile(m, 1, slice, &read), 0);
		assert_int_equal(feed_profile(m, 2, slice, &write), 0);
		assert_int_equal(feed_profile(m, 3, slice, &wait), 0);
		assert_int_equal(feed_tick(m, slice), 0);
	}
	for (uint32_t number = 1; number <= 3; number++) {
		const struct op *op = model_op_peaks(m, number);

		assert_int_equal(op->nr_peaks, number == 2 ? 1 : 2);
		for (unsigned int p = 0; p < op->nr_peaks; p++) {
			if (op->peaks[p].nr_related)
				print_error("op %u peak %u: op %u, %s\n", number, p + 1,
					    op->peaks[p].related[0].op, op->peaks[p].related[0].by);
			assert_int_equal(op->peaks[p].nr_related, 0);
		}
	}
}

/* The slices of an operation that does nothing in most of them are found at their place. */
static void test_related_with_gaps(void **state)
{
	struct model *m = *state;
	struct rng rng = {6};
	const struct op *op;

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:fsync"), 0);
	assert_int_equal(feed_op(m, 3, LAYER_SYSCALL, "syscall:nanosleep"), 0);
	for (uint64_t slice = 0; slice < 60; slice++) {
		bool busy = rng_next(&rng) % 4 == 0;

		assert_int_equal(feed_beside_usual(m, 1, slice, 30000, busy ? 100 : 0), 0);
		if (busy)
			assert_int_equal(feed_calls(m, 2, slice, 9000000, 2, SECOND), 0);
		if (rng_next(&rng) % 4 == 0)
			assert_int_equal(feed_calls(m, 3, slice, 50000000, 7, SECOND), 0);
		assert_int_equal(feed_tick(m, slice), 0);
	}
	op = model_op_peaks(m, 2);
	assert_int_equal(op->nr_peaks, 1);
	assert_int_equal(op->peaks[0].nr_related, 1);
	assert_int_equal(op->peaks[0].related[0].op, 1);
	assert_string_equal(op->peaks[0].related[0].by, "slices");
}

/* Bursts that both have in the ten slices since the two were heard of: too few to say. */
static void test_related_born_late(void **state)
{
	struct model *m = *state;

	for (uint64_t slice = 0; slice < 34; slice++) {
		bool burst = slice % 3 == 0 || slice % 7 == 0;

		if (slice == 20) {
			assert_int_equal(feed_op(m, 2, LAYER_FUNCTION, "a@x"), 0);
			assert_int_equal(feed_op(m, 3, LAYER_FUNCTION, "b@x"), 0);
		}
		if (slice >= 20)
			assert_int_equal(feed_beside_usual(m, 2, slice, 30000, burst ? 100 : 0), 0);
		if (slice >= 20 && burst)
			assert_int_equal(feed_calls(m, 3, slice, 900000, 31, SECOND), 0);
		assert_int_equal(feed_tick(m, slice), 0);
		if (slice == 30)
			assert_int_equal(model_op_peaks(m, 3)->peaks[0].nr_related, 0);
	}
	assert_int_equal(model_op_peaks(m, 3)->peaks[0].nr_related, 1);
	assert_string_equal(model_op_peaks(m, 3)->peaks[0].related[0].by, "slices");
}

/* The same where what came before is one long slice, as merged ones are. */
static void test_related_after_a_long_slice(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:x"), 0);
	for (uint64_t slice = 0; slice < 34; slice++) {
		bool burst = slice % 3 == 0 || slice % 7 == 0;

		for (uint32_t op = 1; op <= 2 && slice == 20; op++) {
			uint32_t bucket = op == 1 ? 130 : 170;
			uint64_t count = op == 1 ? 100 : 31;
			struct rec_profile rec = {.op = op,
						  .end_ns = 20 * SECOND,
						  .armed_ns = 20 * SECOND,
						  .calls = count,
						  .nr_buckets = 1,
						  .bucket = &bucket,
						  .count = &count};

			assert_int_equal(feed_profile_record(m, &rec), 0);
		}
		if (slice >= 20) {
			uint64_t fast = bucket_low_ns(130, 8), slow = bucket_low_ns(170, 8);

			assert_int_equal(feed_beside_usual(m, 1, slice, fast, burst ? 100 : 0), 0);
			if (burst)
				assert_int_equal(feed_calls(m, 2, slice, slow, 31, SECOND), 0);
		}
		assert_int_equal(feed_tick(m, slice), 0);
		if (slice == 30)
			assert_int_equal(model_op_peaks(m, 2)->peaks[0].nr_related, 0);
	}
	assert_int_equal(model_op_peaks(m, 2)->peaks[0].nr_related, 1);
}

/* An hour and more: merged slices do not confuse the comparison by slices. */
static void test_related_after_hours(void **state)
{
	struct model *m = *state;
	struct rng rng = {7};

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:fsync"), 0);
	for (uint64_t slice = 0; slice < MODEL_MAX_SLICES + 500; slice++) {
		bool busy = rng_next(&rng) % 4 == 0;

		assert_int_equal(feed_beside_usual(m, 1, slice, 30000, busy ? 100 : 0), 0);
		if (busy)
			assert_int_equal(feed_calls(m, 2, slice, 9000000, 2, SECOND), 0);
		assert_int_equal(feed_tick(m, slice), 0);
	}
	assert_int_equal(model_op_peaks(m, 2)->peaks[0].nr_related, 1);
	assert_int_equal(model_op_peaks(m, 2)->peaks[0].related[0].op, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_related_operations),	   TEST(test_related_not_by_load),
	    TEST(test_related_with_gaps),	   TEST(test_related_born_late),
	    TEST(test_related_after_a_long_slice), TEST(test_related_after_hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
