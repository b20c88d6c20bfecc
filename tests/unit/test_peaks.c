// SPDX-License-Identifier: GPL-2.0-or-later
/* The properties of the peak finder. */
#include <math.h>
#include <stdlib.h>

#include "analysis/latency/clock.h"
#include "tests/unit/checked_peaks.h"
#include "tests/unit/corpus/families.h"

static void add_normal(struct profile *p, double at, double spread, double calls)
{
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		double n = calls * (normal_below(((i + 1) / 8.0 - at) / spread) -
				    normal_below((i / 8.0 - at) / spread));

		mixture_count(p, bucket_low_ns(i, 8), (uint64_t)(n + 0.5));
	}
}

static void put(struct profile *p, unsigned int bucket, uint64_t n)
{
	mixture_count(p, bucket_low_ns(bucket, 8), n);
}

static void test_nothing(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	assert_int_equal(peaks_find(&p, peak, MAX_PEAKS), 0);
	profile_add(&p, 100);
	assert_int_equal(peaks_find(&p, peak, 0), 0);
}

static void test_few_calls_are_one_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	profile_add(&p, 1000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
	assert_int_equal(peak[0].mode, pt_bucket(1000));
	assert_int_equal(peak[0].range.high - peak[0].range.low, 1);
	profile_add(&p, 1000000000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
	assert_int_equal(peak[0].calls, 2);
}

static void test_every_bucket_can_be_a_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		profile_init(&p);
		put(&p, i, 1000);
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
		assert_in_range(peak[0].mode, i - (i < 24 ? i : 0), i + 8);
	}
}

static void test_lone_spike_far_away(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 10, 0.5, 1e6);
	put(&p, 220, 40);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 2);
	assert_int_equal(peak[1].mode, 220);
	assert_int_equal(peak[1].calls, 40);
}

static void test_strays_are_no_peak_and_do_not_stretch_one(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (unsigned int strays = 1; strays <= 2; strays++) {
		profile_init(&p);
		add_normal(&p, 10, 0.5, 1e6);
		put(&p, 240, strays);
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
		assert_true(peak[0].range.high < 110);
		assert_int_equal(peak[0].calls, p.calls - strays);
		profile_init(&p);
		add_normal(&p, 20, 0.5, 1e6);
		put(&p, 40, strays);
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
		assert_true(peak[0].range.low > 120);
	}
}

static void test_three_calls_are_a_peak_of_twenty(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	put(&p, 100, 17);
	put(&p, 200, 4);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 2);
	put(&p, 100, 1000000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
}

static void test_rare_slow_calls(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 9, 0.7, 500000);
	for (unsigned int i = 0; i < 50; i++)
		profile_add(&p, 200000000 + i * 100000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 2);
	assert_int_equal(peak[1].calls, 50);
	assert_in_range(peak[1].mode, pt_bucket(200000000), pt_bucket(205000000));
}

static void test_power_law_is_one_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (double slope = 0.02; slope < 0.6; slope *= 1.3) {
		profile_init(&p);
		for (unsigned int i = 80; i < PT_BUCKETS; i++)
			put(&p, i, (uint64_t)(1e6 * exp2(-slope * (i - 80))));
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
		assert_in_range(peak[0].mode, 80, 83);
	}
}

/* Noise has no peaks: at most 10 in 100 plateaus of 7.5 doublings seem to, and none of many calls.
 */
static void test_flat_is_one_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct random r = {21};
	struct profile p;
	unsigned int wrong;

	for (unsigned int mean = 1; mean < 1000000; mean *= 3) {
		wrong = 0;
		for (unsigned int round = 0; round < 100; round++) {
			profile_init(&p);
			for (unsigned int i = 100; i < 160; i++)
				put(&p, i, random_poisson(&r, mean));
			wrong += find_checked(&p, peak, MAX_PEAKS) != 1;
		}
		assert_in_range(wrong, 0, mean > 50 ? 0 : 10);
	}
}

