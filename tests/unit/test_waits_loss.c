// SPDX-License-Identifier: GPL-2.0-or-later
/* Lost records, clocks, tids, windows, and more of everything than there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/waits_check.h"

#define TARGET TASK_TARGET

static const struct sim_op a_script[] = {{LOOP, 4000},	      {RUN, 300 * US}, {POST, 1},
					 {WAIT, 3, HOW_PIPE}, {LOCK, 0},       {RUN, 200 * US},
					 {UNLOCK, 0},	      {NEXT},	       {EXIT}};
static const struct sim_op b_script[] = {
    {LOOP, 4000}, {WAIT, 1, HOW_PIPE}, {RUN, 400 * US}, {POST, 2}, {NEXT}, {EXIT}};
static const struct sim_op c_script[] = {
    {LOOP, 4000}, {WAIT, 2, HOW_PIPE}, {RUN, 500 * US}, {POST, 3}, {NEXT}, {EXIT}};
static const struct sim_op lock_script[] = {
    {LOOP, 4000}, {SLEEP, 900 * US}, {LOCK, 0}, {RUN, 1 * MS}, {UNLOCK, 0}, {NEXT}, {EXIT}};
static const struct sim_op disk_script[] = {
    {LOOP, 4000}, {RUN, 100 * US}, {IO, OBJECT_NR_FILE, 200 * US, 1500 * US}, {NEXT}, {EXIT}};
static const struct sim_op busy_script[] = {{LOOP, 10000}, {RUN, 2 * MS}, {NEXT}, {EXIT}};

/* Many chains at once on few CPUs. */
static void mixture(void)
{
	sim_begin(&sim, 3);
	sim_task(&sim, "A", TARGET, 0, a_script);
	sim_task(&sim, "B", 0, 1, b_script);
	sim_task(&sim, "C", 0, 2, c_script);
	sim_task(&sim, "locker", 0, 1, lock_script);
	sim_task(&sim, "disk", TARGET, 2, disk_script);
	sim_task(&sim, "busy", 0, 0, busy_script);
}

/* Time by chain, that which ends in LOST or unknown left out, whatever it is accounted as. */
enum { MAX_SUMS = 1024 };
struct sums {
	struct {
		char text[256];
		uint64_t ns;
	} sum[MAX_SUMS];
	unsigned int nr;
};
static struct sums truth, told;

static void sum_up(struct sums *s)
{
	char text[512];
	unsigned int k;

	s->nr = 0;
	for (uint32_t i = 0; i < chains.nr; i++) {
		chain_text(i, text, sizeof(text));
		for (k = 0; k < s->nr && strcmp(s->sum[k].text, text) != 0; k++)
			;
		if (k == s->nr) {
			assert_true(s->nr < MAX_SUMS);
			snprintf(s->sum[s->nr].text, sizeof(s->sum[0].text), "%s", text);
			s->sum[s->nr++].ns = 0;
		}
		s->sum[k].ns += chains.nodes[i].self_ns - chains.nodes[i].account_ns[ACCOUNT_LOST] -
				chains.nodes[i].account_ns[ACCOUNT_UNKNOWN];
	}
}

/* No chain has more time than it truly had: what is wrong stands under LOST, or is unknown. */
static void expect_not_more_than_truth(uint64_t total)
{
	sum_up(&told);
	for (unsigned int i = 0; i < told.nr; i++) {
		uint64_t known = 0;

		for (unsigned int k = 0; k < truth.nr; k++)
			known += strcmp(truth.sum[k].text, told.sum[i].text) ? 0 : truth.sum[k].ns;
		if (told.sum[i].ns <= known + known / 50 + total / 200)
			continue;
		chains_show();
		fail_msg("%s: %.3f ms, truly %.3f", told.sum[i].text, (double)told.sum[i].ns / 1e6,
			 (double)known / 1e6);
	}
}

