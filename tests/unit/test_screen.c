// SPDX-License-Identifier: GPL-2.0-or-later
/* What the screen does with keys and time, told by scripts over the made-up session. */
#include <errno.h>
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tui/screen/keys.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

/* --- operations ----------------------------------------------------------------------------- */

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
	       "key j\nexpect > block requests\nkey R\nexpect ↑OPERATION\nexpect > block requests\n"
	       "key R l l l\nexpect ↓P50\nexpect > block requests\nkey g j\nexpect > fdatasync\n"
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
	harness_run(
	    h, "key G k\nexpect > openat\nkey R\nexpect > openat\nkey g j\nkey R\nexpect > openat");
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

/* --- prompts ---------------------------------------------------------------------------------- */

static const struct function_candidate three[] = {
    {"processCommand(client*)", "redis-server", "processCommand@redis-server"},
    {"processInput", "redis-server", "processInput@redis-server"},
    {"posix_spawn\x1b[2J", "libc.so.6", "posix_spawn@libc.so.6"},
};

static void test_watch_prompt(void **state)
{
	struct harness *h = harness_new(3, NULL);

	assert_int_equal(screen_wants(h->screen) & SCREEN_WANTS_CANDIDATES, 0);
	harness_run(h, "key f\nexpect watch function:\ntype pr");
	assert_string_equal(harness_log(h), "search\nsearch 'p'\nsearch 'pr'\n");
	assert_true(screen_wants(h->screen) & SCREEN_WANTS_CANDIDATES);
	screen_set_candidates(h->screen, "p", three, 3); /* late: of an older text */
	harness_run(h, "reject processCommand(client*)");
	screen_set_candidates(h->screen, "pr", three, 3);
	harness_run(h, "expect > processCommand(client*)\nexpect posix_spawn\\x1b[2J\nkey Down\n"
		       "expect > processInput\nkey Enter\nreject watch function:");
	assert_string_equal(harness_log(h), "watch 'processInput@redis-server'\n");
	harness_free(h);
}

static void test_watch_prompt_takes_the_first_or_the_text(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key +\ntype pro");
	screen_set_candidates(h->screen, "pro", three, 3);
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "watch 'processCommand@redis-server'\n");
	/* an answer to "pro" says nothing about "prox" */
	harness_run(h, "key F4\ntype pro");
	screen_set_candidates(h->screen, "pro", three, 3);
	harness_run(h, "type x\nreject > processCommand(client\nkey Enter");
	assert_string_equal(harness_log(h), "search 'prox'\nwatch 'prox'\n");
	/* nothing known of that name */
	harness_run(h, "key f\ntype 0x1234@libc.so.6");
	screen_set_candidates(h->screen, "0x1234@libc.so.6", NULL, 0);
	harness_run(h, "expect no function with this name is known\nkey Enter");
	assert_string_equal(harness_log(h), "watch '0x1234@libc.so.6'\n");
	harness_free(h);
}

static void test_prompt_editing(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key f\ntype abcd\nkey Left Left Backspace\nexpect watch function: acd\n"
		       "key Home Del\nexpect watch function: cd\nkey End\ntype é世 x\n"
		       "expect watch function: cdé世 x\nkey Ctrl-W\nexpect watch function: cdé世\n"
		       "key Backspace Backspace Backspace\nexpect watch function: cd\n"
		       "key Ctrl-U\nkey Backspace\nreject watch function:");
	harness_run(h, "key f\ntype pro");
	screen_set_candidates(h->screen, "pro", three, 3);
	harness_run(h, "key Tab\nexpect watch function: processCommand@redis-server\nkey "
		       "Esc\nreject watch function:");
	harness_run(h, "key f Enter\nreject watch function:"); /* nothing was asked for */
	assert_string_equal(harness_log(h), "search\n");
	harness_free(h);
}

static void test_prompts_take_no_controls(void **state)
{
	struct harness *h = harness_new(3, NULL);
	static const int keys[] = {0x202e, 0x9b, 0x2028, 0xfeff, 0xd800, 0x110000 + 99, 0, -5};
	size_t i;

	harness_run(h, "key /");
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		screen_key(h->screen, keys[i]);
	harness_run(h, "type wr\nkey Enter\nexpect filter: wr\nexpect > write");
	harness_free(h);
}

