// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls a descent asks about: a peak by rank or latency, a range, the slowest. */
#include "analysis/descent/choose.h"
#include "tests/unit/descend_rig.h"
#include "tui/cli/command_line.h"

static void too_early(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -EAGAIN);
	give_profile(10);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, 77, &o, o.timeout_s, &ask), -EAGAIN);
	/* enough of them, but the first second shows no distribution yet */
	give_profile(20);
	assert_int_equal(choose_descent(t.model, F0, &o, 0.9, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
}

/* Where calls are rare, fewer of them will do after a while; not where a person asked for a number.
 */
static void start_ops_adapt(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(10);
	assert_int_equal(choose_descent(t.model, F0, &o, 2, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, 8, &ask), 0);
	assert_true(ask.start_ops < 100 && ask.start_ops >= 10);
	o.start_ops_given = true;
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -EAGAIN);
}

static void largest_by_default(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS && ask.low_ns > 10 * US);
	assert_int_equal(ask.op, F0);
	assert_int_equal(ask.function.module, PROGRAM);
	assert_int_equal(ask.function.offset, SERVE);
	assert_int_equal(ask.maxcount_ppm, 500000);
	assert_int_equal(ask.level_by_level, 1);
	o.peak = 1;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
}

/* One call in a thousand takes most of the time: no peak yet, so the fast ones are not taken for
 * the question. */
static void rare_and_slow(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_slice(999, 1, 100 * MS);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	/* nothing else comes: it is the slowest calls that are looked into */
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
	assert_true(ask.low_ns > 10 * US && ask.low_ns <= 100 * MS && ask.high_ns == UINT64_MAX);
	for (int i = 0; i < 5; i++)
		give_profile(40);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
}

/* The peak was not asked for by name, and its calls no longer come: the largest one of now is asked
 * for, but only once the calls have been missing for a while. */
static void calls_have_gone_to_another_peak(void **state)
{
	struct descent_question o = options();
	struct choose_progress progress = {0};
	struct choose_plan plan;
	struct rec_descent asked;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &asked), 0);
	/* as if the fast calls had been the ones asked about */
	asked.low_ns = 5 * US;
	asked.high_ns = 20 * US;
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){7, 10 * S},
				  &progress, &plan));
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){8, 12 * S},
				  &progress, &plan));
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){8, 14 * S},
				  &progress, &plan));
	assert_true(choose_again(t.model, &o, &asked, (struct choose_progress){8, 16 * S},
				 &progress, &plan));
	assert_true(plan.ask.low_ns <= 4 * MS && plan.ask.high_ns > 4 * MS);
	/* not at once again */
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){8, 17 * S},
				  &progress, &plan));
	/* the same peak still */
	asked.low_ns = plan.ask.low_ns;
	asked.high_ns = plan.ask.high_ns;
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){8, 30 * S},
				  &progress, &plan));
	/* what a person asked for stays */
	asked.low_ns = 5 * US;
	asked.high_ns = 20 * US;
	o.peak = 1;
	assert_false(choose_again(t.model, &o, &asked, (struct choose_progress){8, 60 * S},
				  &progress, &plan));
}

/*
 * The calls beyond all peaks have most of the time, and waited for a CPU: then the answer is about
 * the largest peak. It stays about them if a quota or the program's own code was their cause, if
 * somebody asked for them, and if they are a peak.
 */
static void waited_for_a_cpu(void **state)
{
	struct descent_path paths[] = {
	    {.share = 0.3, .cause = {.kind = CAUSE_OWN_CODE}},
	    {.share = 0.4, .cause = {.kind = CAUSE_RUN_QUEUE}},
	    {.share = 0.3, .cause = {.kind = CAUSE_PREEMPTION}},
	};
	const struct descent_result found = {.nr_paths = 3, .paths = paths};
	struct descent_question o = options();
	struct rec_descent asked, ask;
	struct choose_waited waited;

	give_slice(5000, 1, 100 * MS);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &asked), 0);
	assert_true(asked.low_ns > 10 * US && asked.high_ns == UINT64_MAX);
	assert_true(choose_instead(t.model, &o, &asked, &found, &ask));
	assert_int_equal(ask.choice, DESCENT_BESIDE_WAITS);
	choose_waited(&found, &waited);
	assert_true(waited.part > 0.69 && waited.part < 0.71);
	assert_int_equal(waited.most.kind, CAUSE_RUN_QUEUE);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
	assert_false(choose_instead(t.model, &o, &ask, &found, &ask));
	o.slowest = 0.1;
	assert_false(choose_instead(t.model, &o, &asked, &found, &ask));
	o.slowest = 0;
	paths[1].cause.kind = CAUSE_QUOTA;
	assert_false(choose_instead(t.model, &o, &asked, &found, &ask));
}

