// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts into which the time of an operation is divided. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/parts.h"
#include "tests/unit/profiles.h"

enum { US = 1000, MS = 1000000 };

static struct peak peaks[MODEL_MAX_PEAKS], folded[MODEL_MAX_PEAKS];
static struct op op;
static struct descent_parts parts;

static void begin(void)
{
	memset(&op, 0, sizeof(op));
	op.op = 7;
	op.share_seen = 1;
	op.peaks = peaks;
	op.folded = folded;
}

static void give(uint64_t ns, unsigned int calls)
{
	for (unsigned int i = 0; i < calls; i++)
		profile_add(&op.total, ns);
}

/* A peak from `low` to `high` with its mode at `mode`. */
static void give_peak(uint64_t low, uint64_t mode, uint64_t high, enum peak_fold fold)
{
	struct peak *p = fold == PEAK_LISTED ? &peaks[op.nr_peaks++] : &folded[op.nr_folded++];

	*p = (struct peak){
	    .range = {pt_bucket(low), pt_bucket(high) + 1}, .mode_ns = mode, .fold = fold};
}

static bool has(const struct rec_part *p, uint64_t ns)
{
	return p->low_ns <= ns && ns < p->high_ns;
}

/* The shares add up to 1 with the rest, the largest is first, and no call is in two parts. */
static void divide(void)
{
	double sum;

	parts_divide(&op, 2e9, &parts);
	assert_int_equal(parts.all.op, 7);
	assert_int_equal(parts.all.calls, op.total.calls);
	assert_int_equal(parts.all.time_ns, op.total.sum_ns);
	assert_int_equal(parts.all.covered_ns, 2000000000);
	assert_ptr_equal(parts.all.parts, parts.part);
	sum = parts_rest(&parts.all);
	for (uint32_t i = 0; i < parts.all.nr_parts; i++) {
		const struct rec_part *p = &parts.part[i];

		assert_true(p->low_ns < p->high_ns && p->calls);
		sum += (double)p->time_ns / (double)op.total.sum_ns;
		assert_true(!i || p->time_ns <= p[-1].time_ns);
		for (uint32_t k = 0; k < i; k++)
			assert_true(p->high_ns <= parts.part[k].low_ns ||
				    parts.part[k].high_ns <= p->low_ns);
	}
	assert_true(!op.total.calls || fabs(sum - 1) < 1e-6);
}

/* Calls that were preempted are a part of their own, and larger than the peak that they are of. */
static void a_shadow(void **state)
{
	begin();
	give(450 * US, 1000);
	give(2500 * US, 220);
	give_peak(400 * US, 450 * US, 700 * US, PEAK_LISTED);
	give_peak(1500 * US, 2500 * US, 4000 * US, PEAK_PREEMPTED);
	divide();
	assert_int_equal(parts.all.nr_parts, 2);
	assert_int_equal(parts.part[0].kind, PART_SHADOW);
	assert_int_equal(parts.part[0].calls, 220);
	assert_true(has(&parts.part[0], 2500 * US) && !has(&parts.part[0], 450 * US));
	/* later calls may be longer than any so far */
	assert_true(parts.part[0].high_ns == UINT64_MAX);
	assert_int_equal(parts.part[1].kind, PART_PEAK);
	assert_int_equal(parts.part[1].calls, 1000);
	assert_true(parts_rest(&parts.all) < 1e-6);
}

/* A part needs a tenth of the time; what is small beside a shadow belongs to it, but not to a peak.
 */
static void small_ones(void **state)
{
	begin();
	give(10 * US, 10000); /* 100 ms */
	give(1 * MS, 5);      /* 5 ms */
	give(3 * MS, 20);     /* 60 ms */
	give(20 * MS, 1);     /* 20 ms, of 185 */
	give_peak(8 * US, 10 * US, 15 * US, PEAK_LISTED);
	give_peak(900 * US, 1 * MS, 1100 * US, PEAK_LISTED);
	give_peak(2 * MS, 3 * MS, 4 * MS, PEAK_RUNQUEUE);
	divide();
	assert_int_equal(parts.all.nr_parts, 3);
	assert_true(has(&parts.part[0], 10 * US) && !has(&parts.part[0], 1 * MS));
	assert_int_equal(parts.part[1].kind, PART_SHADOW);
	assert_int_equal(parts.part[1].calls, 20);
	assert_int_equal(parts.part[2].kind, PART_TAIL);
	assert_int_equal(parts.part[2].few, 1);
	assert_true(parts_rest(&parts.all) > 0.02 && parts_rest(&parts.all) < 0.04);
	give(10 * US, 5000); /* the one call of 20 ms has less than a tenth now */
	divide();
	assert_int_equal(parts.all.nr_parts, 2);
	assert_int_equal(parts.part[1].calls, 21);
	assert_true(has(&parts.part[1], 20 * MS));
}

