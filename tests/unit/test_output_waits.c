// SPDX-License-Identifier: GPL-2.0-or-later
/* What `peaktop chains` and `peaktop critical` print of a saved session of simulated programs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <jansson.h>
#include <unistd.h>

#include "tests/unit/waits_check.h"
#include "tui/cli/script_session.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_timeline.h"
#include "tui/report/output_waits.h"
#include "tui/session/session_file.h"
#include "tui/views/descent_wait_rows.h"

enum { USER_STACK = 900, MODULE = 1 };

typedef int output_fn(const struct wait_report *, const struct output_options *, FILE *);

static char path[64];
static struct replay *replay;
static struct wait_report report;
static char *printed;
static size_t printed_bytes;

static void put_record(struct session_writer *w, struct record rec)
{
	assert_int_equal(session_writer_append(w, &rec), 0);
}

/* The session that the front writes: names, then the simulated records. All threads of the target
 * are in the same user code. */
static void write_session(const char *comm)
{
	static const struct rec_frame frames[] = {{MODULE, 0x110, 0x100}, {MODULE, 0x210, 0x200}};
	static const struct {
		uint64_t offset;
		const char *function;
		uint32_t line;
	} symbols[] = {{0x100, "main", 10},
		       {0x10f, "main", 12},
		       {0x200, "store::wait_for(int)", 20},
		       {0x210, "store::wait_for(int)", 23}};
	struct session_writer *w;
	int fd;

	snprintf(path, sizeof(path), "/tmp/peaktop-waits-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(session_writer_create(&w, path), 0);
	put_record(w, (struct record){.type = REC_META,
				      .meta = {.version = "",
					       .host = "",
					       .kernel = "",
					       .boot_id = "",
					       .command = "",
					       .interval_ns = 1000 * MS,
					       .cpus = 4}});
	put_record(
	    w,
	    (struct record){
		.type = REC_TARGET,
		.target = {.pid = sim.task[0].pid, .comm = comm, .exe = "/bin/x", .requested = 1}});
	put_record(w, (struct record){.type = REC_MODULE,
				      .module = {.module = MODULE, .path = "/usr/bin/store"}});
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		put_record(w, (struct record){.type = REC_SYMBOL,
					      .symbol = {.module = MODULE,
							 .offset = symbols[i].offset,
							 .symbol = symbols[i].function,
							 .function = symbols[i].function,
							 .file = "/src/store.cc",
							 .line = symbols[i].line}});
	put_record(
	    w, (struct record){
		   .type = REC_TRACE,
		   .trace = {.trace = USER_STACK, .kernel = "", .nr_frames = 2, .frames = frames}});
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		struct record rec = sim.records[i];

		if (rec.type == REC_SWITCH && rec.switched.prev_tid == sim.task[0].tid)
			rec.switched.user_stack = USER_STACK;
		put_record(w, rec);
	}
	put_record(w, (struct record){.type = REC_TICK, .tick = {.end_ns = 1000 * MS}});
	assert_int_equal(session_writer_close(w), 0);
}

static void read_session(const struct waits_config *config)
{
	char why[256];

	assert_int_equal(replay_open(&replay, path, why, sizeof(why)), 0);
	if (config)
		replay_configure_waits(replay, config);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	report = (struct wait_report){.model = replay_model(replay),
				      .names = replay_driver(replay),
				      .waits = wait_driver_waits(replay_waits(replay))};
	assert_non_null(report.waits);
	waits_flush(report.waits);
}

static const char *print(output_fn *fn, const struct output_options *o)
{
	static const struct output_options usual;
	FILE *f;

	free(printed);
	printed = NULL;
	f = open_memstream(&printed, &printed_bytes);
	assert_non_null(f);
	assert_int_equal(fn(&report, o ? o : &usual, f), 0);
	fclose(f);
	return printed;
}

static json_t *document(output_fn *fn)
{
	json_error_t error;
	json_t *json = json_loads(print(fn, NULL), JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("%s in %s", error.text, printed);
	return json;
}

static void expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static uint64_t number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		fail_msg("no text '%s' in %s", key, json_dumps(o, 0));
	return s;
}

