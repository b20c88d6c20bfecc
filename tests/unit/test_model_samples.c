// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/model_feed.h"

#include "analysis/latency/samples.h"
#include "tests/unit/profiles.h"

static struct rec_sample sample_of(uint64_t latency, uint64_t number)
{
	struct rec_sample s = {
	    .op = 1, .tid = 7, .start_ns = number, .latency_ns = latency, .chance_ppm = 1000000};

	return s;
}

static void offer(struct samples *s, uint64_t latency, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct rec_sample rec = sample_of(latency, first + i);

		assert_int_equal(samples_add(s, &rec, MODEL_MAX_SAMPLES), 0);
	}
}

static void test_keeps_all_of_few(void **state)
{
	struct weighted_calls list;
	struct profile total;
	struct samples s;

	samples_init(&s);
	profile_init(&total);
	for (uint64_t i = 0; i < 100; i++) {
		offer(&s, 1000, i, 1);
		profile_add(&total, 1000);
	}
	assert_int_equal(s.nr, 100);
	assert_int_equal(samples_list(&s, &total, &list), 0);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(list.call[i]->start_ns, i);
		assert_true(fabs(list.weight[i] - 1) < 1e-9);
	}
	weighted_calls_release(&list);
	samples_release(&s);
	assert_int_equal(s.nr, 0);
}

static void test_rare_calls_keep_theirs(void **state)
{
	struct samples s;

	samples_init(&s);
	for (uint64_t i = 0; i < 200000; i++) {
		offer(&s, 1000 + i % 50, i, 1);
		if (i % 20000 == 0)
			offer(&s, 200 * MS, i, 1);
	}
	assert_int_equal(s.stratum[pt_bucket(200 * MS) / PT_RESOLUTION].nr, 10);
	assert_int_equal(s.nr, 10 + 2 * SAMPLES_PER_DOUBLING);
	samples_release(&s);
}

/* Whatever is offered in whatever order, no more than the maximum, and a new doubling gets in. */
static void test_bounded(void **state)
{
	struct samples s;

	samples_init(&s);
	for (unsigned int d = 0; d < PT_DOUBLINGS; d++) {
		offer(&s, 1ULL << d, 0, 1000);
		assert_true(s.nr <= MODEL_MAX_SAMPLES);
		assert_true(s.stratum[d].nr >= 60);
	}
	assert_int_equal(s.nr, MODEL_MAX_SAMPLES);
	for (unsigned int d = 0; d < PT_DOUBLINGS; d++)
		assert_true(s.stratum[d].nr >= 60);
	offer(&s, 1, 0, 5000);
	assert_int_equal(s.nr, MODEL_MAX_SAMPLES);
	/* All have their share: 4096 / 44 = 93. */
	for (unsigned int d = 0; d < PT_DOUBLINGS; d++)
		assert_in_range(s.stratum[d].nr, 92, 94);
	samples_release(&s);
}

/* Every call has the same chance to be kept: the mean of the kept numbers is that of all. */
static void test_uniform(void **state)
{
	enum { CALLS = 20000 };
	double mean = 0;
	unsigned int early = 0;
	struct samples s;

	samples_init(&s);
	for (unsigned int d = 4; d < 40; d++)
		offer(&s, 1ULL << d, 0, CALLS);
	for (unsigned int d = 4; d < 40; d++) {
		for (unsigned int i = 0; i < s.stratum[d].nr; i++) {
			mean += (double)s.stratum[d].call[i].start_ns / s.nr;
			early += s.stratum[d].call[i].start_ns < CALLS / 10;
		}
	}
	assert_int_equal(s.nr, 4096);
	/* Standard error of the mean: 20000/sqrt(12*4096) = 90; of the tenth: 19. */
	assert_true(fabs(mean - CALLS / 2.0) < 400);
	assert_in_range(early, 410 - 90, 410 + 90);
	samples_release(&s);
}

static void test_halves_balanced(void **state)
{
	struct samples s;
	unsigned int held = 0, runs = 0;

	samples_init(&s);
	offer(&s, 1000, 0, SAMPLES_PER_DOUBLING);
	for (unsigned int i = 0; i < SAMPLES_PER_DOUBLING; i++) {
		held += s.stratum[9].call[i].held_out;
		if (i)
			runs += s.stratum[9].call[i].held_out != s.stratum[9].call[i - 1].held_out;
	}
	assert_int_equal(held, SAMPLES_PER_DOUBLING / 2);
	/* Not merely every other one: what alternates would be all in one half. */
	assert_in_range(runs, SAMPLES_PER_DOUBLING / 2, SAMPLES_PER_DOUBLING - 10);
	samples_release(&s);
}

