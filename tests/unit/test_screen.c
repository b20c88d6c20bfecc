// SPDX-License-Identifier: GPL-2.0-or-later
/* What the screen does with keys and time, told by scripts over the made-up session: the list,
 * messages, help, replay. */
#include <locale.h>

#include "tests/unit/grids.h"
#include "tests/unit/screen_harness.h"
#include "tui/screen/theme.h"

/* --- operations */

static void test_rows_by_time_and_stuck_calls_on_top(void **state)
{
	struct harness *h = harness_new(20, NULL);
	const char *process, *epoll, *futex, *write, *openat;

	harness_run(h, "dump\nexpect > processCommand\nexpect 20 s\nexpect !3: 20 s");
	process = strstr(harness_out(h), "processCommand");
	epoll = strstr(harness_out(h), "epoll_wait");
	futex = strstr(harness_out(h), "futex");
	write = strstr(harness_out(h), "write");
	openat = strstr(harness_out(h), "openat");
	/*
	 * What the user asked for is first, and idle waits are last. futex has little latency in
	 * all, but a call of 20 s is open.
	 */
	assert_true(process < futex && futex < write && write < openat && openat < epoll);
	harness_free(h);
}

static void test_sorting(void **state)
{
	struct harness *h = harness_new(20, NULL);
	const char *read, *openat;

	harness_run(
	    h, "expect ↓WALL%\nkey h\nexpect ↓CALLS/S\nreject ↓WALL%\nkey h\nexpect ↓OPERATION\n"
	       "key j j\nexpect > futex\nkey R\nexpect ↑OPERATION\nexpect > futex\n"
	       "key R l l l\nexpect ↓P50\nexpect > futex\nkey g j\nexpect > fdatasync\n"
	       "key l l l l\nexpect ↓OPERATION");
	harness_run(h, "key Right\ndump");
	read = strstr(harness_out(h), "  read");
	if (!read)
		read = strstr(harness_out(h), "> read");
	openat = strstr(harness_out(h), "openat");
	assert_true(read && read < openat);
	harness_free(h);
}

static void test_filter(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "key /\ntype WRI\nexpect /WRI\nexpect > write\nreject epoll_wait\n"
		       "key Backspace Backspace Backspace\nexpect epoll_wait\ntype e\n"
		       "key Enter\nexpect filter: e\nreject runqueue\nexpect > processCommand\n"
		       "key n\nreject > processCommand\nkey N\nexpect > processCommand\nkey N n\n"
		       "expect > processCommand\n"
		       "key Esc\nreject filter:\nexpect run queue");
	harness_run(
	    h, "key /\ntype nosuchname\nexpect no operation matches\nkey Enter\nexpect not found\n"
	       "key Esc\nexpect epoll_wait");
	/* leaving the prompt gives back what was shown before */
	harness_run(h, "key /\ntype futex\nkey Enter\nkey /\ntype write\nexpect > write\nkey Esc\n"
		       "expect > futex\nreject write");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_the_selection_follows_its_operation(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "key j j\ndump");
	assert_non_null(strstr(harness_out(h), "> "));
	harness_run(h, "key G k\nexpect > run queue\nkey R\nexpect > run queue\nkey g "
		       "j\nexpect > openat\n"
		       "key R\nexpect > openat");
	harness_free(h);
}

/* Waits for a CPU, a lock or the disk stand below the calls, which have a cause to be found. */
static void test_groups(void **state)
{
	struct harness *h = harness_new(5, NULL);
	const char *calls, *heading, *block, *idle;

	harness_run(h, "dump");
	calls = strstr(harness_out(h), "  openat");
	heading = strstr(harness_out(h), "waiting for a CPU, a lock or the disk, in whatever call");
	block = strstr(harness_out(h), "  block requests");
	idle = strstr(harness_out(h),
		      "idle: waiting for events or work, and timed sleep (> selects the longest)");
	assert_true(calls && heading && block && idle);
	assert_true(calls < heading && heading < block && block < idle);
	/* alone, a group has no heading */
	harness_run(h, "key /\ntype run\nkey Enter\nexpect run queue\nreject in whatever call");
	harness_free(h);
}

static void test_costliest(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "key R\nkey >\nexpect > futex\nkey R G >\nexpect > futex\n"
		       "key /\ntype epoll\nkey Enter R >\nexpect > epoll_wait");
	harness_free(h);
}

static void test_pause_freezes_the_view_not_the_status(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(
	    h, "expect LIVE\nkey Space\nexpect PAUSED\nexpect !3: 20 s\nuntil 30\nexpect 0:30\n"
	       "expect !3: 20 s\nreject 30 s\nkey Space\nexpect LIVE\nexpect !3: 30 s");
	assert_string_equal(harness_log(h), "pause 1\npause 0\n");
	harness_free(h);
}