static int end(void **state)
{
	if (path[0])
		unlink(path);
	path[0] = '\0';
	replay_free(replay);
	replay = NULL;
	free(printed);
	printed = NULL;
	return teardown(state);
}

/* A asks C, which asks B; beside them somebody who has nothing to do with it. */
static void play_triangle(const char *comm)
{
	static const struct sim_op a[] = {{LOOP, 20},	       {RUN, 1 * MS}, {POST, 1},
					  {WAIT, 3, HOW_PIPE}, {NEXT},	      {EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_UNIX}, {RUN, 2 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	static const struct sim_op c[] = {
	    {LOOP, 20}, {WAIT, 2, HOW_CONDITION}, {RUN, 3 * MS}, {POST, 3}, {NEXT}, {EXIT}};
	static const struct sim_op busy[] = {{LOOP, 1000}, {RUN, 2 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 4);
	sim_task(&sim, comm, TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "C", 0, 2, c);
	sim_task(&sim, "innocent", 0, 3, busy);
	sim_play(150 * MS, 4);
}

static void chains_as_text(void **state)
{
	const char *text;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	text = print(output_chains_text, NULL);
	expect_text(text,
		    "50% of the time: A 500 waiting for data in a pipe in read: pipe:[1] > C 502"
		    "\nrunning\n");
	expect_text(text, "A 500: 120 ms\n");
	expect_text(text, "  main > store::wait_for\n");
	expect_text(text, "    C 502 running\n");
	expect_text(text, "      B 501 running\n");
	expect_text(text, "Accounting              share  in sum     time\n");
	expect_text(text, "  unsampled run        >99.9%  >99.9%   120 ms\n");
	expect_text(text, "Observed: 150 ms of 1 s (15%) in 1 window\n");
	assert_null(strstr(text, "innocent"));
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > 80)
			fail_msg("more than 80 columns: %.*s", (int)n, line);
		line += n + 1;
	}
}

/* Waits that differ only in functions of the kernel, which the text does not show, are one line. */
static void equal_lines_are_joined(void **state)
{
	static const struct sim_op a[] = {{LOOP, 10},
					  {RUN, 1 * MS},
					  {POST, 1},
					  {WAIT, 3, HOW_PIPE},
					  {RUN, 1 * MS},
					  {POST, 1},
					  {WAIT, 3, HOW_PIPE_SPLICED},
					  {NEXT},
					  {EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_UNIX}, {RUN, 2 * MS}, {POST, 3}, {NEXT}, {EXIT}};
	const char *text, *line;

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_play(100 * MS, 2);
	write_session("A");
	read_session(NULL);
	text = print(output_chains_text, NULL);
	line = strstr(text, "  waiting for data in a pipe in read: pipe:[1]\n");
	if (!line || strstr(line + 2, "  waiting for data in a pipe"))
		fail_msg("%s", text);
	expect_text(text, "    20    B 501 running\n");
}

/*
 * The first sentence is about the thread that did most, not about an idle one whose only wait was
 * long. If no layer below a wait has more than half of its time, the sentence names the task.
 */
static void sentence_names_the_task(void **state)
{
	static const struct sim_op a[] = {{LOOP, 10},	       {RUN, 3 * MS}, {POST, 1},
					  {WAIT, 3, HOW_PIPE}, {NEXT},	      {EXIT}};
	static const struct sim_op b[] = {{LOOP, 10},	 {WAIT, 1, HOW_UNIX},
					  {RUN, 2 * MS}, {IO, OBJECT_NR_FILE, 1 * MS, 1 * MS},
					  {POST, 3},	 {NEXT},
					  {POST, 5},	 {EXIT}};
	static const struct sim_op idle[] = {
	    {SLEEP, 20 * MS}, {WAIT, 5, HOW_CONDITION}, {RUN, 1 * MS}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "A", TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "idle", TASK_TARGET, 2, idle);
	sim_play(100 * MS, 3);
	write_session("A");
	read_session(NULL);
	expect_text(print(output_chains_text, NULL),
		    "57.1% of the time of the busiest\nthread: A 500 waiting for data in a pipe in "
		    "read: pipe:[1] > B 501 (100%)\n");
}

/* Waits for a CPU that several tasks had are one line. */
static void cpu_waits_are_joined(void **state)
{
	static const struct sim_op busy[] = {{LOOP, 1000}, {RUN, 10 * MS}, {NEXT}, {EXIT}};
	static const struct sim_op now_and_then[] = {
	    {LOOP, 1000}, {SLEEP, 7 * MS}, {RUN, 3 * MS}, {NEXT}, {EXIT}};
	const char *text, *line;

	sim_begin(&sim, 1);
	sim_task(&sim, "A", TASK_TARGET, 0, busy);
	sim_task(&sim, "hog", 0, 0, busy);
	sim_task(&sim, "pig", 0, 0, now_and_then);
	sim_play(120 * MS, 3);
	write_session("A");
	read_session(NULL);
	text = print(output_chains_text, NULL);
	line = strstr(text, "  waiting for a CPU, last used by ");
	if (!line)
		fail_msg("%s", text);
	assert_null(strstr(line + 2, "  waiting for a CPU"));
	expect_text(line, "hog ");
	expect_text(line, "pig ");
	expect_text(text, "% of the time: A 500 waiting for a CPU, last used by ");
}

/*
 * Tasks of one name that did the same are one line, and the first sentence names the wait for all
 * of them; tasks with a name of their own, and fewer than WAITS_ALIKE of one name, stay apart.
 */
static void alike_tasks_are_joined(void **state)
{
	enum { CURLS = 12, PAIR = 2 };
	static struct sim_op target[] = {
	    {LOOP, CURLS + PAIR}, {RUN, MS / 2}, {WAIT, 1, HOW_PIPE}, {NEXT}, {EXIT}};
	static struct sim_op other[CURLS + PAIR][4];
	const char *text;

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TASK_TARGET, 0, target);
	for (int i = 0; i < CURLS + PAIR; i++) {
		struct sim_op script[4] = {
		    {SLEEP, (1 + i * 4) * MS}, {RUN, 2 * MS}, {POST, 1}, {EXIT}};

		memcpy(other[i], script, sizeof(script));
		sim_task(&sim, i < CURLS ? "curl" : "wget", 0, 1, other[i]);
	}
	sim_play(80 * MS, CURLS + PAIR + 1);
	write_session("A");
	read_session(NULL);
	text = print(output_chains_text, NULL);
	expect_text(text, "\ndata in a pipe in read: pipe:[1] > 12 tasks named "
			  "curl: running\n");
	expect_text(text, "  12 tasks named curl: ");
	expect_text(text, " wget 513 ");
	expect_text(text, " wget 514 ");
	assert_null(strstr(text, "others, each below 1%"));
	/* on the critical path, several tasks of one name are one machine */
	expect_text(print(output_critical_text, NULL), "  wget: running\n");
}

