// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/model_feed.h"

#include "analysis/latency/weight.h"

static void test_one_is_exact(void **state)
{
	uint32_t bucket[3] = {0, 100, PT_BUCKETS - 1};
	uint64_t count[3] = {1, UINT64_MAX, 12345}, out[3];

	/* Without a carry at all: what was seen is what there was. */
	weight_counts(weight_make(SECOND, SECOND), NULL, 3, bucket, count, out);
	assert_memory_equal(count, out, sizeof(out));
	assert_int_equal(weight_figure(weight_make(7, 7), NULL, UINT64_MAX), UINT64_MAX);
}

static void test_never_below_one(void **state)
{
	struct weight w = weight_make(10, 20);

	assert_int_equal(w.num, w.den);
	w = weight_make(10, 0);
	assert_int_equal(w.num, w.den);
	w = weight_make(0, 0);
	assert_int_equal(w.num, w.den);
	w = weight_make(20, 10);
	assert_true(w.num == 20 && w.den == 10);
}

static void test_whole_weight(void **state)
{
	struct weight_carry carry;
	uint32_t bucket[2] = {3, 9};
	uint64_t count[2] = {7, 1}, out[2];

	weight_carry_init(&carry);
	for (int i = 0; i < 100; i++) {
		weight_counts(weight_make(1000, 10), &carry, 2, bucket, count, out);
		assert_int_equal(out[0], 700);
		assert_int_equal(out[1], 100);
	}
}

/* Every bucket and the sum stay by the exact value however many slices there are. */
static void check_long_run(uint64_t seed, unsigned int buckets, uint64_t most, bool sparse,
			   unsigned int heaviest)
{
	struct rng rng = {seed};
	struct weight_carry carry;
	double exact[PT_BUCKETS] = {0}, exact_sum = 0, got[PT_BUCKETS] = {0}, got_sum = 0;

	weight_carry_init(&carry);
	for (int slice = 0; slice < 500; slice++) {
		uint64_t den = 1 + rng_next(&rng) % 1000,
			 num = den + rng_next(&rng) % (heaviest * den);
		uint32_t bucket[PT_BUCKETS];
		uint64_t count[PT_BUCKETS], out[PT_BUCKETS];
		unsigned int n = 0;

		for (unsigned int i = 0; i < buckets; i++) {
			if (sparse && rng_next(&rng) % 3)
				continue;
			bucket[n] = i;
			count[n++] = 1 + rng_next(&rng) % most;
		}
		weight_counts(weight_make(num, den), &carry, n, bucket, count, out);
		for (unsigned int i = 0; i < n; i++) {
			double x = (double)count[i] * (double)(num > den ? num : den) / (double)den;

			exact[bucket[i]] += x;
			exact_sum += x;
			got[bucket[i]] += (double)out[i];
			got_sum += (double)out[i];
		}
		for (unsigned int i = 0; i < buckets; i++)
			assert_true(fabs(exact[i] - got[i]) <= 2);
		if (n)
			assert_true(fabs(exact_sum - got_sum) <= 2);
	}
}

static void test_totals_right(void **state)
{
	check_long_run(1, 1, 1, false, 20);
	check_long_run(2, 1, 5, true, 20);
	check_long_run(3, 20, 1, false, 20);
	check_long_run(4, 20, 1000, true, 20);
	check_long_run(5, 200, 3, true, 20);
	check_long_run(6, PT_BUCKETS, 2, true, 20);
	for (uint64_t seed = 10; seed < 400; seed++)
		check_long_run(seed, 1 + seed % 12, 2, true, 1);
}

/* A rare bucket beside a common one gets what it is due, not what is left over. */
static void test_no_bias(void **state)
{
	struct weight_carry carry;
	uint32_t bucket[2] = {10, 200};
	uint64_t count[2] = {1, 1}, out[2], sum[2] = {0, 0};

	weight_carry_init(&carry);
	for (int i = 0; i < 1000; i++) {
		weight_counts(weight_make(3, 2), &carry, 2, bucket, count, out);
		sum[0] += out[0];
		sum[1] += out[1];
		assert_int_equal(out[0] + out[1], 3);
	}
	assert_in_range(sum[0], 1499, 1501);
	assert_in_range(sum[1], 1499, 1501);
}

static void test_saturates(void **state)
{
	struct weight_carry carry;
	uint32_t bucket[2] = {0, 1};
	uint64_t count[2] = {UINT64_MAX, 1}, out[2], one = 0;

	weight_carry_init(&carry);
	weight_counts(weight_make(UINT64_MAX, 1), &carry, 2, bucket, count, out);
	assert_int_equal(out[0], 1ULL << 62);
	assert_int_equal(out[1], 1ULL << 62);
	assert_int_equal(weight_figure(weight_make(UINT64_MAX, 3), &one, UINT64_MAX), 1ULL << 62);
}

static void test_figure(void **state)
{
	uint64_t carry = 0, sum = 0;

	for (int i = 0; i < 3000; i++)
		sum += weight_figure(weight_make(4, 3), &carry, 1);
	assert_in_range(sum, 3999, 4000);
}

static void test_deterministic(void **state)
{
	uint32_t bucket[3] = {1, 2, 3};
	uint64_t count[3] = {5, 1, 2}, a[3], b[3];

	for (int i = 0; i < 2; i++) {
		struct weight_carry carry;

		weight_carry_init(&carry);
		for (int k = 0; k < 10; k++)
			weight_counts(weight_make(17, 5), &carry, 3, bucket, count, i ? b : a);
	}
	assert_memory_equal(a, b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_is_exact), cmocka_unit_test(test_never_below_one),
	    cmocka_unit_test(test_whole_weight), cmocka_unit_test(test_totals_right),
	    cmocka_unit_test(test_no_bias),	 cmocka_unit_test(test_saturates),
	    cmocka_unit_test(test_figure),	 cmocka_unit_test(test_deterministic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
