// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of watch, from models made of records. */
#include <locale.h>

#include "tests/unit/output_models.h"
#include "tui/report/output_walk.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

static struct output_options plain;

static void assert_width(char *text, unsigned int columns)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		if (text_columns(line) > columns)
			fail_msg("%u columns: %s", text_columns(line), line);
		if (line[0] && line[strlen(line) - 1] == ' ')
			fail_msg("ends in a space: '%s'", line);
	}
}

static void test_text(void **state)
{
	struct model *m = rich_model();
	char *text = print(output_watch_text, m, &plain);

	assert_non_null(strstr(text, "redis-server (pid 4321, pid 7 in its container), 20 s"));
	assert_non_null(strstr(text, "1% of the target's CPU time"));
	assert_non_null(strstr(text, "3 records, 5 samples"));
	assert_non_null(strstr(text, "kernel functions cannot be probed here"));
	assert_true(strstr(text, "lookup(") < strstr(text, "syscall:fsync"));
	assert_non_null(strstr(text, "Peak 1: "));
	assert_non_null(strstr(text, "near TCP delayed ACK (40 ms)"));
	assert_non_null(strstr(text, "█"));
	/* what the user named is shown in full, and nothing else */
	assert_null(strstr(text, "syscall:read: "));
	assert_non_null(strstr(text, "syscall:splice: 0 calls"));
	assert_width(text, 80);
	free(text);
	model_free(m);
}

/* A model of an idle server: nearly all of its time is in epoll_wait(). */
static struct model *idle_server(const char *requested)
{
	static const struct mode waits = {100 * MS, 4}, reads = {20 * US, 100}, naps = {50 * MS, 2};
	struct model *m = model_new();

	feed_host(m);
	feed_op(m, 1, LAYER_SYSCALL, "syscall:epoll_wait", requested);
	feed_op(m, 2, LAYER_SYSCALL, "syscall:fsync", "");
	feed_op(m, 3, LAYER_SYSCALL, "syscall:nanosleep", "");
	for (unsigned int slice = 0; slice < 20; slice++) {
		feed_slice(m, 1, slice, &waits, 1, 0);
		feed_slice(m, 2, slice, &reads, 1, 0);
		feed_slice(m, 3, slice, &naps, 1, 0);
		feed_tick(m, slice);
	}
	return m;
}

/* Idle waits and timed sleeps come last, and are shown in full to those who ask for them. */
static void test_idle_last(void **state)
{
	struct model *m = idle_server("");
	char *text = print(output_watch_text, m, &plain);
	const char *idle = strstr(text, "\nidle: waiting for events or work, and timed sleep\n");

	assert_non_null(idle);
	assert_true(strstr(text, "syscall:fsync") < idle);
	assert_true(strstr(text, "syscall:epoll_wait") > idle);
	assert_true(strstr(text, "syscall:nanosleep") > strstr(text, "syscall:epoll_wait"));
	assert_non_null(strstr(text, "syscall:fsync: "));
	assert_null(strstr(text, "syscall:epoll_wait: "));
	assert_null(strstr(text, "syscall:nanosleep: "));
	free(text);
	model_free(m);

	m = idle_server("syscall:epoll_wait");
	text = print(output_watch_text, m, &plain);
	assert_true(strstr(text, "syscall:epoll_wait") < strstr(text, "syscall:fsync"));
	assert_non_null(strstr(text, "syscall:epoll_wait: "));
	assert_non_null(strstr(text, "\nidle: "));
	free(text);
	model_free(m);
}

/* The remarks about a peak of 100 calls, so many of which were preempted, and were expected to be.
 */
static bool tells_preempted(double seen, double expected, const char *words)
{
	const struct peak p = {.calls = 100,
			       .seen_preempted = seen,
			       .expected_preempted = expected,
			       .run_queue_share = -1,
			       .near = ""};
	struct model *m = model_new();
	struct buf b;
	bool told;

	buf_init(&b, 1 << 12);
	assert_int_equal(words_peak_remarks(&b, m, &p, PEAKS_BY_NUMBER), 0);
	told = b.len && !strcmp(b.data, words);
	assert_true(told || !b.len);
	buf_release(&b);
	model_free(m);
	return told;
}

static void test_preempted_as_expected(void **state)
{
	assert_true(tells_preempted(20, 4, "20% of its calls were preempted, expected 4%\n"));
	assert_true(tells_preempted(20, -1, "20% of its calls were preempted\n"));
	assert_false(tells_preempted(20, 18, ""));
	assert_false(tells_preempted(20, 30, ""));
	assert_false(tells_preempted(2, 0, ""));
}

