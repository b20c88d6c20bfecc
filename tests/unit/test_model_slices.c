// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "tests/unit/model_feed.h"

#include "analysis/latency/slices.h"

static struct slice one_bucket(uint64_t start, uint64_t end, const uint16_t *bucket,
			       const uint64_t *count)
{
	struct slice s = {.start_ns = start,
			  .end_ns = end,
			  .calls = *count,
			  .sum_ns = *count * 10,
			  .armed_ns = end - start,
			  .open = *count % 3,
			  .nr_buckets = 1,
			  .bucket = bucket,
			  .count = count};

	return s;
}

static uint64_t calls_of(const struct slices *s, unsigned int *buckets)
{
	uint64_t calls = 0;

	*buckets = 0;
	for (unsigned int i = 0; i < s->nr; i++) {
		uint64_t sum = 0;

		for (unsigned int k = 0; k < s->slice[i].nr_buckets; k++) {
			sum += s->slice[i].count[k];
			if (k)
				assert_true(s->slice[i].bucket[k] > s->slice[i].bucket[k - 1]);
		}
		assert_int_equal(sum, s->slice[i].calls);
		if (i)
			assert_true(s->slice[i].start_ns >= s->slice[i - 1].end_ns);
		calls += sum;
		*buckets += s->slice[i].nr_buckets;
	}
	return calls;
}

static void test_append(void **state)
{
	struct slices s;
	uint16_t bucket = 5;
	uint64_t count = 7;
	struct slice slice = one_bucket(0, 10, &bucket, &count);

	slices_init(&s);
	assert_int_equal(slices_add(&s, &slice, 0), 0);
	/* It is a copy. */
	bucket = 6;
	count = 8;
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.slice[0].bucket[0], 5);
	assert_int_equal(s.slice[0].count[0], 7);
	slice = one_bucket(10, 20, &bucket, &count);
	assert_int_equal(slices_add(&s, &slice, 0), 0);
	assert_int_equal(s.nr, 2);
	/* A gap between two is nothing unusual. */
	slice = one_bucket(50, 60, &bucket, &count);
	assert_int_equal(slices_add(&s, &slice, 0), 0);
	assert_int_equal(s.nr, 3);
	slices_release(&s);
	assert_int_equal(s.bytes, 0);
}

static void test_backwards(void **state)
{
	struct slices s;
	uint16_t bucket = 5;
	uint64_t count = 7;
	struct slice slice = one_bucket(10, 20, &bucket, &count);

	slices_init(&s);
	assert_int_equal(slices_add(&s, &slice, 0), 0);
	slice = one_bucket(0, 10, &bucket, &count);
	assert_int_equal(slices_add(&s, &slice, 0), -EINVAL);
	slice = one_bucket(15, 25, &bucket, &count);
	assert_int_equal(slices_add(&s, &slice, 0), -EINVAL);
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.slice[0].calls, 7);
	slices_release(&s);
}

static void test_same_start_is_added(void **state)
{
	struct slices s;
	uint16_t bucket[3] = {1, 5, 9}, other[2] = {0, 5};
	uint64_t count[3] = {1, 2, 3}, more[2] = {10, 20};
	struct slice a = {0, 10, 6, 60, 6, 10, 4, 3, bucket, count};
	struct slice b = {0, 12, 30, 300, 30, 10, 2, 2, other, more};

	slices_init(&s);
	assert_int_equal(slices_add(&s, &a, 0), 0);
	assert_int_equal(slices_add(&s, &b, 0), 0);
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.slice[0].calls, 36);
	assert_int_equal(s.slice[0].sum_ns, 360);
	assert_int_equal(s.slice[0].end_ns, 12);
	assert_int_equal(s.slice[0].armed_ns, 12);
	assert_int_equal(s.slice[0].open, 2);
	assert_int_equal(s.slice[0].nr_buckets, 4);
	assert_int_equal(s.slice[0].bucket[0], 0);
	assert_int_equal(s.slice[0].bucket[2], 5);
	assert_int_equal(s.slice[0].count[2], 22);
	slices_release(&s);
}

