// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads of a walk by their roles, and waits for a CPU of threads that were never seen on one. */
#include "tests/unit/walk_rig.h"

/* A thread that works beside four idle ones of a pool is told by its own time. */
static void test_busy_beside_idle(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 68; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, MAIN, COMPUTE);
	SNAPSHOT(w, 300, WITNESS_SLEEP, &on_purpose, "", START, MAIN, SERVE);
	thread(w, 7, 1000, 680, 20);
	for (thread_id = 8; thread_id < 12; thread_id++) {
		SNAPSHOT(w, 1000, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE);
		thread(w, thread_id, 1000, 0, 0);
	}
	thread_id = 7;
	r = result_of(w);
	near(r.share[WALK_WORK], 0.14);
	assert_int_equal(r.nr_groups, 2);
	assert_int_equal(r.nodes[r.groups[0].root].function.offset, MAIN);
	assert_int_equal(r.groups[0].threads, 1);
	assert_int_equal(r.groups[0].wall_ns, 1000);
	assert_int_equal(r.groups[0].cpu_ns, 680);
	assert_int_equal(r.groups[0].runqueue_ns, 20);
	assert_int_equal(r.groups[0].sleep_ns, 300);
	assert_int_equal(r.nodes[r.groups[1].root].function.offset, WORKER);
	assert_int_equal(r.groups[1].threads, 4);
	assert_int_equal(r.groups[1].wall_ns, 4000);
	assert_int_equal(r.groups[1].cpu_ns, 0);
	walk_result_release(&r);
	walk_free(w);
}

/* Groups beyond the largest are joined; threads of one role are none. */
static void test_many_roles(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;
	uint32_t threads = 0;

	for (thread_id = 20; thread_id < 30; thread_id++) {
		SNAPSHOT(w, 100, WITNESS_RUN, &running, "", START, 0x1000 * thread_id);
		thread(w, thread_id, 1000, thread_id, 0);
		if (thread_id == 20) {
			r = result_of(w);
			assert_int_equal(r.nr_groups, 0);
			walk_result_release(&r);
		}
	}
	thread_id = 7;
	r = result_of(w);
	assert_int_equal(r.nr_groups, WALK_GROUPS);
	assert_int_equal(r.nodes[r.groups[0].root].function.offset, 0x1000 * 29);
	assert_int_equal(r.groups[WALK_GROUPS - 1].root, 0);
	for (unsigned int i = 0; i < r.nr_groups; i++)
		threads += r.groups[i].threads;
	assert_int_equal(threads, 10);
	walk_result_release(&r);
	walk_free(w);
}

/* Most of the time is that of threads that were not looked at one by one: nothing is told. */
static void test_crowd(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (thread_id = 20; thread_id < 22; thread_id++) {
		SNAPSHOT(w, 100, WITNESS_RUN, &running, "", START, 0x1000 * thread_id);
		thread(w, thread_id, 1000, 500, 0);
	}
	thread(w, 30, 8000, 10, 0);
	thread_id = 7;
	r = result_of(w);
	assert_int_equal(r.nr_groups, 0);
	walk_result_release(&r);
	walk_free(w);
}

/* A thread that waits for a CPU whenever it does not sleep was never seen on one. */
static void test_waits_for_cpu_beside_sleep(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	SNAPSHOT(w, 200, WITNESS_SLEEP, &on_purpose, "", START, MAIN, SERVE);
	SNAPSHOT(w, 100, WITNESS_SLEEP, &on_purpose, "", START, MAIN, SERVE);
	thread(w, 7, 1000, 0, 700);
	r = result_of(w);
	near(r.runqueue, 0.7);
	near(r.share[WALK_SLEEP], 0.3);
	assert_int_equal(r.nr_paths, 2);
	near(r.paths[0].share + r.paths[1].share, 1);
	/* waiting for a CPU is told, behind the program's own path */
	assert_path(&r, r.paths[0].cause.kind == CAUSE_SLEEP ? 0 : 1, "200 300 nanosleep");
	assert_true(r.paths[0].cause.kind == CAUSE_RUN_QUEUE ||
		    r.paths[1].cause.kind == CAUSE_RUN_QUEUE);
	walk_result_release(&r);
	walk_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_busy_beside_idle),
	    cmocka_unit_test(test_many_roles),
	    cmocka_unit_test(test_crowd),
	    cmocka_unit_test(test_waits_for_cpu_beside_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