/* A thread that is stopped, or of which nothing is known, all the time. */
static void nothing_is_done(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {EXIT}};

	for (unsigned int i = 0; i < 2; i++) {
		sim_begin(&sim, 1);
		sim_task(&sim, "A", TASK_TARGET, 0, script);
		sim_window(&sim, WINDOW_BEGIN);
		sim_tell_task(&sim, 0, i ? 'S' : 'T');
		sim_run(&sim, 100 * MS);
		sim_window(&sim, WINDOW_END);
		write_session("A");
		read_session(NULL);
		expect_text(print(output_chains_text, NULL),
			    i ? "100% of the time: unknown\n" : "100% of the time: stopped\n");
		print(output_critical_text, NULL);
		json_decref(document(output_critical_json));
		end(state);
	}
}

static const json_t *innermost(const json_t *chain)
{
	const json_t *layers = json_object_get(chain, "layers");

	return json_array_get(layers, json_array_size(layers) - 1);
}

static void chains_as_json(void **state)
{
	json_t *json, *list;
	uint64_t sum = 0, total = 0;
	const json_t *frames;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	json = document(output_chains_json);
	assert_string_equal(text_of(json, "kind"), "chains");
	assert_true(json_real_value(json_object_get(json, "accounted_wall")) == 1);
	assert_true(json_real_value(json_object_get(json, "lost")) == 0);
	list = json_object_get(json, "accounting");
	assert_int_equal(json_array_size(list), ACCOUNTS);
	for (size_t i = 0; i < ACCOUNTS; i++)
		total += number(json_array_get(list, i), "ns");
	list = json_object_get(json, "chains");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *chain = json_array_get(list, i);

		sum += number(chain, "ns");
		assert_true(!i || number(chain, "ns") <= number(json_array_get(list, i - 1), "ns"));
		assert_string_not_equal(text_of(innermost(chain), "comm"), "innocent");
	}
	assert_int_equal(sum, total);
	/* the largest: A sleeps for C */
	list = json_object_get(json_array_get(list, 0), "layers");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(text_of(json_array_get(list, 0), "state"), "sleep");
	assert_string_equal(text_of(json_array_get(list, 0), "detail"),
			    "waiting for data in a pipe in read: pipe:[1]");
	assert_string_equal(text_of(json_array_get(list, 1), "comm"), "C");
	assert_string_equal(text_of(json_array_get(list, 1), "state"), "run");
	frames = json_object_get(json_array_get(list, 0), "frames");
	assert_int_equal(json_array_size(frames), 2 + 3);
	assert_string_equal(text_of(json_array_get(frames, 1), "function"), "store::wait_for(int)");
	assert_string_equal(text_of(json_array_get(frames, 1), "module"), "store");
	assert_int_equal(number(json_array_get(frames, 0), "line"), 12);
	assert_int_equal(number(json_array_get(frames, 1), "line"), 23);
	assert_string_equal(text_of(json_array_get(frames, 3), "function"), "pipe_read");
	assert_string_equal(text_of(json_array_get(frames, 3), "module"), "kernel");
	json_decref(json);
}

