// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/latency/profile.h"
#include "tests/unit/corpus/mixture.h"
#include "tests/unit/profiles.h"

static const unsigned int resolution[] = {1, 2, 4, 8};

/* The bucket by its definition, in wide floating point. */
static unsigned int bucket_by_logarithm(uint64_t ns)
{
	long double i = ns ? floorl(8 * log2l((long double)ns)) : 0;

	return i < PT_BUCKETS ? (unsigned int)i : PT_BUCKETS - 1;
}

static void test_bounds_are_exact(void **state)
{
	for (unsigned int r = 0; r < 4; r++) {
		for (unsigned int i = 0; i < bucket_total(resolution[r]); i++) {
			uint64_t low = bucket_low_ns(i, resolution[r]);
			uint64_t high = bucket_high_ns(i, resolution[r]);
			unsigned int each = 8 / resolution[r];

			assert_true(low <= high);
			assert_int_equal(high, bucket_low_ns(i + 1, resolution[r]));
			if (low == high)
				continue;
			assert_int_equal(pt_bucket(low) / each, i);
			assert_int_equal(pt_bucket(high - 1) / each, i);
			if (low)
				assert_int_equal(pt_bucket(low - 1) / each < i, 1);
			if (i + 1 < bucket_total(resolution[r]))
				assert_int_equal(pt_bucket(high) / each > i, 1);
		}
	}
}

static void test_bounds_of_powers_of_two(void **state)
{
	assert_int_equal(bucket_low_ns(0, 8), 0);
	assert_int_equal(bucket_low_ns(0, 1), 0);
	for (unsigned int i = 1; i < PT_DOUBLINGS; i++)
		for (unsigned int r = 0; r < 4; r++)
			assert_int_equal(bucket_low_ns(i * resolution[r], resolution[r]),
					 1ULL << i);
	assert_int_equal(bucket_high_ns(PT_BUCKETS - 1, 8), 1ULL << PT_DOUBLINGS);
}

static void test_bounds_out_of_range(void **state)
{
	assert_int_equal(bucket_low_ns(100000, 8), 1ULL << PT_DOUBLINGS);
	assert_int_equal(bucket_high_ns(100000, 8), 1ULL << PT_DOUBLINGS);
	assert_int_equal(bucket_low_ns(UINT32_MAX, 1), 1ULL << PT_DOUBLINGS);
	assert_int_equal(bucket_low_ns(5, 3), 0);
	assert_int_equal(bucket_high_ns(5, 3), 0);
}

static void test_bucket_of_small_latencies(void **state)
{
	for (uint64_t ns = 0; ns < 100000; ns++)
		assert_int_equal(pt_bucket(ns), bucket_by_logarithm(ns));
}

static void test_bucket_of_random_latencies(void **state)
{
	struct random r = {7};

	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t ns = random_bits(&r) >> (random_bits(&r) % 64);
		unsigned int b = pt_bucket(ns);

		assert_true(bucket_low_ns(b, 8) <= ns);
		assert_true(b == PT_BUCKETS - 1 || ns < bucket_high_ns(b, 8));
	}
	assert_int_equal(pt_bucket(UINT64_MAX), PT_BUCKETS - 1);
	assert_int_equal(pt_bucket(1ULL << PT_DOUBLINGS), PT_BUCKETS - 1);
}

static void test_totals(void **state)
{
	assert_int_equal(bucket_total(1), PT_DOUBLINGS);
	assert_int_equal(bucket_total(8), PT_BUCKETS);
	assert_int_equal(bucket_total(0), 0);
	assert_int_equal(bucket_total(3), 0);
	assert_int_equal(bucket_total(16), 0);
}

static void test_add(void **state)
{
	struct profile p;

	profile_init(&p);
	assert_int_equal(p.min_ns, 0);
	assert_true(profile_adds_up(&p));
	profile_add(&p, 1000);
	profile_add(&p, 500);
	profile_add(&p, 70000);
	assert_int_equal(p.calls, 3);
	assert_int_equal(p.sum_ns, 71500);
	assert_int_equal(p.min_ns, 500);
	assert_int_equal(p.max_ns, 70000);
	assert_int_equal(p.count[pt_bucket(1000)], 1);
	assert_true(profile_adds_up(&p));
}

