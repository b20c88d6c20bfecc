// SPDX-License-Identifier: GPL-2.0-or-later
/* Descents into the parts of an operation's time, one after the other, and their one answer. */
#include "analysis/descent/choose.h"
#include "tests/unit/descend_rig.h"
#include "tui/engine/saved_descent.h"
#include "tui/report/output_descend_parts.h"

static struct descent_parts parts;

static void begin_first_part(void)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_two_peaks();
	assert_int_equal(choose_whole(t.model, F0, &o, 1.5, &parts, &ask), 0);
	assert_int_equal(parts.all.nr_parts, 2);
	assert_int_equal(ask.part, 1);
	assert_true(ask.low_ns <= 300 * US && ask.high_ns > 300 * US && ask.high_ns < 4 * MS);
	assert_null(driver_parts(t.driver));
	assert_int_equal(driver_begin_parts(t.driver, &parts.all, &ask), 0);
	arm_serve();
}

/* Calls that wait in what the site at `slow` calls, until the descent is over. */
static void finish(uint64_t latency, uint64_t slow)
{
	for (int i = 0; i < 20 && !driver_over(t.driver); i++) {
		give_calls_of(latency, slow, 20);
		answer_no_call_sites();
	}
	assert_true(driver_over(t.driver));
}

static void begin_second_part(void)
{
	struct rec_descent ask = *driver_asked(t.driver);

	assert_int_equal(parts_next(&parts.all, 1), 2);
	assert_int_equal(parts_next(&parts.all, 2), 0);
	parts_ask(model_op_by_number(t.model, F0), &parts.all, 2, &ask);
	assert_true(ask.low_ns > 300 * US && ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
	assert_int_equal(driver_begin(t.driver, &ask), 0);
}

static void both_parts(void)
{
	begin_first_part();
	finish(300 * US, 0x1020);
	begin_second_part();
	finish(4 * MS, 0x1010);
	answer_names();
	give_two_peaks();
}

static json_t *answer(void)
{
	struct descend_report r = report();
	char *text = printed(output_descend_json, &r);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static double number_of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static const char *last_function(const json_t *part)
{
	json_t *frames =
	    json_object_get(json_array_get(json_object_get(part, "paths"), 0), "frames");

	return text_of(json_array_get(frames, json_array_size(frames) - 1), "function");
}

/* Each part has its own answer; the fields of the document are those of the first. */
static void the_json(void **state)
{
	json_t *json, *list, *first, *second;
	double sum;

	both_parts();
	json = answer();
	list = json_object_get(json, "parts");
	assert_int_equal(json_array_size(list), 2);
	first = json_array_get(list, 0);
	second = json_array_get(list, 1);
	sum = number_of(json, "rest") + number_of(first, "share_of_time") +
	      number_of(second, "share_of_time");
	assert_true(sum > 1 - 1e-6 && sum < 1 + 1e-6);
	assert_true(number_of(first, "share_of_time") > number_of(second, "share_of_time"));
	assert_string_equal(text_of(first, "kind"), "peak");
	assert_string_equal(text_of(first, "status"), "root cause found");
	assert_string_equal(text_of(second, "status"), "root cause found");
	assert_string_equal(last_function(first), "usleep");
	assert_string_equal(last_function(second), "helper(int)");
	assert_true(json_equal(json_object_get(json, "paths"), json_object_get(first, "paths")));
	assert_true(json_equal(json_object_get(json, "peak"), json_object_get(first, "peak")));
	assert_non_null(json_object_get(second, "peak"));
	assert_int_equal(number_of(first, "calls"), 1900);
	/* the figures are those from before the probes */
	assert_true(number_of(first, "mean_ns") > 270 * US &&
		    number_of(first, "mean_ns") < 330 * US);
	assert_int_equal(json_array_size(json_object_get(json, "notes")), 0);
	json_decref(json);
}

static void the_text(void **state)
{
	struct descend_report r = report();
	const char *one, *two, *first, *second;
	char *text;

	both_parts();
	text = printed(output_descend_text, &r);
	assert_ptr_equal(strstr(text, "serve, 4k calls/s, 97.8% of a thread:\n"), text);
	one = strstr(text, "  usleep, sleeping");
	two = strstr(text, "  helper, sleeping");
	first = strstr(text, "Part 1: peak 2, ");
	second = strstr(text, "Part 2: peak 3, ");
	assert_true(one && two && first && second);
	assert_true(one < two && two < first && first < second);
	assert_non_null(strstr(text, "  in other calls\n"));
	assert_null(strstr(text, "--peak")); /* everything was answered */
	free(text);
}

/* Half of the calls of a part wait in one function, half in another: its row names both, and the
 * JSON has the same shares. */
static void two_causes_in_one_part(void **state)
{
	struct descend_report r = report();
	json_t *json, *paths;
	struct buf text = {.max = 4096}; /* not wrapped */
	char share[64];

	begin_first_part();
	for (int i = 0; i < 20 && !driver_over(t.driver); i++) {
		give_calls_of(300 * US, 0x1010, 20);
		give_calls_of(300 * US, 0x1020, 20);
		answer_no_call_sites();
	}
	assert_true(driver_over(t.driver));
	answer_names();
	report_part_answer(&text, &r, 1);
	assert_non_null(text.data);
	json = answer();
	paths = json_object_get(json_array_get(json_object_get(json, "parts"), 0), "paths");
	assert_true(json_array_size(paths) >= 2);
	for (size_t i = 0; i < 2; i++) {
		double part = number_of(json_array_get(paths, i), "share");

		assert_true(part > 0.3 && part < 0.6);
		snprintf(share, sizeof(share), i ? "; %s of it " : "(%s of it)",
			 format_percent(part).s);
		assert_non_null(strstr(text.data, share));
	}
	buf_release(&text);
	json_decref(json);
}

/* The rows of the parts that are over can be printed before; together it is the same text. */
static void rows_before_the_end(void **state)
{
	const struct output_options o = {.resolution = 4};
	struct descend_report r = report(), whole = r;
	char *text, *expected;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	begin_first_part();
	finish(300 * US, 0x1020);
	begin_second_part();
	answer_names();
	assert_int_equal(output_descend_begin(&r, &o, f), 0);
	fflush(f);
	assert_non_null(strstr(text, "  usleep, sleeping"));
	assert_null(strstr(text, "39.7%"));
	assert_int_equal(r.rows_printed, 2);
	finish(4 * MS, 0x1010);
	answer_names();
	assert_int_equal(output_descend_begin(&r, &o, f), 0);
	assert_int_equal(r.rows_printed, 2);
	assert_int_equal(output_descend_text(&r, &o, f), 0);
	fclose(f);
	expected = printed(output_descend_text, &whole);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* Ends the session, and compares its answer with the one that was given live. */
static void replays(void)
{
	struct descend_report r = report();
	char *live = printed(output_descend_json, &r),
	     *live_text = printed(output_descend_text, &r), *again, why[256];
	struct replay *replay = NULL;

	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	r = descend_report_of(replay);
	again = printed(output_descend_json, &r);
	assert_string_equal(live, again);
	free(again);
	again = printed(output_descend_text, &r);
	assert_string_equal(live_text, again);
	free(again);
	free(live);
	free(live_text);
	replay_free(replay);
}

static void replayed_from_its_session(void **state)
{
	both_parts();
	replays();
}

/* Interrupted in the second part: the first keeps its answer, and a note says what is missing. */
static void interrupted(void **state)
{
	json_t *json, *list, *notes;

	begin_first_part();
	finish(300 * US, 0x1020);
	json = answer(); /* before there was a second descent */
	list = json_object_get(json, "parts");
	assert_string_equal(text_of(json_array_get(list, 1), "status"), "in progress");
	assert_int_equal(json_array_size(json_object_get(json_array_get(list, 1), "paths")), 0);
	notes = json_object_get(json, "notes");
	assert_int_equal(json_array_size(notes), 1);
	assert_non_null(strstr(json_string_value(json_array_get(notes, 0)), "was not looked into"));
	json_decref(json);
	begin_second_part();
	driver_stop(t.driver);
	answer_names();
	give_two_peaks();
	json = answer();
	list = json_object_get(json, "parts");
	assert_string_equal(text_of(json_array_get(list, 0), "status"), "root cause found");
	assert_string_equal(text_of(json_array_get(list, 1), "status"), "not enough calls");
	assert_string_equal(text_of(json, "status"), "root cause found");
	json_decref(json);
	replays();
}

/* The target ends in the first part: there is no descent into the other one. */
static void the_target_ends(void **state)
{
	json_t *json, *list;

	begin_first_part();
	give_calls_of(300 * US, 0x1020, 25);
	give((struct record){.type = REC_TARGET_END, .target_end = {.pid = 9}});
	assert_true(driver_over(t.driver));
	answer_names();
	json = answer();
	list = json_object_get(json, "parts");
	assert_string_equal(text_of(json_array_get(list, 0), "status"), "target ended");
	assert_string_equal(text_of(json_array_get(list, 1), "status"), "target ended");
	json_decref(json);
	replays();
}

/* Another question forgets the parts. */
static void another_question(void **state)
{
	struct rec_descent ask;
	json_t *json;

	both_parts();
	ask = *driver_asked(t.driver);
	ask.part = 0;
	ask.choice = DESCENT_NAMED_CALLS;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_null(driver_parts(t.driver));
	assert_null(driver_part(t.driver, 1));
	driver_stop(t.driver);
	json = answer();
	assert_null(json_object_get(json, "parts"));
	json_decref(json);
	replays();
}

/* What resume gets of this descent. */
static struct saved_descent *saved(struct buf *bytes)
{
	struct descent_question o = options();
	struct saved_descent *s;

	if (!driver_question(t.driver))
		driver_ask_question(t.driver, F0, &o);
	buf_reset(bytes);
	assert_int_equal(saved_descent_write(t.driver, t.model, "", bytes), 0);
	s = saved_descent_new(bytes->data, bytes->len);
	assert_non_null(s);
	return s;
}

/* The last part goes on alone, with a word about it. */
static void the_last_part_resumed(void **state)
{
	struct buf bytes = {.max = 1 << 20};
	struct saved_descent *s;

	both_parts();
	s = saved(&bytes);
	assert_non_null(saved_descent_asked(s));
	assert_non_null(memmem(bytes.data, bytes.len, "one part of the operation alone", 31));
	saved_descent_free(s);
	buf_release(&bytes);
}

/* The first part has no answer yet: the operation is asked about anew. */
static void an_open_part_resumed(void **state)
{
	struct buf bytes = {.max = 1 << 20};
	struct saved_descent *s;

	begin_first_part();
	begin_second_part();
	finish(4 * MS, 0x1010);
	s = saved(&bytes);
	assert_null(saved_descent_asked(s));
	assert_non_null(saved_descent_question(s));
	assert_non_null(memmem(bytes.data, bytes.len, "begins all of them anew", 23));
	saved_descent_free(s);
	buf_release(&bytes);
}

/* A damaged session may name parts that there are not. */
static void no_such_part(void **state)
{
	struct rec_descent ask;

	begin_first_part();
	ask = *driver_asked(t.driver);
	ask.part = 3;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_null(driver_parts(t.driver));
	parts.all.nr_parts = 0;
	ask.part = 1;
	assert_int_equal(driver_begin_parts(t.driver, &parts.all, &ask), 0);
	assert_null(driver_parts(t.driver));
	json_decref(answer());
}

/* Who names calls gets an answer about these; if all calls are alike there is one part. */
static void one_part(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;
	json_t *json;

	give_profile(100);
	o.peak = 1;
	assert_int_equal(choose_whole(t.model, F0, &o, 1.5, &parts, &ask), 0);
	assert_int_equal(parts.all.nr_parts, 0);
	assert_int_equal(ask.part, 0);
	o.peak = 0;
	assert_int_equal(choose_whole(t.model, F0, &o, 1.5, &parts, &ask), 0);
	assert_int_equal(parts.all.nr_parts, 1);
	assert_int_equal(driver_begin_parts(t.driver, &parts.all, &ask), 0);
	arm_serve();
	finish(4 * MS, 0x1020);
	answer_names();
	json = answer();
	assert_int_equal(json_array_size(json_object_get(json, "parts")), 1);
	json_decref(json);
	replays();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_json),
	    TEST(the_text),
	    TEST(two_causes_in_one_part),
	    TEST(rows_before_the_end),
	    TEST(interrupted),
	    TEST(the_target_ends),
	    TEST(replayed_from_its_session),
	    TEST(no_such_part),
	    TEST(another_question),
	    TEST(one_part),
	    TEST(the_last_part_resumed),
	    TEST(an_open_part_resumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