static int whole_timeline(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	return output_timeline_text(r, &(struct timeline_ask){.max_lanes = 3}, o, NULL, f);
}

static int end_of_timeline(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	return output_timeline_text(
	    r, &(struct timeline_ask){.span_ns = 12 * MS, .back_ns = 60 * MS}, o, NULL, f);
}

/* Each task has a line with its shares, and who woke whom is told; `innocent` is not followed. */
static void timeline(void **state)
{
	static const struct output_options ascii = {.ascii = true, .columns = 100};
	struct waits_lane lane[8];
	struct lane_cell cell[4];
	uint64_t from, to, run = 0;
	uint32_t nr, left_out;
	const char *text;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	text = print(whole_timeline, &ascii);
	expect_text(text, "\na A 500 ");
	expect_text(text, " B 501 ");
	expect_text(text, " C 502 ");
	expect_text(text, "a letter: woken by");
	expect_text(text, "b > a 20");
	expect_text(text, "Wakings (who > whom): ");
	assert_null(strstr(text, "innocent"));

	/* from the records: A runs for 1 ms of each round of 6 ms, and sleeps in the rest */
	assert_true(waits_span(report.waits, UINT64_MAX, 0, &from, &to));
	nr = waits_lanes(report.waits, from, to, lane, 8, &left_out);
	assert_true(nr >= 3 && !left_out);
	assert_string_equal(lane[0].comm, "A");
	assert_true(lane[0].target && !lane[1].target);
	assert_true(lane[0].ns[LANE_RUN] > 19 * MS && lane[0].ns[LANE_RUN] < 21 * MS);
	assert_true(lane[0].ns[LANE_SLEEP] > 99 * MS && lane[0].ns[LANE_SLEEP] < 101 * MS);
	waits_lane_cells(report.waits, &lane[0], from, to, cell, 4);
	for (int i = 0; i < 4; i++)
		run += cell[i].ns[LANE_RUN];
	assert_true(run + 4 >= lane[0].ns[LANE_RUN] && run <= lane[0].ns[LANE_RUN]);
	assert_int_equal(waits_lanes(report.waits, from, to, lane, 1, &left_out), 1);
	assert_int_equal(left_out, nr - 1);

	/* two rounds: the marks of runs and sleeps, and the letter of C where it wakes A */
	text = print(end_of_timeline, &ascii);
	expect_text(text, "12 ms of the threads");
	expect_text(text, "#");
	expect_text(text, "----");
}