static void test_an_operation_opened_while_paused_stays(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(
	    h, "key j Space Enter\nexpect oldest 20 s\nuntil 40\nexpect oldest 20 s\nkey Space\n"
	       "expect oldest 40 s\nkey q\nexpect !3: 40 s");
	harness_free(h);
}

static void test_last_slice(void **state)
{
	struct harness *h = harness_new(21, NULL);

	/* fdatasync's slow mode is in each fifth slice, not in this one */
	harness_run(h, "expect whole run\nkey s\nexpect last slice\nkey s\nexpect whole run\n"
		       "key Space s\nexpect frozen");
	harness_free(h);
}

static void test_quit_and_back(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key Enter\nexpect per column\nkey Esc\nexpect CALLS/S\nkey Esc\nexpect "
		       "CALLS/S\nkey ?\nexpect Moving\n"
		       "key q\nexpect CALLS/S");
	assert_string_equal(harness_log(h), "");
	/* the script ends with it: what follows is not run */
	harness_run(h, "key q\nexpect this is never looked at");
	harness_run(h, "key ? Ctrl-C\nexpect this neither");
	harness_free(h);
}

static void test_unwatch_and_ask(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key j -\nexpect belongs to a layer\nkey /\ntype processC\nkey Enter -");
	assert_string_equal(harness_log(h), "unwatch op 7\n");
	harness_run(h, "key a Del\nkey Enter a");
	assert_string_equal(harness_log(h), "ask op 7\nunwatch op 7\nask op 7\n");
	harness_free(h);
}

/* --- messages */

static void test_messages(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "wait 0");
	screen_message(h->screen, NOTE_INFO, "hello");
	harness_run(h, "expect hello\nwait 4900\nexpect hello\nwait 200\nreject hello");
	screen_message(h->screen, NOTE_ERROR, "no function \x1b[31mfoo\xe2\x80\xae; near: fox");
	harness_run(h, "wait 60000\nexpect no function \\x1b[31mfoo\\u202e; near: fox\nkey "
		       "Enter\nreject near: fox\n"
		       "expect per column");
	/* Esc only puts an error away */
	screen_message(h->screen, NOTE_ERROR, "oops");
	harness_run(h, "key Esc\nreject oops\nexpect per column\nkey Esc\nreject per column");
	harness_free(h);
}

static void test_long_messages_wrap(void **state)
{
	struct harness *h = harness_new(3, NULL);
	char text[400];
	int i, n = 0;

	for (i = 0; i < 40; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "word%02d ", i);
	screen_message(h->screen, NOTE_ERROR, text);
	harness_run(h, "expect word00\nexpect word39\nsize 20 5\nexpect word00");
	harness_free(h);
}

static void test_unknown_key(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(
	    h, "key Z\nexpect ? shows the keys\nkey t\nexpect ? shows the keys"); /* replay keys are
										     none here */
	harness_free(h);
}

/* --- help and information */

static void test_help(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key ?\nexpect Operations\nexpect Stop watching\nkey G\nexpect lost: "
		       "records\nkey g /\ntype frozen\n"
		       "key Enter\nexpect not found\nkey /\ntype Freeze\nkey Enter\nexpect > "
		       "\nexpect Freeze the view\n"
		       "key q q");
	harness_run(h, "key Enter ?\n"
		       "expect Heat map and peaks\n"
		       "expect 1-9\n"
		       "key q q");
	harness_free(h);
}

static void test_information(void **state)
{
	struct harness *h = harness_new(3, NULL);

	synth_feed(h->model,
		   (struct record){.type = REC_NOTE,
				   .note = {.level = NOTE_WARNING, .text = "a note to read"}});
	synth_feed(h->model,
		   (struct record){.type = REC_LOSS, .loss = {.records = 12, .samples = 3}});
	harness_run(h, "tick\nexpect a note to read\nkey i\nexpect redis-server  uid 110  5 "
		       "threads\nexpect a note to read\n"
		       "expect /usr/bin/redis-server\nkey G\nexpect 6.1.0-18-amd64\ntick 3\nexpect "
		       "6.1.0-18-amd64\nkey q");
	harness_free(h);
}

static void test_losses_are_marked(void **state)
{
	struct harness *h = harness_new(3, NULL);
	struct grid *g = grid_new(80, 24, false);
	int x, alert = 0;

	harness_run(h, "expect lost 0");
	synth_feed(h->model,
		   (struct record){.type = REC_LOSS, .loss = {.records = 12, .samples = 3}});
	synth_feed(h->model, (struct record){.type = REC_TICK,
					     .tick = {.slice = 3,
						      .start_ns = 3 * SYNTH_SECOND,
						      .end_ns = 4 * SYNTH_SECOND}});
	screen_tick(h->screen, 4 * SYNTH_SECOND);
	screen_draw(h->screen, g);
	for (x = 0; x < 80; x++)
		alert += grid_at(g, x, 0)->role == ROLE_ALERT;
	assert_int_equal(alert, 7); /* "lost 15" */
	grid_free(g);
	harness_free(h);
}

