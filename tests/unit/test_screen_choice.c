// SPDX-License-Identifier: GPL-2.0-or-later
/* What stays chosen while rows move, and which keys are offered. */
#include <locale.h>

#include "tests/unit/screen_harness.h"

/* --- the picker --------------------------------------------------------------------------- */

static const struct picker_process redis = {
    1234, "redis", 1, 'S', 5, "redis-server", "redis-server *:6379", true, false};
static const struct picker_process busy = {4321,       "postgres",	   90,	 'R',  1,
					   "postgres", "postgres: writer", true, false};
static const struct picker_process quiet = {777, "www", 0.5, 'S', 1, "nginx", "nginx", true, false};
static const struct picker_process kthread = {99, "root", 50,  'S', 1, "kworker/0:1",
					      "", false,  true};

static struct harness *picker(const struct picker_process *list, size_t n)
{
	const struct screen_options options = {.root = SCREEN_PICKER};
	struct harness *h = harness_new(0, &options);

	harness_run(h, "wait 0"); /* takes the request for the list */
	screen_set_processes(h->screen, list, n);
	return h;
}

/* Nothing was pressed yet: the cursor stays on the first process, not on the first row. */
static void test_the_cursor_stays_on_its_process(void **state)
{
	const struct picker_process first[] = {redis, quiet}, then[] = {quiet, busy, redis};
	struct harness *h = picker(first, 2);

	harness_run(h, "expect >    1234");
	screen_set_processes(h->screen, then, 3);
	harness_run(h, "expect >    1234\nkey Enter");
	assert_string_equal(harness_log(h), "pick pid 1234\n");
	harness_free(h);
}

static void test_enter_does_not_take_another_process(void **state)
{
	const struct picker_process first[] = {redis, quiet}, then[] = {quiet, busy};
	struct harness *h = picker(first, 2);

	screen_set_processes(h->screen, then, 2);
	harness_run(h,
		    "key Enter\nexpect process 1234 has ended; the cursor is now on process 4321");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "pick pid 4321\n");
	/* a process that the user chose after that is taken at once */
	screen_set_processes(h->screen, first, 2);
	harness_run(h, "key Up Enter");
	assert_string_equal(harness_log(h), "pick pid 1234\n");
	harness_free(h);
}

/* The list of a saved descent begins with processes of its name; a pid that is typed is looked for
 * among all. */
static void test_typing_replaces_a_given_filter(void **state)
{
	const struct screen_options options = {.root = SCREEN_PICKER, .filter = "nginx"};
	const struct picker_process list[] = {redis, quiet};
	struct harness *h = harness_new(0, &options);

	harness_run(h, "wait 0");
	screen_set_processes(h->screen, list, 2);
	harness_run(h, "expect filter: ^nginx_\nreject >    1234\ntype 12\nexpect filter: 12_\n"
		       "expect >    1234\nkey Backspace\nexpect filter: 1_");
	harness_free(h);
	h = harness_new(0, &options);
	harness_run(h, "wait 0\nkey Backspace\ntype x\nexpect filter: ^nginx_");
	harness_free(h);
}

static void test_kernel_threads_are_hidden(void **state)
{
	const struct picker_process list[] = {redis, kthread};
	struct harness *h = picker(list, 2);

	harness_run(h,
		    "reject kworker\nexpect 1 kernel thread hidden\nkey Ctrl-K\nexpect kworker\n"
		    "reject hidden\nexpect >    1234\nexpect watch Enter\nkey Home\n"
		    "expect >      99\nreject watch Enter\nkey Enter\nexpect is a kernel thread");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key Ctrl-K\nreject kworker\nexpect >    1234");
	harness_free(h);
}

static void test_the_picker_says_what_it_is(void **state)
{
	const struct picker_process list[] = {redis};
	const struct screen_options options = {.root = SCREEN_PICKER};
	struct model *empty = model_new();
	struct harness *h = picker(list, 1);
	struct screen *s = screen_new(empty, &options, &all_views);
	struct grid *g = grid_new(80, 24, false);
	struct buf text;

	buf_init(&text, 1 << 16);
	screen_set_processes(s, list, 1);
	screen_draw(s, g);
	grid_text(g, &text);
	assert_non_null(strstr(text.data, "CHOOSE A PROCESS"));
	assert_non_null(strstr(text.data, "processes"));
	assert_null(strstr(text.data, "STARTING"));
	buf_release(&text);
	grid_free(g);
	screen_free(s);
	model_free(empty);

	harness_run(h, "expect help ?\nreject typing\nkey F1\nexpect Show or hide kernel threads\n"
		       "reject Freeze the view\nkey Esc\ntype red\nexpect typing:\n"
		       "expect clear the filter Esc\nreject help ?\nreject quit q");
	harness_free(h);
}