static void test_long_prompt_text_scrolls(void **state)
{
	struct harness *h = harness_new(3, NULL);
	char text[1024];

	snprintf(text, sizeof(text),
		 "size 40 10\nkey f\ntype %0400d\ntype end\nexpect end\nkey Home\n"
		 "reject end\nsize 8 4\ndump",
		 0);
	harness_run(h, text);
	harness_free(h);
}

static void test_files(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(
	    h, "key P\nexpect peaktop-redis-server-1234-operations.txt\nkey Ctrl-U\ntype /tmp/x "
	       "y\nkey Enter\n"
	       "key w\nexpect write snapshot to: peaktop-redis-server-1234.session\nkey Enter\n"
	       "key Enter P Enter\nkey w Esc");
	assert_string_equal(harness_log(h),
			    "text '/tmp/x y'\nsnapshot 'peaktop-redis-server-1234.session'\n"
			    "text 'peaktop-redis-server-1234-operation.txt'\n");
	harness_free(h);
}

static void test_layers(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h,
		    "key L\nexpect Layers measured\nexpect 1 [x] system calls\nexpect 2 [ ] user "
		    "functions\n"
		    "expect 3  -  kernel functions\nkey 1\nexpect 1 [ ] system calls\nkey 3\n"
		    "expect not available on this kernel\nkey j Space Esc\nreject Layers measured");
	/* j goes on from the third row, which 3 selected */
	assert_string_equal(harness_log(h), "layers 38\nlayers 30\n");
	screen_set_layers(h->screen, 0x3f, 0x3f);
	harness_run(h, "key F5\nexpect 3 [x] kernel\nkey q");
	harness_free(h);
}

/* --- one operation
 * -------------------------------------------------------------------------------- */

static void test_choosing_peaks(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(
	    h,
	    "key /\ntype read\nkey Enter Enter\nexpect syscall:read\nexpect <4\nkey 2\nexpect "
	    "<2\nreject <4\n"
	    "key Right\nexpect <3\nkey h h\nexpect <1\nkey h\nexpect <1\nkey >\nexpect <4\nkey 9\n"
	    "expect there is no such peak\nexpect <4\nkey k\nexpect <3\nkey g\nexpect <1\nkey "
	    "G\nexpect <4");
	harness_free(h);
}

static void test_descend(void **state)
{
	struct harness *h = harness_new(40, NULL);
	char expected[64];
	const struct op *op;

	harness_run(h, "key /\ntype read\nkey Enter Enter 2 Enter");
	op = model_op_peaks(h->model, 2);
	snprintf(expected, sizeof(expected), "descend op 2 peak %d\n", op->peaks[1].id);
	assert_string_equal(harness_log(h), expected);
	harness_free(h);
}

static void test_a_chosen_peak_stays_chosen(void **state)
{
	struct harness *h = harness_new(10, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nexpect <1\ntick 30\nexpect <1");
	harness_free(h);
}

static void test_details(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "size 80 40\n"
		       "key /\n"
		       "type read\n"
		       "key Enter Enter\n"
		       "expect tends to occur with syscall:fdatasync\n"
		       "key c\n"
		       "reject tends to occur with\n"
		       "expect every 5 s\n"
		       "key e\n"
		       "expect tends to occur with\n"
		       "key C\n"
		       "reject tends to occur with\n"
		       "key E\n"
		       "expect tends to occur with\n"
		       "key 1\n"
		       "expect tends to occur with");
	harness_free(h);
}

/* Calls whose values tell the two peaks of futex apart in many ways. */
static void feed_samples(struct harness *h)
{
	unsigned int i;

	for (i = 0; i < 600; i++) {
		bool slow = i % 2;
		struct rec_sample s = {.op = 5,
				       .tid = 1234 + slow,
				       .start_ns = i * 1000000ULL,
				       .latency_ns = slow ? 450000 + i : 2500 + i % 64,
				       .known = SAMPLE_RET | SAMPLE_ARG0 * 7 | SAMPLE_ONCPU |
						SAMPLE_SWITCHES,
				       .ret = slow ? -11 : 0,
				       .args = {slow ? 0x1000 : 0x2000, slow ? 0 : 1, slow ? 7 : 9},
				       .oncpu_ns = slow ? 9000 : 2000,
				       .sleeps = slow,
				       .chance_ppm = 1000000};

		synth_feed(h->model, (struct record){.type = REC_SAMPLE, .sample = s});
	}
}