/* A shoulder is no peak, however many calls it has. */
static void test_shoulder_is_no_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 10, 0.4, 1e7);
	add_normal(&p, 10.9, 0.4, 1e6);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
}

/* The same valley: noise among few calls, a fact among many. */
static void test_valley_needs_evidence(void **state)
{
	static const uint64_t shape[] = {1, 3, 4, 3, 1, 1, 1, 1, 3, 4, 3, 1};
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (uint64_t scale = 1; scale <= 1000; scale *= 1000) {
		profile_init(&p);
		for (unsigned int i = 0; i < 12; i++)
			put(&p, 100 + i, scale * shape[i]);
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), scale == 1 ? 1 : 2);
	}
}

/* One low bucket is not a valley: at the default resolution nobody would see it. */
static void test_single_dip_is_no_valley(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 12, 0.5, 1e6);
	p.calls -= p.count[98];
	p.count[98] = 0;
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
	p.calls -= p.count[97] + p.count[99];
	p.count[97] = p.count[99] = 0;
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 2);
}

static void test_single_bump_is_no_peak(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 12, 0.8, 1e6);
	put(&p, 104, p.count[104] / 2);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
}

static bool same_places(const struct peak_span *a, const struct peak_span *b, unsigned int n,
			unsigned int shift)
{
	for (unsigned int i = 0; i < n; i++)
		if (a[i].mode + shift != b[i].mode || a[i].range.low + shift != b[i].range.low ||
		    a[i].range.high + shift != b[i].range.high)
			return false;
	return true;
}

static void test_deterministic(void **state)
{
	struct peak_span a[MAX_PEAKS], b[MAX_PEAKS];
	struct mode mode[MIXTURE_MAX_MODES];
	struct mixture m;
	struct profile p;

	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	for (unsigned int f = 0; f < NR_FAMILIES; f++) {
		struct random r = {100 + f};
		unsigned int n;

		family_draw((enum family)f, &r, &m, mode);
		mixture_draw(&m, &r, &p);
		n = find_checked(&p, a, MAX_PEAKS);
		assert_int_equal(find_checked(&p, b, MAX_PEAKS), n);
		assert_memory_equal(a, b, n * sizeof(*a));
	}
}

/* The same shape with more calls: the same peaks in the same places. */
static void test_scale_invariance(void **state)
{
	struct peak_span a[MAX_PEAKS], b[MAX_PEAKS];
	struct profile p, scaled;

	profile_init(&p);
	add_normal(&p, 9, 0.3, 30000);
	add_normal(&p, 12, 0.5, 100000);
	add_normal(&p, 18, 0.4, 5000);
	add_normal(&p, 28, 0.1, 3000);
	assert_int_equal(find_checked(&p, a, MAX_PEAKS), 4);
	for (uint64_t k = 2; k <= 1000000000; k *= 7) {
		profile_init(&scaled);
		for (unsigned int i = 0; i < PT_BUCKETS; i++)
			put(&scaled, i, k * p.count[i]);
		assert_int_equal(find_checked(&scaled, b, MAX_PEAKS), 4);
		for (unsigned int i = 0; i < 4; i++) {
			assert_in_range(b[i].mode, a[i].mode - 1, a[i].mode + 1);
			assert_in_range(b[i].calls, 0.98 * k * a[i].calls, 1.02 * k * a[i].calls);
		}
	}
}

static void test_shift_invariance(void **state)
{
	struct peak_span a[MAX_PEAKS], b[MAX_PEAKS];
	struct profile p, moved;
	unsigned int n;

	profile_init(&p);
	add_normal(&p, 16, 0.3, 30000);
	add_normal(&p, 19, 0.5, 1000);
	n = find_checked(&p, a, MAX_PEAKS);
	assert_int_equal(n, 2);
	for (unsigned int shift = 1; shift < 150; shift++) {
		profile_init(&moved);
		for (unsigned int i = 0; i + shift < PT_BUCKETS; i++)
			put(&moved, i + shift, p.count[i]);
		assert_int_equal(find_checked(&moved, b, MAX_PEAKS), n);
		assert_true(same_places(a, b, n, shift));
	}
}

