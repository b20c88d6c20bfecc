// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of running tasks: which code a run is shown with, and that memory stays bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/waits/traces.h"
#include "tests/unit/waits_check.h"

#define TARGET TASK_TARGET

/* The parser has unwound the stack `number`: the function `outer` calls `inner`, at this place. */
static void unwound(uint32_t number, uint64_t inner, uint64_t place)
{
	const struct rec_frame frames[] = {{.module = 1, .offset = 0x110, .function = 0x100},
					   {.module = 1, .offset = place, .function = inner}};
	struct record rec = {.type = REC_TRACE};

	rec.trace = (struct rec_trace){
	    .trace = number, .pid = 500, .kernel = "", .nr_frames = 2, .frames = frames};
	assert_int_equal(waits_feed(waits, &rec), 0);
}

/* Time of runs whose innermost function is this; 0: of those without a stack. *nodes: how many. */
static uint64_t run_ns(const char *text, uint64_t function, unsigned int *nodes)
{
	uint64_t ns = 0;
	char name[512];

	*nodes = 0;
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;
		uint64_t innermost = l->user ? l->user->frames[l->user->nr_frames - 1].function : 0;

		chain_text(i, name, sizeof(name));
		if (strcmp(name, text) != 0 || l->state != CHAIN_RUN || innermost != function)
			continue;
		ns += chains.nodes[i].self_ns;
		(*nodes)++;
	}
	return ns;
}

static void expect_run(const char *text, uint64_t function, double ms)
{
	unsigned int nodes;
	double got = (double)run_ns(text, function, &nodes) / 1e6;

	if (got < ms - 0.1 || got > ms + 0.1 || nodes != 1) {
		chains_show();
		fail_msg("%s in function %#lx: %.3f ms in %u nodes, not %.3f", text,
			 (unsigned long)function, got, nodes, ms);
	}
}

enum { WORK = 0x1000, OTHER = 0x2000 };
#define TAKEN(n) ((int64_t)(TRACE_SAMPLED | (n)))

/* A waits for B, whose samples fall on several places of one function, and on another one. */
static const struct sim_op waiter[] = {{RUN, 1 * MS}, {WAIT, 1, HOW_PIPE}, {EXIT}};
static const struct sim_op worker[] = {
    {RUN, 4 * MS}, {SAMPLE, TAKEN(1)}, {RUN, 4 * MS}, {SAMPLE, TAKEN(2)},
    {RUN, 4 * MS}, {SAMPLE, TAKEN(3)}, {RUN, 4 * MS}, {SAMPLE, TAKEN(4)},
    {RUN, 2 * MS}, {POST, 1},	       {EXIT}};

static void play_worker(void)
{
	sim_begin(&sim, 2);
	sim_task(&sim, "A", TARGET, 0, waiter);
	sim_task(&sim, "B", 0, 1, worker);
	sim_play(30 * MS, 2);
}

/* The stacks come after the chains were built, as they do live. */
static void test_stacks_come_later(void **state)
{
	play_worker();
	feed_all(NULL);
	unwound(TRACE_SAMPLED | 1, WORK, 0x1010);
	unwound(TRACE_SAMPLED | 2, WORK, 0x1020);
	unwound(TRACE_SAMPLED | 3, OTHER, 0x2010);
	unwound(TRACE_SAMPLED | 4, WORK, 0x1030);
	take_answers();
	/* A ran for the first of B's 18 ms; a sample also stands for the rest of the run */
	expect_run("A>B", WORK, 7 + 4 + 2);
	expect_run("A>B", OTHER, 4);
	expect("A>B", ACCOUNT_RUN_SAMPLED, 17);
	assert_int_equal(chain_ns("A>B", ACCOUNT_RUN_UNSAMPLED), 0);
}

static void test_stacks_come_before(void **state)
{
	play_worker();
	waits = waits_new(NULL);
	unwound(TRACE_SAMPLED | 1, WORK, 0x1010);
	unwound(TRACE_SAMPLED | 2, WORK, 0x1020);
	unwound(TRACE_SAMPLED | 3, OTHER, 0x2010);
	unwound(TRACE_SAMPLED | 4, WORK, 0x1030);
	for (uint32_t i = 0; i < sim.nr_records; i++)
		assert_int_equal(waits_feed(waits, &sim.records[i]), 0);
	waits_flush(waits);
	take_answers();
	expect_run("A>B", WORK, 7 + 4 + 2);
	expect_run("A>B", OTHER, 4);
}