static void with_loss(uint32_t one_in, uint64_t burst, uint64_t seed)
{
	mixture();
	sim.random = seed;
	sim.lose_one_in = one_in;
	if (burst) {
		sim.burst_cpu = (uint32_t)seed % 3;
		sim.burst_from = sim.now + 200 * MS;
		sim.burst_to = sim.burst_from + burst;
	}
	sim_play(600 * MS, 6);
	assert_true(sim.lost > 0);
	feed_all(NULL);
	assert_int_equal(stats.lost_records, sim.lost);
	assert_true(account.ns[ACCOUNT_LOST] > 0);
	assert_true(chains.total_ns == account.total_ns);
	/* two targets: all of their time is accounted for, once */
	assert_true(account.total_ns > 1190 * MS && account.total_ns <= 1201 * MS);
	expect_not_more_than_truth(account.total_ns);
	sim_release(&sim);
}

static void test_loss(void **state)
{
	mixture();
	sim_play(600 * MS, 6);
	feed_all(NULL);
	expect_sound();
	assert_true(account.total_ns > 1190 * MS && account.total_ns <= 1201 * MS);
	sum_up(&truth);
	sim_release(&sim);
	for (uint64_t seed = 1; seed <= 15; seed++) {
		with_loss(100, 0, seed);
		with_loss(0, 5 * MS, seed);
		with_loss(1000, 5 * MS, seed);
	}
	/* one in a hundred: most is still told */
	with_loss(100, 0, 99);
}

/* The clock of one CPU steps back: nothing is negative, and it is told. */
static void test_clock_steps_back(void **state)
{
	mixture();
	sim_play(300 * MS, 6);
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		struct record *r = &sim.records[i];

		if (r->type == REC_SWITCH && r->switched.cpu == 1 &&
		    r->switched.at_ns > 1150 * MS && r->switched.at_ns < 1153 * MS)
			r->switched.at_ns -= 3 * MS;
	}
	feed_all(NULL);
	assert_true(stats.clamped > 0);
	assert_true(account.total_ns > 590 * MS && account.total_ns <= 601 * MS);
	for (uint32_t i = 0; i < chains.nr; i++)
		assert_true(chains.nodes[i].total_ns <= 601 * MS);
}

/* The same tid, another task, in one window: they are kept apart, also if the end was missed. */
static void test_tid_reuse(void **state)
{
	static const struct sim_op parent[] = {{FORK, 1}, {WAIT, 1, HOW_CHILD}, {RUN, 1 * MS},
					       {FORK, 2}, {WAIT, 1, HOW_CHILD}, {EXIT}};
	static const struct sim_op first[] = {{RUN, 5 * MS}, {POST, 1}, {EXIT}};
	static const struct sim_op second[] = {{RUN, 9 * MS}, {POST, 1}, {EXIT}};

	for (int missed = 0; missed < 2; missed++) {
		sim_begin(&sim, 2);
		sim_task(&sim, "parent", TARGET, 0, parent);
		sim_task(&sim, "first", 0, 1, first);
		sim_task(&sim, "second", 0, 1, second);
		sim.task[2].tid = sim.task[2].pid = sim.task[1].tid;
		sim_play(40 * MS, 1);
		for (uint32_t i = 0; missed && i < sim.nr_records; i++) {
			if (sim.records[i].type == REC_LIFE &&
			    sim.records[i].life.event == LIFE_EXIT)
				sim.records[i].life.event = LIFE_RENAME + 1;
		}
		feed_all(NULL);
		expect("parent>first", ACCOUNT_RUN_UNSAMPLED, 5);
		expect("parent>second", ACCOUNT_RUN_UNSAMPLED, 9);
		sim_release(&sim);
	}
}