/* --- peaks --------------------------------------------------------------------------------- */

/* 500 calls of openat() at `ns` in the next slice. */
static void more_openat(struct harness *h, uint64_t ns)
{
	uint32_t bucket = pt_bucket(ns);
	uint64_t count = 500, start = h->slices * SYNTH_SECOND;

	synth_feed(h->model, (struct record){.type = REC_PROFILE,
					     .profile = {.op = 6,
							 .start_ns = start,
							 .end_ns = start + SYNTH_SECOND,
							 .armed_ns = SYNTH_SECOND,
							 .calls = count,
							 .sum_ns = count * ns,
							 .min_ns = ns,
							 .max_ns = ns,
							 .nr_buckets = 1,
							 .bucket = &bucket,
							 .count = &count}});
	harness_run(h, "tick");
}

static void test_peaks_keep_number_and_choice(void **state)
{
	struct harness *h = harness_new(60, NULL);
	const struct op *op;
	char expected[64];

	harness_run(h, "key /\ntype openat\nkey Enter Enter\nexpect <1\nkey 1\nexpect >  1");
	/* a peak of lower latency appears: it comes first in the list and has the next number */
	for (int i = 0; i < 10; i++)
		more_openat(h, 500);
	op = model_op_peaks(h->model, 6);
	assert_int_equal(op->nr_peaks, 2);
	assert_int_equal(op->peaks[0].rank, 1);
	assert_int_equal(op->peaks[0].number, 2);
	assert_int_equal(op->peaks[1].number, 1);
	harness_run(h, "expect >  1\nreject >  2\nexpect <1\nkey Enter");
	snprintf(expected, sizeof(expected), "descend op 6 peak %d\n", op->peaks[1].id);
	assert_string_equal(harness_log(h), expected);
	/* digits choose by that number, the arrows by place */
	harness_run(h,
		    "key 2\nexpect >  2\nexpect <2\nkey Right\nexpect >  1\nkey Left\nexpect >  2\n"
		    "key 3\nexpect there is no such peak\nexpect >  2");
	harness_free(h);
}

/* Until somebody sees them, peaks are numbered by latency. */
static void test_numbers_begin_by_latency(void **state)
{
	struct harness *h = harness_new(60, NULL);

	for (int i = 0; i < 10; i++)
		more_openat(h, 500);
	harness_run(h, "key /\ntype openat\nkey Enter Enter\nexpect    1   4\nexpect <2\n"
		       "key 1\nexpect >  1   4");
	harness_free(h);
}

/* The costliest peak is chosen at first. It stays chosen when another one becomes costlier. */
static void test_the_first_choice_stays(void **state)
{
	struct harness *h = harness_new(60, NULL);

	harness_run(h, "key /\ntype openat\nkey Enter Enter\nexpect <1");
	for (int i = 0; i < 10; i++)
		more_openat(h, 50000000);
	assert_int_equal(model_op_peaks(h->model, 6)->nr_peaks, 2);
	harness_run(h, "expect <1\nkey >\nexpect >  2");
	harness_free(h);
}

/* At the begin of a session the costliest peak is chosen when it appears, unless a key was pressed.
 */
static void test_the_costliest_is_chosen_at_the_begin(void **state)
{
	for (int touched = 0; touched < 2; touched++) {
		struct harness *h = harness_new(4, NULL);

		harness_run(h, "key /\ntype openat\nkey Enter Enter\nexpect <1");
		if (touched)
			harness_run(h, "key Right");
		for (int i = 0; i < 5; i++)
			more_openat(h, 50000000);
		harness_run(h, touched ? "expect <1" : "expect <2");
		harness_free(h);
	}
}

/* --- what is offered ------------------------------------------------------------------------- */

static void test_enter_is_offered_where_it_works(void **state)
{
	const struct screen_options replay = {.root = SCREEN_OPERATIONS, .replay = true};
	struct harness *h = harness_new(20, NULL);

	harness_run(h, "expect open Enter\nkey /\ntype run queue\nkey Enter Enter\n"
		       "reject find the cause\nkey q Esc /\ntype read\nkey Enter Enter\n"
		       "expect find all causes Enter\nkey 1\nexpect find the cause Enter\n"
		       "key ?\nreject open Enter");
	harness_free(h);
	h = harness_new(20, &replay);
	harness_run(h, "expect open Enter\nreject watch function\nreject layers\nkey ?\n"
		       "reject Watch another function\nexpect One slice forward\nkey q\n"
		       "key /\ntype read\nkey Enter Enter\nreject find all causes");
	screen_set_recorded_descent(h->screen, 2);
	harness_run(h, "expect find all causes Enter\nkey 1\nexpect find the cause Enter");
	harness_free(h);
}

