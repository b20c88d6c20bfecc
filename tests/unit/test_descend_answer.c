// SPDX-License-Identifier: GPL-2.0-or-later
/* The answer of a descent as text and JSON, and its replay from the session that it wrote. */
#include "analysis/descent/choose.h"
#include "tests/unit/descend_rig.h"

static void the_answer(void **state)
{
	struct descend_report r;
	json_error_t error;
	json_t *json, *path, *frames, *last, *inlined;
	char *text;

	whole_descent();
	assert_int_equal(t.nr_stops, 1);
	r = report();
	text = printed(output_descend_json, &r);
	json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(json);
	free(text);
	assert_string_equal(json_string_value(json_object_get(json, "kind")), "descend");
	assert_string_equal(json_string_value(json_object_get(json, "status")), "root cause found");
	assert_string_equal(json_string_value(json_object_get(json, "function")),
			    "serve(request const&)");
	path = json_array_get(json_object_get(json, "paths"), 0);
	frames = json_object_get(path, "frames");
	assert_int_equal(json_array_size(frames), 2);
	last = json_array_get(frames, 1);
	assert_string_equal(json_string_value(json_object_get(last, "function")), "usleep");
	assert_string_equal(json_string_value(json_object_get(last, "module")), "libc.so.6");
	assert_string_equal(json_string_value(json_object_get(last, "evidence")), "measured");
	assert_true(json_integer_value(json_object_get(last, "records")) >= 20);
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(last, "call_site"), "line")), 0x20);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(last, "call_site"), "address")),
	    "0x1020");
	inlined = json_object_get(json_object_get(last, "call_site"), "inlined");
	assert_int_equal(json_array_size(inlined), 1);
	assert_string_equal(json_string_value(json_array_get(inlined, 0)), "fast_path(int)");
	assert_non_null(json_object_get(json, "profile"));
	assert_non_null(json_object_get(json, "peak"));
	assert_int_equal(
	    json_array_size(json_object_get(json_object_get(json, "ftree"), "children")), 3);
	json_decref(json);
}

/* What is told as the peak are the calls that were asked about, whatever peaks there are by now. */
static void the_peak_that_was_asked(void **state)
{
	struct descend_report r = {.model = NULL};
	const struct op *op;
	struct rec_descent ask;
	struct peak now, both;

	begin();
	r = report();
	op = model_op_peaks(r.model, r.op);
	assert_int_equal(op->nr_peaks, 2);
	assert_true(report_peak(&r, op, &now));
	assert_int_equal(now.rank, 2);
	assert_int_equal(now.calls, op->peaks[1].calls);
	assert_int_equal(now.low_ns, op->peaks[1].low_ns);
	ask = *driver_asked(t.driver);
	ask.low_ns = op->peaks[0].low_ns;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_true(report_peak(&r, op, &both));
	assert_int_equal(both.low_ns, ask.low_ns);
	assert_int_equal(both.high_ns, ask.high_ns);
	assert_int_equal(both.calls, op->peaks[0].calls + op->peaks[1].calls);
	assert_true(both.share_of_calls > 0.999 && both.share_of_time > 0.999);
	assert_true(both.mode_ns >= ask.low_ns && both.mode_ns < ask.high_ns);
}

static void the_sentence(void **state)
{
	struct descend_report r;
	char *text;

	whole_descent();
	r = report();
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "peak 2, "));
	assert_non_null(strstr(text, "serve > usleep at\n") ||
			strstr(text, "serve > usleep at store.c:32") ||
			strstr(text, "serve >\nusleep at store.c:32"));
	assert_non_null(strstr(text, "% of the time)"));
	assert_true(strstr(text, "% of the time)") < strstr(text, "Path 1"));
	assert_true(strstr(text, "Path 1") < strstr(text, "Status: ") &&
		    strstr(text, "Status: ") < strstr(text, "Cost: "));
	/* parameters are for the JSON */
	assert_null(strstr(text, "request"));
	free(text);
}

/* Calls that are too short for probes: the sentence, the table and the JSON are made of samples. */
static void the_answer_by_samples(void **state)
{
	const struct rec_frame frames[] = {{PROGRAM, 0x1015, SERVE}, {PROGRAM, HELPER + 3, HELPER}};
	struct descend_report r;
	struct buf sentence = {.max = 1 << 16};
	struct rec_descent ask;
	json_t *json, *sampled;
	char *text;

	begin();
	ask = *driver_asked(t.driver);
	ask.sampled = true;
	ask.low_ns = 1;
	ask.high_ns = UINT64_MAX;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_int_equal(t.last.sampled, 1);
	for (unsigned int i = 0; i < 400; i++)
		give((struct record){.type = REC_WITNESS,
				     .witness = {.op = F0,
						 .tid = 9,
						 .at_ns = t.time_ns + i,
						 .weight_ns = MS,
						 .kind = WITNESS_RUN,
						 .nr_frames = i % 5 ? 2 : 1,
						 .frames = frames}});
	answer_names();
	assert_true(driver_over(t.driver));
	r = report();
	output_descend_sentence(&r, &sentence);
	assert_non_null(strstr(sentence.data, "all calls of serve, "));
	assert_non_null(strstr(sentence.data, "serve > helper at store.c:20, in its own code"));
	assert_non_null(strstr(sentence.data, "(80% of the time)"));
	assert_non_null(strstr(sentence.data, "; by 400 CPU samples"));
	buf_release(&sentence);
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "\n   20.0%          100%  serve\n"));
	assert_non_null(strstr(text, "\n   80.0%         80.0%  helper\n"));
	assert_non_null(strstr(text, "root cause found; not probed, 400 CPU samples"));
	free(text);
	text = printed(output_descend_json, &r);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	sampled = json_object_get(json, "sampled");
	assert_int_equal(json_integer_value(json_object_get(sampled, "samples")), 400);
	assert_int_equal(json_array_size(json_object_get(sampled, "functions")), 2);
	assert_true(json_integer_value(json_object_get(json, "mean_ns")) > 0);
	json_decref(json);
}