static void test_remarks_that_do_not_fit_scroll(void **state)
{
	struct harness *h = harness_new(20, NULL);
	const char *out;

	feed_samples(h);
	harness_run(
	    h,
	    "tick\nkey /\ntype futex\nkey Enter Enter 2\nsize 80 60\nexpect EAGAIN\nreject PgDn\n"
	    "size 80 20\nexpect PgDn: more\ndump");
	out = strstr(harness_out(h), "peak   latency");
	assert_non_null(out);
	assert_non_null(
	    strstr(out, "\n   1 ")); /* no peak loses its row to the remarks of another */
	assert_non_null(strstr(out, "\n>  2 "));
	harness_run(
	    h, "size 80 20\nkey PgDn PgDn PgDn PgDn PgDn\nexpect PgUp: more\nreject PgDn: more\n"
	       "key PgUp PgUp PgUp PgUp PgUp\nexpect PgDn: more\nkey Ctrl-D Ctrl-U 1 PgDn PgUp");
	harness_free(h);
}

static void test_related_peaks(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "key /\n"
		       "type read\n"
		       "key Enter Enter Tab\n"
		       "expect > tends to occur with syscall:fdatasync peak 2\n"
		       "key Enter\n"
		       "expect  syscall:fdatasync \n"
		       "expect <2\n"
		       "key q\n"
		       "expect  syscall:read \n"
		       "key Tab\n"
		       "key Enter");
	assert_true(!strncmp(harness_log(h), "descend op 2", 12));
	harness_free(h);
}

static void test_open_calls(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(h,
		    "key /\ntype futex\nkey Enter Enter\nexpect open calls\nexpect bio_lazy_free\n"
		    "expect 0x7f0012340000, 0x80\nkey Tab\nexpect > !20 s\nkey j Enter");
	assert_string_equal(harness_log(h), "open calls op 5\n");
	screen_show_open(
	    h->screen,
	    "3 of 5 threads are in futex now\n\nworker 7, asleep for 20 s: waiting for a lock\n"
	    "    main at a.c:3\n    kernel: do_futex > futex_wait\n");
	harness_run(h, "expect 3 of 5 threads are in futex now\nexpect worker 7, asleep for 20 s: "
		       "waiting for a lock\n"
		       "expect     main at a.c:3\nexpect kernel: do_futex\nkey q\nexpect > ");
	harness_free(h);
}

static void test_columns_of_time(void **state)
{
	struct harness *h = harness_new(100, NULL);

	harness_run(h, "key Enter\nexpect 2 s per column\nkey [\nexpect 1 s per column\nkey ]\n"
		       "expect 2 s per column\nkey ] ] ]\nexpect 30 s per column\n"
		       "key [ [ [ [ [\nexpect 1 s per column\nkey 0\nexpect 2 s per column");
	harness_free(h);
}

static void test_find_in_the_words(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nkey /\ntype FDATA\nexpect <4\nkey "
		       "Enter\nkey 1 n\nexpect <4");
	harness_free(h);
}

/* --- messages
 * ---------------------------------------------------------------------------------------- */

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

/* --- help and information
 * ------------------------------------------------------------------------------- */

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

/* --- replay
 * ------------------------------------------------------------------------------------------------
 */

