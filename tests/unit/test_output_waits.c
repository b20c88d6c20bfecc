// SPDX-License-Identifier: GPL-2.0-or-later
/* What `peaktop chains` prints of a saved session of simulated programs. */
#include <sys/syscall.h>

#include "analysis/base/array.h"
#include "tests/unit/waits_session.h"

/* The middle of a long stack is left out, and never the function that waits. */
static void long_stack_as_text(void **state)
{
	char name[400];

	memset(name, 'm', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	outermost = name;
	play_triangle("A");
	reopen("A");
	outermost = "main";
	expect_text(print(output_chains_text, NULL), "mmm... >\n");
	expect_text(printed, "  store::wait_for\n");
}

/* A thread rests in a timed sleep and while it is idle; a call spends its time there. */
static void a_call_never_rests(void **state)
{
	struct waits_node node[] = {{.parent = 0}, {.parent = 0}, {.parent = 1}};
	const struct waits_chains threads = {.nr = 3, .nodes = node},
				  calls = {.nr = 3, .nodes = node, .of_calls = true};

	assert_int_equal(wait_rest_of(&threads, 0, ACCOUNT_IDLE), WAIT_REST);
	assert_int_equal(wait_rest_of(&threads, 0, ACCOUNT_DELIBERATE), WAIT_REST);
	assert_int_equal(wait_rest_of(&threads, 0, ACCOUNT_LOCK), WAIT_NO_REST);
	assert_int_equal(wait_rest_of(&calls, 0, ACCOUNT_IDLE), WAIT_NO_REST);
	assert_int_equal(wait_rest_of(&calls, 0, ACCOUNT_DELIBERATE), WAIT_NO_REST);
	assert_int_equal(wait_rest_of(&calls, 0, ACCOUNT_STOPPED), WAIT_REST);
	assert_int_equal(wait_rest_of(&calls, 0, ACCOUNT_UNKNOWN), WAIT_REST);
	/* a writer is blocked, whatever its reader sleeps for; one who waits for work is not */
	node[0].layer.kind = WAIT_PIPE_EMPTY;
	assert_int_equal(wait_rest_of(&threads, 2, ACCOUNT_DELIBERATE), WAIT_REST);
	node[0].layer.kind = WAIT_PIPE_FULL;
	assert_int_equal(wait_rest_of(&threads, 2, ACCOUNT_DELIBERATE), WAIT_NO_REST);
	assert_int_equal(wait_rest_of(&threads, 1, ACCOUNT_IDLE), WAIT_NO_REST);
	assert_int_equal(wait_rest_of(&threads, 0, ACCOUNT_IDLE), WAIT_REST);
	assert_int_equal(wait_rest_of(&threads, 2, ACCOUNT_STOPPED), WAIT_REST);
}

/* What a thread that waits for another one does while that one does nothing. */
static void rest_of_a_waiter(void **state)
{
	static const struct {
		struct waits_layer waiter;
		uint32_t notes;	     /* of the other task */
		enum wait_rest rest; /* while it is idle, sleeps, or its wait times out */
	} cases[] = {
	    /* for the next request, whoever sends it */
	    {{.kind = WAIT_CONNECTION, .syscall = SYS_accept}, 0, WAIT_REST},
	    {{.kind = WAIT_EVENTS, .syscall = SYS_recvfrom}, 0, WAIT_REST},
	    {{.kind = WAIT_CONNECTION, .syscall = SYS_accept}, NOTE_CHILD, WAIT_REST},
	    /* for an answer, for room */
	    {{.kind = WAIT_LOCAL, .syscall = SYS_recvfrom}, 0, WAIT_NO_REST},
	    {{.kind = WAIT_NETWORK, .syscall = SYS_recvfrom}, 0, WAIT_NO_REST},
	    {{.kind = WAIT_PIPE_FULL, .syscall = SYS_write}, 0, WAIT_NO_REST},
	    /* for what it has started */
	    {{.kind = WAIT_PIPE_EMPTY, .syscall = SYS_read}, NOTE_CHILD, WAIT_NO_REST},
	    {{.kind = WAIT_CHILD, .syscall = SYS_wait4}, NOTE_CHILD, WAIT_NO_REST},
	    /* for either */
	    {{.kind = WAIT_PIPE_EMPTY, .syscall = SYS_read}, 0, WAIT_PERHAPS_REST},
	    {{.kind = WAIT_EVENTS, .syscall = SYS_epoll_wait}, NOTE_CHILD, WAIT_PERHAPS_REST},
	    {{.kind = WAIT_CONDITION, .syscall = SYS_futex}, 0, WAIT_PERHAPS_REST},
	};
	static const enum wait_account does_nothing[] = {ACCOUNT_IDLE, ACCOUNT_DELIBERATE,
							 ACCOUNT_TIMED_OUT};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct waits_node node[] = {{.parent = 0, .layer = cases[i].waiter},
					    {.parent = 0},
					    {.parent = 1, .layer = {.state = CHAIN_TIMER}}};
		const struct waits_chains c = {.nr = 3, .nodes = node};

		node[0].layer.state = node[1].layer.state = CHAIN_SLEEP;
		node[0].layer.tid = node[0].layer.pid = 5;
		node[0].layer.comm = "waiter";
		node[1].layer.tid = node[1].layer.pid = 6;
		node[1].layer.comm = "other";
		node[1].layer.notes = cases[i].notes;
		for (size_t k = 0; k < ARRAY_SIZE(does_nothing); k++)
			assert_int_equal(wait_rest_of(&c, 2, does_nothing[k]), cases[i].rest);
		/* the other task was stopped, or worked: never this one's rest */
		assert_int_equal(wait_rest_of(&c, 1, ACCOUNT_STOPPED), WAIT_NO_REST);
		assert_int_equal(wait_rest_of(&c, 1, ACCOUNT_RUN_SAMPLED), WAIT_NO_REST);
		assert_int_equal(wait_rest_of(&c, 0, ACCOUNT_STOPPED), WAIT_REST);
		/* the same wait at another time, which nobody ended; of a pipe it is not known who
		 * would write it, unless it is a process that this one has started */
		node[0].account_ns[ACCOUNT_IDLE] = 1;
		assert_int_equal(wait_rest_of(&c, 0, ACCOUNT_IDLE),
				 cases[i].rest == WAIT_NO_REST ||
					 cases[i].waiter.kind == WAIT_PIPE_EMPTY
				     ? WAIT_PERHAPS_REST
				     : WAIT_REST);
		node[0].layer.notes = NOTE_CHILD;
		if (cases[i].waiter.kind == WAIT_PIPE_EMPTY || cases[i].waiter.kind == WAIT_CHILD)
			assert_int_equal(wait_rest_of(&c, 0, ACCOUNT_OTHER_PATH), WAIT_NO_REST);
		/* a fork of its own program may be its worker */
		node[1].layer.comm = "waiter";
		if (cases[i].waiter.kind == WAIT_CHILD)
			assert_int_equal(wait_rest_of(&c, 2, ACCOUNT_IDLE), WAIT_PERHAPS_REST);
	}
}

