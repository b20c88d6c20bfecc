// SPDX-License-Identifier: GPL-2.0-or-later
/* Simulated targets, watched in bursts: what the estimator makes of them against what they really
 * did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/latency/scale.h"

#define US 1e3
#define MS 1e6

/* One thread; all times in ns. */
struct simulated {
	double work, probe;	   /* of a call: CPU time between two, and what its probes take */
	double believed;	   /* what the calibration says that they take */
	double batch;		   /* calls between two sleeps; 0: it never sleeps */
	double rate;		   /* of the batches, per second, whatever the probes take */
	double other;		   /* CPU share of other threads, which do not call */
	double period, idle_share; /* it does nothing for this share of each period */
	double slow_period,
	    slower;  /* every other slow_period its calls take so many times the work */
	bool clocks; /* the threads' clocks are known; else only the whole target's */
};

struct outcome {
	double told, truth, low, high;
};

/* Calls and CPU time without probes of the time from a to b, in steps. */
static void run_free(const struct simulated *t, double a, double b, double *calls, double *cpu)
{
	for (double at = a; at < b; at += 100 * US) {
		double work = t->work, step = b - at < 100 * US ? b - at : 100 * US, n;

		if (t->period > 0 && at / t->period - (uint64_t)(at / t->period) < t->idle_share)
			continue;
		if (t->slow_period > 0 && (uint64_t)(at / t->slow_period) % 2)
			work *= t->slower;
		n = t->batch > 0 ? t->batch * t->rate * step / 1e9 : step / work;
		*calls += n;
		*cpu += n * work;
	}
}

/* A burst from `at`, of `limit` calls or 10 ms; returns its end. */
static double run_burst(const struct simulated *t, double at, double limit, struct rec_profile *r,
			double *calls)
{
	double end = at, cpu = 0, n = 0;

	while (n < limit &&
	       (end < at + 10 * MS || (t->period > 0 && n < 1 && end < at + t->period))) {
		double more = 0, work = 0, slow = t->probe;

		run_free(t, end, end + 100 * US, &more, &work);
		if (t->batch <= 0)
			more = more ? 100 * US / (work / more + slow) : 0,
			work = more ? 100 * US - more * slow : 0;
		n += more;
		cpu += work + more * slow;
		end += 100 * US;
	}
	r->calls = (uint64_t)n;
	r->armed_ns = (uint64_t)(end - at);
	r->armed_cpu_ns = (uint64_t)(cpu + t->other * (end - at));
	r->probe_ns = (uint64_t)(n * t->believed);
	if (t->clocks && n > 1) {
		r->run_calls = (uint64_t)(n - 1);
		r->run_ns = (uint64_t)cpu;
		if (t->batch > 0 && n > 2 * t->batch) {
			r->cycles = (uint64_t)(n / t->batch);
			r->cycle_calls = (uint64_t)((double)r->cycles * t->batch);
		}
	}
	*calls += n;
	return end;
}

static struct outcome simulate(const struct simulated *t, int bursts, double gap, double limit)
{
	struct outcome o = {0};
	struct scale s = {0};
	double at = 3 * MS;
	bool slept = false;

	for (int i = 0; i < bursts; i++) {
		/* gaps differ, or bursts would keep step with what the target does */
		double calls = 0, cpu = 0, start = at, ns = gap * (0.6 + 0.1 * (i * 7 % 9)),
		       seen = 0;
		struct rec_profile r = {0};

		if (i)
			run_free(t, at, at + ns, &calls, &cpu);
		if (i)
			at += ns;
		at = run_burst(t, at, limit, &r, &seen);
		r.end_ns = (uint64_t)(at - start);
		r.cpu_ns = (uint64_t)(cpu + t->other * (r.end_ns - r.armed_ns)) + r.armed_cpu_ns;
		if (t->clocks && i && r.calls) {
			r.gaps = 1;
			r.gap_cpu_ns = (uint64_t)cpu;
			r.gap_sleeper_cpu_ns = slept ? r.gap_cpu_ns : 0;
			r.gap_sleeps = slept ? (uint64_t)(t->rate * ns / 1e9) : 0;
		}
		slept = r.cycles > 0;
		o.truth += calls + seen;
		o.told += (double)r.calls + scale_gap(&s, &r, r.calls);
	}
	scale_interval(&s, &o.low, &o.high);
	return o;
}