/* Any task as the root; what is known of the targets stays as it was. */
static void chains_of_another_task(void **state)
{
	struct waits_chains before, after, its;
	struct waits_lane lane[8];
	struct waits_account its_account;
	uint32_t nr, left_out, of_b = 0;
	uint64_t from, to;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	assert_int_equal(waits_chains(report.waits, &before), 0);
	assert_true(waits_span(report.waits, UINT64_MAX, 0, &from, &to));
	nr = waits_lanes(report.waits, from, to, lane, 8, &left_out);
	assert_true(nr >= 3);
	assert_string_equal(lane[1].comm, "C");
	assert_int_equal(
	    waits_chains_of(report.waits, lane[1].tid, lane[1].start_ns, &its, &its_account), 0);
	assert_true(its.nr > 1 && its.total_ns == its_account.total_ns);
	for (uint32_t i = 0; i < its.nr; i++) {
		const struct waits_node *n = &its.nodes[i];

		if (n->parent == i)
			assert_string_equal(n->layer.comm, "C");
		else if (!strcmp(n->layer.comm, "B") && n->layer.state == CHAIN_RUN)
			of_b += (uint32_t)(n->self_ns / US);
	}
	/* B ran for 2 ms in each of 20 rounds, while C waited for it */
	assert_true(of_b > 39000 && of_b < 41000);
	waits_chains_release(&its);
	assert_int_equal(waits_chains_of(report.waits, 1, 1, &its, &its_account), -ENOENT);
	assert_int_equal(waits_chains(report.waits, &after), 0);
	assert_int_equal(before.nr, after.nr);
	assert_true(before.total_ns == after.total_ns);
	waits_chains_release(&before);
	waits_chains_release(&after);
}

static void accounting_and_flame(void **state)
{
	static const struct output_options ascii = {.ascii = true, .columns = 100};
	const char *text;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	text = print(output_account_text, &ascii);
	expect_text(text, "all time of the target's threads: 120 ms, by what its chains end in\n");
	expect_text(text, "  unsampled run        >99.9%  >99.9%   120 ms  ####");
	expect_text(text, "  accounted for: 100% of all time, 100% as the RSP paper counts\n");
	expect_text(text, "  not accounted for: unknown 0%, LOST 0%\n");
	expect_text(text, "  deficit of the critical path: ");
	text = print(output_flame_text, &ascii);
	expect_text(text, "120 ms of the threads of the target as the width");
	/* A waits for C below it, and C for B below that */
	expect_text(text, "|store::wait_for: waiting for data in a pipe in read");
	expect_text(text, "|C 502 running#");
	expect_text(text, "|B 501 running#");
	expect_text(text, "|store::wait_for#");
	assert_null(strstr(text, "innocent"));
}

static uint32_t number_of_row(const char *words)
{
	static bool used[SCREEN_DESCENT_WAITS];

	memset(used, 0, sizeof(used));
	return wait_row_number(used, 7, words);
}

