// SPDX-License-Identifier: GPL-2.0-or-later
/* Peaks that are shadows of others: what leaves no trace, and what cannot be measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/latency/shadows.h"

enum { MOST_PEAKS = 4, SAMPLES_EACH = 20, MOST_SAMPLES = MOST_PEAKS * SAMPLES_EACH };
enum {
	KNOWN =
	    SAMPLE_ARG0 << 1 | SAMPLE_SWITCHES | SAMPLE_RUNQUEUE | SAMPLE_INTERRUPTS | SAMPLE_ONCPU
};

/* A mode of a function; all its calls take about as long. */
struct mode {
	uint64_t ns, calls;
	uint32_t sleeps;
	uint64_t argument;	 /* the second argument of its calls; 0: another one in each call */
	uint64_t tail_ns;	 /* latency of some calls; 0: none */
	unsigned int tail_every; /* one of how many calls has it */
	uint32_t tail_sleeps;
	uint64_t tail_argument;
	double tail_weight; /* of a sample of it, if not as of others */
};

static const struct shadow_host unknown_host;
/* A guest whose page tables the hypervisor keeps by software. */
static const struct shadow_host slow_faults = {.page_fault_ns = 15e3};

static unsigned int bucket(uint64_t ns)
{
	return pt_bucket(ns);
}

/* Finds the shadows among these modes, which are in ascending order. */
static void find(const struct mode *mode, unsigned int n, const struct shadow_host *host,
		 struct shadow_verdict *out)
{
	static struct call_sample sample[MOST_SAMPLES];
	const struct call_sample *call[MOST_SAMPLES];
	double weight[MOST_SAMPLES];
	struct weighted_calls calls = {.call = call, .weight = weight};
	struct peak_span span[MOST_PEAKS];
	struct profile seen;

	profile_init(&seen);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int at = bucket(mode[i].ns);

		seen.count[at] = mode[i].calls;
		seen.calls += mode[i].calls;
		span[i] =
		    (struct peak_span){.range = {at - 1, bucket(mode[i].tail_ns ?: mode[i].ns) + 2},
				       .mode = at,
				       .calls = mode[i].calls};
		for (unsigned int k = 0; k < SAMPLES_EACH; k++) {
			struct call_sample *c = &sample[calls.nr];
			bool tail = mode[i].tail_ns && k % mode[i].tail_every == 0;
			uint32_t sleeps = tail ? mode[i].tail_sleeps : mode[i].sleeps;

			*c = (struct call_sample){
			    .latency_ns = tail ? mode[i].tail_ns : mode[i].ns,
			    .known = KNOWN,
			    .args = {0,
				     (tail ? mode[i].tail_argument : mode[i].argument) ?: k + 100},
			    .sleeps = sleeps,
			    .oncpu_ns = sleeps ? 0 : mode[i].ns};
			call[calls.nr] = c;
			weight[calls.nr++] = tail && mode[i].tail_weight > 0
						 ? mode[i].tail_weight
						 : (double)mode[i].calls / SAMPLES_EACH;
		}
	}
	shadows_find(&seen, span, n, &calls, host, out);
}

static void assert_listed(const struct shadow_verdict *v)
{
	assert_int_equal(v->of, -1);
}

/* A hypervisor that maps a page: no event in the guest says so. */
static void test_untraced_delays(void **state)
{
	const struct mode modes[] = {{.ns = 1500, .calls = 10000},
				     {.ns = 26000, .calls = 300},
				     {.ns = 30000000, .calls = 40, .sleeps = 1}};
	struct shadow_verdict v[3];

	(void)state;
	find(modes, 3, &unknown_host, v);
	assert_listed(&v[0]);
	assert_int_equal(v[1].of, 0);
	assert_int_equal(v[1].why, PEAK_UNTRACED);
	assert_listed(&v[2]);
}

/* The same peak is listed if it matters, if it is large, if it sleeps, or is too far away. */
static void test_small_peaks_that_are_listed(void **state)
{
	const struct mode listed[][3] = {
	    {{.ns = 1500, .calls = 10000},
	     {.ns = 26000, .calls = 300},
	     {.ns = 300000, .calls = 40, .sleeps = 1}},
	    {{.ns = 1500, .calls = 10000},
	     {.ns = 26000, .calls = 1500},
	     {.ns = 30000000, .calls = 400, .sleeps = 1}},
	    {{.ns = 1500, .calls = 10000},
	     {.ns = 26000, .calls = 300, .sleeps = 1},
	     {.ns = 30000000, .calls = 40, .sleeps = 1}},
	    {{.ns = 1500, .calls = 10000},
	     {.ns = 90000, .calls = 90},
	     {.ns = 30000000, .calls = 40, .sleeps = 1}},
	};
	struct shadow_verdict v[3];

	(void)state;
	for (unsigned int i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		find(listed[i], 3, &unknown_host, v);
		for (unsigned int k = 0; k < 3; k++)
			assert_listed(&v[k]);
	}
}