static void assert_right(struct outcome o, double low, double high)
{
	assert_true(o.truth > 0);
	if (o.told < low * o.truth || o.told > high * o.truth || o.low > o.truth ||
	    o.high < o.truth)
		fail_msg("told %.4g, true %.4g (%.3f), interval %.4g to %.4g", o.told, o.truth,
			 o.told / o.truth, o.low, o.high);
	assert_true(o.low <= o.told && o.told <= o.high);
}

static void test_cpu_bound(void **state)
{
	static const double works[] = {5200, 1340, 300, 100000};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct simulated t = {
		    .work = works[i], .probe = 3300, .believed = 3300, .clocks = true};

		assert_right(simulate(&t, 20, 300 * MS, 3000), 0.9, 1.1);
		/* another thread that never calls takes a CPU of its own */
		t.other = 1;
		assert_right(simulate(&t, 20, 300 * MS, 3000), 0.9, 1.1);
	}
}

/* The cost of a probe is not known exactly: where it matters, the interval says so and holds the
 * truth. */
static void test_cost_is_uncertain(void **state)
{
	struct simulated t = {.work = 1340, .probe = 3300, .clocks = true};
	struct outcome o;

	(void)state;
	for (double wrong = 0.94; wrong < 1.07; wrong += 0.02) {
		t.believed = t.probe * wrong;
		o = simulate(&t, 20, 300 * MS, 3000);
		assert_right(o, 0.8, 1.25);
		assert_true(o.high > 1.1 * o.low);
	}
	t.work = 100;
	for (double wrong = 0.94; wrong < 1.07; wrong += 0.02) {
		t.believed = t.probe * wrong;
		o = simulate(&t, 20, 300 * MS, 3000);
		assert_right(o, 0.05, 20);
		assert_true(o.high > 3 * o.low);
	}
}

/* It has slack: the probes take from its sleep, and it makes as many calls as ever. */
static void test_sleeper(void **state)
{
	struct simulated t = {
	    .work = 3, .probe = 3300, .believed = 3000, .batch = 100, .rate = 1000, .clocks = true};

	(void)state;
	assert_right(simulate(&t, 20, 300 * MS, 3000), 0.9, 1.1);
	t.believed = 3600;
	assert_right(simulate(&t, 20, 300 * MS, 3000), 0.9, 1.1);
	t.batch = 10;
	assert_right(simulate(&t, 20, 300 * MS, 3000), 0.9, 1.1);
}

/* A burst that waits for calls and ends as soon as there are many is mostly armed when there are
 * none. */
static void test_alternating(void **state)
{
	struct simulated t = {.work = 1000,
			      .probe = 3300,
			      .believed = 3300,
			      .period = 700 * MS,
			      .idle_share = 0.5,
			      .clocks = true};

	(void)state;
	assert_right(simulate(&t, 40, 300 * MS, 3000), 0.85, 1.15);
	t.period = 2000 * MS;
	assert_right(simulate(&t, 40, 300 * MS, 3000), 0.85, 1.15);
	/* the same without the threads' clocks */
	t.clocks = false;
	t.probe = t.believed = 200;
	assert_right(simulate(&t, 40, 300 * MS, 30000), 0.75, 1.3);
}

/* Always busy, now with many calls and now with few. */
static void test_alternating_rates(void **state)
{
	struct simulated t = {.work = 2000,
			      .probe = 3300,
			      .believed = 3300,
			      .slow_period = 1000 * MS,
			      .slower = 20,
			      .clocks = true};

	(void)state;
	assert_right(simulate(&t, 60, 310 * MS, 3000), 0.85, 1.15);
}

static void test_whole_target(void **state)
{
	struct simulated t = {.work = 2000, .probe = 200, .believed = 200};

	(void)state;
	assert_right(simulate(&t, 20, 300 * MS, 30000), 0.9, 1.1);
}

/* 5,790 calls in 10.3 us became 1.8 billion. */
static void test_tiny_bursts(void **state)
{
	struct rec_profile r = {
	    .end_ns = 3000000000, .armed_ns = 10300, .cpu_ns = 1500000000, .armed_cpu_ns = 5000};
	struct scale s = {0};

	(void)state;
	assert_true(scale_gap(&s, &r, 5790) == 0);
	assert_false(s.has_last);
	r.armed_ns = 0;
	assert_true(scale_gap(&s, &r, 5790) == 0);
	/* more armed than there was time: as a negative number that is read without its sign */
	r.armed_ns = (uint64_t)-1000;
	assert_true(scale_gap(&s, &r, 5790) == 0);
}