static void test_add_zero_first(void **state)
{
	struct profile p;

	profile_init(&p);
	profile_add(&p, 0);
	profile_add(&p, 9);
	assert_int_equal(p.min_ns, 0);
	assert_int_equal(p.max_ns, 9);
	assert_int_equal(p.count[0], 1);
}

static void test_add_saturates(void **state)
{
	struct profile p;

	profile_init(&p);
	profile_add(&p, UINT64_MAX);
	profile_add(&p, 5);
	assert_int_equal(p.sum_ns, UINT64_MAX);
	assert_int_equal(p.max_ns, UINT64_MAX);
	assert_int_equal(p.min_ns, 5);
}

static void test_merge(void **state)
{
	struct profile a, b, all;
	struct random r = {3};

	profile_init(&a);
	profile_init(&b);
	profile_init(&all);
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t ns = random_bits(&r) >> (30 + random_bits(&r) % 30);

		profile_add(i % 3 ? &a : &b, ns);
		profile_add(&all, ns);
	}
	profile_merge(&a, &b);
	assert_memory_equal(&a, &all, sizeof(a));
}

static void test_merge_with_empty(void **state)
{
	struct profile a, b, before;

	profile_init(&a);
	profile_init(&b);
	profile_add(&a, 100);
	before = a;
	profile_merge(&a, &b);
	assert_memory_equal(&a, &before, sizeof(a));
	profile_merge(&b, &a);
	assert_memory_equal(&b, &before, sizeof(b));
}

static void test_merge_saturates(void **state)
{
	struct profile a, b;

	profile_init(&a);
	profile_add(&a, 100);
	b = a;
	b.calls = b.sum_ns = b.count[pt_bucket(100)] = UINT64_MAX - 1;
	profile_merge(&a, &b);
	assert_int_equal(a.calls, UINT64_MAX);
	assert_int_equal(a.sum_ns, UINT64_MAX);
	assert_int_equal(a.count[pt_bucket(100)], UINT64_MAX);
}

static void test_checksum(void **state)
{
	struct profile p;

	profile_init(&p);
	profile_add(&p, 100);
	p.count[7]++;
	assert_false(profile_adds_up(&p));
	p.calls = 2;
	assert_true(profile_adds_up(&p));
	p.calls = 3;
	assert_false(profile_adds_up(&p));
	/* A sum that wraps round is no sum. */
	p.count[9] = UINT64_MAX;
	p.calls = 1;
	assert_false(profile_adds_up(&p));
}

static void test_counts_at_coarser_resolutions(void **state)
{
	struct profile p;
	struct random r = {11};
	uint64_t direct[PT_BUCKETS];

	profile_init(&p);
	memset(direct, 0, sizeof(direct));
	for (unsigned int i = 0; i < 10000; i++) {
		uint64_t ns = random_bits(&r) >> (24 + random_bits(&r) % 40);

		profile_add(&p, ns);
		direct[ns > 1 ? 63 - __builtin_clzll(ns) : 0]++;
	}
	for (unsigned int i = 0; i < PT_DOUBLINGS; i++)
		assert_int_equal(profile_count(&p, i, 1), direct[i]);
	for (unsigned int k = 0; k < 4; k++) {
		uint64_t sum = 0;

		for (unsigned int i = 0; i < bucket_total(resolution[k]); i++)
			sum += profile_count(&p, i, resolution[k]);
		assert_int_equal(sum, p.calls);
	}
	assert_int_equal(profile_count(&p, PT_DOUBLINGS, 1), 0);
	assert_int_equal(profile_count(&p, 3, 5), 0);
}