static void chains_as_text(void **state)
{
	const char *text;

	reopen_triangle();
	text = print(output_chains_text, NULL);
	expect_text(text, "50% of the time: A 500 waiting for data in a pipe in read > C 502 "
			  "running\n");
	expect_text(text, "A 500: 120 ms\n");
	expect_text(text, "  main > store::wait_for\n");
	/* the stack of the next sleep says nothing about a run before it */
	expect_text(text, "  running\n\n");
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
	reopen("A");
	text = print(output_chains_text, NULL);
	line = strstr(text, "  waiting for data in a pipe in read\n");
	if (!line || strstr(line + 2, "  waiting for data in a pipe"))
		fail_msg("%s", text);
	expect_text(text, "    20    B 501 running\n");
}

/* A thread that waits for a lock does not rest while the holder sleeps; by itself it does. */
static void a_wait_for_a_lock_is_no_rest(void **state)
{
	static const struct sim_op a[] = {
	    {LOOP, 10},	   {RUN, 1 * MS}, {POST, 1},	       {SLEEP, 2 * MS}, {LOCK, 7},
	    {RUN, 1 * MS}, {UNLOCK, 7},	  {WAIT, 3, HOW_UNIX}, {NEXT},		{EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 10},	   {WAIT, 1, HOW_UNIX}, {LOCK, 7}, {SLEEP, 6 * MS}, {UNLOCK, 7},
	    {RUN, 2 * MS}, {POST, 3},		{NEXT},	   {EXIT}};
	const char *text;

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_play(120 * MS, 2);
	reopen("A");
	text = print(output_chains_text, NULL);
	expect_text(text, "22.2% of the time idle or in a timed sleep; 44.4% of the time: ");
	expect_text(text, " > B 501 sleeping");
}

