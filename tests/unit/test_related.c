// SPDX-License-Identifier: GPL-2.0-or-later
/* Related peaks: pairs that were made to belong together, and pairs that were not. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/model_feed.h"

#include "analysis/latency/related.h"
#include "tests/unit/profiles.h"

enum { SLICES = 60 };
#define OTHERS_NS (100 * SECOND) /* beyond every peak made here */

struct peak_maker {
	struct profile profile;
	double series[256];
	struct related_side side;
};

/* A peak of `calls` calls around `median`, beside twice as many others of its operation. */
static void make(struct peak_maker *p, struct rng *rng, uint32_t op, double median, double width,
		 unsigned int calls)
{
	memset(p, 0, sizeof(*p));
	for (unsigned int i = 0; i < calls; i++)
		profile_add(&p->profile, rng_latency(rng, median, width));
	for (unsigned int i = 0; i < 2 * calls; i++)
		profile_add(&p->profile, OTHERS_NS);
	p->side = (struct related_side){.op = op,
					.peak_id = 1,
					.range = {0, pt_bucket(OTHERS_NS)},
					.profile = &p->profile,
					.series = p->series};
}

static void noise(struct peak_maker *p, struct rng *rng, double calls)
{
	for (int i = 0; i < SLICES; i++)
		p->series[i] = floor(calls * exp2(rng_double(rng) - 0.5));
}

/* related_score() of two peaks whose series are counts. */
static bool score(const struct related_side *a, const struct related_side *b, unsigned int slices,
		  struct peak_related *out)
{
	double x[256], y[256];
	struct related_side u = *a, v = *b;

	if (u.series)
		u.series = memcpy(x, u.series, sizeof(x));
	if (v.series)
		v.series = memcpy(y, v.series, sizeof(y));
	related_prepare(x, u.series ? slices : 0);
	related_prepare(y, v.series ? slices : 0);
	return related_score(&u, &v, slices, out);
}

static void test_llseek_waits_for_read(void **state)
{
	struct rng rng = {1};
	struct peak_maker read, llseek, other;
	struct peak_related r;

	make(&read, &rng, 1, 1.5e6, 0.6, 3000);
	make(&llseek, &rng, 2, 1.5e6, 0.6, 2998);
	noise(&read, &rng, 50);
	noise(&llseek, &rng, 50);
	assert_true(score(&read.side, &llseek.side, SLICES, &r));
	assert_int_equal(r.op, 2);
	assert_int_equal(r.peak_id, 1);
	assert_string_equal(r.by, "count, shape");
	assert_true(r.score > 0.5 && r.score < 0.67);
	/* Scaled counts are the same by chance only; nearly the same counts and shapes are common.
	 */
	llseek.side.scaled = true;
	assert_false(score(&read.side, &llseek.side, SLICES, &r));
	llseek.side.scaled = false;
	make(&other, &rng, 2, 1.5e6, 0.6, 2980);
	noise(&other, &rng, 50);
	assert_false(score(&read.side, &other.side, SLICES, &r));
	/* And when the two come and go together too. */
	for (int i = 0; i < SLICES; i++)
		llseek.series[i] = read.series[i] + (i % 3) - 1;
	assert_true(score(&read.side, &llseek.side, SLICES, &r));
	assert_string_equal(r.by, "count, shape, slices");
	assert_true(r.score > 0.8);
}

static void test_symmetric(void **state)
{
	struct rng rng = {2};

	for (int i = 0; i < 200; i++) {
		struct peak_maker a, b;
		struct peak_related x, y;
		bool one, other;

		make(&a, &rng, 1, 1e4, 0.5, 200 + rng_next(&rng) % 20);
		make(&b, &rng, 2, 1e4 * exp2(rng_double(&rng)), 0.5, 200 + rng_next(&rng) % 20);
		noise(&a, &rng, 10);
		memcpy(b.series, a.series, sizeof(b.series));
		one = score(&a.side, &b.side, i % 2 ? SLICES : 0, &x);
		other = score(&b.side, &a.side, i % 2 ? SLICES : 0, &y);
		assert_int_equal(one, other);
		if (one) {
			assert_string_equal(x.by, y.by);
			assert_true(fabs(x.score - y.score) < 1e-9);
		}
	}
}

static void test_not_itself(void **state)
{
	struct rng rng = {3};
	struct peak_maker a;
	struct peak_related r;
	struct related_side again;

	make(&a, &rng, 1, 1e6, 0.5, 1000);
	noise(&a, &rng, 10);
	assert_false(score(&a.side, &a.side, SLICES, &r));
	/* Nor another peak of the same operation: they share its load. */
	again = a.side;
	again.peak_id = 2;
	assert_false(score(&a.side, &again, SLICES, &r));
	again.op = 2;
	assert_true(score(&a.side, &again, SLICES, &r));
	assert_true(fabs(r.score - 1) < 1e-6);
}

static void test_shape_alone_says_nothing(void **state)
{
	struct rng rng = {4};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 3000);
	make(&b, &rng, 2, 1e4, 0.5, 1500);
	noise(&a, &rng, 50);
	noise(&b, &rng, 25);
	assert_false(score(&a.side, &b.side, SLICES, &r));
}