/* The target ends while it is waited for, and while it waits. */
static void test_exit_in_chain(void **state)
{
	static const struct sim_op waiter[] = {{WAIT, 1, HOW_PIPE}, {EXIT}};
	static const struct sim_op ender[] = {{RUN, 7 * MS}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "waiter", TARGET, 0, waiter);
	sim_task(&sim, "ender", TARGET, 1, ender);
	/* the window ends before it is woken */
	sim_play(5 * MS, 2);
	feed_all(NULL);
	expect_layer("waiter", WAIT_PIPE_EMPTY, NOTE_STILL);
	sim_release(&sim);
	sim_begin(&sim, 2);
	sim_task(&sim, "waiter", TARGET, 0, waiter);
	sim_task(&sim, "ender", TARGET, 1, ender);
	sim_play(50 * MS, 2);
	feed_all(NULL);
	expect("waiter>ender", ACCOUNT_RUN_UNSAMPLED, 7);
	assert_true(account.total_ns < 15 * MS);
}

/* Two windows: nothing is stitched across the gap, and the share of time is told. */
static void test_windows(void **state)
{
	static const struct sim_op waiter[] = {
	    {LOOP, 100}, {RUN, 1 * MS}, {WAIT, 1, HOW_PIPE}, {NEXT}, {EXIT}};
	static const struct sim_op worker[] = {
	    {LOOP, 3}, {RUN, 40 * MS}, {POST, 1}, {NEXT}, {EXIT}};
	uint64_t gap;

	sim_begin(&sim, 2);
	sim_task(&sim, "waiter", TARGET, 0, waiter);
	sim_task(&sim, "worker", 0, 1, worker);
	sim_play(20 * MS, 2);
	/* nothing is seen for a while, in which the waiter was woken */
	gap = sim.nr_records;
	sim_run(&sim, 40 * MS);
	sim.nr_records = (uint32_t)gap;
	sim_window(&sim, WINDOW_BEGIN);
	sim_tell_task(&sim, 0, 'S');
	sim_tell_task(&sim, 1, 'R');
	sim.records[sim.nr_records - 1].task.cpu = 1;
	sim_run(&sim, 40 * MS);
	sim_window(&sim, WINDOW_END);
	feed_all(NULL);
	assert_int_equal(stats.windows, 2);
	assert_true(stats.observed_ns > 59 * MS && stats.observed_ns < 61 * MS);
	assert_true(stats.elapsed_ns > 99 * MS && stats.elapsed_ns < 101 * MS);
	assert_true(account.total_ns > 59 * MS && account.total_ns < 61 * MS);
	/* the wait in the second window began before it, and says so */
	expect_layer("waiter", WAIT_UNKNOWN, NOTE_BEFORE);
	expect("waiter>worker", ACCOUNT_RUN_UNSAMPLED, 20);
	/* the same if the end of the first one was not told: it ends with its last event */
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		if (sim.records[i].type == REC_WINDOW && sim.records[i].window.edge == WINDOW_END) {
			sim.records[i].type = REC_BYE;
			break;
		}
	}
	feed_all(NULL);
	assert_int_equal(stats.windows, 2);
	assert_true(account.total_ns > 40 * MS && account.total_ns < 61 * MS);
	expect("waiter>worker", ACCOUNT_RUN_UNSAMPLED, 20);
}