/* More empty buckets between two peaks change nothing in either. */
static void test_wider_gap(void **state)
{
	struct peak_span a[MAX_PEAKS], b[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 12, 0.3, 10000);
	add_normal(&p, 18, 0.3, 300);
	assert_int_equal(find_checked(&p, a, MAX_PEAKS), 2);
	for (unsigned int at = 19; at < 40; at++) {
		profile_init(&p);
		add_normal(&p, 12, 0.3, 10000);
		add_normal(&p, at, 0.3, 300);
		assert_int_equal(find_checked(&p, b, MAX_PEAKS), 2);
		assert_memory_equal(&a[0].range, &b[0].range, sizeof(a[0].range));
		assert_int_equal(a[1].range.low + (at - 18) * 8, b[1].range.low);
		assert_int_equal(a[1].calls, b[1].calls);
	}
}

static void test_most_prominent_are_kept(void **state)
{
	struct peak_span all[MAX_PEAKS], some[MAX_PEAKS];
	struct profile p;
	unsigned int n;

	profile_init(&p);
	for (unsigned int k = 0; k < 8; k++)
		add_normal(&p, 8 + 4 * k, 0.2, k == 3 || k == 6 ? 1e6 : 500);
	assert_int_equal(find_checked(&p, all, MAX_PEAKS), 8);
	for (unsigned int max = 1; max < 8; max++) {
		n = find_checked(&p, some, max);
		assert_int_equal(n, max);
	}
	assert_int_equal(find_checked(&p, some, 2), 2);
	assert_int_equal(some[0].mode, all[3].mode);
	assert_int_equal(some[1].mode, all[6].mode);
	assert_int_equal(some[0].calls + some[1].calls, p.calls);
}

/* Latencies of 1, 2, 3 ... ns leave the buckets between them empty: that is no valley. */
static void test_impossible_buckets(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (double at = 2; at < 64; at *= 1.3) {
		profile_init(&p);
		for (uint64_t ns = 1; ns < 300; ns++)
			mixture_count(&p, ns, (uint64_t)(1e5 * exp(-pow(log(ns / at) / 0.5, 2))));
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
	}
}

/* Two integers with an empty one between them, but many calls. */
static void test_short_latencies_can_have_peaks(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	mixture_count(&p, 20, 1000);
	mixture_count(&p, 21, 2000);
	mixture_count(&p, 22, 1000);
	mixture_count(&p, 50, 1000);
	mixture_count(&p, 51, 2000);
	mixture_count(&p, 52, 1000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 2);
}

static void test_coarse_clocks(void **state)
{
	static const double step[] = {10, 16, 20, 25, 41.667, 52.083, 70, 100, 279.365, 1000};
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	for (unsigned int i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		profile_init(&p);
		for (unsigned int k = 1; k < 4000; k++)
			mixture_count(&p, (uint64_t)(k * step[i] + 0.5),
				      (uint64_t)(1e6 / k * exp(-pow(log(k / 6.0) / 0.6, 2))));
		assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 1);
	}
}

static void test_clock_step(void **state)
{
	static const double step[] = {10, 25, 41.667, 100, 279.365, 1000};
	struct mixture m = {.calls = 1e6, .nr = 1};
	struct random r = {8};
	struct profile p;

	for (unsigned int i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		m.step_ns = step[i];
		/* Also with many calls shorter than a tick. */
		for (double at = 0; at < 2.6; at += 0.5) {
			m.part[0] = (struct component){SHAPE_NORMAL, log2(step[i]) + at, 0.6, 1};
			mixture_draw(&m, &r, &p);
			assert_true(fabs(clock_step(&p) / step[i] - 1) < 0.015);
		}
	}
	m.step_ns = 1;
	for (double at = 5; at < 30; at += 0.3) {
		m.part[0] = (struct component){SHAPE_NORMAL, at, 0.6, 1};
		mixture_draw(&m, &r, &p);
		assert_true(clock_step(&p) < 2);
	}
}