static void test_count_alone(void **state)
{
	struct rng rng = {5};
	struct peak_maker a, b;
	struct peak_related r;

	/* Nearly the same of another latency may be luck, the very same is not. */
	make(&a, &rng, 1, 1e4, 0.5, 3000);
	make(&b, &rng, 2, 1e7, 0.5, 2950);
	assert_false(score(&a.side, &b.side, 0, &r));
	make(&b, &rng, 2, 1e7, 0.5, 2999);
	assert_true(score(&a.side, &b.side, 0, &r));
	assert_string_equal(r.by, "count");
	/* Unless it is what one of them always does: once for each request. */
	b.side.range.high = PT_BUCKETS;
	for (unsigned int i = 0; i < PT_BUCKETS; i++)
		if (bucket_low_ns(i, PT_RESOLUTION) > SECOND)
			b.profile.calls -= b.profile.count[i], b.profile.count[i] = 0;
	assert_false(score(&a.side, &b.side, 0, &r));
	/* Unless it is the same of few. */
	make(&a, &rng, 1, 1e4, 0.5, 50);
	make(&b, &rng, 2, 1e7, 0.5, 50);
	assert_false(score(&a.side, &b.side, 0, &r));
}

/* Of two peaks that are what their operations usually do, nothing is said. */
static void test_usual_peaks(void **state)
{
	struct rng rng = {5};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 3000);
	make(&b, &rng, 2, 1e4, 0.5, 3000);
	noise(&a, &rng, 50);
	memcpy(b.series, a.series, sizeof(a.series));
	assert_true(score(&a.side, &b.side, SLICES, &r));
	a.side.range.high = b.side.range.high = PT_BUCKETS;
	assert_false(score(&a.side, &b.side, SLICES, &r));
}

static void test_few_calls(void **state)
{
	struct rng rng = {6};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 10);
	make(&b, &rng, 2, 1e4, 0.5, 10);
	assert_false(score(&a.side, &b.side, 0, &r));
	make(&a, &rng, 1, 1e4, 0.5, 0);
	make(&b, &rng, 2, 1e4, 0.5, 0);
	assert_false(score(&a.side, &b.side, SLICES, &r));
}

static void test_range_counts_only(void **state)
{
	struct rng rng = {7};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.3, 1000);
	make(&b, &rng, 2, 1e4, 0.3, 1000);
	/* The other peak of b has nothing to do with it. */
	for (int i = 0; i < 50000; i++)
		profile_add(&b.profile, rng_latency(&rng, 1e8, 0.3));
	assert_false(score(&a.side, &b.side, 0, &r));
	b.side.range.high = pt_bucket(1000000);
	assert_true(score(&a.side, &b.side, 0, &r));
	assert_string_equal(r.by, "count, shape");
}

static void test_same_slices(void **state)
{
	struct rng rng = {8};
	struct peak_maker a, b;
	struct peak_related r;

	/* A burst every fifth slice, other counts and latencies. */
	make(&a, &rng, 1, 1e4, 0.5, 5000);
	make(&b, &rng, 2, 1e7, 0.5, 300);
	for (int i = 0; i < SLICES; i++) {
		a.series[i] = i % 5 == 2 ? 400 + (double)(rng_next(&rng) % 50) : 2;
		b.series[i] = i % 5 == 2 ? 25 + (double)(rng_next(&rng) % 5) : 0;
	}
	assert_true(score(&a.side, &b.side, SLICES, &r));
	assert_string_equal(r.by, "slices");
	assert_true(r.score > 0.3 && r.score < 0.34);
	/* The bursts of one a slice later than those of the other. */
	for (int i = SLICES - 1; i > 0; i--)
		b.series[i] = b.series[i - 1];
	assert_false(score(&a.side, &b.side, SLICES, &r));
}

static void test_enough_slices(void **state)
{
	struct rng rng = {9};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 5000);
	make(&b, &rng, 2, 1e7, 0.5, 300);
	noise(&a, &rng, 1000);
	memcpy(b.series, a.series, sizeof(a.series));
	for (unsigned int n = 0; n < 12; n++)
		assert_false(score(&a.side, &b.side, n, &r));
	assert_true(score(&a.side, &b.side, 30, &r));
	/* Watched only of late. */
	b.side.known_from = 25;
	assert_false(score(&a.side, &b.side, 30, &r));
	b.side.known_from = 5;
	assert_true(score(&a.side, &b.side, 30, &r));
	b.side.known_from = 300;
	assert_false(score(&a.side, &b.side, 30, &r));
	b.side.known_from = 0;
	b.side.series = NULL;
	assert_false(score(&a.side, &b.side, 30, &r));
}

/* Both busy once, at the start: everything was. */
static void test_one_common_slice(void **state)
{
	struct rng rng = {10};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 5000);
	make(&b, &rng, 2, 1e7, 0.5, 300);
	a.series[0] = 5000;
	b.series[0] = 300;
	assert_false(score(&a.side, &b.side, SLICES, &r));
	noise(&a, &rng, 20);
	noise(&b, &rng, 20);
	a.series[0] = a.series[1] = 50000;
	b.series[0] = b.series[1] = 30000;
	assert_false(score(&a.side, &b.side, SLICES, &r));
}