/*
 * The first sentence is about the thread that did most, not about an idle one whose only wait was
 * long. If no layer below a wait has more than half of its time, the sentence names what the task
 * did.
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
	reopen("A");
	expect_text(print(output_chains_text, NULL),
		    "57.1% of the time of the busiest\nthread: A 500 waiting for data in a pipe in "
		    "read > B 501 (100%: running 50% and\nwaiting for I/O in fsync: "
		    "/var/lib/log 50%)\n");
}

/* If the thread mostly ran, its largest wait is told, too; and time in which it was stopped. */
static void sentence_of_a_run(void **state)
{
	static const struct sim_op a[] = {{RUN, 30 * MS}, {POST, 1}, {WAIT, 2, HOW_PIPE},
					  {RUN, 20 * MS}, {POST, 3}, {WAIT, 4, HOW_STOPPED},
					  {EXIT}};
	static const struct sim_op b[] = {{WAIT, 1, HOW_UNIX}, {RUN, 15 * MS}, {POST, 2}, {EXIT}};
	static const struct sim_op shell[] = {
	    {WAIT, 3, HOW_CONDITION}, {SLEEP, 20 * MS}, {POST, 4}, {EXIT}};
	const char *text;

	sim_begin(&sim, 3);
	sim_task(&sim, "A", TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "shell", 0, 2, shell);
	sim_play(100 * MS, 3);
	reopen("A");
	text = print(output_chains_text, NULL);
	expect_text(text, " of the time stopped; ");
	expect_text(text, " of the time: A 500 running; ");
	expect_text(text, "\nA 500 waiting for data in a pipe in read > B 501 running\n");
}

/* It is the other task that was stopped; one that it has started, that slept. */
static void sentence_of_others_that_do_nothing(void **state)
{
	static const struct sim_op a[] = {
	    {RUN, 10 * MS}, {FORK, 3},		 {POST, 1}, {WAIT, 2, HOW_POLL},
	    {RUN, 10 * MS}, {WAIT, 5, HOW_PIPE}, {EXIT}};
	static const struct sim_op b[] = {
	    {WAIT, 1, HOW_UNIX}, {WAIT, 4, HOW_STOPPED}, {RUN, 1 * MS}, {POST, 2}, {EXIT}};
	static const struct sim_op shell[] = {{SLEEP, 30 * MS}, {POST, 4}, {EXIT}};
	static const struct sim_op child[] = {{SLEEP, 80 * MS}, {POST, 5}, {EXIT}};
	const char *text;

	sim_begin(&sim, 4);
	sim_task(&sim, "A", TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "shell", 0, 2, shell);
	sim_task(&sim, "child", 0, 3, child);
	sim_play(120 * MS, 3);
	reopen("A");
	text = print(output_chains_text, NULL);
	assert_null(strstr(text, "of the time stopped"));
	assert_null(strstr(text, "of the time idle"));
	expect_text(text, "54.4% of the time: A 500 waiting for data in a pipe in read > child 503 "
			  "sleeping\nin clock_nanosleep\n");
	expect_text(text, "  B 501 stopped");
}

/* A thread that waits for an io_uring all the time, and is never woken, is not the busiest one. */
static void an_idle_ring_is_not_busy(void **state)
{
	static const struct sim_op ring[] = {{WAIT, 1, HOW_URING}, {EXIT}};
	static const struct sim_op works[] = {
	    {LOOP, 10}, {RUN, 2 * MS}, {SLEEP, 8 * MS}, {NEXT}, {EXIT}};
	const char *text;

	sim_begin(&sim, 2);
	sim_task(&sim, "ring", TASK_TARGET, 0, ring);
	sim_task(&sim, "works", TASK_TARGET, 1, works);
	sim_play(200 * MS, 2);
	reopen("ring");
	text = print(output_chains_text, NULL);
	expect_text(text, " of the time idle or waiting\nfor others, mostly: ring 500 waiting for "
			  "an io_uring in io_uring_enter, ");
	expect_text(text, " of the time of the busiest thread: works 501 running\n");
}

