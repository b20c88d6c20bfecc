// SPDX-License-Identifier: GPL-2.0-or-later
/* The views of waits: timeline, accounting, flame graph, rows of a descent. */
#include "tests/unit/waits_session.h"
#include "tui/cli/script_session.h"
#include "tui/report/output_timeline.h"
#include "tui/views/descent_wait_rows.h"

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

	reopen_triangle();
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
	reopen("reader");
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

/* Any task as the root; what is known of the targets stays as it was. */
static void chains_of_another_task(void **state)
{
	struct waits_chains before, after, its;
	struct waits_lane lane[8];
	struct waits_account its_account;
	uint32_t nr, left_out, of_b = 0;
	uint64_t from, to;

	reopen_triangle();
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

	reopen_triangle();
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
	expect_text(text, "|running, A 500 #");
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

	reopen_triangle();
	d = (struct descend_report){
	    .model = report.model, .driver = report.names, .waits = report.waits};
	assert_int_equal(wait_rows_find(&d, &r, &p, &w), 0);
	assert_string_equal(w.chain, "waiting for data in a pipe in read > C 502 running");
	assert_int_equal(w.nr, 4);
	assert_string_equal(w.row[0].words, "waiting for data in a pipe in read");
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

	reopen_triangle();
	buf_init(&out, 1 << 20);
	err = script_session(replay, &options, script, sizeof(script) - 1, &out);
	if (err)
		fail_msg("%d: %s", err, out.data ? out.data : "");
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(rows_of_a_descent, end),
	    cmocka_unit_test_teardown(timeline, end),
	    cmocka_unit_test_teardown(accounting_and_flame, end),
	    cmocka_unit_test_teardown(chains_of_another_task, end),
	    cmocka_unit_test_teardown(two_wakers, end),
	    cmocka_unit_test_teardown(on_the_screen, end),
	};

	return cmocka_run_group_tests_name("waits_views", tests, NULL, NULL);
}