/* At most three remarks, those first that explain most of the peak. */
static void test_few_remarks(void **state)
{
	struct peak_value value[3] = {
	    {.name = "kind", .text = "LOCK", .separation = 0.9, .in_program = true},
	    {.name = "thread", .text = "7", .separation = 0.5},
	    {.name = "sleeps", .text = "1 or more", .separation = 0.3}};
	struct peak p = {.calls = 100,
			 .seen_preempted = -1,
			 .run_queue_share = 0.4,
			 .period_ns = 5e6,
			 .period_near = "",
			 .near = "a constant",
			 .nr_values = 3,
			 .values = value};
	struct model *m = model_new();
	struct buf b;

	buf_init(&b, 1 << 12);
	assert_int_equal(words_peak_remarks(&b, m, &p, PEAKS_BY_NUMBER), 0);
	assert_string_equal(b.data, "`kind` is LOCK\nrecurs every 5 ms\nthread: 7\n");
	assert_int_equal(words_related_shown(&p), 0);
	p.nr_values = 1;
	p.nr_related = 4;
	p.run_queue_share = -1;
	p.near = "";
	assert_int_equal(words_related_shown(&p), 1);
	buf_release(&b);
	model_free(m);
}

static void test_phases(void **state)
{
	const struct rec_phases none = {.begin = "load", .end = "store"},
				some = {"load", "load", 12, 3 * MS, 1};
	struct model *m = rich_model();
	char *text;
	struct buf b;

	text = print(output_watch_text, m, &plain);
	assert_null(strstr(text, "counted only"));
	free(text);
	assert_null(model_phases(m));
	feed(m, (struct record){.type = REC_PHASES, .phases = some});
	/* what is told last holds */
	feed(m, (struct record){.type = REC_PHASES, .phases = none});
	assert_int_equal(model_phases(m)->seen, 0);
	text = print(output_watch_text, m, &plain);
	assert_non_null(strstr(text, "Note:   counted only calls that began between the start of "
				     "load and the end of"));
	assert_non_null(strstr(text, "saw 0 phases"));
	assert_width(text, 80);
	free(text);
	model_free(m);
	buf_init(&b, 4096);
	words_phases(&b, &some);
	assert_string_equal(
	    b.data, "counted only calls that began inside a call of load: saw 12 phases, "
		    "3 ms in all; once both functions were not watched for a while to stay within "
		    "--max-overhead, and calls up to the start of the next phase are missing");
	buf_release(&b);
}

static void expect_cost(uint64_t ns, uint64_t target_cpu_ns, uint64_t wall_ns, const char *words)
{
	const struct rec_cost c = {.ns = ns, .target_cpu_ns = target_cpu_ns, .wall_ns = wall_ns};
	struct buf b;

	buf_init(&b, 4096);
	output_cost_words(&b, &c);
	assert_string_equal(b.data ? b.data : "", words);
	buf_release(&b);
}

/* The denominator is the larger one of the target's CPU time and one CPU's, and is named. */
static void test_cost(void **state)
{
	expect_cost(10 * MS, 2000 * MS, 1000 * MS, "0.5% of the target's CPU time (1% of one CPU)");
	expect_cost(10 * MS, 50 * MS, 1000 * MS, "1% of one CPU (20% of the target's CPU time)");
	/* a make that sleeps while its children run */
	expect_cost(120 * MS, 4 * MS, 3000 * MS,
		    "4% of one CPU (the target itself used 4 ms of CPU time)");
	expect_cost(10 * MS, 0, 1000 * MS,
		    "1% of one CPU (the target itself used 0 ns of CPU time)");
	expect_cost(10 * MS, 0, 0, "");
}

static void test_period(void **state)
{
	const struct mode fast[] = {{5 * US, 500}}, both[] = {{5 * US, 500}, {20 * MS, 8}};
	struct model *m = model_new();
	unsigned int i;
	char *text;

	feed_op(m, 1, LAYER_SYSCALL, "syscall:pwrite64", "");
	for (i = 0; i < 60; i++) {
		feed_slice(m, 1, i, i % 5 ? fast : both, i % 5 ? 1 : 2, 0);
		feed_tick(m, i);
	}
	text = print(output_watch_text, m, &plain);
	assert_non_null(
	    strstr(text, "- recurs every 5 s, the period of: writeback or journal commit"));
	free(text);
	model_free(m);
}

