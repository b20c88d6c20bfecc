// SPDX-License-Identifier: GPL-2.0-or-later
/* When the distribution of latencies has changed, and when it has not. */
#include <math.h>

#include "analysis/descent/change.h"
#include "tests/unit/descent/bench.h"
#include "tests/unit/profiles.h"

static void test_distribution_changed(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (int i = 0; i < 10; i++)
		profile(&b, 150, 10 * MS); /* the same */
	expect_done(&b, DESCENT_IN_PROGRESS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_IN_PROGRESS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_CHANGED);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(strlen(r.change) > 0);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The fast calls take twice as long as before, and the slow ones, the peak, are as they were: no
 * change. For the peak of the fast ones it is a change.
 */
static void test_only_the_peak_counts(void **state)
{
	static struct change c;

	change_init(&c, 8 * MS, 16 * MS);
	for (unsigned int i = 0; i < 12000; i++) {
		bool later = i > 2000;
		struct profile one;

		profile_init(&one);
		profile_add(&one, i % 20 ? (later ? 60 : 30) * US : 10 * MS);
		c.fixed = later;
		change_add(&c, &one, 500, 0);
	}
	assert_false(change_seen(&c));
	change_init(&c, 20 * US, 40 * US);
	for (unsigned int i = 0; i < 8000; i++) {
		struct profile one;

		profile_init(&one);
		profile_add(&one, i % 20 ? (i > 2000 ? 60 : 30) * US : 10 * MS);
		c.fixed = i > 2000;
		change_add(&c, &one, 500, 0);
	}
	assert_true(change_seen(&c));
}

/* What a fuse had to end is no change of the program. */
static void test_probes_are_no_change(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	profile(&b, 250, 80 * MS);
	lose(&b, "a", FNODE_BLOWN);
	/* these slices began before it was taken off, or while it was */
	profile(&b, 250, 80 * MS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_IN_PROGRESS);
	/* what goes on afterwards is the program's own */
	for (int i = 0; i < 4; i++)
		profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_CHANGED);
	bench_end(&b);
}

/*
 * Calls of which the probes took three quarters say nothing: the callee with most of the probes is
 * not timed any more, and what other calls say counts.
 */
static void test_drowned_calls(void **state)
{
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	for (int i = 0; i < 7; i++) {
		b.call.raw_ns = 40 * MS;
		CALL(&b, 10 * MS, P("a", 1 * MS, .count = 50), P("c", 8 * MS));
	}
	assert_null(armed(&b, "a"));
	assert_non_null(armed(&b, "c"));
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.calls_used, 0);
	descent_result_release(&r);
	for (int i = 0; i < 40; i++) {
		b.call.raw_ns = 11 * MS;
		CALL(&b, 10 * MS, P("c", 8 * MS));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(r.calls_used >= 10 && r.nr_paths && r.paths[0].share > 0.75);
	descent_result_release(&r);
	bench_end(&b);
}

/* The same distribution, sampled again and again, is not said to have changed. */
static void test_noise_is_no_change(void **state)
{
	static struct change c;
	uint64_t rng = 12345;
	unsigned int changed = 0;

	for (unsigned int run = 0; run < 200; run++) {
		change_init(&c, 0, 0);
		for (unsigned int i = 0; i < 100 + 200 * 20; i++) {
			struct profile one;
			double u;

			profile_init(&one);
			rng = rng * 6364136223846793005u + 1442695040888963407u;
			u = (double)(rng >> 11) / 9007199254740992.0;
			/* two modes, one with 5% of the calls */
			profile_add(&one, (uint64_t)(u < 0.05 ? 12e6 * exp(u * 20)
							      : 1e5 * exp((u - 0.5) * 2)));
			change_add(&c, &one, 100, 0);
			c.fixed = i > 100;
		}
		changed += change_seen(&c);
	}
	assert_true(changed <= 1);
}

/* Two modes, with `fast` and `slow` as their latencies, in `n` slices; has it changed? */
static bool changes(uint64_t fast, uint64_t slow, uint64_t probes_ns)
{
	static struct change c;
	struct profile one;

	change_init(&c, 0, 0);
	for (int i = 0; i < 12; i++) {
		bool before = i < 4;

		profile_init(&one);
		one.count[pt_bucket(before ? 30 * US : fast)] = 75;
		one.count[pt_bucket(before ? MS : slow)] = 25;
		one.calls = 100;
		one.sum_ns = before ? 75 * 30 * US + 25 * MS : 75 * fast + 25 * slow;
		c.fixed = !before;
		change_add(&c, &one, 100, before ? 0 : probes_ns);
	}
	return change_seen(&c);
}