/* The rows of a descent into read(), which waits. */
static void rows_of_a_descent(void **state)
{
	static bool used[SCREEN_DESCENT_WAITS];
	struct descent_fnode f0 = {.function = {REC_KERNEL_MODULE, REC_KERNEL_CALL | 0}};
	uint32_t frame = 0, first;
	struct descent_path p = {
	    .share = 1, .cause = {.kind = CAUSE_WAIT}, .nr_frames = 1, .frames = &frame};
	struct descent_result r = {.nr_paths = 1, .paths = &p, .nr_nodes = 1, .nodes = &f0};
	struct descend_report d;
	struct wait_rows w;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	d = (struct descend_report){
	    .model = report.model, .driver = report.names, .waits = report.waits};
	assert_int_equal(wait_rows_find(&d, &r, &p, &w), 0);
	assert_string_equal(w.chain,
			    "waiting for data in a pipe in read: pipe:[1] > C 502 running");
	assert_int_equal(w.nr, 4);
	assert_string_equal(w.row[0].words, "waiting for data in a pipe in read: pipe:[1]");
	assert_true(w.row[0].depth == 0 && w.row[0].share > 0.999);
	assert_string_equal(w.row[1].words, "C 502 running");
	assert_true(w.row[1].depth == 1 && w.row[1].share > 0.59 && w.row[1].share < 0.61);
	assert_string_equal(w.row[2].words, "C 502 waiting for a condition in futex");
	assert_string_equal(w.row[3].words, "B 501 running");
	assert_true(w.row[3].depth == 2 && w.row[3].share > 0.39 && w.row[3].share < 0.41);
	wait_rows_release(&w);
	/* a path that does not wait for anybody has none */
	p.cause.kind = CAUSE_OWN_CODE;
	assert_int_equal(wait_rows_find(&d, &r, &p, &w), 0);
	assert_int_equal(w.nr, 0);
	assert_string_equal(w.chain, "");
	wait_rows_release(&w);

	/* numbers stay the same, and are distinct for equal rows */
	first = wait_row_number(used, 7, "C 502 running");
	assert_int_equal(first, number_of_row("C 502 running"));
	assert_int_not_equal(first, wait_row_number(used, 7, "C 502 running"));
	assert_true(first >= SCREEN_DESCENT_MAX_NODES - SCREEN_DESCENT_WAITS &&
		    first < SCREEN_DESCENT_MAX_NODES);
}

static void folded_stacks(void **state)
{
	play_triangle("A");
	write_session("A");
	read_session(NULL);
	free(printed);
	printed = NULL;

	FILE *f = open_memstream(&printed, &printed_bytes);

	assert_int_equal(output_chains_folded(&report, f), 0);
	fclose(f);
	expect_text(printed,
		    "[A 500 waiting for data in a pipe pipe:[1]];main;store::wait_for(int);"
		    "ksys_read;pipe_read;schedule;[C 502 run");
}

static void critical_path(void **state)
{
	json_t *json, *states;
	uint64_t on_path = 0;
	const char *text;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	json = document(output_critical_json);
	assert_string_equal(text_of(json, "kind"), "critical");
	assert_string_equal(text_of(json_array_get(json_object_get(json, "queues"), 0), "state"),
			    "empty");
	states = json_object_get(json, "states");
	for (size_t i = 0; i < json_array_size(states); i++)
		on_path += number(json_array_get(states, i), "critical_ns");
	assert_true(on_path <= number(json, "length_ns"));
	assert_true(on_path * 100 >= 99 * number(json, "length_ns"));
	/* 3 of 6 ms of each round */
	assert_string_equal(text_of(json_array_get(states, 0), "machine"), "C");
	assert_true(json_real_value(json_object_get(json_array_get(states, 0), "criticality")) >
		    0.45);
	assert_true(json_array_size(json_object_get(json, "next")) >= 3);
	assert_string_equal(text_of(json_array_get(json_object_get(json, "next"), 0), "without"),
			    "C 502: running");
	assert_string_equal(
	    text_of(json_array_get(json_object_get(json, "machines"), 0), "machine"), "C");
	json_decref(json);
	text = print(output_critical_text, NULL);
	expect_text(text, "critical path: ");
	expect_text(text, "  C 502: running\n");
	expect_text(text, "What would be saved at most if this state took no time\n");
}

