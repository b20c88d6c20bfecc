// SPDX-License-Identifier: GPL-2.0-or-later
/* When threads were chosen, the walk, the chains and the accounting are of these alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/waits_sim.h"

#include "tests/unit/waits_check.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"

enum { TARGET = TASK_TARGET, PID = 500 };

static struct record choice_of(const struct rec_chosen *chosen, uint32_t nr)
{
	return (struct record){.type = REC_CHOICE, .choice = {.nr_chosen = nr, .chosen = chosen}};
}

/* ---- the walk ---- */

static void snapshot(struct walker *w, uint32_t tid, uint64_t function)
{
	const struct rec_frame frame = {.module = 1, .offset = function + 8, .function = function};
	const struct record rec = {
	    .type = REC_THREAD_SNAPSHOT,
	    .snapshot = {
		.reason = SNAPSHOTS_FOR_WALK,
		.pid = PID,
		.tid = tid,
		.comm = "t",
		.weight_ns = 10,
		.kind = WITNESS_RUN,
		.state = 'R',
		.kernel = "",
		.stop_text = "",
		.nr_frames = 1,
		.frames = &frame,
		.sleep = {.syscall = -1, .call = "", .name = "", .waker = "", .holder = ""}}};

	walker_take(w, &rec);
}

static double share_of(struct walker *w, uint64_t function)
{
	struct walk_result r;
	double share = 0;

	assert_int_equal(walker_result(w, &r), 0);
	for (unsigned int i = 0; i < r.nr_nodes; i++) {
		if (r.nodes[i].kind == WALK_FUNCTION && r.nodes[i].function.offset == function)
			share += r.nodes[i].share[WALK_WORK];
	}
	walk_result_release(&r);
	return share;
}

static void both(struct walker *w)
{
	for (int i = 0; i < 20; i++) {
		snapshot(w, 501, 0x100);
		snapshot(w, 502, 0x200);
	}
}

static void test_walk(void **state)
{
	const struct record ask = {
	    .type = REC_WALK,
	    .walk = {.maxcount_ppm = 500000, .max_depth = 16, .min_snapshots = 100}};
	const struct rec_chosen one = {.id = 502}, process = {.id = PID, .is_process = 1};
	struct descent_driver *names = driver_new(NULL);
	struct walker *w = walker_new(names, NULL);
	struct record choice = choice_of(&one, 1);

	walker_take(w, &ask);
	both(w);
	assert_true(share_of(w, 0x100) > 0.4 && share_of(w, 0x200) > 0.4);
	walker_take(w, &choice);
	assert_true(walker_asked(w)); /* it goes on, from nothing */
	assert_true(share_of(w, 0x100) == 0 && share_of(w, 0x200) == 0);
	both(w);
	assert_true(share_of(w, 0x100) == 0 && share_of(w, 0x200) > 0.9);
	choice = choice_of(&process, 1);
	walker_take(w, &choice);
	both(w);
	assert_true(share_of(w, 0x100) > 0.4 && share_of(w, 0x200) > 0.4);
	walker_free(w);
	driver_free(names);
}

/* ---- chains ---- */

/* Two targets that run; the window is observed twice. */
static void run_two(void)
{
	static const struct sim_op a[] = {
	    {LOOP, 10}, {RUN, 2 * MS}, {SLEEP, 1 * MS}, {NEXT}, {EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {SLEEP, 1 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TARGET, 0, a);
	sim_task(&sim, "B", TARGET, 1, b);
	sim_play(60 * MS, 2);
}

static void feed_driver(struct wait_driver *w)
{
	for (uint32_t i = 0; i < sim.nr_records; i++)
		wait_driver_take(w, &sim.records[i]);
	waits_flush(wait_driver_waits(w));
}

static uint64_t ran(const struct wait_driver *w)
{
	struct waits_account a;

	waits_account(wait_driver_waits(w), &a);
	return a.ns[ACCOUNT_RUN_UNSAMPLED] / MS;
}

static void test_chains(void **state)
{
	const struct rec_chosen one = {.id = 501};
	struct descent_driver *names = driver_new(NULL);
	struct wait_driver *w = wait_driver_new(names, NULL);
	struct record choice = choice_of(&one, 1), all = choice_of(NULL, 0);

	run_two();
	feed_driver(w);
	assert_in_range(ran(w), 29, 31);
	/* the next window begins anew, with the second thread alone */
	wait_driver_take(w, &choice);
	feed_driver(w);
	assert_in_range(ran(w), 9, 11);
	wait_driver_take(w, &all);
	feed_driver(w);
	assert_in_range(ran(w), 29, 31);
	wait_driver_free(w);
	driver_free(names);
	feed_all(NULL);
	expect_sound();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_walk),
	    cmocka_unit_test_teardown(test_chains, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