/* A stack that cannot be unwound is one line without functions, not one for each sample. */
static void test_stacks_never_come(void **state)
{
	play_worker();
	feed_all(NULL);
	unwound(TRACE_SAMPLED | 3, OTHER, 0x2010);
	take_answers();
	expect_run("A>B", 0, 13);
	expect_run("A>B", OTHER, 4);
}

/* Stacks at which tasks fall asleep are equal only at the same place. */
static void test_other_stacks_differ(void **state)
{
	unsigned int nodes;

	play_worker();
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		if (sim.records[i].type == REC_RUN_SAMPLE)
			sim.records[i].run_sample.user_stack &= ~TRACE_SAMPLED;
	}
	feed_all(NULL);
	for (uint32_t n = 1; n <= 4; n++)
		unwound(n, WORK, 0x1000 + n);
	take_answers();
	assert_in_range(run_ns("A>B", WORK, &nodes), 16 * MS, 18 * MS);
	assert_int_equal(nodes, 4);
}

/* Far more samples than there is room for: equal ones are joined, and nothing is dropped. */
static void test_many_samples(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {EXIT}};
	const struct waits_config config = {.max_nodes = 64, .max_traces = 16};
	enum { ROUNDS = 5000 };
	struct record rec;
	unsigned int nodes;

	sim_begin(&sim, 1);
	sim_task(&sim, "A", TARGET, 0, script);
	waits = waits_new(&config);
	rec = (struct record){.type = REC_WINDOW};
	rec.window = (struct rec_window){.edge = WINDOW_BEGIN, .cpu = WAITS_NO_CPU};
	assert_int_equal(waits_feed(waits, &rec), 0);
	rec = (struct record){.type = REC_TASK};
	rec.task = (struct rec_task){.at_ns = 1,
				     .start_ns = 7,
				     .sequence = 1,
				     .tid = 500,
				     .pid = 500,
				     .flags = TASK_TARGET | TASK_FOLLOWED,
				     .state = 'R',
				     .comm = "A"};
	assert_int_equal(waits_feed(waits, &rec), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		rec = (struct record){.type = REC_RUN_SAMPLE};
		rec.run_sample = (struct rec_run_sample){.at_ns = i * MS,

							 .sequence = i + 1,
							 .tid = 500,
							 .user_stack = TRACE_SAMPLED | i};
		assert_int_equal(waits_feed(waits, &rec), 0);
		unwound(TRACE_SAMPLED | i, WORK + (i & 1) * (OTHER - WORK), 0x1000 + i);
	}
	waits_flush(waits);
	take_answers();
	assert_int_equal(chains.no_room_ns, 0);
	assert_in_range(run_ns("A", WORK, &nodes), 2450 * MS, 2550 * MS);
	assert_in_range(run_ns("A", OTHER, &nodes), 2450 * MS, 2550 * MS);
	/* one for each function, and the run that began before the window */
	assert_int_equal(chains.nr, 3);
}

/* Time in interrupts is taken from the part of the run in which it was. */
static void test_interrupts_apart(void **state)
{
	static const struct sim_op script[] = {{RUN, 4 * MS},	{SAMPLE, TAKEN(1)}, {RUN, 4 * MS},
					       {SLEEP, 2 * MS}, {RUN, MS},	    {EXIT}};
	bool first = true;

	sim_begin(&sim, 1);
	sim_task(&sim, "A", TARGET, 0, script);
	sim_play(20 * MS, 1);
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		struct record *r = &sim.records[i];

		if (r->type == REC_RUN_SAMPLE)
			r->run_sample.irq_ns = 3 * MS;
		if (r->type == REC_SWITCH && r->switched.prev_tid && first) {
			r->switched.irq_ns = 3 * MS + MS / 2;
			first = false;
		}
	}
	feed_all(NULL);
	expect("A", ACCOUNT_HARDWARE, 3.5);
	expect("A", ACCOUNT_RUN_SAMPLED, 4.5);
	expect("A", ACCOUNT_RUN_UNSAMPLED, 1);
}

#define CASE(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_stacks_come_later), CASE(test_stacks_come_before),
	    CASE(test_stacks_never_come), CASE(test_other_stacks_differ),
	    CASE(test_many_samples),	  CASE(test_interrupts_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