/* Six calls of 5 ms are an answer of their own, not one with 400 of 60 us that have less of the
 * time. */
static void another_kind_in_the_tail(void **state)
{
	begin();
	give(20 * US, 10000);
	give(60 * US, 400);
	give(5 * MS, 4);
	give_peak(15 * US, 20 * US, 30 * US, PEAK_LISTED);
	divide();
	/* a few may be chance */
	assert_int_equal(parts.all.nr_parts, 2);
	assert_true(has(&parts.part[1], 60 * US) && has(&parts.part[1], 5 * MS));
	give(5 * MS, 2);
	divide();
	assert_int_equal(parts.all.nr_parts, 2);
	assert_true(!has(&parts.part[1], 60 * US) && has(&parts.part[1], 5 * MS));
	assert_int_equal(parts.part[1].calls, 6);
}

/* A peak that has swallowed another one is two parts, of which the tail is where its time is. */
static void a_mixed_peak(void **state)
{
	begin();
	give(10 * US, 3000);
	give(100 * US, 30);
	give(14 * MS, 30);
	give_peak(8 * US, 10 * US, 20 * MS, PEAK_LISTED);
	divide();
	assert_int_equal(parts.all.nr_parts, 1);
	assert_int_equal(parts.part[0].kind, PART_TAIL);
	assert_int_equal(parts.part[0].calls, 30);
	assert_true(has(&parts.part[0], 14 * MS) && !has(&parts.part[0], 100 * US));
	give(10 * US, 6000); /* 90 ms of 513 */
	divide();
	assert_int_equal(parts.all.nr_parts, 2);
	assert_int_equal(parts.part[1].kind, PART_PEAK);
	assert_true(has(&parts.part[1], 10 * US) && !has(&parts.part[1], 100 * US));
}

/* Of many small peaks the largest is the only part; without calls there is none. */
static void only_the_largest(void **state)
{
	begin();
	divide();
	assert_int_equal(parts.all.nr_parts, 0);
	assert_int_equal(parts_next(&parts.all, 0), 0);
	for (unsigned int i = 0; i < 12; i++) {
		uint64_t ns = 1000ull << i;

		give(ns, (i == 5 ? 1100 : 1000) * 4096 / (1u << i));
		give_peak(ns, ns, ns, PEAK_LISTED);
	}
	divide();
	assert_int_equal(parts.all.nr_parts, 1);
	assert_true(has(&parts.part[0], 32 * US));
	assert_true(parts_rest(&parts.all) > 0.9);
}

/* Parts of which too few calls were seen are left out, but for the first if there is no other. */
static void too_few_calls(void **state)
{
	begin();
	op.share_seen = 0.5;
	give(1 * MS, 100);
	give(100 * MS, 8); /* four of them were seen */
	give_peak(1 * MS, 1 * MS, 1 * MS, PEAK_LISTED);
	give_peak(100 * MS, 100 * MS, 100 * MS, PEAK_LISTED);
	divide();
	assert_int_equal(parts.all.nr_parts, 2);
	assert_int_equal(parts.part[0].few, 1);
	assert_int_equal(parts.part[1].few, 0);
	assert_int_equal(parts_next(&parts.all, 0), 2);
	assert_int_equal(parts_next(&parts.all, 2), 0);
	op.share_seen = 0.01;
	divide();
	assert_int_equal(parts.part[1].few, 1);
	assert_int_equal(parts_next(&parts.all, 0), 1);
	assert_int_equal(parts_next(&parts.all, 1), 0);
}

/* The range of a descent includes the empty buckets beside that of the part. */
static void room(void **state)
{
	struct rec_descent ask = {.op = 7};

	begin();
	give(1 * MS, 100);
	give(10 * MS, 10);
	give_peak(1 * MS, 1 * MS, 1 * MS, PEAK_LISTED);
	give_peak(10 * MS, 10 * MS, 10 * MS, PEAK_LISTED);
	divide();
	parts_ask(&op, &parts.all, 2, &ask);
	assert_int_equal(ask.part, 2);
	assert_true(ask.low_ns < parts.part[1].low_ns && ask.high_ns > parts.part[1].high_ns);
	assert_true(ask.low_ns <= 9 * MS || ask.high_ns > 1100 * US);
	parts.part[1].high_ns = UINT64_MAX;
	parts_ask(&op, &parts.all, 2, &ask);
	assert_true(ask.low_ns == parts.part[1].low_ns && ask.high_ns == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_shadow),
	    cmocka_unit_test(small_ones),
	    cmocka_unit_test(another_kind_in_the_tail),
	    cmocka_unit_test(a_mixed_peak),
	    cmocka_unit_test(only_the_largest),
	    cmocka_unit_test(too_few_calls),
	    cmocka_unit_test(room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
