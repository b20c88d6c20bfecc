// SPDX-License-Identifier: GPL-2.0-or-later
/* What is open now: rounds, order, whose calls are meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/walk/open.h"

static void feed(struct open_calls *o, uint32_t round, uint32_t tid, uint64_t asleep,
		 const char *call, uint32_t nr, const struct rec_frame *frames)
{
	struct record rec = {.type = REC_THREAD_SNAPSHOT};

	rec.snapshot = (struct rec_thread_snapshot){.reason = SNAPSHOTS_FOR_OPEN,
						    .round = round,
						    .tid = tid,
						    .comm = "t",
						    .asleep_ns = asleep,
						    .kernel = "",
						    .stop_text = "",
						    .nr_frames = nr,
						    .frames = frames};
	rec.snapshot.sleep = (struct rec_sleep){.syscall = call ? 0 : -1,
						.call = call ? call : "",
						.name = "",
						.waker = "",
						.holder = ""};
	assert_int_equal(open_calls_feed(o, &rec), 0);
}

static void test_rounds(void **state)
{
	struct record walk = {.type = REC_THREAD_SNAPSHOT,
			      .snapshot = {.reason = SNAPSHOTS_FOR_WALK, .round = 9}};
	struct open_calls *o = open_calls_new();

	feed(o, 1, 10, 500, "read", 0, NULL);
	feed(o, 1, 11, 900, "read", 0, NULL);
	feed(o, 1, 12, 0, NULL, 0, NULL);
	feed(o, 1, 9, 500, "read", 0, NULL);
	assert_int_equal(open_calls_feed(o, &walk), 0);
	assert_int_equal(open_calls_nr(o), 4);
	/* asleep for longest first; of equals the lower number */
	assert_int_equal(open_calls_at(o, 0)->tid, 11);
	assert_int_equal(open_calls_at(o, 1)->tid, 9);
	assert_int_equal(open_calls_at(o, 2)->tid, 10);
	assert_int_equal(open_calls_at(o, 3)->tid, 12);
	assert_null(open_calls_at(o, 4));
	feed(o, 2, 20, 1, "poll", 0, NULL);
	assert_int_equal(open_calls_nr(o), 1);
	/* late ones of an older round are not mixed in */
	feed(o, 1, 21, 1, "poll", 0, NULL);
	assert_int_equal(open_calls_nr(o), 1);
	assert_int_equal(open_calls_round(o), 2);
	open_calls_free(o);
}

/* What was asked is kept, with its own copy of the text; the last one counts. */
static void test_asked(void **state)
{
	char text[] = "syscall:read";
	struct record ask = {.type = REC_OPEN_ASK, .open_ask = {.requested = text, .syscall = ""}};
	struct open_calls *o = open_calls_new();

	assert_null(open_calls_asked(o));
	assert_int_equal(open_calls_feed(o, &ask), 0);
	ask.open_ask.syscall = "read";
	assert_int_equal(open_calls_feed(o, &ask), 0);
	memset(text, 'x', sizeof(text) - 1);
	assert_string_equal(open_calls_asked(o)->requested, "syscall:read");
	assert_string_equal(open_calls_asked(o)->syscall, "read");
	open_calls_free(o);
}

static void test_matches(void **state)
{
	const struct rec_frame frames[] = {
	    {1, 0x108, 0x100}, {1, 0x208, 0x200}, {1, 0x208, 0x200}, {2, 0x108, 0x100}};
	struct open_ask any = {0}, by_call = {.syscall = "read"},
			by_function = {.function = {1, 0x200}}, other = {.function = {2, 0x200}};
	struct open_calls *o = open_calls_new();
	const struct rec_thread_snapshot *snapshot;
	uint32_t frame;

	feed(o, 1, 10, 500, "read", 4, frames);
	feed(o, 1, 11, 400, NULL, 1, frames);
	snapshot = open_calls_at(o, 0);
	assert_true(open_matches(snapshot, &any, &frame));
	assert_true(open_matches(snapshot, &by_call, &frame));
	/* the outermost call of it */
	assert_true(open_matches(snapshot, &by_function, &frame));
	assert_int_equal(frame, 1);
	assert_false(open_matches(snapshot, &other, &frame));
	snapshot = open_calls_at(o, 1);
	assert_true(open_matches(snapshot, &any, &frame));
	assert_false(open_matches(snapshot, &by_call, &frame));
	assert_false(open_matches(snapshot, &by_function, &frame));
	open_calls_free(o);
}

/* A stack that was cut, or that could not be read, does not say where it is not. */
static void test_may_match(void **state)
{
	const struct rec_frame frames[] = {{1, 0x108, 0x100}, {1, 0x208, 0x200}};
	struct open_ask any = {0}, by_call = {.syscall = "poll"},
			by_function = {.function = {1, 0x200}}, other = {.function = {2, 0x200}};
	struct rec_thread_snapshot snapshot = {
	    .sleep = {.syscall = 0, .call = "read"}, .nr_frames = 2, .frames = frames};

	assert_false(open_may_match(&snapshot, &other));
	snapshot.stop = 1;
	assert_true(open_may_match(&snapshot, &other));
	assert_false(open_may_match(&snapshot, &by_function));
	assert_false(open_may_match(&snapshot, &by_call));
	assert_false(open_may_match(&snapshot, &any));
	snapshot.stop = 0;
	snapshot.nr_frames = 0;
	assert_true(open_may_match(&snapshot, &by_function));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rounds), cmocka_unit_test(test_asked),
	    cmocka_unit_test(test_matches), cmocka_unit_test(test_may_match)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
