// SPDX-License-Identifier: GPL-2.0-or-later
/* The event log: the ring, and which records and changes of peaks are events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/event_log.h"
#include "tests/unit/model_feed.h"
#include "tests/unit/profiles.h"

static int setup(void **state)
{
	*state = model_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	model_free(*state);
	return 0;
}

/* The newest event of a kind; NULL: none. */
static const struct event *last_of(const struct model *m, enum event_kind kind)
{
	const struct event_log *log = model_event_log(m);

	for (size_t i = 0; i < event_log_nr(log); i++)
		if (event_log_at(log, i)->kind == kind)
			return event_log_at(log, i);
	return NULL;
}

static unsigned int count_of(const struct model *m, enum event_kind kind)
{
	const struct event_log *log = model_event_log(m);
	unsigned int n = 0;

	for (size_t i = 0; i < event_log_nr(log); i++)
		n += event_log_at(log, i)->kind == kind;
	return n;
}

static void assert_text(const struct event *e, const char *text)
{
	assert_non_null(e);
	assert_string_equal(e->text, text);
}

static void feed(struct model *m, struct record r)
{
	assert_int_equal(model_feed(m, &r), 0);
}

static void tick(struct model *m, uint64_t slice)
{
	feed(m, (struct record){.type = REC_TICK,
				.tick = {.slice = slice,
					 .start_ns = slice * SECOND,
					 .end_ns = (slice + 1) * SECOND}});
}

/* One slice of operation 1: calls near up to two latencies (0: none), with noise from `rng`. */
static void slice(struct model *m, struct rng *rng, uint64_t at, double first, double second)
{
	struct profile p;

	profile_init(&p);
	for (int i = 0; i < 200; i++) {
		if (first > 0)
			profile_add(&p, rng_latency(rng, first, 0.15));
		if (second > 0)
			profile_add(&p, rng_latency(rng, second, 0.15));
	}
	if (p.calls)
		assert_int_equal(feed_profile(m, 1, at, &p), 0);
	tick(m, at);
}

/* --- the ring ------------------------------------------------------------------------ */

static void test_ring_is_bounded(void **state)
{
	struct event_log log = {0};

	assert_int_equal(event_log_nr(&log), 0);
	assert_null(event_log_at(&log, 0));
	for (uint64_t i = 1; i <= 3 * EVENT_LOG_MAX; i++) {
		struct event e = {.at_ns = i, .kind = EVENT_WARNING};

		snprintf(e.text, sizeof(e.text), "number %llu", (unsigned long long)i);
		event_log_add(&log, &e);
		assert_int_equal(event_log_at(&log, 0)->number, i);
		assert_int_equal(event_log_nr(&log), i < EVENT_LOG_MAX ? i : EVENT_LOG_MAX);
	}
	assert_text(event_log_at(&log, 0), "number 1536");
	assert_text(event_log_at(&log, EVENT_LOG_MAX - 1), "number 1025");
	assert_null(event_log_at(&log, EVENT_LOG_MAX));
	assert_int_equal(log.added, 3 * EVENT_LOG_MAX);
	event_log_release(&log);
}

static void test_repeats_are_counted(void **state)
{
	struct event_log log = {0};
	struct event e = {.at_ns = SECOND, .kind = EVENT_FUSE, .op = 1, .text = "again"}, other = e;

	other.op = 2;
	event_log_add(&log, &e);
	event_log_add(&log, &other);
	e.at_ns = 50 * SECOND;
	event_log_add(&log, &e);
	assert_int_equal(event_log_nr(&log), 2);
	assert_int_equal(event_log_at(&log, 1)->times, 2);
	assert_int_equal(event_log_at(&log, 1)->at_ns, SECOND);
	assert_int_equal(event_log_at(&log, 1)->last_ns, 50 * SECOND);
	assert_int_equal(event_log_at(&log, 0)->times, 1);
	/* The time counts from the last occurrence; after it, this is a new event. */
	e.at_ns = 50 * SECOND + EVENT_REPEATS_NS - 1;
	event_log_add(&log, &e);
	assert_int_equal(event_log_nr(&log), 2);
	e.at_ns += EVENT_REPEATS_NS;
	event_log_add(&log, &e);
	assert_int_equal(event_log_nr(&log), 3);
	assert_int_equal(event_log_at(&log, 0)->times, 1);
	event_log_release(&log);
}