/* A hundred thousand tasks, most of which live for a moment; there is room for a few thousand. */
static void test_many_tasks(void **state)
{
	enum { TASKS = 100000 };
	struct record r;
	uint64_t at = 5000 * MS;
	uint32_t sequence = 0;

	waits = waits_new(&(struct waits_config){.max_tasks = 4096,
						 .horizon_ns = 1000 * MS,
						 .max_segments = 8192,
						 .max_nodes = 2048,
						 .group = WAITS_BY_PROCESS});
	r = (struct record){.type = REC_WINDOW, .window = {.at_ns = at, .edge = WINDOW_BEGIN}};
	waits_feed(waits, &r);
	r = (struct record){.type = REC_TASK,
			    .task = {.at_ns = at,
				     .cpu = WAITS_NO_CPU,
				     .tid = 1,
				     .pid = 1,
				     .start_ns = 1,
				     .flags = TASK_TARGET | TASK_FOLLOWED,
				     .state = 'S',
				     .comm = "make"}};
	waits_feed(waits, &r);
	for (uint32_t i = 0; i < TASKS; i++) {
		uint32_t tid = 2 + i % 32000;

		at += 100 * US;
		r = (struct record){.type = REC_LIFE,
				    .life = {.at_ns = at,
					     .start_ns = 1,
					     .tid = 1,
					     .child_start_ns = at,
					     .child_tid = tid,
					     .child_pid = tid,
					     .flags = TASK_FOLLOWED,
					     .sequence = ++sequence,
					     .event = LIFE_FORK,
					     .comm = "cc1"}};
		waits_feed(waits, &r);
		r = (struct record){.type = REC_SWITCH,
				    .switched = {.at_ns = at + 10 * US,
						 .next_tid = tid,
						 .next_start_ns = at,
						 .sequence = ++sequence}};
		waits_feed(waits, &r);
		r = (struct record){.type = REC_SWITCH,
				    .switched = {.at_ns = at + 90 * US,
						 .prev_tid = tid,
						 .prev_start_ns = at,
						 .state = 0x80,
						 .sequence = ++sequence}};
		waits_feed(waits, &r);
	}
	r = (struct record){.type = REC_WINDOW, .window = {.at_ns = at + MS, .edge = WINDOW_END}};
	waits_feed(waits, &r);
	take_answers();
	/* ten thousand lived within the horizon, so there was no room for some: that is told */
	assert_true(stats.tasks_full > 0);
	assert_true(stats.lost_records == 0);
	assert_true(account.total_ns > 9990 * MS && account.total_ns < 10002 * MS);
}