static void test_range_calls(void **state)
{
	struct profile p;

	profile_init(&p);
	for (uint64_t ns = 1; ns < 1000; ns++)
		profile_add(&p, ns);
	assert_int_equal(profile_range_calls(&p, (struct bucket_range){0, PT_BUCKETS}), 999);
	assert_int_equal(profile_range_calls(&p, (struct bucket_range){0, UINT32_MAX}), 999);
	assert_int_equal(profile_range_calls(&p, (struct bucket_range){24, 32}), 8);
	assert_int_equal(profile_range_calls(&p, (struct bucket_range){32, 24}), 0);
	assert_int_equal(profile_range_calls(&p, (struct bucket_range){24, 24}), 0);
}

/* Whatever the cuts, the parts add up to the whole, without an error. */
static void test_range_sums_add_up(void **state)
{
	struct random r = {5};

	for (unsigned int round = 0; round < 200; round++) {
		unsigned int low = 0, high;
		uint64_t sum = 0;
		struct profile p;

		profile_init(&p);
		for (unsigned int i = 0; i < 200; i++)
			profile_add(&p, random_bits(&r) >> (20 + random_bits(&r) % 44));
		while (low < PT_BUCKETS) {
			high = low + 1 + random_bits(&r) % 60;
			sum += profile_range_sum(&p, (struct bucket_range){low, high});
			low = high;
		}
		assert_int_equal(sum, p.sum_ns);
	}
}

static void test_range_sum_is_near(void **state)
{
	const struct bucket_range slow = {160, PT_BUCKETS};
	struct profile p;
	struct random r = {6};
	double truth = 0, found;

	profile_init(&p);
	for (unsigned int i = 0; i < 20000; i++) {
		double ns =
		    exp2(10 + random_normal(&r)) + (i % 10 ? 0 : exp2(22 + random_normal(&r)));

		profile_add(&p, (uint64_t)ns);
		truth += i % 10 ? 0 : floor(ns);
	}
	found = (double)profile_range_sum(&p, slow);
	assert_true(fabs(found / truth - 1) < 0.01);
}

static void test_range_sum_of_integers_is_exact(void **state)
{
	struct profile p;

	profile_init(&p);
	for (unsigned int i = 0; i < 50; i++) {
		profile_add(&p, 8);
		profile_add(&p, 13);
	}
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){24, 25}), 400);
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){29, 30}), 650);
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){25, 29}), 0);
}

static void test_range_sum_of_nothing(void **state)
{
	struct profile p;

	profile_init(&p);
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){0, PT_BUCKETS}), 0);
	profile_add(&p, 0);
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){0, PT_BUCKETS}), 0);
}

static void test_range_sum_of_enormous_sums(void **state)
{
	struct profile p;

	profile_init(&p);
	profile_add(&p, 100);
	profile_add(&p, UINT64_MAX);
	assert_int_equal(profile_range_sum(&p, (struct bucket_range){0, PT_BUCKETS}), UINT64_MAX);
}

static void test_quantiles(void **state)
{
	static const double q[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99};
	struct profile p;
	uint64_t found;

	profile_init(&p);
	for (uint64_t ns = 1; ns <= 100000; ns++)
		profile_add(&p, ns);
	for (unsigned int i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		found = profile_quantile(&p, q[i]);
		assert_true(fabs((double)found / (q[i] * 100000) - 1) < 0.02);
	}
	assert_int_equal(profile_quantile(&p, 0), 1);
	assert_int_equal(profile_quantile(&p, -1), 1);
	assert_int_equal(profile_quantile(&p, NAN), 1);
	assert_int_equal(profile_quantile(&p, 1), 100000);
	assert_int_equal(profile_quantile(&p, 2), 100000);
}

