// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks: which waits are of an idle thread, and which block a request. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/walk_rig.h"

/* A condition in the thread's loop is idleness; below what handles requests it blocks one, and so
 * it does where a lock is taken. */
static void test_blocked_or_idle(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 2, WITNESS_RUN, &running, "", START, WORKER, SERVE, COMPUTE);
		SNAPSHOT(w, 2, WITNESS_RUN, &running, "", START, WORKER, SERVE, PARSE);
		SNAPSHOT(w, 1, WITNESS_RUN, &running, "", START, WORKER, TAKE);
		SNAPSHOT(w, 500, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE, READ);
		SNAPSHOT(w, 80, WITNESS_SLEEP, &on_condition, "", START, WORKER, SERVE, READ);
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", START, WORKER, SERVE, MAIN);
	}
	thread(w, 7, 11900, 100, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 10200.0 / 11900);
	near(r.share[WALK_WORK], 1700.0 / 11900);
	assert_path(&r, 0, "600 300 800 futex");
	assert_int_equal(r.paths[0].cause.kind, CAUSE_WAIT);
	walk_result_release(&r);
	walk_free(w);

	/* below a function that takes a lock whatever the system call, and however little ran */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++)
		SNAPSHOT(w, 50, WITNESS_SLEEP, &on_epoll, "", START, WORKER, LOCK);
	thread(w, 7, 1000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_WORK], 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_LOCK);
	walk_result_release(&r);
	walk_free(w);

	/* what the kernel does for the thread there has its own name */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++)
		SNAPSHOT(w, 50, WITNESS_SLEEP, &on_reclaim, "", START, WORKER, LOCK);
	thread(w, 7, 1000, 0, 0);
	r = result_of(w);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_RECLAIM);
	walk_result_release(&r);
	walk_free(w);

	/* nothing but waits: nothing says that they are part of a request */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 50, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE, READ);
		SNAPSHOT(w, 1, WITNESS_RUN, &running, "", START, WORKER, COMPUTE);
	}
	thread(w, 7, 1020, 20, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1000.0 / 1020);
	walk_result_release(&r);
	walk_free(w);

	/* stacks that were cut above the loop do not hide it: the wait is in the loop, so idle */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, WORKER, COMPUTE);
		SNAPSHOT(w, 2, WITNESS_RUN, &running, "the copy ends", COMPUTE);
		SNAPSHOT(w, 50, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE, READ);
	}
	thread(w, 7, 1240, 240, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1000.0 / 1240);
	walk_result_release(&r);
	walk_free(w);
}

/*
 * A server's process waits for its client in its loop. A request waits in epoll_wait(), too, but
 * for a timer or another process: it is blocked.
 */
static void test_events_inside_a_request(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		awaits = AWAITS_OTHERS;
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", START, MAIN, TAKE, READ);
		awaits = AWAITS_OWN;
		SNAPSHOT(w, 90, WITNESS_SLEEP, &on_epoll, "", START, MAIN, SERVE, COMPUTE, READ);
	}
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_WORK], 0.9);
	assert_path(&r, 0, "200 300 400 800 epoll_wait");
	walk_result_release(&r);
	walk_free(w);

	/* with several loops of which each can be ended by clients, none is known to be a request
	 */
	w = begin(&defaults);
	awaits = AWAITS_OTHERS;
	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", START, MAIN, TAKE, READ);
		SNAPSHOT(w, 90, WITNESS_SLEEP, &on_epoll, "", START, MAIN, SERVE, COMPUTE, READ);
	}
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1);
	assert_false(r.paths[0].unsure);
	walk_result_release(&r);
	walk_free(w);

	/* the threads of one process do not share a loop: only their process is above both */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++) {
		awaits = AWAITS_OTHERS;
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", MAIN, READ);
		awaits = AWAITS_OWN;
		SNAPSHOT(w, 90, WITNESS_SLEEP, &on_epoll, "", WORKER, READ);
	}
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1);
	walk_result_release(&r);
	walk_free(w);
	awaits = AWAITS_UNKNOWN;
}

/* If only one wait was seen, it may be the loop or a request: the answer says so if it is deep. */
static void test_one_wait_for_own_events(void **state)
{
	/* 2: the stack ends early, so that its depth is not known */
	for (int deep = 0; deep < 3; deep++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		awaits = AWAITS_OWN;
		cut = deep == 2;
		for (int i = 0; i < 20; i++) {
			if (deep == 1)
				SNAPSHOT(w, 50, WITNESS_SLEEP, &on_epoll, "", MAIN, SERVE, PARSE,
					 COMPUTE, 0x1000, 0x1100, 0x1200, 0x1300, READ);
			else
				SNAPSHOT(w, 50, WITNESS_SLEEP, &on_epoll, "", MAIN, SERVE, READ);
		}
		thread(w, 7, 1000, 0, 0);
		r = result_of(w);
		near(r.share[WALK_IDLE], 1);
		assert_int_equal(r.paths[0].unsure, deep != 0);
		assert_null(walk_main_unsure(&r));
		walk_result_release(&r);
		walk_free(w);
	}
	awaits = AWAITS_UNKNOWN;
	cut = false;
}

/*
 * A thread that serves a client and waits for a condition deep below its loop is blocked; a
 * scheduler of coroutines, which waits for clients and for work side by side, is idle.
 */
