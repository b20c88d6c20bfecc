/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peaks of a profile, checked for what holds for every profile. */
#ifndef TESTS_CHECKED_PEAKS_H
#define TESTS_CHECKED_PEAKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/latency/peaks.h"
#include "tests/unit/profiles.h"

enum { MAX_PEAKS = 16 };

static inline void print_found(const struct peak_span *peak, unsigned int n)
{
	print_message("    found ");
	for (unsigned int i = 0; i < n; i++)
		print_message(" %.3f [%.3f, %.3f) %llu", peak[i].mode / 8.0,
			      peak[i].range.low / 8.0, peak[i].range.high / 8.0,
			      (unsigned long long)peak[i].calls);
	print_message("\n");
}

/* What holds for every profile whatsoever. */
static inline unsigned int find_checked(const struct profile *p, struct peak_span *peak,
					unsigned int max)
{
	unsigned int n = peaks_find(p, peak, max);
	uint64_t calls = 0, all = profile_range_calls(p, (struct bucket_range){0, PT_BUCKETS});

	assert_true(n <= max);
	assert_int_equal(n > 0, all > 0 && max > 0);
	for (unsigned int i = 0; i < n; i++) {
		assert_true(peak[i].range.low < peak[i].range.high);
		assert_true(peak[i].range.high <= PT_BUCKETS);
		assert_true(i == 0 || peak[i].range.low >= peak[i - 1].range.high);
		assert_true(peak[i].mode >= peak[i].range.low);
		assert_true(peak[i].mode < peak[i].range.high);
		assert_true(p->count[peak[i].mode] > 0);
		assert_true(p->count[peak[i].range.low] > 0);
		assert_true(p->count[peak[i].range.high - 1] > 0);
		assert_int_equal(peak[i].calls, profile_range_calls(p, peak[i].range));
		assert_true(peak[i].prominence >= 0 && peak[i].prominence < 70);
		calls += peak[i].calls;
	}
	if (n)
		assert_true((double)calls >= 0.95 * (double)all);
	return n;
}

#endif