static void test_replay(void **state)
{
	const struct screen_options options = {.replay = true, .root = SCREEN_OPERATIONS};
	struct harness *h = harness_new(20, &options);

	screen_set_replay(h->screen, 20 * SYNTH_SECOND, 90 * SYNTH_SECOND, false);
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

	harness_run(h, "key G k\nexpect > openat\nexpect 0:20");
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

/* --- the picker
 * -----------------------------------------------------------------------------------------------
 */

static const struct picker_process processes[] = {
    {1, "root", 0.1, 'S', 1, "systemd", "/sbin/init", false, false},
    {1234, "redis", 62.4, 'S', 5, "redis-server", "/usr/bin/redis-server 127.0.0.1:6379", true,
     false},
    {4321, "postgres", 3.0, 'R', 1, "postgres", "postgres: checkpointer", true, false},
    {777, "mallory", 1.0, 'S', 1, "x\x1b]0;evil\a", "evil\n\xe2\x80\xaename", true, false},
    {888, "qemu", -1, 'S', 900, "qemu", "qemu-system-x86_64", true, false},
    {99, "root", 0, 'I', 1, "kworker/0:1", "", false, true},
};

static struct harness *picker(void)
{
	const struct screen_options options = {.root = SCREEN_PICKER};
	struct harness *h = harness_new(0, &options);

	assert_true(screen_wants(h->screen) & SCREEN_WANTS_PROCESSES);
	harness_run(h, "wait 0\nexpect reading the list");
	assert_string_equal(harness_log(h), "refresh\n");
	screen_set_processes(h->screen, processes, 6);
	return h;
}

static void test_picker(void **state)
{
	struct harness *h = picker();

	harness_run(
	    h, "expect >    1234 redis\nreject kworker\nkey Down\nexpect >    4321\ntype redis\n"
	       "expect filter: redis_\nreject 4321\nkey Enter");
	assert_string_equal(harness_log(h), "pick pid 1234\n");
	harness_run(
	    h, "key Backspace\nexpect filter: redi_\nkey Esc\nexpect 4321\nkey Esc\nexpect 4321");
	/* a fresh list keeps the selection where its process is */
	harness_run(h, "key Down Down\nexpect >     777");
	screen_set_processes(h->screen, processes + 2, 3);
	harness_run(h, "expect >     777\nkey Ctrl-W\nkey Right Right Right\nexpect ↓COMMAND\nkey "
		       "Ctrl-R\nexpect ↑COMMAND");
	harness_free(h);
}

static void test_picker_keys_are_characters(void **state)
{
	struct harness *h = picker();

	harness_run(h, "type java\nexpect filter: java_\nexpect no process matches\nkey "
		       "Ctrl-W\nkey /\ntype qe\n"
		       "expect filter: qe_\nexpect qemu-system\nkey Enter");
	assert_string_equal(harness_log(h), "pick pid 888\n");
	harness_run(
	    h, "key Esc ?\nexpect Process picker\nkey q\nkey F4\nexpect choose a process first");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key q\nexpect never looked at");
	harness_free(h);
}

static void test_picker_refuses_what_is_not_permitted(void **state)
{
	struct harness *h = picker();

	harness_run(h, "type init\nkey Enter\nexpect pid 1: not permitted");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_from_the_picker_to_operations(void **state)
{
	struct harness *h = picker();
	unsigned int i;

	screen_show(h->screen, SCREEN_OPERATIONS);
	assert_int_equal(screen_wants(h->screen), 0);
	for (i = 0; i < 3; i++)
		synth_slice(h->model, h->slices++);
	harness_run(h, "expect > processCommand\nkey q\nexpect never looked at");
	harness_free(h);
}

/* --- robustness
 * -------------------------------------------------------------------------------------------------
 */

/* No cell holds anything that could drive a terminal. */
static void assert_safe(const struct grid *g)
{
	int x, y;

	for (y = 0; y < g->rows; y++) {
		for (x = 0; x < g->cols; x++) {
			const struct cell *c = grid_at(g, x, y);
			const unsigned char *p = (const unsigned char *)c->text;

			for (; *p; p++)
				assert_true(*p >= ' ' && *p != 0x7f);
			assert_true(c->role < ROLE_MAX);
			assert_true(!g->ascii || !(c->text[0] & 0x80));
		}
	}
	assert_true(g->cursor_x < g->cols && g->cursor_y < g->rows);
}

static void test_hostile_names(void **state)
{
	struct harness *h = harness_new(3, NULL);
	struct grid *g = grid_new(100, 30, false);
	static const char evil[] = "\x1b[2J\x9b"
				   "31m\n\t\xe2\x80\xae\xc2\x9b\xff evil";

	synth_feed(h->model, (struct record){.type = REC_OP,
					     .op = {.op = 100,
						    .layer = LAYER_FUNCTION,
						    .name = evil,
						    .label = evil,
						    .requested = evil,
						    .module = evil,
						    .placement = evil}});
	synth_feed(h->model, (struct record){
				 .type = REC_TARGET,
				 .target = {.pid = 5, .comm = evil, .exe = evil, .requested = 1}});
	synth_feed(h->model, (struct record){.type = REC_NOTE, .note = {.text = evil}});
	synth_feed(
	    h->model,
	    (struct record){.type = REC_OPEN,
			    .open = {.op = 100, .pid = 5, .tid = 5, .comm = evil, .age_ns = 5}});
	harness_run(h, "tick\nkey G");
	screen_set_candidates(h->screen, "", three, 3);
	screen_draw(h->screen, g);
	assert_safe(g);
	harness_run(h, "key Enter");
	screen_draw(h->screen, g);
	assert_safe(g);
	harness_run(h, "key i");
	screen_draw(h->screen, g);
	assert_safe(g);
	grid_free(g);
	harness_free(h);
}

static void test_every_size(void **state)
{
	static const char *const views[] = {"key g", "key Enter", "key G Enter", "key ?",
					    "key i", "key L",	  "key f"};
	unsigned int i;
	int cols, rows;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct harness *h = harness_new(30, NULL);
		struct grid *g = grid_new(1, 1, i % 2);

		harness_run(h, views[i]);
		for (rows = 1; rows < 60; rows += rows < 26 ? 1 : 9) {
			for (cols = 1; cols < 220; cols += cols < 84 ? 1 : 31) {
				screen_resize(h->screen, cols, rows);
				grid_resize(g, cols, rows);
				screen_draw(h->screen, g);
				assert_safe(g);
			}
		}
		grid_free(g);
		harness_free(h);
	}
}

/* Many keys in a made-up order, at changing sizes, time passing meanwhile. */
static void test_any_keys(void **state)
{
	static const int special[] = {27,
				      '\r',
				      '\t',
				      SCREEN_KEY_UP,
				      SCREEN_KEY_DOWN,
				      SCREEN_KEY_BACKSPACE,
				      SCREEN_KEY_PAGE_DOWN,
				      SCREEN_KEY_RESIZE,
				      0x4e16,
				      0x10ffff,
				      0xd800,
				      0,
				      -1};
	struct harness *h = harness_new(10, NULL);
	struct grid *g = grid_new(80, 24, false);
	struct screen_action action;
	struct buf text;
	unsigned int i;

	buf_init(&text, 64 << 20);
	for (i = 0; i < 12000; i++) {
		double x = synth_noise(i), y = synth_noise(i * 31 + 7);
		int key = x < 0.3    ? special[(int)(y * 13)]
			  : x < 0.35 ? (int)(y * 32)
				     : ' ' + (int)(y * 95);

		screen_key(h->screen, key);
		if (i % 97 == 0) {
			screen_set_candidates(h->screen, "", three, 3);
			screen_set_processes(h->screen, processes, 6);
			synth_slice(h->model, h->slices++);
			screen_tick(h->screen, i * 100000000ULL);
			grid_resize(g, 1 + (int)(y * 150), 1 + (int)(x * 60));
			screen_resize(h->screen, g->cols, g->rows);
			screen_draw(h->screen, g);
			assert_safe(g);
		}
		if (i % 997 == 0) {
			buf_reset(&text);
			assert_int_equal(screen_text(h->screen, &text), 0);
		}
		if (i % 50 == 0)
			while (screen_next_action(h->screen, &action))
				assert_non_null(action.text);
	}
	buf_release(&text);
	grid_free(g);
	harness_free(h);
}

static void test_full_queue_of_actions(void **state)
{
	struct harness *h = harness_new(3, NULL);
	struct screen_action action;
	int i, n = 0;

	for (i = 0; i < 1000; i++)
		screen_key(h->screen, KEY_CONTROL('L'));
	while (screen_next_action(h->screen, &action)) {
		assert_int_equal(action.type, SCREEN_REPAINT);
		n++;
	}
	assert_in_range(n, 1, 1000);
	assert_int_equal(action.type, SCREEN_NONE);
	assert_string_equal(action.text, "");
	harness_free(h);
}

static void test_drawing_changes_nothing(void **state)
{
	struct harness *h = harness_new(30, NULL);
	struct grid *a = grid_new(80, 24, false), *b = grid_new(80, 24, false),
		    *c = grid_new(11, 3, false);

	harness_run(h, "key Enter Tab");
	screen_draw(h->screen, a);
	screen_draw(h->screen, c);
	screen_draw(h->screen, b);
	assert_true(grid_equal(a, b));
	grid_free(a);
	grid_free(b);
	grid_free(c);
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

/* --- scripts
 * ------------------------------------------------------------------------------------------------------
 */

static void test_script_errors(void **state)
{
	struct harness *h = harness_new(3, NULL);

	assert_int_equal(harness_script(h, "# fine\n\nfly away"), -EINVAL);
	assert_string_equal(harness_out(h), "line 3: unknown command: fly\n");
	assert_int_equal(harness_script(h, "key nokey"), -EINVAL);
	assert_int_equal(harness_script(h, "size 0 3"), -EINVAL);
	assert_int_equal(harness_script(h, "size 80"), -EINVAL);
	assert_int_equal(harness_script(h, "tick x"), -EINVAL);
	assert_int_equal(harness_script(h, "until later"), -EINVAL);
	assert_int_equal(harness_script(h, "wait"), -EINVAL);
	assert_int_equal(harness_script(h, "type \xff"), -EINVAL);
	assert_int_equal(harness_script(h, "expect nothing like that"), 1);
	assert_true(!strncmp(harness_out(h), "line 1: the screen does not contain: nothing", 44));
	assert_non_null(strstr(harness_out(h), "epoll_wait"));
	assert_int_equal(harness_script(h, "reject epoll_wait"), 1);
	assert_int_equal(harness_script(h, "size 20 5\r\ndump\r\n"), 0);
	harness_free(h);
}

static void test_script_end_of_session(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "end\nexpect 8:23\ntick\nexpect 8:23\nuntil 99999\nexpect 8:23");
	harness_free(h);
}

static void test_same_records_same_screen(void **state)
{
	static const char script[] =
	    "tick 7\nkey j j Enter\ntick 40\ndump-roles\nkey Tab\ntick 60\ndump-roles\nkey q\ndump";
	struct harness *a = harness_new(0, NULL), *b = harness_new(0, NULL);

	harness_run(a, script);
	harness_run(b, script);
	assert_string_equal(harness_out(a), harness_out(b));
	harness_free(a);
	harness_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_by_time_and_stuck_calls_on_top),
	    cmocka_unit_test(test_sorting),
	    cmocka_unit_test(test_filter),
	    cmocka_unit_test(test_the_selection_follows_its_operation),
	    cmocka_unit_test(test_costliest),
	    cmocka_unit_test(test_pause_freezes_the_view_not_the_status),
	    cmocka_unit_test(test_an_operation_opened_while_paused_stays),
	    cmocka_unit_test(test_last_slice),
	    cmocka_unit_test(test_quit_and_back),
	    cmocka_unit_test(test_unwatch_and_ask),
	    cmocka_unit_test(test_watch_prompt),
	    cmocka_unit_test(test_watch_prompt_takes_the_first_or_the_text),
	    cmocka_unit_test(test_prompt_editing),
	    cmocka_unit_test(test_prompts_take_no_controls),
	    cmocka_unit_test(test_long_prompt_text_scrolls),
	    cmocka_unit_test(test_files),
	    cmocka_unit_test(test_layers),
	    cmocka_unit_test(test_choosing_peaks),
	    cmocka_unit_test(test_descend),
	    cmocka_unit_test(test_a_chosen_peak_stays_chosen),
	    cmocka_unit_test(test_details),
	    cmocka_unit_test(test_remarks_that_do_not_fit_scroll),
	    cmocka_unit_test(test_related_peaks),
	    cmocka_unit_test(test_open_calls),
	    cmocka_unit_test(test_columns_of_time),
	    cmocka_unit_test(test_find_in_the_words),
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
	    cmocka_unit_test(test_picker),
	    cmocka_unit_test(test_picker_keys_are_characters),
	    cmocka_unit_test(test_picker_refuses_what_is_not_permitted),
	    cmocka_unit_test(test_from_the_picker_to_operations),
	    cmocka_unit_test(test_hostile_names),
	    cmocka_unit_test(test_every_size),
	    cmocka_unit_test(test_any_keys),
	    cmocka_unit_test(test_full_queue_of_actions),
	    cmocka_unit_test(test_drawing_changes_nothing),
	    cmocka_unit_test(test_view_as_text_has_all_rows),
	    cmocka_unit_test(test_script_errors),
	    cmocka_unit_test(test_script_end_of_session),
	    cmocka_unit_test(test_same_records_same_screen),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