/* A cold probe takes longer: two peaks that differ by less than what can be measured are one. */
static void test_below_what_can_be_measured(void **state)
{
	const struct mode modes[] = {{.ns = 1500, .calls = 4000}, {.ns = 2600, .calls = 1900}};
	struct shadow_verdict v[2];

	(void)state;
	find(modes, 2, &(struct shadow_host){.blur_ns = 1700}, v);
	assert_listed(&v[0]);
	assert_int_equal(v[1].of, 0);
	assert_int_equal(v[1].why, PEAK_SPEED);
	find(modes, 2, &(struct shadow_host){.blur_ns = 600}, v);
	assert_listed(&v[0]);
	assert_listed(&v[1]);
}

/*
 * It maps several pages in some of the delayed calls, and keeps the CPU for milliseconds in others:
 * the tail of the peak is no work either. Calls that slept for so long are the program's.
 */
static void test_tails_of_untraced_delays(void **state)
{
	struct mode modes[] = {{.ns = 20000, .calls = 5000},
			       {.ns = 66000, .calls = 200, .tail_ns = 103000, .tail_every = 3}};
	struct shadow_verdict v[2];

	(void)state;
	find(modes, 2, &slow_faults, v);
	assert_int_equal(v[1].of, 0);
	assert_int_equal(v[1].why, PEAK_UNTRACED);
	modes[1].tail_ns = 4000000;
	find(modes, 2, &slow_faults, v);
	assert_listed(&v[1]);
	modes[1].tail_every = 7;
	find(modes, 2, &slow_faults, v);
	assert_int_equal(v[1].of, 0);
	modes[1].tail_sleeps = 1;
	find(modes, 2, &slow_faults, v);
	assert_listed(&v[1]);
}

/*
 * If the hypervisor maps pages by software, it delays a twelfth of the calls, up to a fifth of the
 * time. An argument shows that slow calls are others than the fast ones.
 */
static void test_untraced_delays_often(void **state)
{
	const struct mode delayed[] = {{.ns = 20000, .calls = 5000}, {.ns = 45000, .calls = 400}};
	const struct mode other[] = {{.ns = 20000, .calls = 5000, .argument = 7},
				     {.ns = 45000, .calls = 400, .argument = 8}};
	const struct mode same[] = {{.ns = 20000, .calls = 5000, .argument = 7},
				    {.ns = 45000, .calls = 400, .argument = 7}};
	const struct mode tail[] = {{.ns = 20000, .calls = 5000},
				    {.ns = 66000, .calls = 200},
				    {.ns = 108000, .calls = 100}};
	/* a third of the calls of a true peak are delayed ones of the other */
	const struct mode mixed[] = {{.ns = 20000, .calls = 5000, .argument = 7},
				     {.ns = 45000,
				      .calls = 400,
				      .argument = 8,
				      .tail_ns = 45000,
				      .tail_every = 3,
				      .tail_argument = 7}};
	/* half of the samples of a true peak are of the other, and stand for few calls */
	const struct mode light[] = {{.ns = 20000, .calls = 5000, .argument = 7},
				     {.ns = 45000,
				      .calls = 400,
				      .argument = 8,
				      .tail_ns = 45000,
				      .tail_every = 2,
				      .tail_argument = 7,
				      .tail_weight = 0.5}};
	const struct mode large[] = {{.ns = 20000, .calls = 5000}, {.ns = 45000, .calls = 600}};
	/* it has most of the time: it is never hidden */
	const struct mode matters[] = {{.ns = 1500, .calls = 5000}, {.ns = 45000, .calls = 300}};
	struct shadow_verdict v[3];

	(void)state;
	find(delayed, 2, &slow_faults, v);
	assert_listed(&v[0]);
	assert_int_equal(v[1].of, 0);
	assert_int_equal(v[1].why, PEAK_UNTRACED);
	find(same, 2, &slow_faults, v);
	assert_int_equal(v[1].of, 0);
	find(other, 2, &slow_faults, v);
	assert_listed(&v[1]);
	find(mixed, 2, &slow_faults, v);
	assert_listed(&v[1]);
	find(light, 2, &slow_faults, v);
	assert_listed(&v[1]);
	find(large, 2, &slow_faults, v);
	assert_listed(&v[1]);
	find(matters, 2, &slow_faults, v);
	assert_listed(&v[1]);
	find(delayed, 2, &unknown_host, v);
	assert_listed(&v[1]);
	/* a mode that is further away is the program's, however many pages are mapped */
	find(tail, 3, &slow_faults, v);
	assert_int_equal(v[1].of, 0);
	assert_listed(&v[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_untraced_delays),
	    cmocka_unit_test(test_untraced_delays_often),
	    cmocka_unit_test(test_tails_of_untraced_delays),
	    cmocka_unit_test(test_small_peaks_that_are_listed),
	    cmocka_unit_test(test_below_what_can_be_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
