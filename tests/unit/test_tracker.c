// SPDX-License-Identifier: GPL-2.0-or-later
/* The ids of peaks from slice to slice. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/latency/peaks.h"
#include "tests/unit/corpus/families.h"

enum { MAX_PEAKS = 16 };

static struct peak_span span(unsigned int mode, unsigned int reach, uint64_t calls)
{
	return (struct peak_span){{mode - reach, mode + reach + 1}, mode, calls, 5};
}

static void test_first_ids(void **state)
{
	struct peak_span s[3] = {span(80, 4, 100), span(120, 4, 100), span(200, 4, 100)};
	struct peak_tracker t;
	int ids[3];

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, s, 0, ids);
	peaks_tracker_update(&t, s, 3, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 2);
	assert_int_equal(ids[2], 3);
	peaks_tracker_update(&t, s, 3, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[2], 3);
}

/* Numbers are given by request, the smallest one that is free, and stay with the id. */
static void test_numbers(void **state)
{
	struct peak_span first[2] = {span(80, 4, 100), span(200, 4, 100)};
	struct peak_span then[3] = {span(30, 4, 100), first[0], first[1]};
	struct peak_span gone[2] = {then[0], then[2]};
	struct peak_tracker t;
	int ids[3], low, middle, high;

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, first, 2, ids);
	middle = ids[0];
	high = ids[1];
	assert_int_equal(peaks_tracker_number(&t, middle), 1);
	assert_int_equal(peaks_tracker_number(&t, high), 2);
	peaks_tracker_update(&t, then, 3, ids);
	low = ids[0];
	assert_int_equal(peaks_tracker_number(&t, low), 3);
	assert_int_equal(peaks_tracker_number(&t, middle), 1);
	assert_int_equal(peaks_tracker_number(&t, high), 2);
	/* a peak that is forgotten leaves its number to a new one */
	for (int i = 0; i <= PEAKS_FORGET; i++)
		peaks_tracker_update(&t, gone, 2, ids);
	assert_int_equal(peaks_tracker_number(&t, middle), 0);
	peaks_tracker_update(&t, then, 3, ids);
	assert_int_not_equal(ids[1], middle);
	assert_int_equal(peaks_tracker_number(&t, ids[1]), 1);
	assert_int_equal(peaks_tracker_number(&t, low), 3);
}

static void test_drift(void **state)
{
	struct peak_tracker t;
	struct peak_span s[2];
	int ids[2];

	peaks_tracker_init(&t);
	for (unsigned int i = 0; i < 100; i++) {
		s[0] = span(80 + i, 4, 1000);
		s[1] = span(300 - i, 4, 100);
		peaks_tracker_update(&t, s, 2, ids);
		assert_int_equal(ids[0], 1);
		assert_int_equal(ids[1], 2);
	}
}

/* All of them move together, by more than half of what lies between two. */
static void test_common_shift(void **state)
{
	struct peak_tracker t;
	struct peak_span s[4];
	int ids[4];

	peaks_tracker_init(&t);
	for (unsigned int slice = 0; slice < 2; slice++) {
		for (unsigned int i = 0; i < 4; i++)
			s[i] = span(100 + 12 * i + 7 * slice, 3, 1000);
		peaks_tracker_update(&t, s, 4, ids);
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(ids[i], i + 1);
	}
}

static void test_split_and_merge(void **state)
{
	struct peak_span one = span(102, 12, 1000);
	struct peak_span two[2] = {span(100, 4, 900), span(112, 4, 100)};
	struct peak_tracker t;
	int ids[2];

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, &one, 1, ids);
	assert_int_equal(ids[0], 1);
	peaks_tracker_update(&t, two, 2, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 2);
	peaks_tracker_update(&t, &one, 1, ids);
	assert_int_equal(ids[0], 1);
	peaks_tracker_update(&t, two, 2, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 2);
}

static void test_split_above(void **state)
{
	struct peak_span one = span(110, 12, 1000);
	struct peak_span two[2] = {span(98, 4, 100), span(111, 4, 900)};
	struct peak_tracker t;
	int ids[2];

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, &one, 1, ids);
	peaks_tracker_update(&t, two, 2, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 1);
}

static void test_new_peak_between(void **state)
{
	struct peak_span s[3] = {span(80, 4, 100), span(140, 4, 50), span(200, 4, 100)};
	struct peak_span two[2] = {s[0], s[2]};
	struct peak_tracker t;
	int ids[3];

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, two, 2, ids);
	peaks_tracker_update(&t, s, 3, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 3);
	assert_int_equal(ids[2], 2);
	peaks_tracker_update(&t, &s[1], 1, ids);
	assert_int_equal(ids[0], 3);
}