/* A peak with little of the time does not tell where that goes. */
static void waited_for_a_cpu_most_of_the_time(void **state)
{
	struct descent_path path = {.share = 0.9, .cause = {.kind = CAUSE_PREEMPTION}};
	const struct descent_result found = {.nr_paths = 1, .paths = &path};
	struct descent_question o = options();
	struct rec_descent asked, ask;

	give_slice(2000, 1, 100 * MS);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &asked), 0);
	assert_true(asked.low_ns > 10 * US && asked.high_ns == UINT64_MAX);
	assert_false(choose_instead(t.model, &o, &asked, &found, &ask));
}

/* Calls of `ns`, as many as take a tenth of a CPU, and what a probe adds to each. */
static void give_short(uint64_t ns, uint64_t probe_ns)
{
	uint32_t bucket = pt_bucket(ns);
	uint64_t calls = S / 10 / ns;

	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0,
					 .start_ns = t.time_ns,
					 .end_ns = t.time_ns + S,
					 .armed_ns = S,
					 .calls = calls,
					 .sum_ns = calls * ns,
					 .min_ns = ns,
					 .max_ns = ns,
					 .correction_ns = probe_ns,
					 .nr_buckets = 1,
					 .bucket = &bucket,
					 .count = &calls}});
	end_slice();
}

/* Probes inside calls that are shorter than twenty of them would measure themselves. */
static void too_short_for_probes(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	o.level_by_level = false;
	give_short(US, 600);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 1);
	assert_true(ask.low_ns <= US && ask.high_ns == UINT64_MAX);
	/* not if calls are named, nor if it shall go level by level */
	o.peak_low_ns = o.peak_high_ns = US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 0);
	o.peak_low_ns = o.peak_high_ns = 0;
	o.level_by_level = true;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 0);
	/* nor in phases: a stack does not tell whether its call began in one */
	o.level_by_level = false;
	assert_int_equal(
	    model_feed(t.model,
		       &(struct record){.type = REC_PHASES,
					.phases = {.begin = "open", .end = "close", .seen = 3}}),
	    0);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 0);
}

static void long_enough_for_probes(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	o.level_by_level = false;
	give_short(13 * US, 600);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 0);
}

/* Where a probe takes long, too: some calls are worth their probes nevertheless. */
static void longer_than_any_short_call(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	o.level_by_level = false;
	give_short(60 * US, 6 * US);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(ask.sampled, 0);
}

/* The long calls only waited for a CPU: the others are short, so samples tell of all. */
static void short_beside_waits(void **state)
{
	struct descent_path path = {.share = 0.9, .cause = {.kind = CAUSE_PREEMPTION}};
	const struct descent_result found = {.nr_paths = 1, .paths = &path};
	struct descent_question o = options();
	struct rec_descent asked, ask;

	o.level_by_level = false;
	give_short(US, 600);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &asked), 0);
	asked.sampled = false;
	asked.low_ns = MS;
	asked.high_ns = 8 * MS;
	assert_true(choose_instead(t.model, &o, &asked, &found, &ask));
	assert_int_equal(ask.sampled, 1);
	assert_int_equal(ask.choice, DESCENT_BESIDE_WAITS);
	assert_false(choose_instead(t.model, &o, &ask, &found, &asked));
}

/* Before the slow calls are many enough for a peak they pass for the tail of the fast ones. */
static void slow_tail(void **state)
{
	uint64_t latency[] = {10 * US,	20 * US,  40 * US,   80 * US,	160 * US,
			      320 * US, 640 * US, 1280 * US, 2560 * US, 14 * MS};
	uint64_t count[] = {3000, 300, 40, 12, 4, 2, 1, 1, 1, 5};
	struct descent_question o = options();
	struct rec_descent ask;

	give_histogram(latency, count, 10);
	end_slice();
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
	assert_true(ask.low_ns > 1280 * US);
}

