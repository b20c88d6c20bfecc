// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "analysis/latency/constants.h"
#include "analysis/latency/period.h"

#define US 1000ULL
#define MS 1000000ULL
#define S 1000000000ULL

enum { MOST = 6000 };

static uint64_t seed, state;
static uint64_t at[MOST];
static size_t nr;

/* xorshift64*: the same numbers on every machine. */
static double uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static double exponential(double mean)
{
	return -mean * log(1 - uniform());
}

static void begin(uint64_t s)
{
	state = s * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL + 1;
	uniform();
	nr = 0;
}

static void put(double ns)
{
	if (nr < MOST && ns >= 0)
		at[nr++] = (uint64_t)ns + 77 * S;
}

/* A timer: each time with a chance to be missed and a jitter (share of the period). */
static void timer(double period, unsigned int times, double missed, double jitter)
{
	unsigned int i;

	for (i = 0; i < times; i++) {
		if (uniform() >= missed)
			put(period * (i + 0.3) + (uniform() - 0.5) * 2 * jitter * period);
	}
}

static void noise(double length, unsigned int events)
{
	while (events--)
		put(uniform() * length);
}

static void expect_period(double want, uint64_t resolution, double tolerance)
{
	double got = period_find(at, nr, resolution);

	if (fabs(got - want) > tolerance * want)
		fail_msg("seed %llu: %zu events: %g ns, not %g", (unsigned long long)seed, nr, got,
			 want);
}

static void test_exact(void **s)
{
	begin(1);
	timer(5.0 * S, 6, 0, 0);
	expect_period(5.0 * S, 0, 0.001);
	begin(1);
	timer(4.0 * MS, 1000, 0, 0.01);
	expect_period(4.0 * MS, 0, 0.002);
	begin(1);
	timer(4.0 * MS, PERIOD_MAX_EVENTS + 1500, 0, 0.01);
	expect_period(4.0 * MS, 0, 0.002);
}

static void test_order_does_not_matter(void **s)
{
	size_t i, j;
	uint64_t t;

	begin(2);
	timer(30.0 * MS, 200, 0, 0.01);
	for (i = nr; i-- > 1;) {
		j = (size_t)(uniform() * (double)(i + 1));
		t = at[i];
		at[i] = at[j];
		at[j] = t;
	}
	expect_period(30.0 * MS, 0, 0.003);
}

static void test_too_little(void **s)
{
	uint64_t same[8] = {5, 5, 5, 5, 5, 5, 5, 5};

	begin(3);
	timer(5.0 * S, 3, 0, 0);
	assert_true(period_find(at, nr, 0) == 0);
	assert_true(period_find(at, 0, 0) == 0);
	assert_true(period_find(same, 8, 0) == 0);
}

/* In random series of many kinds: the period, within 2%, however many are missing or extra. */
/* With up to seven events of ten missing, chance alone may hide a period now and then. */
static void test_missing(void **s)
{
	unsigned int i, missed = 0;
	double period;

	for (i = 0; i < 60; i++) {
		begin(i);
		period = 1e5 * pow(10, 5 * uniform());
		timer(period, 80 + i * 10, 0.1 + 0.6 * uniform(), 0.015);
		if (fabs(period_find(at, nr, 0) - period) > 0.02 * period) {
			printf("# missed: seed %llu, round %u, %zu events\n",
			       (unsigned long long)seed, i, nr);
			missed++;
		}
	}
	assert_in_range(missed, 0, 2);
}

static void test_sampled(void **s)
{
	/* what a reservoir keeps of a tick: one in seven */
	begin(0);
	timer(4.0 * MS, 4000, 0.85, 0.01);
	expect_period(4.0 * MS, 0, 0.02);
}

static void test_extra(void **s)
{
	unsigned int i, times;
	double period;

	for (i = 0; i < 60; i++) {
		begin(i);
		period = 1e5 * pow(10, 5 * uniform());
		times = 40 + i * 8;
		timer(period, times, 0.1 * uniform(), 0.015);
		noise(period * times, times / 3);
		expect_period(period, 0, 0.02);
	}
}

static void test_bursts(void **s)
{
	unsigned int i, j;

	/* writeback: every 5 s some calls close together */
	begin(0);
	for (i = 0; i < 12; i++) {
		for (j = 0; j < 20; j++)
			put((5.0 * i + uniform() * 0.05) * S);
	}
	expect_period(5.0 * S, 0, 0.02);
	/* a tick that is only seen while the target runs */
	begin(0);
	for (i = 0; i < 8; i++) {
		double start = i * 0.2 * S;

		start += floor(uniform() * uniform() * 400) * 4 * MS;
		for (j = 0; j < 30; j++)
			put(start + j * 4.0 * MS + uniform() * 40 * US);
	}
	expect_period(4.0 * MS, 0, 0.02);
}