static void test_all_seen(void **state)
{
	struct rec_profile r = {.end_ns = 1000000000,
				.armed_ns = 1000000000,
				.cpu_ns = 500000000,
				.armed_cpu_ns = 500000000};
	double low, high;
	struct scale s = {0};

	(void)state;
	assert_true(scale_gap(&s, &r, 1000) == 0);
	scale_interval(&s, &low, &high);
	assert_true(low == 1000 && high == 1000);
}

/* A helper that was calibrated on a busier host: the function's own latencies show that the probes
 * take less. */
static void test_calibrated_too_high(void **state)
{
	const uint32_t bucket[] = {80};
	const uint64_t count[] = {1000};
	struct rec_profile r = {.end_ns = 500000000,
				.armed_ns = 5000000,
				.cpu_ns = 300000000,
				.armed_cpu_ns = 5000000,
				.calls = 1000,
				.probe_ns = 8000000,
				.run_calls = 999,
				.run_ns = 5000000,
				.gaps = 1,
				.gap_cpu_ns = 295000000,
				.correction_ns = 8192,
				.nr_buckets = 1,
				.bucket = bucket,
				.count = count};
	struct scale s = {0};
	double calls = scale_gap(&s, &r, 1000), low, high;

	(void)state;
	/* a corrected latency of 1.07 us was 4.28 us: the probes took 4.2 us of the 5 us from call
	 * to call */
	scale_interval(&s, &low, &high);
	assert_true(low < 295e6 / 820 && 295e6 / 820 < high);
	assert_true(calls > 295e6 / 1700 && calls < 295e6 / 400);
}

/* A command that makes all its calls when it starts, and is watched for ten seconds. */
static void test_calls_all_at_once(void **state)
{
	struct rec_profile r = {.end_ns = 250000000,
				.armed_ns = 20000000,
				.cpu_ns = 30000000,
				.armed_cpu_ns = 3000000,
				.calls = 8};
	double low, high, steady_low;
	struct scale s = {0}, steady = {0};

	(void)state;
	assert_true(scale_gap(&s, &r, 8) > 0);
	s.watched_ns = 10e9;
	scale_interval(&s, &low, &high);
	assert_true(low == 8 && high > 16);
	/* the same calls in every burst are no chance */
	for (int i = 0; i < 40; i++) {
		scale_gap(&steady, &r, 8);
		r.start_ns += 250000000;
		r.end_ns += 250000000;
	}
	scale_interval(&steady, &low, &high);
	steady.watched_ns = 10e9;
	scale_interval(&steady, &steady_low, &high);
	assert_true(steady_low == low && low > 2 * 320);
}

static void test_tail(void **state)
{
	struct simulated t = {.work = 5200, .probe = 3300, .believed = 3300, .clocks = true};
	struct rec_profile r = {0};
	struct scale s = {0};
	double seen = 0, calls;

	(void)state;
	assert_true(scale_tail(&s, 1000000000, 1000000000) < 0);
	run_burst(&t, 0, 1000, &r, &seen);
	r.end_ns = r.armed_ns * 2;
	r.cpu_ns = r.armed_cpu_ns * 2;
	scale_gap(&s, &r, r.calls);
	calls = scale_tail(&s, 1000000000, 1000000000);
	assert_true(calls > 0.8e9 / 5200 && calls < 1.25e9 / 5200);
}

/* No CPU time was told for the calls of a burst: that makes none of them free, and no number out of
 * all proportion. */
static void test_no_cpu_time(void **state)
{
	const struct rec_profile r = {.end_ns = 1000000000,
				      .armed_ns = 2000000,
				      .calls = 1000,
				      .run_calls = 999,
				      .gaps = 1,
				      .gap_cpu_ns = 500000000};
	struct scale s = {0};

	assert_true(scale_gap(&s, &r, 1000) <= 1e9);
}

/* A burst of one thread that never sleeps, and the gap of 300 ms before it. `price`: what the
 * probes really took of a call, `timed` of it in their programs. */
static struct rec_profile burst_of(double work, double price, double timed, double told)
{
	const double calls = 3000;

	return (struct rec_profile){.end_ns = (uint64_t)(300 * MS + calls * (work + price)),
				    .armed_ns = (uint64_t)(calls * (work + price)),
				    .cpu_ns = (uint64_t)(300 * MS + calls * (work + price)),
				    .armed_cpu_ns = (uint64_t)(calls * (work + price)),
				    .calls = (uint64_t)calls,
				    .probe_ns = (uint64_t)(calls * told),
				    .program_ns = (uint64_t)(calls * timed),
				    .run_calls = (uint64_t)calls - 1,
				    .run_ns = (uint64_t)((calls - 1) * (work + price)),
				    .gaps = 1,
				    .gap_cpu_ns = 300000000};
}