static void test_a_peak_that_comes_and_goes_is_one_line(void **state)
{
	struct event_log log = {0};
	struct event e = {.op = 1, .place = 100}, other = {.op = 1, .place = 130};
	const struct event *line;

	other.kind = EVENT_PEAK_APPEARED;
	other.at_ns = SECOND;
	event_log_add(&log, &other);
	/* its id and its place change a little each time */
	for (unsigned int i = 0; i < 12; i++) {
		e.kind = i % 2 ? EVENT_PEAK_VANISHED : EVENT_PEAK_APPEARED;
		e.at_ns = (2 + 10 * i) * SECOND;
		e.place = 100 + i % 3;
		e.peak = 1 + (int)i / 2;
		line = event_log_add(&log, &e);
		assert_int_equal(line->kind,
				 i < EVENT_FLICKER_LINES ? e.kind : EVENT_PEAK_FLICKERS);
	}
	assert_int_equal(event_log_nr(&log), 2);
	line = event_log_at(&log, 0);
	assert_int_equal(line->times, 6); /* appearances */
	assert_int_equal(line->at_ns, 2 * SECOND);
	assert_int_equal(line->last_ns, 112 * SECOND);
	assert_int_equal(event_log_at(&log, 1)->place, 130);
	/* after a minute without it, this is news again */
	e.kind = EVENT_PEAK_APPEARED;
	e.at_ns = 112 * SECOND + EVENT_REPEATS_NS;
	assert_int_equal(event_log_add(&log, &e)->kind, EVENT_PEAK_APPEARED);
	assert_int_equal(event_log_nr(&log), 3);
	event_log_release(&log);
}

static void test_a_peak_that_moves_on_is_one_line(void **state)
{
	struct event_log log = {0};
	struct event e = {.kind = EVENT_PEAK_MOVED, .op = 1, .peak = 4, .from = 80};

	for (unsigned int i = 1; i <= 5; i++) {
		e.at_ns = i * 5 * SECOND;
		e.place = 80 + 4 * i;
		e.from = e.place - 4;
		event_log_add(&log, &e);
	}
	assert_int_equal(event_log_nr(&log), 1);
	assert_int_equal(event_log_at(&log, 0)->times, 5);
	assert_int_equal(event_log_at(&log, 0)->from, 80);
	assert_int_equal(event_log_at(&log, 0)->place, 100);
	event_log_release(&log);
}

/* Lines are removed from the middle of a full ring, too. */
static void test_lines_are_removed_in_a_full_ring(void **state)
{
	struct event_log log = {0};
	struct event e = {.op = 1}, warning = {.kind = EVENT_WARNING};
	size_t n;

	for (unsigned int i = 0; i < EVENT_LOG_MAX + 100; i++) {
		warning.at_ns = i * MS;
		snprintf(warning.text, sizeof(warning.text), "number %u", i);
		event_log_add(&log, &warning);
		if (i % 100)
			continue;
		e.kind = i % 200 ? EVENT_PEAK_VANISHED : EVENT_PEAK_APPEARED;
		e.at_ns = warning.at_ns;
		e.place = 50;
		event_log_add(&log, &e);
	}
	n = 0;
	for (size_t i = 0; i < event_log_nr(&log); i++) {
		n += event_log_at(&log, i)->kind == EVENT_PEAK_FLICKERS;
		if (i)
			assert_true(event_log_at(&log, i)->number <
				    event_log_at(&log, i - 1)->number);
	}
	assert_int_equal(n, 1);
	event_log_release(&log);
}

static void test_every_kind_has_a_name(void **state)
{
	for (int i = 0; i < EVENT_KINDS; i++)
		assert_true(strlen(event_kind_name((enum event_kind)i)) > 1);
	assert_string_equal(event_kind_name(EVENT_KINDS), "?");
}

/* --- records --------------------------------------------------------------------------- */