/* Names are the target's: they drive neither the terminal nor the layout. */
/* A producer is quicker than its consumer: the queue between them is full. */
static void back_pressure(void **state)
{
	static const struct sim_op producer[] = {
	    {LOOP, 20}, {RUN, 1 * MS}, {POST, 1}, {WAIT, 2, HOW_PIPE_FULL}, {NEXT}, {EXIT}};
	static const struct sim_op consumer[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_PIPE}, {RUN, 3 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	json_t *json, *queue;

	sim_begin(&sim, 2);
	sim_task(&sim, "fast", TASK_TARGET, 0, producer);
	sim_task(&sim, "slow", 0, 1, consumer);
	sim_play(100 * MS, 2);
	write_session("fast");
	read_session(NULL);
	expect_text(print(output_critical_text, NULL),
		    "Who waits for room or data in a queue (newest window)\n");
	expect_text(printed, "pipe:[1] is full: fast 500 waits until slow 501 reads\n");
	expect_text(printed, "pipe:[1] is empty: slow 501 waits until fast 500 writes\n");
	json = document(output_critical_json);
	queue = json_array_get(json_object_get(json, "queues"), 0);
	assert_string_equal(text_of(queue, "state"), "full");
	assert_string_equal(text_of(queue, "waits_for"), "slow");
	assert_int_equal(number(queue, "count"), 20);
	assert_true(number(queue, "ns") > 58 * MS && number(queue, "ns") < 62 * MS);
	json_decref(json);
}

/* Two tasks wake a third in turn, much more often than the timeline has columns. */
static void two_wakers(void **state)
{
	static const struct sim_op reader[] = {
	    {LOOP, 100}, {POST, 3}, {WAIT, 1, HOW_PIPE}, {POST, 4}, {WAIT, 2, HOW_PIPE},
	    {NEXT},	 {EXIT}};
	static const struct sim_op one[] = {
	    {LOOP, 100}, {WAIT, 3, HOW_PIPE}, {RUN, MS / 10}, {POST, 1}, {NEXT}, {EXIT}};
	static const struct sim_op two[] = {
	    {LOOP, 100}, {WAIT, 4, HOW_PIPE}, {RUN, MS / 5}, {POST, 2}, {NEXT}, {EXIT}};
	struct lane_waker waker[4];
	struct waits_lane lane[4];
	uint64_t from, to;
	uint32_t left_out, nr;

	sim_begin(&sim, 3);
	sim_task(&sim, "reader", TASK_TARGET, 0, reader);
	sim_task(&sim, "one", 0, 1, one);
	sim_task(&sim, "two", 0, 2, two);
	sim_play(100 * MS, 3);
	write_session("reader");
	read_session(NULL);
	assert_true(waits_span(report.waits, UINT64_MAX, 0, &from, &to));
	assert_int_equal(waits_lanes(report.waits, from, to, lane, 4, &left_out), 3);
	assert_string_equal(lane[0].comm, "reader");
	nr = waits_lane_wakers(report.waits, &lane[0], from, to, waker, 4);
	assert_int_equal(nr, 2);
	assert_true(waker[0].wakings > 50 && waker[1].wakings > 50);
	assert_int_equal(waits_lane_wakers(report.waits, &lane[0], from, to, waker, 1), 1);
	print(whole_timeline, NULL);
	expect_text(printed, "b > a ");
	expect_text(printed, "c > a ");
}

static void hostile_names(void **state)
{
	play_triangle("\x1b[2J\ne\xff");
	write_session("x");
	read_session(NULL);
	expect_text(print(output_chains_text, NULL), "\\x1b[2J\\x0ae\\xff 500: 120 ms\n");
	assert_null(strchr(printed, '\x1b'));
	print(output_critical_text, NULL);
	assert_null(strchr(printed, '\x1b'));
	json_decref(document(output_chains_json));
	json_decref(document(output_critical_json));
}

/* A session of another verb has no waits: documents without data, and no crash. */
static void without_waits(void **state)
{
	json_t *json;

	play_triangle("A");
	sim.nr_records = 0;
	write_session("A");
	char why[256];

	assert_int_equal(replay_open(&replay, path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	report = (struct wait_report){.model = replay_model(replay),
				      .names = replay_driver(replay),
				      .waits = wait_driver_waits(replay_waits(replay))};
	json = document(output_chains_json);
	assert_int_equal(json_array_size(json_object_get(json, "chains")), 0);
	json_decref(json);
	json_decref(document(output_critical_json));
	expect_text(print(output_chains_text, NULL), "no thread of the target was observed\n");
	expect_text(print(output_critical_text, NULL), "no critical path");
	report.live = true;
	expect_text(print(output_chains_text, NULL), "no window of observation is open yet");
	expect_text(print(output_critical_text, NULL), "(--max-overhead, by default 1%)");
}

static void on_the_screen(void **state)
{
	static const char script[] =
	    "end\nsize 80 30\nkey W\nwait 1\nexpect A 500: 120 ms\nexpect     C 502 running\n"
	    "expect unsampled run\nreject innocent\nkey Tab\nwait 1\n"
	    "expect all time of the target's threads: 120 ms\nexpect deficit of the critical path\n"
	    "key Tab\nwait 1\nexpect >a A 500\nexpect b C 502\nexpect b > a 20\nkey z z z z\nwait "
	    "1\n"
	    "expect 62.5 ms of the threads\nkey h\nwait 1\nexpect -31.2 ms|\n"
	    /* no further back than the oldest data, and forward again at once */
	    "key h h h h h h\nwait 1\nexpect -87.5 ms|\nkey l\nwait 1\nexpect -56.3 ms|\n"
	    "key l l Z\nwait 1\n"
	    "expect now|\nkey j\nwait 1\nexpect >b C 502\nkey Enter\nwait 1\n"
	    "expect C 502: 1\nexpect B 501 running\nkey q\nexpect >b C 502\nkey Tab\nwait 1\n"
	    "expect |C 502 running\nkey Tab\nwait 1\nexpect [A 500 waiting for data in a pipe\n"
	    "key Tab\nwait 1\nexpect critical path: \nkey Tab\nwait 1\nexpect A 500: 120 ms\n"
	    "key p\nwait 1\nexpect A 500: 120 ms\nkey q\nkey X\nwait 1\nexpect critical path: \n"
	    "expect C 502: running\nkey q\nreject critical path: \nkey o\nwait 1\n"
	    "expect this session has no stacks of all threads\nkey W\nwait 1\n"
	    "expect A 500: 120 ms\nkey q\nexpect no stacks of all threads\nkey q\n"
	    "reject no stacks of all threads";
	struct options options = {.resolution = 4};
	struct buf out;
	int err;

	play_triangle("A");
	write_session("A");
	read_session(NULL);
	buf_init(&out, 1 << 20);
	err = script_session(replay, &options, script, sizeof(script) - 1, &out);
	if (err)
		fail_msg("%d: %s", err, out.data ? out.data : "");
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(chains_as_text, end),
	    cmocka_unit_test_teardown(equal_lines_are_joined, end),
	    cmocka_unit_test_teardown(sentence_names_the_task, end),
	    cmocka_unit_test_teardown(cpu_waits_are_joined, end),
	    cmocka_unit_test_teardown(alike_tasks_are_joined, end),
	    cmocka_unit_test_teardown(nothing_is_done, end),
	    cmocka_unit_test_teardown(chains_as_json, end),
	    cmocka_unit_test_teardown(rows_of_a_descent, end),
	    cmocka_unit_test_teardown(timeline, end),
	    cmocka_unit_test_teardown(accounting_and_flame, end),
	    cmocka_unit_test_teardown(chains_of_another_task, end),
	    cmocka_unit_test_teardown(folded_stacks, end),
	    cmocka_unit_test_teardown(critical_path, end),
	    cmocka_unit_test_teardown(back_pressure, end),
	    cmocka_unit_test_teardown(two_wakers, end),
	    cmocka_unit_test_teardown(hostile_names, end),
	    cmocka_unit_test_teardown(without_waits, end),
	    cmocka_unit_test_teardown(on_the_screen, end),
	};

	return cmocka_run_group_tests_name("output_waits", tests, NULL, NULL);
}