/* Both grow with the load of the day, and otherwise have nothing in common. */
static void test_common_trend(void **state)
{
	struct rng rng = {11};
	struct peak_maker a, b;
	struct peak_related r;
	unsigned int related = 0;

	for (int k = 0; k < 50; k++) {
		make(&a, &rng, 1, 1e4, 0.5, 5000);
		make(&b, &rng, 2, 1e7, 0.5, 300);
		noise(&a, &rng, 1000);
		noise(&b, &rng, 1000);
		for (int i = 0; i < SLICES; i++) {
			a.series[i] *= 1 + i;
			b.series[i] *= 1 + i;
		}
		related += score(&a.side, &b.side, SLICES, &r);
	}
	assert_int_equal(related, 0);
}

static void test_constant(void **state)
{
	struct rng rng = {12};
	struct peak_maker a, b;
	struct peak_related r;

	make(&a, &rng, 1, 1e4, 0.5, 5000);
	make(&b, &rng, 2, 1e7, 0.5, 300);
	for (int i = 0; i < SLICES; i++)
		a.series[i] = b.series[i] = 83;
	assert_false(score(&a.side, &b.side, SLICES, &r));
	assert_false(score(&a.side, &b.side, 1, &r));
}

/* Pairs that have nothing to do with each other: bursty, noisy and rare ones, all combined. */
static void test_nothing_to_find(void **state)
{
	enum { PEAKS = 60 };
	static struct peak_maker peak[PEAKS];
	struct rng rng = {13};
	struct peak_related r;
	unsigned int said = 0;

	for (uint32_t p = 0; p < PEAKS; p++) {
		double rate = exp2(rng_double(&rng) * 10), burst = rng_double(&rng);

		make(&peak[p], &rng, p + 1, exp2(10 + 20 * rng_double(&rng)), 0.5,
		     (unsigned int)exp2(5 + 10 * rng_double(&rng)));
		noise(&peak[p], &rng, rate);
		for (int i = 0; i < SLICES; i++)
			if (p % 3 == 0 && rng_double(&rng) < burst)
				peak[p].series[i] = 0;
	}
	for (uint32_t a = 0; a < PEAKS; a++)
		for (uint32_t b = a + 1; b < PEAKS; b++)
			said += score(&peak[a].side, &peak[b].side, SLICES, &r);
	/* Of 1770 pairs a few have the same count and latency by luck. */
	print_message("said %u of %u\n", said, PEAKS * (PEAKS - 1) / 2);
	assert_true(said <= 12);
}

/* Two that share half of their noise are found, whatever the seed. */
static void test_power(void **state)
{
	unsigned int found = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct rng rng = {seed * 1000 + 14};
		struct peak_maker a, b;
		struct peak_related r;

		make(&a, &rng, 1, 1e4, 0.5, 5000);
		make(&b, &rng, 2, 1e7, 0.5, 300);
		for (int i = 0; i < SLICES; i++) {
			double common = 500 * exp2(4 * rng_double(&rng));

			a.series[i] = common * exp2(rng_double(&rng));
			b.series[i] = common / 10 * exp2(rng_double(&rng));
		}
		found += score(&a.side, &b.side, SLICES, &r);
	}
	assert_true(found >= 95);
}

static void test_list(void **state)
{
	struct peak_related list[RELATED_MAX], one = {.op = 1, .peak_id = 1, .by = "count"};
	unsigned int nr = 0;
	static const double scores[] = {0.5, 0.2, 0.9, 0.5, 0.1, 0.95, 0.5, 0.3};

	for (uint32_t i = 0; i < 8; i++) {
		one.op = 10 - i;
		one.score = scores[i];
		related_insert(list, &nr, &one);
		assert_true(nr <= RELATED_MAX);
	}
	assert_int_equal(nr, RELATED_MAX);
	assert_true(list[0].score > 0.94);
	assert_true(list[1].score > 0.89);
	/* Of equal ones the lower number. */
	assert_int_equal(list[2].op, 4);
	assert_int_equal(list[3].op, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_llseek_waits_for_read),
	    cmocka_unit_test(test_symmetric),
	    cmocka_unit_test(test_not_itself),
	    cmocka_unit_test(test_shape_alone_says_nothing),
	    cmocka_unit_test(test_count_alone),
	    cmocka_unit_test(test_usual_peaks),
	    cmocka_unit_test(test_few_calls),
	    cmocka_unit_test(test_range_counts_only),
	    cmocka_unit_test(test_same_slices),
	    cmocka_unit_test(test_enough_slices),
	    cmocka_unit_test(test_one_common_slice),
	    cmocka_unit_test(test_common_trend),
	    cmocka_unit_test(test_constant),
	    cmocka_unit_test(test_nothing_to_find),
	    cmocka_unit_test(test_power),
	    cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