static void test_life_of_processes(void **state)
{
	struct model *m = *state;
	struct record t = {
	    .type = REC_TARGET,
	    .target = {.pid = 7, .started_ns = 1, .comm = "sh", .exe = "/bin/sh", .requested = 1}};

	feed(m, t);
	assert_text(last_of(m, EVENT_TARGET), "process 7 (sh) is measured from now on");
	tick(m, 0);
	t.target.comm = "worker";
	t.target.exe = "/usr/bin/worker";
	feed(m, t);
	assert_text(last_of(m, EVENT_EXEC), "process 7 executed /usr/bin/worker");
	assert_int_equal(last_of(m, EVENT_EXEC)->at_ns, SECOND);
	t.target.pid = 8;
	t.target.started_ns = 2;
	t.target.requested = 0;
	feed(m, t);
	assert_text(last_of(m, EVENT_FORK), "process 8 (worker) is followed from now on");
	feed(m,
	     (struct record){.type = REC_TARGET_END, .target_end = {.pid = 8, .at_ns = 1500 * MS}});
	assert_text(last_of(m, EVENT_EXIT), "process 8 (worker) ended");
	assert_int_equal(last_of(m, EVENT_EXIT)->at_ns, 1500 * MS);
	assert_int_equal(last_of(m, EVENT_EXIT)->level, NOTE_INFO);
	feed(m, (struct record){
		    .type = REC_TARGET_END,
		    .target_end = {.pid = 7, .at_ns = 2 * SECOND, .has_status = 1, .status = 9}});
	assert_text(last_of(m, EVENT_EXIT), "process 7 (worker) was killed by SIGKILL");
	assert_int_equal(last_of(m, EVENT_EXIT)->level, NOTE_WARNING);
	/* The kernel reuses the pid: another process, no exec. */
	t.target.pid = 7;
	t.target.started_ns = 3;
	feed(m, t);
	assert_int_equal(count_of(m, EVENT_EXEC), 1);
	assert_int_equal(count_of(m, EVENT_FORK), 2);
	feed(m,
	     (struct record){
		 .type = REC_TARGET_END,
		 .target_end = {.pid = 7, .at_ns = 3 * SECOND, .has_status = 1, .status = 3 << 8}});
	assert_text(last_of(m, EVENT_EXIT), "process 7 (worker) exited with status 3");
}

static void test_fuses_warnings_and_marks(void **state)
{
	struct model *m = *state;

	feed_op(m, 1, LAYER_FUNCTION, "hot");
	feed(m, (struct record){.type = REC_SITE, .site = {.op = 1, .state = SITE_ARMED}});
	assert_int_equal(count_of(m, EVENT_FUSE), 0);
	feed(m, (struct record){.type = REC_SITE, .site = {.op = 1, .state = SITE_BLOWN}});
	feed(m, (struct record){.type = REC_SITE, .site = {.op = 1, .state = SITE_BLOWN}});
	assert_int_equal(count_of(m, EVENT_FUSE), 1);
	assert_text(last_of(m, EVENT_FUSE), "hot: a probe was hit too often and was detached");
	assert_int_equal(last_of(m, EVENT_FUSE)->times, 2);
	assert_int_equal(last_of(m, EVENT_FUSE)->op, 1);
	feed(m, (struct record){.type = REC_DESCENT,
				.descent = {.op = 1, .low_ns = MS, .high_ns = 2 * MS}});
	assert_text(last_of(m, EVENT_DESCENT), "hot: finding the cause of the calls of 1-2 ms");
	feed(m, (struct record){.type = REC_FNODE_LOST, .fnode_lost = {.reason = FNODE_REFUSED}});
	assert_int_equal(count_of(m, EVENT_FUSE), 1);
	feed(m, (struct record){.type = REC_FNODE_LOST, .fnode_lost = {.reason = FNODE_BLOWN}});
	assert_int_equal(count_of(m, EVENT_FUSE), 2);
	feed(m,
	     (struct record){.type = REC_NOTE, .note = {.level = NOTE_INFO, .text = "by the way"}});
	assert_int_equal(count_of(m, EVENT_WARNING), 0);
	feed(m,
	     (struct record){.type = REC_NOTE, .note = {.level = NOTE_WARNING, .text = "beware"}});
	assert_text(last_of(m, EVENT_WARNING), "beware");
	feed(m, (struct record){.type = REC_REFUSED, .refused = {.op = 1, .reason = "hot: no"}});
	assert_text(last_of(m, EVENT_WARNING), "hot: no");
	assert_int_equal(last_of(m, EVENT_WARNING)->level, NOTE_ERROR);
	feed(m,
	     (struct record){.type = REC_MARK, .mark = {.at_ns = 5 * SECOND, .label = "before"}});
	assert_text(last_of(m, EVENT_MARK), "the session was saved: before");
}

static void test_losses_begin_and_end(void **state)
{
	struct model *m = *state;
	uint64_t at = 0;

	for (; at < 3; at++)
		tick(m, at);
	assert_int_equal(count_of(m, EVENT_LOSS), 0);
	for (; at < 10; at++) { /* they go on: one event */
		feed(m, (struct record){.type = REC_LOSS,
					.loss = {.records = 100 * (at - 2), .stacks = 1}});
		tick(m, at);
	}
	assert_int_equal(count_of(m, EVENT_LOSS), 1);
	assert_int_equal(last_of(m, EVENT_LOSS)->level, NOTE_WARNING);
	assert_int_equal(last_of(m, EVENT_LOSS)->at_ns, 4 * SECOND);
	for (; at < 14; at++)
		tick(m, at);
	assert_int_equal(count_of(m, EVENT_LOSS), 1);
	tick(m, at++);
	assert_int_equal(count_of(m, EVENT_LOSS), 2);
	assert_text(last_of(m, EVENT_LOSS),
		    "no losses for 5 slices; lost since 3 s: 700 records, 0 "
		    "samples, 1 stacks, 0 calls");
	feed(m, (struct record){.type = REC_LOSS, .loss = {.records = 701, .stacks = 1}});
	tick(m, at);
	assert_int_equal(count_of(m, EVENT_LOSS), 3);
}