static void test_condition_inside_a_request(void **state)
{
	for (int deep = 0; deep < 2; deep++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 20; i++) {
			awaits = AWAITS_OTHERS;
			SNAPSHOT(w, 50, WITNESS_SLEEP, &on_epoll, "", WORKER, TAKE, READ);
			awaits = AWAITS_UNKNOWN;
			if (deep)
				SNAPSHOT(w, 50, WITNESS_SLEEP, &on_condition, "", WORKER, SERVE,
					 PARSE, COMPUTE, 0x1000, 0x1100, 0x1200, 0x1300, READ);
			else
				SNAPSHOT(w, 50, WITNESS_SLEEP, &on_condition, "", WORKER, SERVE,
					 PARSE, READ);
		}
		thread(w, 7, 2000, 0, 0);
		r = result_of(w);
		near(r.share[WALK_WORK], deep ? 0.5 : 0);
		near(r.unsure, 0);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* A wait for a condition that is seen alone, very deep, may be a pool's or a request's. */
static void test_deep_condition(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 30, WITNESS_SLEEP, &on_condition, "", WORKER, SERVE, PARSE, COMPUTE,
			 0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x1700, READ);
		SNAPSHOT(w, 70, WITNESS_SLEEP, &on_condition, "", MAIN, TAKE, READ);
	}
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1);
	near(r.unsure, 0.3);
	assert_path(&r, 0, "200 700 800 futex");
	assert_false(r.paths[0].unsure);
	walk_result_release(&r);
	walk_free(w);
}

/*
 * Requests that may be blocked are named if the answer begins with a wait that is surely idle, but
 * together they are half of a thread or more.
 */
static void test_requests_beside_idle(void **state)
{
	const struct walk_path *p;
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 40, WITNESS_SLEEP, &on_condition, "", MAIN, TAKE, READ);
		SNAPSHOT(w, 32, WITNESS_SLEEP, &on_condition, "", WORKER, SERVE, PARSE, COMPUTE,
			 0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x1700, READ);
		SNAPSHOT(w, 28, WITNESS_SLEEP, &on_condition, "", 0x1800, SERVE, PARSE, COMPUTE,
			 0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x1700, READ);
	}
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.unsure, 0.6);
	assert_true(walk_unsure(&r));
	assert_path(&r, 0, "200 700 800 futex");
	p = walk_main_unsure(&r);
	assert_non_null(p);
	assert_true(p->unsure);
	near(p->share, 0.32);
	walk_result_release(&r);
	walk_free(w);
}

/* It is not known which end of a pair of sockets sends the requests, at any depth. */
static void test_pair_of_sockets(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		awaits = AWAITS_PAIR;
		SNAPSHOT(w, 40, WITNESS_SLEEP, &on_epoll, "", MAIN, TAKE, READ);
		awaits = AWAITS_OTHERS;
		SNAPSHOT(w, 60, WITNESS_SLEEP, &on_epoll, "", WORKER, TAKE, READ);
	}
	awaits = AWAITS_UNKNOWN;
	thread(w, 7, 2000, 0, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 1);
	near(r.unsure, 0.4);
	walk_result_release(&r);
	walk_free(w);

	/* below the function that does most of the work, it blocks that */
	w = begin(&defaults);
	for (int i = 0; i < 20; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, WORKER, SERVE, COMPUTE);
		awaits = AWAITS_PAIR;
		SNAPSHOT(w, 40, WITNESS_SLEEP, &on_epoll, "", START, WORKER, SERVE, READ);
		awaits = AWAITS_OWN;
		SNAPSHOT(w, 50, WITNESS_SLEEP, &on_epoll, "", START, WORKER, TAKE, READ);
	}
	awaits = AWAITS_UNKNOWN;
	thread(w, 7, 2000, 200, 0);
	r = result_of(w);
	near(r.share[WALK_IDLE], 0.5);
	near(r.share[WALK_WORK], 0.5);
	walk_result_release(&r);
	walk_free(w);
}

/*
 * A loop that sleeps between its rounds is paced by that: what it waits for within a round need not
 * be idleness. A loop that waits, and sleeps deeper, in its requests, is idle where it waits.
 */
static void test_paced_loop(void **state)
{
	struct walk_result r;
	struct walk *w;

	for (int deep = 0; deep < 2; deep++) {
		w = begin(&defaults);
		for (int i = 0; i < 20; i++) {
			SNAPSHOT(w, 40, WITNESS_SLEEP, &on_condition, "", MAIN, SERVE, TAKE, READ);
			if (deep)
				SNAPSHOT(w, 60, WITNESS_SLEEP, &on_purpose, "", MAIN, WORKER,
					 COMPUTE, PARSE, READ);
			else
				SNAPSHOT(w, 60, WITNESS_SLEEP, &on_purpose, "", MAIN, READ);
		}
		thread(w, 7, 2000, 0, 0);
		r = result_of(w);
		near(r.share[WALK_IDLE], 0.4);
		near(r.unsure, deep ? 0 : 0.4);
		walk_result_release(&r);
		walk_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blocked_or_idle),
	    cmocka_unit_test(test_paced_loop),
	    cmocka_unit_test(test_events_inside_a_request),
	    cmocka_unit_test(test_one_wait_for_own_events),
	    cmocka_unit_test(test_condition_inside_a_request),
	    cmocka_unit_test(test_deep_condition),
	    cmocka_unit_test(test_requests_beside_idle),
	    cmocka_unit_test(test_pair_of_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