/* Most of the cost is timed in the target: an error of the calibrated rest matters less. */
static void test_timed_in_target(void **state)
{
	struct rec_profile all = burst_of(1075, 1550, 0, 1550 * 1.04);
	struct rec_profile rest = burst_of(1075, 1550, 800, 800 + 750 * 1.04);
	struct scale by_helper = {0}, by_target = {0};
	double truth = 300 * MS / 1075, helper, target, low[2], high[2];

	(void)state;
	helper = scale_gap(&by_helper, &all, all.calls);
	target = scale_gap(&by_target, &rest, rest.calls);
	scale_interval(&by_helper, &low[0], &high[0]);
	scale_interval(&by_target, &low[1], &high[1]);
	assert_true(target > 0.95 * truth && target < 1.05 * truth);
	assert_true(helper > target);
	assert_true(high[1] / low[1] < high[0] / low[0]);
	assert_true(low[1] < truth + 3000 && high[1] > truth);
}

/* Three million calls a second: the rest of a single burst is anything, that of all bursts is not.
 */
static void test_bursts_average_out(void **state)
{
	struct scale s = {0};
	double truth = 0, told = 0, low, high;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		/* the probes take 4% more in one burst, 4% less in the next one */
		struct rec_profile r = burst_of(240, 1600 * (i % 2 ? 1.04 : 0.96), 400, 1600);

		truth += 300 * MS / 240 + 3000;
		told += scale_gap(&s, &r, r.calls) + 3000;
	}
	scale_interval(&s, &low, &high);
	assert_true(told > 0.8 * truth && told < 1.25 * truth);
	assert_true(low < truth && high > truth);
	/* but one that really does something else is told apart */
	s = (struct scale){0};
	for (unsigned int i = 0; i < 20; i++) {
		struct rec_profile r = burst_of(i < 10 ? 2000 : 20000, 1600, 400, 1600);

		truth = 300 * MS / (i < 10 ? 2000 : 20000);
		told = scale_gap(&s, &r, r.calls);
		if (i != 10)
			assert_true(told > 0.95 * truth && told < 1.05 * truth);
	}
}

/* The latencies of the calls prove that the probes left something, although they seem to have taken
 * everything. */
static void test_least_by_latency(void **state)
{
	const uint32_t bucket[] = {80};
	const uint64_t count[] = {3000};
	struct rec_profile r = burst_of(1100, 1500, 400, 2600);
	struct scale s = {0}, without = {0};
	double low, high, most, truth = 300 * MS / 1100 + 3000;

	(void)state;
	scale_gap(&without, &r, r.calls);
	scale_interval(&without, &low, &most);
	/* measured: 1069 + 700 ns, of which half of a pair's way through the kernel is 750 */
	r.correction_ns = 700;
	r.nr_buckets = 1;
	r.bucket = bucket;
	r.count = count;
	scale_gap(&s, &r, r.calls);
	scale_interval(&s, &low, &high);
	assert_true(low < truth && high > truth);
	assert_true(high < most / 10);
}

/*
 * A latency of less than twice the calibrated part of the probes may be all probe. Then the cost is
 * not known, and the interval holds the truth whether the calls took that time or the probes did.
 */
static void test_all_probe(void **state)
{
	const uint32_t bucket[] = {63}; /* 235 ns */
	const uint64_t count[] = {3000};
	const double work = 1075, told = 1234, timed = 388, inside = 480;

	(void)state;
	for (int probes = 0; probes < 2; probes++) {
		double cost = probes ? timed + (told - timed) * (inside + 240) / inside : told;
		struct scale s = {0};
		double low, high, truth = 20 * (300 * MS / work + 3000);

		for (int i = 0; i < 20; i++) {
			struct rec_profile r = burst_of(work, cost, timed, told);

			r.correction_ns = (uint64_t)inside;
			r.nr_buckets = 1;
			r.bucket = bucket;
			r.count = count;
			scale_gap(&s, &r, r.calls);
		}
		scale_interval(&s, &low, &high);
		assert_true(low < truth && high > truth);
		assert_true(high < 30 * low);
		/* with all of the cost in each call there would be fewer */
		assert_true(low >= 20 * (300 * MS / (work + cost)));
	}
}

/* However little is known of the cost, probes do not make a target faster. */
static void test_at_least_as_fast_as_with_probes(void **state)
{
	struct rec_profile r = burst_of(10, 1500, 400, 1500);
	struct scale s = {0};
	double low, high, with_probes = 10 * 300 * MS / 1510;

	(void)state;
	for (int i = 0; i < 10; i++)
		scale_gap(&s, &r, r.calls);
	scale_interval(&s, &low, &high);
	assert_true(low > 0.7 * with_probes);
	assert_true(high > 10 * 300 * MS / 10);
}