static void test_bursts_begin_and_end(void **state)
{
	struct model *m = *state;
	uint64_t at = 0;

	feed_op(m, 1, LAYER_FUNCTION, "busy");
	feed_op(m, 2, LAYER_SYSCALL, "read");
	feed_op(m, 3, LAYER_SYSCALL, "write");
	for (; at < 20; at++) {
		bool bursts = at >= 5 && at < 10;

		feed_calls(m, 1, at, 1000, 50, bursts ? SECOND / 10 : SECOND);
		feed_calls(m, 2, at, 1000, 50, bursts ? SECOND / 10 : SECOND);
		feed_calls(m, 3, at, 1000, 50, bursts ? SECOND / 10 : SECOND);
		tick(m, at);
	}
	/* Operations of one layer are sampled together: one event for all of them. */
	assert_int_equal(count_of(m, EVENT_BURSTS), 4);
	assert_text(event_log_at(model_event_log(m), 0),
		    "system calls: sampling in bursts ended: all calls are timed again");
	assert_text(event_log_at(model_event_log(m), 1),
		    "busy: sampling in bursts ended: all calls are timed again");
	assert_int_equal(last_of(m, EVENT_BURSTS)->at_ns, 15 * SECOND);
}

/* --- peaks ------------------------------------------------------------------------------ */

static void test_peak_appears(void **state)
{
	struct model *m = *state;
	struct rng rng = {1};
	uint64_t at = 0;

	feed_op(m, 1, LAYER_FUNCTION, "f");
	for (; at < 10; at++)
		slice(m, &rng, at, 1e6, 0);
	assert_int_equal(count_of(m, EVENT_PEAK_APPEARED), 1);
	assert_int_equal(last_of(m, EVENT_PEAK_APPEARED)->at_ns, 3 * SECOND);
	assert_int_equal(last_of(m, EVENT_PEAK_APPEARED)->peak, 1);
	assert_non_null(strstr(last_of(m, EVENT_PEAK_APPEARED)->text, "f: peak at "));
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 30e6);
	assert_int_equal(count_of(m, EVENT_PEAK_APPEARED), 2);
	assert_in_range(last_of(m, EVENT_PEAK_APPEARED)->at_ns, 13 * SECOND, 14 * SECOND);
	assert_non_null(strstr(last_of(m, EVENT_PEAK_APPEARED)->text, " ms"));
	assert_int_equal(count_of(m, EVENT_PEAK_MOVED), 0);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 0);
}

static void test_peak_vanishes_and_returns(void **state)
{
	struct model *m = *state;
	struct rng rng = {2};
	uint64_t at = 0;

	feed_op(m, 1, LAYER_FUNCTION, "f");
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 30e6);
	assert_int_equal(count_of(m, EVENT_PEAK_APPEARED), 2);
	for (; at < 40; at++)
		slice(m, &rng, at, 1e6, 0);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 1);
	assert_int_equal(last_of(m, EVENT_PEAK_VANISHED)->at_ns, 25 * SECOND);
	assert_non_null(strstr(last_of(m, EVENT_PEAK_VANISHED)->text, ": no calls for 5 s"));
	for (; at < 45; at++)
		slice(m, &rng, at, 1e6, 30e6);
	assert_int_equal(count_of(m, EVENT_PEAK_APPEARED), 3);
	assert_int_equal(last_of(m, EVENT_PEAK_APPEARED)->at_ns, 41 * SECOND);
	assert_non_null(strstr(last_of(m, EVENT_PEAK_APPEARED)->text, ": calls again after 21 s"));
	/* It has been silent for 20 s before: a silence as long as that is nothing new. */
	for (; at < 75; at++)
		slice(m, &rng, at, 1e6, 0);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 1);
}

static void test_program_stops_calling(void **state)
{
	struct model *m = *state;
	struct rng rng = {3};
	uint64_t at = 0;

	feed_op(m, 1, LAYER_SYSCALL, "read"); /* no record without calls */
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 30e6);
	for (; at < 40; at++)
		slice(m, &rng, at, 0, 0);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 1);
	assert_text(last_of(m, EVENT_PEAK_VANISHED), "read: all 2 peaks: no calls for 5 s");
}