static void test_absence(void **state)
{
	struct peak_span s[2] = {span(80, 4, 1000), span(200, 4, 10)};
	struct peak_tracker t;
	int ids[2];

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, s, 2, ids);
	for (unsigned int i = 1; i < PEAKS_FORGET; i++)
		peaks_tracker_update(&t, s, 1, ids);
	peaks_tracker_update(&t, s, 2, ids);
	assert_int_equal(ids[1], 2);
	for (unsigned int i = 0; i < PEAKS_FORGET; i++)
		peaks_tracker_update(&t, s, 1, ids);
	peaks_tracker_update(&t, s, 2, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 3);
}

static void test_jump_is_another_peak(void **state)
{
	struct peak_span a = span(80, 4, 1000), b = span(200, 4, 1000);
	struct peak_tracker t;
	int id;

	peaks_tracker_init(&t);
	peaks_tracker_update(&t, &a, 1, &id);
	peaks_tracker_update(&t, &b, 1, &id);
	assert_int_equal(id, 2);
	peaks_tracker_update(&t, &a, 1, &id);
	assert_int_equal(id, 1);
}

static void test_full(void **state)
{
	struct peak_span s[PEAKS_TRACKED + 4];
	int ids[PEAKS_TRACKED + 4];
	struct peak_tracker t;

	peaks_tracker_init(&t);
	for (unsigned int i = 0; i < PEAKS_TRACKED + 4; i++)
		s[i] = span(5 + 8 * i, 2, 100);
	peaks_tracker_update(&t, s, PEAKS_TRACKED + 4, ids);
	for (unsigned int i = 0; i < PEAKS_TRACKED; i++)
		assert_int_equal(ids[i], i + 1);
	for (unsigned int i = PEAKS_TRACKED; i < PEAKS_TRACKED + 4; i++)
		assert_int_equal(ids[i], 0);
	/* The ones that come next take the places of absent ones. */
	peaks_tracker_update(&t, s, 16, ids);
	peaks_tracker_update(&t, &s[20], 16, ids);
	for (unsigned int i = 0; i < 12; i++)
		assert_int_equal(ids[i], i + 21);
	assert_int_equal(ids[15], PEAKS_TRACKED + 4);
	assert_int_equal(t.nr, PEAKS_TRACKED);
}

/* Ids differ within a slice and are never given to another place. */
static void test_garbage(void **state)
{
	struct peak_span s[PEAKS_TRACKED];
	int ids[PEAKS_TRACKED], highest = 0;
	struct random r = {31};
	struct peak_tracker t;

	peaks_tracker_init(&t);
	for (unsigned int slice = 0; slice < 3000; slice++) {
		unsigned int n = 0, at = random_bits(&r) % 40;

		while (n < PEAKS_TRACKED && at < PT_BUCKETS - 4) {
			s[n++] = span(at + 2, random_bits(&r) % 3, random_bits(&r) >> 40);
			at += 5 + random_bits(&r) % 60;
		}
		peaks_tracker_update(&t, s, n, ids);
		for (unsigned int i = 0; i < n; i++) {
			assert_in_range(ids[i], 1, highest + (int)n);
			for (unsigned int k = 0; k < i; k++)
				assert_int_not_equal(ids[i], ids[k]);
		}
		for (unsigned int i = 0; i < n; i++)
			highest = ids[i] > highest ? ids[i] : highest;
		for (unsigned int k = 1; k < t.nr; k++)
			assert_true(t.peak[k - 1].span.mode <= t.peak[k].span.mode);
	}
}

/* Profiles with noise, slice by slice, whose peaks wander and vary in size. */
static void test_on_noisy_slices(void **state)
{
	struct mixture m = {.step_ns = 1};
	struct peak_span peak[MAX_PEAKS];
	struct random r = {12};
	struct peak_tracker t;
	struct profile p;
	unsigned int n;
	int ids[MAX_PEAKS];

	mixture_add(&m, SHAPE_NORMAL, 10, 0.25, 1);
	mixture_add(&m, SHAPE_NORMAL, 14, 0.3, 0.1);
	mixture_add(&m, SHAPE_NORMAL, 22, 0.2, 0.05);
	peaks_tracker_init(&t);
	for (unsigned int slice = 0; slice < 300; slice++) {
		m.calls = random_log(&r, 3000, 300000);
		m.part[0].at += random_between(&r, -0.1, 0.1);
		m.part[1].at = m.part[0].at + 4;
		m.part[2].at = 22 + sin(slice / 10.0);
		mixture_draw(&m, &r, &p);
		n = peaks_find(&p, peak, MAX_PEAKS);
		assert_int_equal(n, 3);
		peaks_tracker_update(&t, peak, n, ids);
		for (int i = 0; i < 3; i++)
			assert_int_equal(ids[i], i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_first_ids),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_drift),
	    cmocka_unit_test(test_common_shift),
	    cmocka_unit_test(test_split_and_merge),
	    cmocka_unit_test(test_split_above),
	    cmocka_unit_test(test_new_peak_between),
	    cmocka_unit_test(test_absence),
	    cmocka_unit_test(test_jump_is_another_peak),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_garbage),
	    cmocka_unit_test(test_on_noisy_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