static void test_text_without_request(void **state)
{
	const struct mode mode[] = {{5 * US, 50}, {2 * MS, 20}};
	struct output_options o = {.details = 2};
	struct model *m = model_new();
	char name[16], *text;
	uint32_t i;

	for (i = 1; i <= 5; i++) {
		snprintf(name, sizeof(name), "syscall:s%u", i);
		feed_op(m, i, LAYER_SYSCALL, name, "");
		feed_slice(m, i, 0, mode, i < 3 ? 1 : 2, 0);
	}
	feed_tick(m, 0);
	text = print(output_watch_text, m, &o);
	assert_non_null(strstr(text, "\nsyscall:s3: "));
	assert_non_null(strstr(text, "\nsyscall:s4: "));
	assert_null(strstr(text, "\nsyscall:s5: "));
	assert_null(strstr(text, "\nsyscall:s1: "));
	free(text);
	model_free(m);
}

/* A function as the parser names it. */
static void feed_function(struct model *m, uint32_t number, const char *symbol, const char *label)
{
	char name[256];

	snprintf(name, sizeof(name), "%s@app", symbol);
	feed(m, (struct record){.type = REC_OP,
				.op = {.op = number,
				       .layer = LAYER_FUNCTION,
				       .name = name,
				       .label = label,
				       .requested = name,
				       .module = "app",
				       .placement = ""}});
}

static void test_names_are_demangled(void **state)
{
	static const char *const wanted[] = {
	    " Dispatcher::dispatch@app\n",
	    " draw(int)@app\n",
	    " draw(long)@app\n",
	    "\n<app::Store as core::ops::Drop>::drop@app: 0 calls",
	    " _ZN3BoxC1Ev@app\n",
	    " _ZN3BoxC2Ev@app\n",
	    "\nDispatcher::dispatch@app: 0 calls",
	};
	struct model *m = model_new();
	char *text;

	feed_function(m, 1, "_ZN10Dispatcher8dispatchEim",
		      "Dispatcher::dispatch(int, unsigned long)");
	feed_function(m, 2, "_Z4drawi", "draw(int)");
	feed_function(m, 3, "_Z4drawl", "draw(long)");
	feed_function(m, 4, "_RNvXCs_3app", "<app::Store as core::ops::Drop>::drop");
	/* two functions with one demangled name: only the linkage names differ */
	feed_function(m, 5, "_ZN3BoxC1Ev", "Box::Box()");
	feed_function(m, 6, "_ZN3BoxC2Ev", "Box::Box()");
	feed_tick(m, 0);
	text = print(output_watch_text, m, &plain);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strstr(text, wanted[i]))
			fail_msg("no '%s' in:\n%s", wanted[i], text);
	assert_null(strstr(text, "_ZN10Dispatcher"));
	free(text);
	/* JSON: the canonical OP and the whole name */
	text = print(output_watch_json, m, &plain);
	assert_non_null(strstr(text, "\"name\":\"_ZN10Dispatcher8dispatchEim@app\",\"function\":"
				     "\"Dispatcher::dispatch(int, unsigned long)\""));
	free(text);
	model_free(m);
}

static void test_ascii_and_narrow(void **state)
{
	struct output_options o = {.ascii = true, .columns = 60};
	struct model *m = rich_model();
	char *text = print(output_watch_text, m, &o), *c;

	for (c = text; *c; c++)
		assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
	assert_width(text, 60);
	free(text);
	model_free(m);
}