/* Shorter slices, as at the begin of a live screen, are no reason to tell something earlier. */
static void test_short_slices(void **state)
{
	struct model *m = *state;
	struct rng rng = {3};
	uint64_t at = 0, quarter = 80;

	feed(m, (struct record){.type = REC_META,
				.meta = {.version = "",
					 .host = "",
					 .kernel = "",
					 .boot_id = "",
					 .command = "",
					 .interval_ns = SECOND}});
	feed_op(m, 1, LAYER_SYSCALL, "read");
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 30e6);
	for (; at < 44; at++, quarter++) {
		feed(m, (struct record){.type = REC_TICK,
					.tick = {.slice = at,
						 .start_ns = quarter * SECOND / 4,
						 .end_ns = (quarter + 1) * SECOND / 4}});
		if (at == 20 + 16) /* four seconds */
			assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 0);
	}
	assert_text(last_of(m, EVENT_PEAK_VANISHED), "read: all 2 peaks: no calls for 5 s");
}

/* A function of which no record says that it was watched has not fallen silent. */
static void test_not_watched_is_not_silent(void **state)
{
	struct model *m = *state;
	struct rng rng = {4};
	uint64_t at = 0;

	feed_op(m, 1, LAYER_FUNCTION, "f");
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 0);
	for (; at < 60; at++)
		tick(m, at);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 0);
	for (; at < 80; at++) {
		feed_calls(m, 1, at, 1000, 0, SECOND);
		tick(m, at);
	}
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 1);
}

static void test_peak_moves(void **state)
{
	struct model *m = *state;
	struct rng rng = {5};
	const struct event *e;
	uint64_t at = 0;

	feed_op(m, 1, LAYER_FUNCTION, "f");
	for (; at < 20; at++)
		slice(m, &rng, at, 1e6, 0);
	for (; at < 40; at++) /* all calls take eight times as long from here on */
		slice(m, &rng, at, 8e6, 0);
	assert_int_equal(count_of(m, EVENT_PEAK_MOVED), 1);
	assert_int_equal(count_of(m, EVENT_PEAK_VANISHED), 0);
	e = last_of(m, EVENT_PEAK_MOVED);
	assert_non_null(strstr(e->text, "f: peak moved from "));
	assert_int_equal(e->at_ns, 25 * SECOND);
	assert_int_equal(e->peak, 2);
}

/* A peak that comes once in ten seconds has vanished once at most, not every ten seconds. */
static void test_periodic_peak_does_not_flap(void **state)
{
	struct model *m = *state;
	struct rng rng = {6};

	feed_op(m, 1, LAYER_FUNCTION, "f");
	for (uint64_t at = 0; at < 300; at++)
		slice(m, &rng, at, 1e6, at % 10 == 0 ? 30e6 : 0);
	assert_true(count_of(m, EVENT_PEAK_VANISHED) <= 1);
	assert_true(count_of(m, EVENT_PEAK_APPEARED) <= 3);
	assert_int_equal(count_of(m, EVENT_PEAK_MOVED), 0);
}

/* The same program does the same all the time, with chance in it: nothing happens. */
static void test_noise_is_no_event(void **state)
{
	for (uint64_t seed = 10; seed < 20; seed++) {
		struct model *m = model_new();
		struct rng rng = {seed};
		unsigned int after;

		assert_non_null(m);
		feed_op(m, 1, LAYER_FUNCTION, "f");
		for (uint64_t at = 0; at < 30; at++)
			slice(m, &rng, at, 1e6, 30e6);
		after = (unsigned int)model_event_log(m)->added;
		for (uint64_t at = 30; at < 120; at++)
			slice(m, &rng, at, 1e6, 30e6);
		assert_int_equal(model_event_log(m)->added, after);
		model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ring_is_bounded),
	    cmocka_unit_test(test_repeats_are_counted),
	    cmocka_unit_test(test_a_peak_that_comes_and_goes_is_one_line),
	    cmocka_unit_test(test_a_peak_that_moves_on_is_one_line),
	    cmocka_unit_test(test_lines_are_removed_in_a_full_ring),
	    cmocka_unit_test(test_every_kind_has_a_name),
	    cmocka_unit_test_setup_teardown(test_life_of_processes, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_fuses_warnings_and_marks, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_losses_begin_and_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_bursts_begin_and_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_peak_appears, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_short_slices, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_peak_vanishes_and_returns, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_program_stops_calling, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_not_watched_is_not_silent, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_peak_moves, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_periodic_peak_does_not_flap, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_noise_is_no_event, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