/* Several bursts with their gaps are one slice until they are as long as one. */
static void test_bursts_of_one_interval(void **state)
{
	struct slices s;
	uint16_t bucket = 5;
	uint64_t count = 7;
	struct slice slice = {.nr_buckets = 1, .bucket = &bucket, .count = &count, .calls = 7};

	slices_init(&s);
	for (unsigned int i = 0; i < 5; i++) {
		slice.start_ns = i * 300;
		slice.end_ns = slice.start_ns + 300;
		slice.armed_ns = 20;
		assert_int_equal(slices_add(&s, &slice, 1000), 0);
	}
	assert_int_equal(s.nr, 2);
	assert_int_equal(s.slice[0].end_ns, 900);
	assert_int_equal(s.slice[0].calls, 21);
	assert_int_equal(s.slice[0].count[0], 21);
	assert_int_equal(s.slice[0].armed_ns, 60);
	assert_int_equal(s.slice[1].calls, 14);
	/* what was armed all the time is a slice by itself */
	slice = (struct slice){1500, 1600, 7, 0, 7, 100, 0, 1, &bucket, &count};
	assert_int_equal(slices_add(&s, &slice, 1000), 0);
	assert_int_equal(s.nr, 3);
	slices_release(&s);
}

static void test_empty_slices(void **state)
{
	struct slices s;

	slices_init(&s);
	for (uint64_t i = 0; i < 100; i++) {
		struct slice slice = {.start_ns = i, .end_ns = i + 1, .armed_ns = 1};

		assert_int_equal(slices_add(&s, &slice, 0), 0);
	}
	assert_int_equal(s.nr, 100);
	assert_int_equal(slices_coarsen(&s), 0);
	assert_int_equal(s.nr, 75);
	assert_null(s.slice[0].bucket);
	slices_release(&s);
}

static void test_bounded(void **state)
{
	struct slices s;
	uint64_t total = 0;
	unsigned int buckets;

	slices_init(&s);
	for (uint64_t i = 0; i < 3 * MODEL_MAX_SLICES; i++) {
		uint16_t bucket = (uint16_t)(i % 20);
		uint64_t count = 1 + i % 7;
		struct slice slice = one_bucket(i * 10, i * 10 + 10, &bucket, &count);

		assert_int_equal(slices_add(&s, &slice, 0), 0);
		assert_true(s.nr <= MODEL_MAX_SLICES);
		total += count;
	}
	assert_int_equal(calls_of(&s, &buckets), total);
	/* Nothing of the time is lost, and what is recent is as fine as it came. */
	assert_int_equal(s.slice[0].start_ns, 0);
	assert_int_equal(s.slice[s.nr - 1].end_ns, 30 * MODEL_MAX_SLICES);
	for (unsigned int i = s.nr / 2; i < s.nr; i++)
		assert_int_equal(s.slice[i].end_ns - s.slice[i].start_ns, 10);
	assert_true(s.slice[0].end_ns - s.slice[0].start_ns > 10);
	assert_true(s.bytes < 1 << 20);
	slices_release(&s);
}

static void test_coarsen_merges_pairs(void **state)
{
	struct slices s;
	unsigned int buckets;

	slices_init(&s);
	for (uint64_t i = 0; i < 9; i++) {
		uint16_t bucket = (uint16_t)(100 - i);
		uint64_t count = i + 1;
		struct slice slice = one_bucket(i, i + 1, &bucket, &count);

		assert_int_equal(slices_add(&s, &slice, 0), 0);
	}
	assert_int_equal(slices_coarsen(&s), 0);
	assert_int_equal(s.nr, 7);
	assert_int_equal(s.slice[0].calls, 3);
	assert_int_equal(s.slice[0].nr_buckets, 2);
	assert_int_equal(s.slice[0].bucket[0], 99);
	assert_int_equal(s.slice[0].count[0], 2);
	assert_int_equal(s.slice[0].armed_ns, 2);
	assert_int_equal(s.slice[1].calls, 7);
	assert_int_equal(s.slice[2].calls, 5);
	assert_int_equal(calls_of(&s, &buckets), 45);
	/* Until nothing is left to merge. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(slices_coarsen(&s), 0);
	assert_int_equal(s.nr, 3);
	assert_int_equal(calls_of(&s, &buckets), 45);
	slices_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_append),
	    cmocka_unit_test(test_backwards),
	    cmocka_unit_test(test_same_start_is_added),
	    cmocka_unit_test(test_bursts_of_one_interval),
	    cmocka_unit_test(test_empty_slices),
	    cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_coarsen_merges_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