/* Of calls that are no longer than their probes the latency is not known. */
static void test_a_wrong_price_is_no_change(void **state)
{
	assert_false(changes(30 * US, MS, 0));
	assert_true(changes(8 * US, MS, 0));
	assert_true(changes(8 * US, MS, 1 * US));
	assert_false(changes(8 * US, MS, 40 * US));
	assert_true(changes(30 * US, 4 * MS, 40 * US));
	assert_true(changes(8 * US, 10 * US, 40 * US));
}

static uint64_t chance(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/*
 * Calls of 500 us, and so many in a thousand of `slow_ns`, or more: one in four of these lasts up
 * to eight times as long.
 */
static void mixed(struct profile *p, unsigned int calls, unsigned int slow, uint64_t slow_ns,
		  uint64_t *seed)
{
	profile_init(p);
	for (unsigned int i = 0; i < calls; i++) {
		bool is_slow = chance(seed) % 1000 < slow, is_tail = chance(seed) % 4 == 0;
		uint64_t ns = is_slow ? slow_ns : 500 * US;

		profile_add(p, is_slow && is_tail ? ns + ns * (chance(seed) % 700) / 100 : ns);
	}
}

/* True if the peak of one call in fifty, of 40 ms and more, is said to have moved. */
static bool moves(unsigned int calls, unsigned int slow, uint64_t slow_ns, uint64_t seed)
{
	static struct profile saved, now;
	static struct change c;

	mixed(&saved, 2000, 20, 40 * MS, &seed);
	change_init(&c, 39 * MS, UINT64_MAX);
	mixed(&now, 100, slow, slow_ns, &seed);
	change_add(&c, &now, 100, 0);
	c.fixed = true;
	mixed(&now, calls, slow, slow_ns, &seed);
	change_add(&c, &now, 100, 0);
	return change_moved_since_saved(&c, &saved);
}

/* Two calls of a peak say nothing, forty do: it moved within its range, or out of it. */
static void test_a_rare_peak_moved(void **state)
{
	static const struct {
		uint64_t ns;
		const char *words;
	} now[] = {{200 * MS, "198 ms; it holds 2% of the calls"},
		   {10 * MS, "10.4 ms; it holds 2% of the calls"}};
	static struct profile saved, few, more;
	static struct change c;
	uint64_t seed = 1;

	for (unsigned int k = 0; k < 2; k++) {
		mixed(&saved, 1960, 0, 0, &seed);
		mixed(&few, 98, 0, 0, &seed);
		more = saved;
		for (int i = 0; i < 40; i++) {
			profile_add(&saved, 40 * MS);
			profile_add(&more, now[k].ns);
			if (i < 2)
				profile_add(&few, now[k].ns);
		}
		change_init(&c, 39 * MS, UINT64_MAX);
		change_add(&c, &few, 100, 0);
		assert_false(change_since_saved(&c, &saved));
		assert_false(change_moved_since_saved(&c, &saved));
		c.fixed = true;
		change_add(&c, &more, 100, 0);
		assert_true(change_moved_since_saved(&c, &saved));
		assert_non_null(
		    strstr(c.words, "since the session was saved: the peak at 41.7 ms moved to "));
		assert_non_null(strstr(c.words, now[k].words));
	}
}

static void test_a_rare_peak_stayed(void **state)
{
	for (uint64_t i = 1; i <= 500; i++) {
		assert_false(moves(200, 20, 40 * MS, i));
		assert_false(moves(2000, 20, 40 * MS, i));
		assert_false(moves(8000, 20, 50 * MS, i));  /* a little slower */
		assert_false(moves(4000, 100, 40 * MS, i)); /* less rare */
		assert_false(moves(4000, 1, 40 * MS, i));   /* or rarer: it may come back */
		assert_false(moves(4000, 0, 40 * MS, i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_distribution_changed),
	    cmocka_unit_test(test_only_the_peak_counts),
	    cmocka_unit_test(test_probes_are_no_change),
	    cmocka_unit_test(test_drowned_calls),
	    cmocka_unit_test(test_noise_is_no_change),
	    cmocka_unit_test(test_a_wrong_price_is_no_change),
	    cmocka_unit_test(test_a_rare_peak_moved),
	    cmocka_unit_test(test_a_rare_peak_stayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