static void test_wrap(void **state)
{
	struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(words_wrap(&b, "one two three four five", 14, "- ", 4), 0);
	assert_string_equal(b.data, "- one two\n    three four\n    five\n");
	buf_reset(&b);
	assert_int_equal(words_wrap(&b, "first\nsecond\n", 40, "- ", 2), 0);
	assert_string_equal(b.data, "- first\n- second\n");
	buf_reset(&b);
	assert_int_equal(words_wrap(&b, "abcdefghijklmnopqrstuvwxyz", 12, "", 2), 0);
	assert_string_equal(b.data, "abcdefghijkl\n  mnopqrstuv\n  wxyz\n");
	buf_reset(&b);
	assert_int_equal(words_wrap(&b, "", 12, "x", 2), 0);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

/*
 * A walk with half of the work spent waiting for a CPU, and a path with a quarter of the rest: what
 * is spread over other paths is a share of the work without that waiting, and the remark says so.
 */
static void test_walk_spread(void **state)
{
	struct walk_node process = {.kind = WALK_PROCESS};
	const uint32_t frame = 0;
	struct walk_path paths[] = {
	    {.class = WALK_WORK, .share = 0.1, .cause.kind = CAUSE_OWN_CODE, .frames = &frame},
	    {.class = WALK_WORK, .share = 0.4, .cause.kind = CAUSE_RUN_QUEUE},
	};
	struct walk_result result = {.settled = true,
				     .lead = WALK_WORK,
				     .share = {[WALK_WORK] = 0.8, [WALK_SLEEP] = 0.2},
				     .runqueue = 0.4,
				     .nodes = &process,
				     .nr_paths = 2,
				     .paths = paths};
	struct walk_remarks remarks;

	walk_remarks_fill(&remarks, NULL, &result);
	assert_int_equal(remarks.nr, 2);
	assert_non_null(
	    strstr(remarks.line[1], "75% of the work that is no waiting for a CPU is spread"));
	result.share[WALK_WORK] = 0.4;
	result.share[WALK_SLEEP] = 0.6;
	result.runqueue = 0;
	result.nr_paths = 1;
	walk_remarks_fill(&remarks, NULL, &result);
	assert_int_equal(remarks.nr, 2);
	assert_non_null(strstr(remarks.line[1], "75% of the work is spread"));
}

/* A wait for another task below code without a name may be idleness: no root cause. */
static void test_walk_wait_in_unnamed(void **state)
{
	struct walk_node nodes[] = {
	    {.kind = WALK_PROCESS}, {.kind = WALK_FUNCTION}, {.kind = WALK_UNKNOWN},
	    {.kind = WALK_SYSCALL}, {.kind = WALK_KERNEL},
	};
	const uint32_t frames[] = {1, 2, 3, 4};
	struct walk_path path = {.class = WALK_WORK,
				 .share = 0.6,
				 .cause.kind = CAUSE_WAIT,
				 .nr_frames = 4,
				 .frames = frames};
	struct walk_result result = {.settled = true,
				     .lead = WALK_WORK,
				     .share[WALK_WORK] = 0.7,
				     .nr_paths = 1,
				     .paths = &path,
				     .nr_nodes = 5,
				     .nodes = nodes};

	assert_string_equal(walk_status(&result), "partly explained");
	nodes[2].kind = WALK_FUNCTION;
	assert_string_equal(walk_status(&result), "root cause found");
	nodes[2].kind = WALK_UNKNOWN;
	path.cause.kind = CAUSE_IO;
	assert_string_equal(walk_status(&result), "root cause found");
}

/* Stacks that were cut above the first frame may belong to anything: no root cause. */
static void test_walk_cut(void **state)
{
	struct walk_node nodes[] = {{.kind = WALK_PROCESS},
				    {.kind = WALK_UNKNOWN},
				    {.kind = WALK_FUNCTION, .parent = 1},
				    {.kind = WALK_FUNCTION}};
	const uint32_t whole[] = {3}, cut[] = {1, 2};
	struct walk_path paths[] = {{.class = WALK_WORK,
				     .share = 0.5,
				     .cause.kind = CAUSE_IO,
				     .nr_frames = 1,
				     .frames = whole},
				    {.class = WALK_WORK,
				     .share = 0.3,
				     .cause.kind = CAUSE_IO,
				     .nr_frames = 2,
				     .frames = cut}};
	struct walk_result result = {.settled = true,
				     .lead = WALK_WORK,
				     .share[WALK_WORK] = 0.8,
				     .nr_paths = 2,
				     .paths = paths,
				     .nr_nodes = 4,
				     .nodes = nodes};

	assert_string_equal(walk_status(&result), "root cause found");
	paths[0].share = 0.4;
	paths[1].share = 0.4;
	assert_string_equal(walk_status(&result), "partly explained");
	paths[0] = paths[1];
	paths[0].share = 0.7;
	result.nr_paths = 1;
	assert_string_equal(walk_status(&result), "partly explained");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_idle_last),
	    cmocka_unit_test(test_preempted_as_expected),
	    cmocka_unit_test(test_few_remarks),
	    cmocka_unit_test(test_phases),
	    cmocka_unit_test(test_cost),
	    cmocka_unit_test(test_period),
	    cmocka_unit_test(test_text_without_request),
	    cmocka_unit_test(test_names_are_demangled),
	    cmocka_unit_test(test_ascii_and_narrow),
	    cmocka_unit_test(test_wrap),
	    cmocka_unit_test(test_walk_spread),
	    cmocka_unit_test(test_walk_wait_in_unnamed),
	    cmocka_unit_test(test_walk_cut),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