static void test_drift(void **s)
{
	double t = 0;
	unsigned int i;

	/* sleep(1) and then work: no phase is kept */
	begin(0);
	for (i = 0; i < 120; i++) {
		t += 1.0 * S + uniform() * 20 * MS;
		put(t);
	}
	expect_period(1.01 * S, 0, 0.01);
}

static void test_slices(void **s)
{
	unsigned int i;

	/* appears in every fifth slice of one second */
	begin(1);
	for (i = 0; i < 12; i++)
		put(5.0 * S * i);
	expect_period(5.0 * S, 1 * S, 0.001);
	/* at 5.15 s: in the fifth, sometimes the sixth */
	begin(1);
	for (i = 0; i < 24; i++)
		put(floor(5.15 * i) * S);
	expect_period(5.15 * S, 1 * S, 0.02);
	/* a peak that is always there has no period */
	begin(1);
	timer(1.0 * S, 60, 0, 0);
	assert_true(period_find(at, nr, 1 * S) == 0);
	/* nor has one that comes and goes */
	begin(0);
	for (i = 0; i < 120; i++) {
		if (uniform() < 0.4)
			put(1.0 * S * i);
	}
	assert_true(period_find(at, nr, 1 * S) == 0);
}

/* Random and clustered series say nothing: at most 1% of them. */
static void test_random(void **s)
{
	unsigned int i, j, wrong = 0, events;
	double t;

	for (i = 0; i < 300; i++) {
		begin(1000 + i);
		events = 4 + (unsigned int)(300 * uniform() * uniform());
		for (j = 0, t = 0; j < events; j++) {
			/* i % 3: Poisson, clusters, heavy-tailed gaps */
			if (i % 3 == 0)
				t += exponential(1e6);
			else if (i % 3 == 1)
				t += exponential(uniform() < 0.1 ? 3e8 : 1e6);
			else
				t += 1e5 / pow(1 - uniform(), 1.2);
			put(t);
		}
		wrong += period_find(at, nr, 0) != 0;
	}
	if (wrong > 3)
		fail_msg("seed %llu: %u of 300 random series got a period",
			 (unsigned long long)seed, wrong);
}

static struct constants set;

static const char *near(double low, double high, double mode)
{
	return constants_near(&set, (uint64_t)low, (uint64_t)high, (uint64_t)mode);
}

static void test_known(void **s)
{
	constants_init(&set);
	assert_string_equal(near(38 * MS, 46 * MS, 40.5 * MS), "TCP delayed ACK (40 ms)");
	assert_string_equal(near(190 * MS, 250 * MS, 204 * MS),
			    "TCP minimum retransmission timeout (200 ms)");
	assert_string_equal(near(3.6 * MS, 4.6 * MS, 4 * MS), "timer tick (HZ=250)");
	assert_string_equal(near(5.0 * S, 5.0 * S, 5.0 * S),
			    "writeback or journal commit interval, DNS timeout (5 s)");
	assert_string_equal(near(29.0 * S, 33.0 * S, 30.1 * S), "dirty page expiry (30 s)");
	assert_string_equal(near(49 * US, 62 * US, 54 * US), "timer slack (50 us)");
	/* not on it */
	assert_string_equal(near(18 * MS, 24 * MS, 20 * MS), "");
	assert_string_equal(near(30 * MS, 46 * MS, 36 * MS), ""); /* a timer is never early */
	assert_string_equal(near(40 * MS, 60 * MS, 48 * MS), "");
	/* too wide to be made by one time */
	assert_string_equal(near(20 * MS, 90 * MS, 40 * MS), "");
	assert_string_equal(near(0, 50 * MS, 40 * MS), "");
	assert_string_equal(near(0, 0, 0), "");
}

/* What a clock makes recurs exactly; what sleeps for as long recurs later. */
static void test_period_of_constant(void **s)
{
	constants_init(&set);
	assert_string_equal(constants_period(&set, 4 * MS), "timer tick (HZ=250)");
	assert_string_equal(constants_period(&set, 100 * MS + 300 * US),
			    "cgroup CPU bandwidth period or SCHED_RR quantum (100 ms)");
	assert_string_equal(constants_period(&set, 4 * MS + 60 * US), "");
	assert_string_equal(constants_period(&set, 4 * MS + 120 * US), "");
	assert_string_equal(constants_period(&set, 4 * MS - 30 * US), "");
	assert_string_equal(constants_period(&set, 20 * MS), "");
}