static void test_ended_target(void **state)
{
	struct harness *h = harness_new(3, NULL);

	synth_feed(h->model, (struct record){.type = REC_TARGET_END,
					     .target_end = {.pid = 1234, .at_ns = 3}});
	harness_run(h, "tick\nexpect ENDED\nexpect redis-server 1234\nexpect epoll_wait");
	harness_free(h);
}

/* --- replay */

static void test_replay(void **state)
{
	const struct screen_options options = {.replay = true, .root = SCREEN_OPERATIONS};
	struct harness *h = harness_new(20, &options);

	screen_set_replay(h->screen, 20 * SYNTH_SECOND, 90 * SYNTH_SECOND);
	harness_run(h, "expect REPLAY\nexpect 0:20 of 1:30\nkey t T r b\ntype 1:05.5\nkey Enter "
		       "b\ntype 70\nkey Enter\n"
		       "key b\ntype soon\nkey Enter\nexpect not a time\nkey f\nexpect saved "
		       "session\nkey L 1\n"
		       "expect as recorded");
	assert_string_equal(harness_log(h),
			    "step 1\nstep -1\nrewind\njump 65500000000\njump 70000000000\n");
	harness_free(h);
}

static void test_another_model(void **state)
{
	struct harness *h = harness_new(20, NULL);
	struct model *other = synth_model(3);

	harness_run(h, "key G k k k\nexpect > openat\nexpect 0:20");
	screen_set_model(h->screen, other);
	screen_tick(h->screen, 0);
	model_free(h->model);
	h->model = other;
	h->slices = 3;
	harness_run(h, "expect 0:03\nexpect > openat\nexpect 3: 3 s");
	harness_free(h);
}

static void test_opens_an_operation(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct screen *fresh;
	struct grid *a = grid_new(80, 24, false), *b = grid_new(80, 24, false);
	int equal = 0;

	harness_run(h, "key G Enter");
	fresh =
	    screen_new(h->model, &(struct screen_options){.root = SCREEN_OPERATIONS}, &all_views);
	screen_open_operation(fresh, UINT32_MAX); /* none has this number */
	screen_tick(fresh, 0);
	screen_draw(h->screen, a);
	screen_draw(fresh, b);
	assert_false(grid_equal(a, b));
	for (size_t i = 0; i < model_nr_ops(h->model); i++) {
		screen_open_operation(fresh, model_op(h->model, i)->op);
		screen_tick(fresh, 0);
		screen_draw(fresh, b);
		equal += grid_equal(a, b);
	}
	assert_int_equal(equal, 1); /* it is the one that Enter opened */
	screen_free(fresh);
	grid_free(a);
	grid_free(b);
	harness_free(h);
}

static void test_view_as_text_has_all_rows(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "size 80 6\nreject epoll_wait\nview");
	assert_non_null(strstr(harness_out(h), "openat"));
	assert_non_null(strstr(harness_out(h), "epoll_wait"));
	assert_non_null(strstr(harness_out(h), "LIVE"));
	harness_run(h, "key ?\nview");
	assert_non_null(strstr(harness_out(h), "lost: records"));
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_by_time_and_stuck_calls_on_top),
	    cmocka_unit_test(test_sorting),
	    cmocka_unit_test(test_filter),
	    cmocka_unit_test(test_the_selection_follows_its_operation),
	    cmocka_unit_test(test_groups),
	    cmocka_unit_test(test_costliest),
	    cmocka_unit_test(test_pause_freezes_the_view_not_the_status),
	    cmocka_unit_test(test_an_operation_opened_while_paused_stays),
	    cmocka_unit_test(test_last_slice),
	    cmocka_unit_test(test_quit_and_back),
	    cmocka_unit_test(test_unwatch_and_ask),
	    cmocka_unit_test(test_messages),
	    cmocka_unit_test(test_long_messages_wrap),
	    cmocka_unit_test(test_unknown_key),
	    cmocka_unit_test(test_help),
	    cmocka_unit_test(test_information),
	    cmocka_unit_test(test_losses_are_marked),
	    cmocka_unit_test(test_ended_target),
	    cmocka_unit_test(test_replay),
	    cmocka_unit_test(test_another_model),
	    cmocka_unit_test(test_opens_an_operation),
	    cmocka_unit_test(test_view_as_text_has_all_rows),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