static void test_weights_follow_chance_and_profile(void **state)
{
	struct weighted_calls list;
	struct profile total;
	struct samples s;
	struct rec_sample rec = sample_of(1000, 0);

	samples_init(&s);
	profile_init(&total);
	for (int i = 0; i < 300; i++)
		profile_add(&total, 1000);
	for (int i = 0; i < 50; i++)
		profile_add(&total, 5000);
	rec.chance_ppm = 1000000;
	samples_add(&s, &rec, MODEL_MAX_SAMPLES);
	rec.chance_ppm = 500000;
	samples_add(&s, &rec, MODEL_MAX_SAMPLES);
	rec.latency_ns = 5000;
	rec.chance_ppm = 10;
	samples_add(&s, &rec, MODEL_MAX_SAMPLES);
	/* Neither nothing nor more than certain is a chance. */
	rec.latency_ns = 100000;
	rec.chance_ppm = 0;
	samples_add(&s, &rec, MODEL_MAX_SAMPLES);
	rec.chance_ppm = UINT64_MAX;
	samples_add(&s, &rec, MODEL_MAX_SAMPLES);
	assert_int_equal(samples_list(&s, &total, &list), 0);
	assert_true(fabs(list.weight[0] - 100) < 1e-6);
	assert_true(fabs(list.weight[1] - 200) < 1e-6);
	assert_true(fabs(list.weight[2] - 50) < 1e-6);
	/* Not in the profile yet: they stand for themselves. */
	assert_true(fabs(list.weight[3] - 1) < 1e-6);
	assert_true(fabs(list.weight[4] - 1) < 1e-6);
	weighted_calls_release(&list);
	samples_release(&s);
}

/* A lower bound: what is held changes, its number does not. */
static void test_no_growth(void **state)
{
	struct samples s;
	struct rec_sample rec;

	samples_init(&s);
	offer(&s, 1000, 0, 50);
	for (uint64_t i = 0; i < 1000; i++) {
		rec = sample_of(i % 2 ? 1000 : 900000, 50 + i);
		assert_int_equal(samples_add(&s, &rec, 50), 0);
		assert_int_equal(s.nr, 50);
	}
	/* The rarer doubling got its part. */
	assert_in_range(s.stratum[pt_bucket(900000) / PT_RESOLUTION].nr, 24, 26);
	samples_release(&s);
}

static void test_fields_kept(void **state)
{
	struct rec_sample rec = {.op = 1,
				 .tid = 4711,
				 .start_ns = 1,
				 .latency_ns = 2000,
				 .known = 0xfff,
				 .ret = -11,
				 .args = {1, 2, 3, 4, 5, UINT64_MAX},
				 .oncpu_ns = 10,
				 .runqueue_ns = 20,
				 .minor_faults = 3,
				 .major_faults = UINT64_MAX,
				 .migrations = 5,
				 .sleeps = 6,
				 .preempted = 7,
				 .chance_ppm = 1234};
	const struct call_sample *c;
	struct samples s;

	samples_init(&s);
	assert_int_equal(samples_add(&s, &rec, MODEL_MAX_SAMPLES), 0);
	c = &s.stratum[10].call[0];
	assert_int_equal(c->ret, -11);
	assert_memory_equal(c->args, rec.args, sizeof(rec.args));
	assert_int_equal(c->tid, 4711);
	assert_int_equal(c->known, 0xfff);
	assert_int_equal(c->oncpu_ns, 10);
	assert_int_equal(c->runqueue_ns, 20);
	assert_int_equal(c->minor_faults, 3);
	assert_int_equal(c->major_faults, UINT32_MAX);
	assert_int_equal(c->migrations, 5);
	assert_int_equal(c->sleeps, 6);
	assert_int_equal(c->preempted, 7);
	assert_int_equal(c->chance_ppm, 1234);
	samples_release(&s);
}

static void test_extreme_latencies(void **state)
{
	struct samples s;

	samples_init(&s);
	offer(&s, 0, 0, 3);
	offer(&s, UINT64_MAX, 0, 3);
	assert_int_equal(s.stratum[0].nr, 3);
	assert_int_equal(s.stratum[PT_DOUBLINGS - 1].nr, 3);
	samples_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keeps_all_of_few),
	    cmocka_unit_test(test_rare_calls_keep_theirs),
	    cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_uniform),
	    cmocka_unit_test(test_halves_balanced),
	    cmocka_unit_test(test_weights_follow_chance_and_profile),
	    cmocka_unit_test(test_no_growth),
	    cmocka_unit_test(test_fields_kept),
	    cmocka_unit_test(test_extreme_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