/* Multiples of a tick, milliseconds apart, are peaks and not the clock's doing. */
static void test_multiples_of_the_tick_are_peaks(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	for (unsigned int k = 1; k <= 4; k++)
		mixture_count(&p, 4000000ULL * k, 1000);
	assert_int_equal(find_checked(&p, peak, MAX_PEAKS), 4);
}

/* One call seen that stands for a thousand is one call. */
static void test_weighted_counts(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	add_normal(&p, 10, 0.5, 1e7);
	put(&p, 200, 1000);
	put(&p, 230, 1000);
	assert_int_equal(peaks_find(&p, peak, MAX_PEAKS), 3);
	assert_int_equal(peaks_find_seen(&p, 1e-3, peak, MAX_PEAKS), 1);
	put(&p, 200, 99000);
	assert_int_equal(peaks_find_seen(&p, 1e-3, peak, MAX_PEAKS), 2);
	assert_int_equal(peak[1].calls, 100000);
	/* Not a share: everything was seen. */
	assert_int_equal(peaks_find_seen(&p, 0, peak, MAX_PEAKS), 3);
	assert_int_equal(peaks_find_seen(&p, NAN, peak, MAX_PEAKS), 3);
	assert_int_equal(peaks_find_seen(&p, 7, peak, MAX_PEAKS), 3);
}

static void test_enormous_counts(void **state)
{
	struct peak_span peak[MAX_PEAKS];
	struct profile p;

	profile_init(&p);
	p.count[100] = UINT64_MAX;
	p.count[200] = UINT64_MAX / 2;
	p.calls = UINT64_MAX;
	assert_int_equal(peaks_find(&p, peak, MAX_PEAKS), 2);
	assert_int_equal(peak[0].mode, 100);
	assert_int_equal(peak[1].mode, 200);
}

static void test_garbage(void **state)
{
	struct peak_span peak[PT_BUCKETS];
	struct random r = {77};
	struct profile p;

	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int share = 1 + random_bits(&r) % 100, depth = 1 + random_bits(&r) % 40;

		profile_init(&p);
		for (unsigned int i = 0; i < PT_BUCKETS; i++)
			if (random_bits(&r) % 100 < share)
				put(&p, i, random_bits(&r) >> (64 - random_bits(&r) % depth - 1));
		find_checked(&p, peak, round % 2 ? MAX_PEAKS : PT_BUCKETS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_few_calls_are_one_peak),
	    cmocka_unit_test(test_every_bucket_can_be_a_peak),
	    cmocka_unit_test(test_lone_spike_far_away),
	    cmocka_unit_test(test_strays_are_no_peak_and_do_not_stretch_one),
	    cmocka_unit_test(test_three_calls_are_a_peak_of_twenty),
	    cmocka_unit_test(test_rare_slow_calls),
	    cmocka_unit_test(test_power_law_is_one_peak),
	    cmocka_unit_test(test_flat_is_one_peak),
	    cmocka_unit_test(test_shoulder_is_no_peak),
	    cmocka_unit_test(test_valley_needs_evidence),
	    cmocka_unit_test(test_single_dip_is_no_valley),
	    cmocka_unit_test(test_single_bump_is_no_peak),
	    cmocka_unit_test(test_deterministic),
	    cmocka_unit_test(test_scale_invariance),
	    cmocka_unit_test(test_shift_invariance),
	    cmocka_unit_test(test_wider_gap),
	    cmocka_unit_test(test_most_prominent_are_kept),
	    cmocka_unit_test(test_impossible_buckets),
	    cmocka_unit_test(test_short_latencies_can_have_peaks),
	    cmocka_unit_test(test_coarse_clocks),
	    cmocka_unit_test(test_clock_step),
	    cmocka_unit_test(test_multiples_of_the_tick_are_peaks),
	    cmocka_unit_test(test_weighted_counts),
	    cmocka_unit_test(test_enormous_counts),
	    cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