/* A latency means the peak that it lies in, a range just the calls in it. */
static void peak_by_latency(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	o.peak_low_ns = o.peak_high_ns = 10 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
	o.peak_low_ns = o.peak_high_ns = 4 * MS;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
	o.peak_low_ns = o.peak_high_ns = 300 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
	o.peak_low_ns = 3 * MS;
	o.peak_high_ns = 5 * MS;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns == 3 * MS && ask.high_ns == 5 * MS);
	o.peak_low_ns = 300 * US;
	o.peak_high_ns = 400 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
}

/* Each end of a range has its own unit; only one without any takes that of the other. */
static void range_of_latencies(void **state)
{
	static const struct {
		const char *text;
		uint64_t low_ns, high_ns;
	} wanted[] = {{"2-4ms", 2 * MS, 4 * MS},
		      {"500us-2ms", 500 * US, 2 * MS},
		      {"0.5ms-800us", 500 * US, 800 * US},
		      {"0.5us-900ns", 500, 900},
		      {"1s-2000ms", S, 2 * S},
		      {"2.5ms", 2500 * US, 2500 * US},
		      {"1m08s", 68 * S, 68 * S},
		      {"2 s-1m00s", 2 * S, 60 * S},
		      {"1m-3h05m", 60 * S, 185 * 60 * S},
		      {"0.5 ms - 800 us", 500 * US, 800 * US}};
	char error[512];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char text[32],
		    *argv[] = {"peaktop", "descend", "-p", "1", "-f", "x", "--peak", text, NULL};
		struct options o;

		snprintf(text, sizeof(text), "%s", wanted[i].text);
		assert_int_equal(options_parse(&o, 8, argv, error, sizeof(error)), 0);
		assert_int_equal(o.question.peak_low_ns, wanted[i].low_ns);
		assert_int_equal(o.question.peak_high_ns, wanted[i].high_ns);
	}
}

/* Two peaks of nearly equal time: which one is chosen is chance, so the answer names the other. */
static void two_peaks_of_equal_time(void **state)
{
	struct descend_report r = report();
	struct rec_descent ask;
	struct buf text;

	give_profile(100);
	give_histogram((uint64_t[]){300 * US}, (uint64_t[]){2600}, 1);
	begin();
	buf_init(&text, 4096);
	output_descend_sentence(&r, &text);
	assert_non_null(strstr(text.data, "of the time, too: ask for them with --peak 2"));
	ask = *driver_asked(t.driver);
	ask.choice = DESCENT_NAMED_CALLS;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	buf_reset(&text);
	output_descend_sentence(&r, &text);
	assert_null(strstr(text.data, "--peak"));
	buf_release(&text);
}

static void no_such_peak(void **state)
{
	struct descend_report r = report();
	struct descent_question o = options();
	struct rec_descent ask;
	char *text;

	give_profile(100);
	o.peak = 9;
	/* it may still come */
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
	r.no_such_peak = true;
	r.wanted_peak = 9;
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "there is no peak 9; there are 1 ("));
	free(text);
	text = printed(output_descend_json, &r);
	assert_non_null(strstr(text, "\"status\":\"no such peak\""));
	assert_non_null(strstr(text, "\"paths\":[]"));
	free(text);
}

static void slowest(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	o.slowest = 10;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	/* the answer counts whole buckets, so the limit is the beginning of one */
	assert_int_equal(ask.low_ns, bucket_low_ns(pt_bucket(4 * MS), PT_RESOLUTION));
	assert_true(ask.high_ns == UINT64_MAX);
	o.slowest = 0.01;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(start_ops_adapt),
	    TEST(peak_by_latency),
	    TEST(too_early),
	    cmocka_unit_test(range_of_latencies),
	    TEST(largest_by_default),
	    TEST(rare_and_slow),
	    TEST(calls_have_gone_to_another_peak),
	    TEST(waited_for_a_cpu),
	    TEST(waited_for_a_cpu_most_of_the_time),
	    TEST(too_short_for_probes),
	    TEST(long_enough_for_probes),
	    TEST(longer_than_any_short_call),
	    TEST(short_beside_waits),
	    TEST(slow_tail),
	    TEST(two_peaks_of_equal_time),
	    TEST(no_such_peak),
	    TEST(slowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