/* What the collector sends of a host with 1000 ticks a second: no tick of another rate is named. */
static void test_ticks_of_the_host(void **s)
{
	struct rec_constant tick = {"timer tick (HZ=1000)", MS, MS, 1},
			    slice = {"scheduler slice (2.8 ms, to the next tick)", 3 * MS, 3 * MS,
				     1};

	constants_init(&set);
	constants_add(&set, &tick);
	constants_add(&set, &slice);
	assert_string_equal(near(0.9 * MS, 1.1 * MS, MS), tick.name);
	assert_string_equal(near(3.6 * MS, 4.6 * MS, 4 * MS), "");
	assert_string_equal(near(2.7 * MS, 3.3 * MS, 3 * MS), slice.name);
	assert_string_equal(near(2.6 * MS, 3.0 * MS, 2.8 * MS), "");
	assert_true(constants_is_scheduler(&set, tick.name));
	assert_true(constants_is_scheduler(&set, slice.name));
}

static void test_measured(void **s)
{
	struct rec_constant tick = {"timer tick", 4 * MS, 4 * MS, 1};
	struct rec_constant sw = {"context switch", 1500, 2500, 1};
	struct rec_constant ack = {"delayed ACK here", 39 * MS, 41 * MS, 1};
	struct rec_constant bad = {"", 1, 2, 1};
	unsigned int before;
	int i;

	constants_init(&set);
	constants_add(&set, &tick);
	assert_string_equal(near(3.6 * MS, 4.6 * MS, 4.05 * MS), "timer tick");
	assert_string_equal(near(9 * MS, 11 * MS, 10 * MS), "");
	assert_string_equal(near(0.9 * MS, 1.1 * MS, 1 * MS), "");
	constants_add(&set, &sw);
	assert_string_equal(near(1500, 2500, 2000), "context switch");
	assert_string_equal(near(900, 3500, 2000),
			    ""); /* reaches beyond a wide time on both sides */
	assert_string_equal(near(2400, 3500, 2900), "");
	constants_add(&set, &ack);
	assert_string_equal(near(38 * MS, 46 * MS, 40 * MS), "delayed ACK here");
	before = set.nr;
	sw.high_ns = 3000;
	constants_add(&set, &sw);
	constants_add(&set, &bad);
	assert_int_equal(set.nr, before);
	assert_string_equal(near(2400, 3000, 2900), "context switch");
	for (i = 0; i < 2 * CONSTANTS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		constants_add(&set, &(struct rec_constant){name, 7, 7, 1});
	}
	assert_int_equal(set.nr, CONSTANTS_MAX);
}

static void test_devices(void **s)
{
	constants_init(&set);
	assert_string_equal(near(5 * MS, 9 * MS, 7 * MS), "");
	assert_string_equal(constants_near_block(&set, 5 * MS, 9 * MS, 7 * MS),
			    "disk seek and rotation (typical)");
	assert_string_equal(constants_near_block(&set, 70 * US, 110 * US, 80 * US),
			    "flash read (typical)");
}

/* A slice of the scheduler makes calls longer only if they wait for a CPU; so does a measured one.
 */
static void test_times_of_the_scheduler(void **s)
{
	const struct rec_constant measured = {
	    .name = "timer tick", .low_ns = 4 * MS, .high_ns = 4 * MS, .measured = 1};
	struct constants host;

	constants_init(&host);
	assert_true(constants_is_scheduler(&host, "timer tick (HZ=250)"));
	assert_true(constants_is_scheduler(&host, "scheduler slice (8 CPUs or more)"));
	assert_false(constants_is_scheduler(&host, "TCP delayed ACK (40 ms)"));
	assert_false(constants_is_scheduler(&host, ""));
	assert_false(constants_is_scheduler(&host, "timer tick"));
	constants_add(&host, &measured);
	assert_true(constants_is_scheduler(&host, "timer tick"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times_of_the_scheduler),
	    cmocka_unit_test(test_exact),
	    cmocka_unit_test(test_order_does_not_matter),
	    cmocka_unit_test(test_too_little),
	    cmocka_unit_test(test_missing),
	    cmocka_unit_test(test_sampled),
	    cmocka_unit_test(test_extra),
	    cmocka_unit_test(test_bursts),
	    cmocka_unit_test(test_drift),
	    cmocka_unit_test(test_slices),
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_ticks_of_the_host),
	    cmocka_unit_test(test_measured),
	    cmocka_unit_test(test_devices),
	    cmocka_unit_test(test_period_of_constant),
	};
	const char *given = getenv("PEAKTOP_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("# PEAKTOP_SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