static void test_prompts_say_how_they_end(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key f\nexpect accept Enter  cancel Esc\n"
		       "type a_name_that_is_so_long_that_it_needs_nearly_the_whole_line_of_it\n"
		       "reject accept Enter\nkey Esc\nreject cancel Esc");
	harness_free(h);
}

static void test_views_have_titles(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "size 100 30\nexpect operations\nkey i\nexpect information\nkey q ?\n"
		       "expect   help \nkey q Enter\nexpect   operation ");
	harness_free(h);
}

/* The timeline shows all threads, and says so while only some are counted. */
static void test_the_timeline_shows_all_threads(void **state)
{
	static const char all[] = "the timeline shows all threads";
	const struct rec_chosen list[] = {{.id = 8}};
	struct record chosen = {.type = REC_CHOICE,
				.choice = {.at_ns = 5 * SYNTH_SECOND,
					   .threads = 14,
					   .chosen_threads = 1,
					   .nr_chosen = 1,
					   .chosen = list}};
	struct harness *h = harness_new(5, NULL);
	char script[256];

	snprintf(script, sizeof(script), "key W Tab Tab\nexpect timeline\nreject %s\nkey q", all);
	harness_run(h, script);
	assert_int_equal(model_feed(h->model, &chosen), 0);
	snprintf(script, sizeof(script),
		 "key W\nreject %s\nkey Tab\nreject %s\nkey Tab\nexpect %s\nkey q o\nreject %s",
		 all, all, all, "shows all");
	harness_run(h, script);
	harness_free(h);
}

/* If the list is too long for the idle waits, a line names them with their time. */
static void test_idle_waits_below_the_edge(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(
	    h, "reject idle waits below\nsize 80 14\nexpect idle waits below (>): epoll_wait 1\n"
	       "reject timed sleep\nkey > >\nexpect > epoll_wait\nreject idle waits below");
	harness_free(h);
}

/* Time that no call has is named above the calls: else a program that computes seems idle. */
static void test_own_code_stands_above_the_calls(void **state)
{
	const uint32_t layers = 1U << LAYER_SYSCALL | 1U << LAYER_FUNCTION;
	struct harness *h = harness_new(5, NULL);
	struct record cost = {
	    .type = REC_COST,
	    .cost = {.at_ns = 6 * SYNTH_SECOND, .target_cpu_ns = 18 * SYNTH_SECOND}};
	struct record tick = {.type = REC_TICK,
			      .tick = {.slice = 5,
				       .start_ns = 5 * SYNTH_SECOND,
				       .end_ns = 6 * SYNTH_SECOND,
				       .layers = layers}};
	const char *function, *own, *call;

	harness_run(h, "reject own code");
	assert_int_equal(model_feed(h->model, &cost), 0);
	assert_int_equal(model_feed(h->model, &tick), 0);
	screen_tick(h->screen, 6 * SYNTH_SECOND);
	harness_run(h, "dump\nexpect % of a CPU (o: where)");
	function = strstr(harness_out(h), "processCommand");
	own = strstr(harness_out(h), "outside of these calls: own code, ");
	call = strstr(harness_out(h), "  futex");
	assert_true(function && function < own && own < call);
	/* a filter chooses calls */
	harness_run(h, "key /\ntype read\nkey Enter\nreject own code");
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_idle_waits_below_the_edge),
	    cmocka_unit_test(test_own_code_stands_above_the_calls),
	    cmocka_unit_test(test_the_timeline_shows_all_threads),
	    cmocka_unit_test(test_the_cursor_stays_on_its_process),
	    cmocka_unit_test(test_enter_does_not_take_another_process),
	    cmocka_unit_test(test_kernel_threads_are_hidden),
	    cmocka_unit_test(test_typing_replaces_a_given_filter),
	    cmocka_unit_test(test_the_picker_says_what_it_is),
	    cmocka_unit_test(test_peaks_keep_number_and_choice),
	    cmocka_unit_test(test_numbers_begin_by_latency),
	    cmocka_unit_test(test_the_first_choice_stays),
	    cmocka_unit_test(test_the_costliest_is_chosen_at_the_begin),
	    cmocka_unit_test(test_enter_is_offered_where_it_works),
	    cmocka_unit_test(test_prompts_say_how_they_end),
	    cmocka_unit_test(test_views_have_titles),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
