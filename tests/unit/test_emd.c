// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "analysis/latency/emd.h"
#include "tests/unit/profiles.h"

enum { BINS = 9, NODES = 2 * BINS + 2 };

static uint64_t state;

static uint64_t next(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ULL >> 11) % below;
}

/*
 * Another way to the same number: the transport problem as a minimum cost
 * flow, solved by shortest augmenting paths (Bellman-Ford), knowing nothing of
 * cumulative distributions. Masses are made equal by multiplying each side
 * with the other's total, so everything is in integers.
 */
static double transport(const double *a, const double *b)
{
	static int64_t cap[NODES][NODES], cost[NODES][NODES];
	int64_t ta = 0, tb = 0, flow, moved = 0, work = 0, dist[NODES], d;
	int from[NODES], i, j, round, source = 2 * BINS, sink = 2 * BINS + 1;

	memset(cap, 0, sizeof(cap));
	memset(cost, 0, sizeof(cost));
	for (i = 0; i < BINS; i++) {
		ta += (int64_t)a[i];
		tb += (int64_t)b[i];
	}
	for (i = 0; i < BINS; i++) {
		cap[source][i] = (int64_t)a[i] * tb;
		cap[BINS + i][sink] = (int64_t)b[i] * ta;
		for (j = 0; j < BINS; j++) {
			cap[i][BINS + j] = INT64_MAX / 4;
			cost[i][BINS + j] = labs((long)i - j);
			cost[BINS + j][i] = -cost[i][BINS + j];
		}
	}
	for (;;) {
		for (i = 0; i < NODES; i++)
			dist[i] = INT64_MAX / 4;
		dist[source] = 0;
		for (round = 0; round < NODES; round++) {
			for (i = 0; i < NODES; i++) {
				for (j = 0; j < NODES; j++) {
					d = dist[i] + cost[i][j];
					if (cap[i][j] > 0 && dist[i] < INT64_MAX / 4 &&
					    d < dist[j]) {
						dist[j] = d;
						from[j] = i;
					}
				}
			}
		}
		if (dist[sink] >= INT64_MAX / 4)
			break;
		flow = INT64_MAX;
		for (j = sink; j != source; j = from[j])
			flow = cap[from[j]][j] < flow ? cap[from[j]][j] : flow;
		for (j = sink; j != source; j = from[j]) {
			cap[from[j]][j] -= flow;
			cap[j][from[j]] += flow;
		}
		moved += flow;
		work += flow * dist[sink];
	}
	assert_int_equal(moved, ta * tb);
	return (double)work / (double)moved;
}

static void test_brute_force(void **s)
{
	double a[BINS], b[BINS], got, want;
	int i, j;

	for (i = 0; i < 400; i++) {
		for (j = 0; j < BINS; j++) {
			a[j] = next(3) ? (double)next(i % 2 ? 5 : 1000) : 0;
			b[j] = next(3) ? (double)next(i % 3 ? 7 : 100) : 0;
		}
		a[next(BINS)] += 1;
		b[next(BINS)] += 1;
		got = emd_histograms(a, b, BINS);
		want = transport(a, b);
		if (fabs(got - want) > 1e-9 * (1 + want))
			fail_msg("case %d: %.12g, the transport problem says %.12g", i, got, want);
	}
}

static void test_known(void **s)
{
	const double a[4] = {1, 0, 0, 0}, b[4] = {0, 0, 0, 5}, c[4] = {1, 0, 0, 1}, none[4] = {0};

	assert_true(emd_histograms(a, a, 4) == 0);
	assert_true(emd_histograms(a, b, 4) == 3);
	assert_true(emd_histograms(a, c, 4) == 1.5);
	assert_true(emd_histograms(none, none, 4) == 0);
	assert_true(isinf(emd_histograms(a, none, 4)));
	assert_true(isinf(emd_histograms(none, a, 4)));
}

/* A metric: symmetric, zero for itself, triangle inequality; scaling does not matter. */
static void test_metric(void **s)
{
	double x[3][BINS], y[BINS], d01, d12, d02;
	int i, j, k;

	for (i = 0; i < 200; i++) {
		for (k = 0; k < 3; k++) {
			for (j = 0; j < BINS; j++)
				x[k][j] = (double)next(50);
			x[k][0] += 1;
		}
		d01 = emd_histograms(x[0], x[1], BINS);
		d12 = emd_histograms(x[1], x[2], BINS);
		d02 = emd_histograms(x[0], x[2], BINS);
		assert_true(d02 <= d01 + d12 + 1e-12);
		assert_true(fabs(d01 - emd_histograms(x[1], x[0], BINS)) < 1e-12);
		for (j = 0; j < BINS; j++)
			y[j] = 17 * x[1][j];
		assert_true(fabs(d01 - emd_histograms(x[0], y, BINS)) < 1e-9);
	}
}

static void test_profiles(void **s)
{
	struct profile a, b;

	profile_init(&a);
	profile_init(&b);
	assert_true(emd_profiles(&a, &b) == 0);
	profile_add(&a, 1000);
	assert_true(isinf(emd_profiles(&a, &b)));
	profile_add(&b, 8000);
	assert_true(fabs(emd_profiles(&a, &b) - 3) < 1e-9); /* three doublings */
	profile_add(&b, 1000);
	assert_true(fabs(emd_profiles(&a, &b) - 1.5) < 1e-9);
}

/* The predicted noise is what samples of one distribution show. */
static void test_noise(void **s)
{
	double sum = 0, predicted = 0;
	struct profile a, b;
	int i, j;

	for (i = 0; i < 200; i++) {
		profile_init(&a);
		profile_init(&b);
		for (j = 0; j < 300; j++)
			profile_add(&a, (next(3) ? 1000 : 90000) + next(2000));
		for (j = 0; j < 700; j++)
			profile_add(&b, (next(3) ? 1000 : 90000) + next(2000));
		sum += emd_profiles(&a, &b);
		predicted += emd_noise(&a, &b, 300, 700);
	}
	if (sum < 0.8 * predicted || sum > 1.2 * predicted)
		fail_msg("on average %g, predicted %g", sum / 200, predicted / 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_brute_force), cmocka_unit_test(test_known),
	    cmocka_unit_test(test_metric),	cmocka_unit_test(test_profiles),
	    cmocka_unit_test(test_noise),
	};
	const char *given = getenv("PEAKTOP_SEED");

	state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("# PEAKTOP_SEED=%llu\n", (unsigned long long)state);
	state = state * 0x9e3779b97f4a7c15ULL + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