/* The inside of libraries is left out, unless the cause is the own code of a function in there. */
static void frames_of_the_sentence(void **state)
{
	static const uint32_t frames[] = {0, 1, 2};
	struct descent_fnode nodes[] = {
	    {.function = {PROGRAM, 0x1000}},
	    {.function = {LIBRARY, 0x100}, .site = {PROGRAM, 0x1010}},
	    {.function = {LIBRARY, 0x200}, .site = {LIBRARY, 0x110}},
	};
	struct descent_result result = {.nodes = nodes, .nr_nodes = 3};
	struct descent_path path = {
	    .frames = frames, .nr_frames = 3, .cause = {.kind = CAUSE_SLEEP}};

	assert_int_equal(report_frames_named(&result, &path), 2);
	path.cause.kind = CAUSE_OWN_CODE;
	assert_int_equal(report_frames_named(&result, &path), 3);
}

static void sentence_with(const char *on_cpu, const char *expected)
{
	struct descend_report r;
	struct buf text;

	t.peer = "worker";
	t.on_cpu = on_cpu;
	whole_descent();
	r = report();
	buf_init(&text, 1 << 16);
	output_descend_sentence(&r, &text);
	assert_non_null(strstr(text.data, "waiting for data in a pipe: worker"));
	assert_non_null(strstr(text.data, expected));
	buf_release(&text);
}

/* Who had the CPU is the host's doing, unless it may be the task that the calls wait for. */
static void a_stranger_had_the_cpu(void **state)
{
	sentence_with("stranger", "; added by the host: preempted by stranger (50% ");
}

static void the_awaited_had_the_cpu(void **state)
{
	sentence_with("worker",
		      "; meanwhile a task of the same name had the CPU: preempted by worker (50% ");
}

/* Ends the session, replays it, and compares the answers. Returns the answer: free it. */
static char *replayed(void)
{
	struct descend_report r = report();
	struct replay *replay = NULL;
	char *live, *again, why[256];

	live = printed(output_descend_json, &r);
	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	r = descend_report_of(replay);
	assert_int_equal(r.op, F0);
	again = printed(output_descend_json, &r);
	assert_string_equal(live, again);
	replay_free(replay);
	free(again);
	return live;
}

static void replayed_from_its_session(void **state)
{
	whole_descent();
	free(replayed());
}

/* It went on to a peak, since the calls with most of the time waited for a CPU. */
static void a_turned_one_replays_too(void **state)
{
	struct rec_descent ask;
	char *answer;

	t.on_cpu = "stranger";
	whole_descent();
	ask = *driver_asked(t.driver);
	ask.choice = DESCENT_BESIDE_WAITS;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	t.on_cpu = NULL;
	give_calls(0x1020, 20);
	/* the peak of such a descent may move */
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	driver_stop(t.driver);
	answer_names();
	give_profile(10);
	answer = replayed();
	assert_non_null(strstr(answer, "they waited for a CPU: preempted by stranger"));
	free(answer);
}

static void a_stopped_one_replays_too(void **state)
{
	begin_armed();
	give_calls(0x1020, 25);
	driver_stop(t.driver);
	/* comes late, changes nothing */
	give_calls(0x1010, 40);
	answer_names();
	give_profile(10);
	free(replayed());
}

static void another_peak_afterwards(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;
	unsigned int asked;

	whole_descent();
	asked = t.nr_asked;
	o.peak = 1;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_false(driver_over(t.driver));
	/* the call sites are known already */
	for (unsigned int i = asked; i < t.nr_asked; i++)
		assert_int_not_equal(t.asked[i].type, PARSE_CALL_SITES);
	assert_int_equal(t.last.stop, 0);
	assert_int_equal(t.last.high_ns, ask.high_ns);
}

static void nothing_asked_yet(void **state)
{
	struct descend_report r = report();
	char *text;

	give_profile(1);
	text = printed(output_descend_json, &r);
	assert_non_null(strstr(text, "\"status\":\"not enough calls\""));
	assert_non_null(strstr(text, "\"function\":\"serve\""));
	free(text);
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "not enough calls"));
	free(text);
}

static void hostile_names(void **state)
{
	struct descend_report r;
	json_t *json;
	char *text;

	whole_descent();
	give((struct record){.type = REC_SYMBOL,
			     .symbol = {.module = LIBRARY,
					.offset = USLEEP,
					.symbol = HOSTILE,
					.function = HOSTILE,
					.file = HOSTILE,
					.line = 1}});
	give((struct record){.type = REC_SYMBOL,
			     .symbol = {.module = PROGRAM,
					.offset = 0x1020,
					.symbol = HOSTILE,
					.function = HOSTILE,
					.file = HOSTILE,
					.line = 1}});
	r = report();
	text = printed(output_descend_text, &r);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "\\x1b"));
	free(text);
	text = printed(output_descend_json, &r);
	assert_null(strchr(text, '\x1b'));
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	json_decref(json);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_answer),
	    TEST(the_peak_that_was_asked),
	    TEST(the_sentence),
	    TEST(the_answer_by_samples),
	    TEST(frames_of_the_sentence),
	    TEST(a_stranger_had_the_cpu),
	    TEST(the_awaited_had_the_cpu),
	    TEST(replayed_from_its_session),
	    TEST(a_turned_one_replays_too),
	    TEST(a_stopped_one_replays_too),
	    TEST(another_peak_afterwards),
	    TEST(nothing_asked_yet),
	    TEST(hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