/* Threads that sleep until their timers again and again are neither the busiest nor the example: a
 * thread that waits for another one is, though each of its waits is shorter. */
static void ticks_are_not_the_cause(void **state)
{
	static const struct sim_op ticker[] = {
	    {LOOP, 30}, {WAIT_FOR, 9, HOW_CONDITION, 10 * MS}, {RUN, 20 * US}, {NEXT}, {EXIT}};
	static const struct sim_op wants[] = {{LOOP, 10},    {POST, 1}, {WAIT, 2, HOW_CONDITION},
					      {RUN, 1 * MS}, {NEXT},	{EXIT}};
	static const struct sim_op holds[] = {
	    {LOOP, 10}, {WAIT, 1, HOW_CONDITION}, {SLEEP, 12 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	const char *text;

	sim_begin(&sim, 3);
	sim_task(&sim, "ticker", TASK_TARGET, 0, ticker);
	sim_task(&sim, "wants", TASK_TARGET, 1, wants);
	sim_task(&sim, "holds", TASK_TARGET, 2, holds);
	for (uint32_t i = 1; i < 3; i++)
		sim.task[i].pid = sim.task[0].pid;
	sim_play(200 * MS, 3);
	reopen("wants");
	text = print(output_chains_text, NULL);
	expect_text(text,
		    "idle or waiting\nfor others, e.g. wants 501 waiting for a condition in futex "
		    "> holds 502 sleeping");
	assert_null(strstr(text, "finished meanwhile"));
	assert_null(strstr(text, "busiest thread: ticker"));
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
	reopen("A");
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
	reopen("A");
	text = print(output_chains_text, NULL);
	expect_text(text, "36.4% of the time idle or waiting for others, mostly: A 500 waiting for "
			  "data in\na pipe in read > 12 tasks named curl: sleeping in "
			  "clock_nanosleep; 43.6% of the\ntime: A 500 waiting for data in a pipe "
			  "in read > 12 tasks named curl: running\n");
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
		reopen("A");
		expect_text(print(output_chains_text, NULL),
			    i ? "100% of the time not known\n" : "100% of the time stopped\n");
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

	reopen_triangle();
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
			    "waiting for data in a pipe in read");
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

static void folded_stacks(void **state)
{
	reopen_triangle();
	free(printed);
	printed = NULL;

	FILE *f = open_memstream(&printed, &printed_bytes);

	assert_int_equal(output_chains_folded(&report, f), 0);
	fclose(f);
	expect_text(printed, "[A 500 waiting for data in a pipe];main;store::wait_for(int);"
			     "ksys_read;pipe_read;schedule;[C 502 run");
}

/* Names are the target's: they drive neither the terminal nor the layout. */
static void hostile_names(void **state)
{
	play_triangle("\x1b[2J\ne\xff");
	reopen("x");
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
	reopen("A");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(long_stack_as_text, end),
	    cmocka_unit_test_teardown(chains_as_text, end),
	    cmocka_unit_test(a_call_never_rests),
	    cmocka_unit_test(rest_of_a_waiter),
	    cmocka_unit_test_teardown(equal_lines_are_joined, end),
	    cmocka_unit_test_teardown(a_wait_for_a_lock_is_no_rest, end),
	    cmocka_unit_test_teardown(sentence_names_the_task, end),
	    cmocka_unit_test_teardown(sentence_of_a_run, end),
	    cmocka_unit_test_teardown(sentence_of_others_that_do_nothing, end),
	    cmocka_unit_test_teardown(an_idle_ring_is_not_busy, end),
	    cmocka_unit_test_teardown(ticks_are_not_the_cause, end),
	    cmocka_unit_test_teardown(cpu_waits_are_joined, end),
	    cmocka_unit_test_teardown(alike_tasks_are_joined, end),
	    cmocka_unit_test_teardown(nothing_is_done, end),
	    cmocka_unit_test_teardown(chains_as_json, end),
	    cmocka_unit_test_teardown(folded_stacks, end),
	    cmocka_unit_test_teardown(hostile_names, end),
	    cmocka_unit_test_teardown(without_waits, end),
	};

	return cmocka_run_group_tests_name("output_waits", tests, NULL, NULL);
}