/* In a range, only the calls in it count, and the result stays in the bucket of the true value. */
static void test_range_quantiles(void **state)
{
	const struct bucket_range range = {pt_bucket(10000), pt_bucket(80000)};
	uint64_t low = bucket_low_ns(range.low, PT_RESOLUTION),
		 high = bucket_low_ns(range.high, PT_RESOLUTION);
	static const double q[] = {0.001, 0.5, 0.9, 0.99, 0.999};
	struct profile p;

	profile_init(&p);
	for (uint64_t ns = 1; ns <= 100000; ns++)
		profile_add(&p, ns);
	for (unsigned int i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		uint64_t real = low + (uint64_t)(q[i] * (double)(high - low)),
			 found = profile_range_quantile(&p, range, q[i]);

		assert_in_range(found, low, high);
		assert_in_range(pt_bucket(found) - pt_bucket(real) + 1, 0, 2);
	}
	assert_int_equal(
	    profile_range_quantile(&p, (struct bucket_range){PT_BUCKETS - 9, PT_BUCKETS}, 0.5), 0);
}

static void test_quantiles_rise(void **state)
{
	struct profile p;
	struct random r = {9};
	uint64_t last = 0;

	profile_init(&p);
	for (unsigned int i = 0; i < 300; i++)
		profile_add(&p, random_bits(&r) >> (24 + random_bits(&r) % 40));
	for (double q = 0; q <= 1; q += 0.001) {
		uint64_t ns = profile_quantile(&p, q);

		assert_true(ns >= last && ns >= p.min_ns && ns <= p.max_ns);
		last = ns;
	}
}

static void test_quantile_of_one_and_of_none(void **state)
{
	struct profile p;

	profile_init(&p);
	assert_int_equal(profile_quantile(&p, 0.5), 0);
	profile_add(&p, 12345);
	assert_int_equal(profile_quantile(&p, 0.5), 12345);
	assert_int_equal(profile_quantile(&p, 0.999), 12345);
}

/* The kernel's count against the buckets, as the collector reads both. */
static void test_calls_gained(void **state)
{
	assert_int_equal(profile_calls_gained(0, 0, 0), 0);
	assert_int_equal(profile_calls_gained(150, 100, 150), 50);
	/* calls that came while the buckets were read are in the next record, too */
	assert_int_equal(profile_calls_gained(150, 100, 1000), 900);
	assert_int_equal(profile_calls_gained(98, 100, 100), 0);
	/* calls without a bucket */
	assert_int_equal(profile_calls_gained(151, 100, 150), 51);
	assert_int_equal(profile_calls_gained(1, 0, 0), 1);
	/* buckets without calls, long after they were counted */
	assert_int_not_equal(profile_calls_gained(1000, 5000, 5010), 10);
	assert_int_not_equal(profile_calls_gained(0, 5000, 5000), 0);
	assert_int_not_equal(profile_calls_gained(0, UINT64_MAX, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds_are_exact),
	    cmocka_unit_test(test_bounds_of_powers_of_two),
	    cmocka_unit_test(test_bounds_out_of_range),
	    cmocka_unit_test(test_bucket_of_small_latencies),
	    cmocka_unit_test(test_bucket_of_random_latencies),
	    cmocka_unit_test(test_totals),
	    cmocka_unit_test(test_add),
	    cmocka_unit_test(test_add_zero_first),
	    cmocka_unit_test(test_add_saturates),
	    cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_merge_with_empty),
	    cmocka_unit_test(test_merge_saturates),
	    cmocka_unit_test(test_checksum),
	    cmocka_unit_test(test_counts_at_coarser_resolutions),
	    cmocka_unit_test(test_range_calls),
	    cmocka_unit_test(test_range_sums_add_up),
	    cmocka_unit_test(test_range_sum_is_near),
	    cmocka_unit_test(test_range_sum_of_integers_is_exact),
	    cmocka_unit_test(test_range_sum_of_nothing),
	    cmocka_unit_test(test_range_sum_of_enormous_sums),
	    cmocka_unit_test(test_quantiles),
	    cmocka_unit_test(test_range_quantiles),
	    cmocka_unit_test(test_quantiles_rise),
	    cmocka_unit_test(test_quantile_of_one_and_of_none),
	    cmocka_unit_test(test_calls_gained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