/* A stream that goes on and on: the ring is overwritten, what is beyond is told as such. */
static void test_horizon(void **state)
{
	static const struct sim_op slow[] = {{WAIT, 1, HOW_PIPE}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op worker[] = {{LOOP, 2000}, {RUN, 100 * US}, {SLEEP, 100 * US},
					       {NEXT},	     {POST, 1},	      {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "target", TARGET, 0, slow);
	sim_task(&sim, "worker", 0, 1, worker);
	sim_play(600 * MS, 2);
	feed_all(&(struct waits_config){.max_segments = 1024});
	assert_true(stats.beyond > 0);
	assert_true(account.ns[ACCOUNT_UNKNOWN] > 200 * MS);
	expect("target>worker", ACCOUNT_DELIBERATE, 34);
	sim_release(&sim);
}

/* Records in any order of arrival within 20 ms give the same answer as in the right one. */
static void test_order_of_arrival(void **state)
{
	uint64_t before[ACCOUNTS];

	mixture();
	sim_play(300 * MS, 6);
	feed_all(NULL);
	memcpy(before, account.ns, sizeof(before));
	/* CPU 2 is told some ms later than the others */
	for (uint32_t round = 0; round < 60; round++) {
		for (uint32_t i = 1; i < sim.nr_records; i++) {
			struct record *x = &sim.records[i - 1], *y = &sim.records[i], z;

			if ((x->type != REC_SWITCH && x->type != REC_WAKING &&
			     x->type != REC_ASLEEP) ||
			    (y->type != REC_SWITCH && y->type != REC_WAKING &&
			     y->type != REC_ASLEEP))
				continue;
			if (x->switched.cpu == y->switched.cpu && x->type == y->type)
				continue;
			/* the CPU stands at another place in each */
			uint32_t cx = x->type == REC_SWITCH   ? x->switched.cpu
				      : x->type == REC_WAKING ? x->waking.cpu
							      : x->asleep.cpu,
				 cy = y->type == REC_SWITCH   ? y->switched.cpu
				      : y->type == REC_WAKING ? y->waking.cpu
							      : y->asleep.cpu;

			if (cx != 2 || cy == 2 || y->switched.at_ns > x->switched.at_ns + 5 * MS)
				continue;
			z = *x;
			*x = *y;
			*y = z;
		}
	}
	feed_all(NULL);
	assert_int_equal(stats.lost_records, 0);
	assert_int_equal(stats.late, 0);
	assert_memory_equal(before, account.ns, sizeof(before));
}

/* What the host took from CPUs is added up. Its records have no number, so none is missing. */
static void test_steal(void **state)
{
	uint64_t before[ACCOUNTS];
	struct record rec = {.type = REC_STEAL};

	mixture();
	sim_play(300 * MS, 6);
	feed_all(NULL);
	memcpy(before, account.ns, sizeof(before));
	assert_int_equal(stats.steal_ns, 0);
	waits_free(waits);
	waits = waits_new(NULL);
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		bool last =
		    sim.records[i].type == REC_WINDOW && sim.records[i].window.edge == WINDOW_CPU;

		if (last) {
			rec.steal = (struct rec_steal){.at_ns = sim.records[i].window.at_ns,
						       .ns = 10 * MS,
						       .cpu = sim.records[i].window.cpu};
			assert_int_equal(waits_feed(waits, &rec), 0);
		}
		assert_int_equal(waits_feed(waits, &sim.records[i]), 0);
	}
	waits_flush(waits);
	take_answers();
	assert_int_equal(stats.steal_ns, 30 * MS);
	assert_int_equal(stats.lost_records, 0);
	assert_memory_equal(before, account.ns, sizeof(before));
}

/* What an attacker could send: nothing is trusted. */
static void test_hostile(void **state)
{
	static const enum record_type types[] = {REC_WINDOW,	 REC_TASK, REC_SWITCH, REC_ASLEEP,
						 REC_WAKING,	 REC_LIFE, REC_BLOCK,  REC_WORK,
						 REC_RUN_SAMPLE, REC_NAME, REC_OBJECT, REC_STEAL};
	struct sim noise;

	waits = waits_new(&(struct waits_config){
	    .max_tasks = 1024, .max_segments = 4096, .max_nodes = 512, .max_events = 512});
	memset(&noise, 0, sizeof(noise));
	noise.random = 7;
	for (uint32_t i = 0; i < 400000; i++) {
		struct record r = {
		    .type = types[sim_random(&noise) % (sizeof(types) / sizeof(types[0]))]};
		unsigned char *byte = (unsigned char *)&r.meta;
		size_t n = r.type == REC_TASK	? offsetof(struct rec_task, comm)
			   : r.type == REC_LIFE ? offsetof(struct rec_life, comm)
			   : r.type == REC_NAME || r.type == REC_OBJECT ? 8
									: 64;

		/* small numbers meet each other, large ones the limits */
		for (size_t at = 0; at + 4 <= n; at += 4) {
			uint32_t v = (uint32_t)sim_random(&noise);

			v = sim_random(&noise) % 16 ? v % 12 : v;
			memcpy(byte + at, &v, 4);
		}
		r.task.comm = r.type == REC_TASK ? "x" : r.task.comm;
		if (r.type == REC_LIFE)
			r.life.comm = "y";
		if (r.type == REC_NAME)
			r.name.text = "process_timeout";
		if (r.type == REC_OBJECT)
			r.object.name = "file";
		assert_int_equal(waits_feed(waits, &r), 0);
	}
	waits_flush(waits);
	take_answers();
	assert_true(chains.total_ns == account.total_ns);
}

#define CASE(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_loss),	      CASE(test_clock_steps_back), CASE(test_tid_reuse),
	    CASE(test_exit_in_chain), CASE(test_windows),	   CASE(test_many_tasks),
	    CASE(test_horizon),	      CASE(test_order_of_arrival), CASE(test_steal),
	    CASE(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