/* Threads that were kept from running and make up for it: few sleeps for many calls in the burst.
 * They keep their rate by the wall clock. */
static void test_catching_up(void **state)
{
	struct rec_profile r = {.end_ns = 1834000000,
				.armed_ns = 66000000,
				.cpu_ns = 80000000,
				.armed_cpu_ns = 5000000,
				.calls = 1320,
				.probe_ns = 2900000,
				.program_ns = 740000,
				.run_calls = 1220,
				.run_ns = 3220000,
				.switch_calls = 90,
				.switch_cpu_ns = 1860000,
				.cycle_calls = 1210,
				.cycles = 30,
				.gaps = 2,
				.gap_cpu_ns = 75000000,
				.gap_sleeper_cpu_ns = 75000000,
				.gap_sleeps = 2780};
	double truth = 1768 * 20., told, low, high;
	struct scale s = {0};

	(void)state;
	told = scale_gap(&s, &r, r.calls);
	scale_interval(&s, &low, &high);
	assert_true(told > 0.7 * truth && told < 1.5 * truth);
	assert_true(low < truth && high > truth);
}

/*
 * A server at a steady rate, of which one call in 250 syncs a file: it sleeps hundreds of times and
 * takes most of the CPU time. Whether a burst sees none or three of them is chance.
 */
static void test_few_heavy_calls(void **state)
{
	const double rate = 2.2 / MS, light = 40 * US, heavy = 8 * MS;
	const double burst = 120 * MS, gap = 500 * MS;
	static const uint64_t heavy_calls[] = {0, 0, 1, 3};
	uint64_t random = 1;
	struct scale s = {0};
	struct outcome o = {0};

	(void)state;
	for (int i = 0; i < 24; i++) {
		double seen = rate * burst, missed = rate * gap;
		uint64_t in_burst, in_gap = (uint64_t)(missed / 250);
		struct rec_profile r = {.end_ns = (uint64_t)(burst + gap),
					.armed_ns = (uint64_t)burst};

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		in_burst = heavy_calls[(random >> 33) % 4];
		r.calls = (uint64_t)seen;
		r.probe_ns = (uint64_t)(seen * 6 * US);
		r.run_calls = (uint64_t)(seen / 2);
		r.run_ns = (uint64_t)(seen / 2 * (light + 6 * US));
		r.switch_calls = (uint64_t)(seen / 4);
		r.switch_cpu_ns =
		    (uint64_t)(seen / 4 * (light + 6 * US) + (double)in_burst * heavy);
		r.cycle_calls = (uint64_t)(seen / 2);
		r.cycles = (uint64_t)(seen / 4) + in_burst * 300;
		r.armed_cpu_ns = (uint64_t)(seen * (light + 6 * US) + (double)in_burst * heavy);
		r.gaps = 4;
		r.gap_sleeper_cpu_ns = r.gap_cpu_ns =
		    (uint64_t)(missed * light + (double)in_gap * heavy);
		r.gap_sleeps = (uint64_t)(missed / 4) + in_gap * 300;
		r.cpu_ns = r.armed_cpu_ns + r.gap_cpu_ns;
		o.truth += seen + missed;
		o.told += (double)r.calls + scale_gap(&s, &r, r.calls);
	}
	scale_interval(&s, &o.low, &o.high);
	assert_right(o, 0.9, 1.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cpu_bound),
	    cmocka_unit_test(test_cost_is_uncertain),
	    cmocka_unit_test(test_sleeper),
	    cmocka_unit_test(test_alternating),
	    cmocka_unit_test(test_alternating_rates),
	    cmocka_unit_test(test_whole_target),
	    cmocka_unit_test(test_tiny_bursts),
	    cmocka_unit_test(test_all_seen),
	    cmocka_unit_test(test_calibrated_too_high),
	    cmocka_unit_test(test_tail),
	    cmocka_unit_test(test_calls_all_at_once),
	    cmocka_unit_test(test_no_cpu_time),
	    cmocka_unit_test(test_timed_in_target),
	    cmocka_unit_test(test_bursts_average_out),
	    cmocka_unit_test(test_least_by_latency),
	    cmocka_unit_test(test_all_probe),
	    cmocka_unit_test(test_at_least_as_fast_as_with_probes),
	    cmocka_unit_test(test_catching_up),
	    cmocka_unit_test(test_few_heavy_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
