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

#include "analysis/base/array.h"

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

/* One thread that is in this sleep in all of its snapshots. */
static struct walk *asleep_all_the_time(const struct rec_sleep *sleep, enum awaits of)
{
	struct walk *w = begin(&defaults);

	awaits = of;
	for (int i = 0; i < 20; i++)
		SNAPSHOT(w, 100, WITNESS_SLEEP, sleep, "", MAIN, READ);
	awaits = AWAITS_UNKNOWN;
	thread(w, 7, 2000, 0, 0);
	return w;
}

/* A server may be idle although a client is not answered, or wait for a timer inside a request. */
static void test_client_is_not_answered(void **state)
{
	struct walk *w = asleep_all_the_time(&on_epoll, AWAITS_OWED);
	struct walk_result r = result_of(w);

	assert_int_equal(r.lead, WALK_IDLE);
	near(r.unsure, 1);
	assert_true(r.paths[0].unsure);
	walk_result_release(&r);

	/* for most of the time all clients are answered */
	awaits = AWAITS_OTHERS;
	for (int i = 0; i < 30; i++)
		SNAPSHOT(w, 100, WITNESS_SLEEP, &on_epoll, "", MAIN, READ);
	awaits = AWAITS_UNKNOWN;
	thread(w, 7, 3000, 0, 0);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_IDLE);
	near(r.unsure, 0);
	assert_false(r.paths[0].unsure);
	walk_result_release(&r);
	walk_free(w);
}

/* Who waits for any of several children may be idle, or they do its work. */
static void test_children(void **state)
{
	struct rec_sleep for_children = on_condition;
	struct walk *w;
	struct walk_result r;

	for_children.call = "wait4";
	for (int one = 0; one < 2; one++) {
		/* the only child has a name; its time is in the walk, else the wait were work */
		for_children.waker = one ? "gcc 12" : "";
		w = asleep_all_the_time(&for_children, AWAITS_UNKNOWN);
		r = result_of(w);
		assert_int_equal(r.lead, WALK_IDLE);
		near(r.unsure, one ? 0 : 1);
		assert_true(r.paths[0].unsure == !one);
		walk_result_release(&r);
		walk_free(w);
	}

	/* commands whose end a signal tells */
	for_children.call = "rt_sigsuspend";
	for_children.waker = "sleep 12";
	w = asleep_all_the_time(&for_children, AWAITS_CHILD);
	r = result_of(w);
	near(r.share[WALK_WORK], 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_WAIT);
	assert_string_equal(r.paths[0].cause.name, "sleep 12");
	walk_result_release(&r);
	walk_free(w);

	/* some may be workers, others commands: named or not, and whatever is waited for by */
	for_children.waker = "sleep 12, sh 13";
	for (int by_signal = 0; by_signal < 2; by_signal++) {
		for_children.call = by_signal ? "rt_sigsuspend" : "wait4";
		w = asleep_all_the_time(&for_children, AWAITS_CHILDREN);
		r = result_of(w);
		assert_int_equal(r.lead, WALK_IDLE);
		near(r.unsure, 1);
		assert_true(r.paths[0].unsure);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* What an io_uring waits for is not known; a semaphore may be a lock. */
static void test_doubtful(void **state)
{
	static const char *const calls[] = {"io_uring_enter", "semop", "semtimedop"};

	for (int i = 0; i < 3; i++) {
		struct rec_sleep sleep = on_condition;
		struct walk_result r;
		struct walk *w;

		sleep.call = calls[i];
		w = asleep_all_the_time(&sleep, AWAITS_UNKNOWN);
		r = result_of(w);
		assert_int_equal(r.lead, WALK_IDLE);
		near(r.unsure, 1);
		assert_true(r.paths[0].unsure);
		walk_result_release(&r);
		walk_free(w);
	}
}

/*
 * The waits below the scheduler of coroutines are one path, whatever they sleep in, and need not be
 * idle.
 */
static void test_scheduler(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 20; i++) {
		awaits = AWAITS_OTHERS;
		SNAPSHOT(w, 20, WITNESS_SLEEP, &on_epoll, "", MAIN, SCHEDULE, TAKE, READ);
		awaits = AWAITS_UNKNOWN;
		SNAPSHOT(w, 60, WITNESS_SLEEP, &on_condition, "", MAIN, SCHEDULE, READ);
		SNAPSHOT(w, 15, WITNESS_SLEEP, &on_condition, "", WORKER, READ);
		SNAPSHOT(w, 5, WITNESS_RUN, &running, "", WORKER, SCHEDULE, COMPUTE);
	}
	thread(w, 7, 2000, 100, 0);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_IDLE);
	assert_path(&r, 0, "200 a00");
	near(r.paths[0].share, 0.8);
	assert_true(r.paths[0].unsure);
	assert_true(r.paths[0].scheduler);
	near(r.unsure, 0.8);
	assert_true(walk_unsure(&r));
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

/* Waits whose callers are not known are judged as the thread's other waits in this system call. */
static void test_waits_without_callers(void **state)
{
	for (int others = 0; others < 3; others++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 20; i++) {
			snapshot(w, 20, WITNESS_SLEEP, &on_condition, "", (const uint64_t[]){0});
			if (others)
				SNAPSHOT(w, 60, WITNESS_SLEEP, &on_condition, "", START, WORKER,
					 LOCK, READ);
			if (others == 2)
				SNAPSHOT(w, 20, WITNESS_SLEEP, &on_condition, "", START, WORKER,
					 TAKE, READ);
			SNAPSHOT(w, 80, WITNESS_SLEEP, &on_purpose, "", START, WORKER);
		}
		thread(w, 7, 2000 + (uint64_t[]){0, 1200, 1600}[others], 0, 0);
		r = result_of(w);
		near(r.share[WALK_WORK] * (double)r.total_ns,
		     (double[]){0, 1600, 1200 + 0.75 * 400}[others]);
		near(r.unsure * (double)r.total_ns, others == 0 ? 400 : others == 2 ? 400 : 0);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* If the loop does the work itself, the place of a wait in it does not tell what it is for. */
static void test_loop_that_works(void **state)
{
	for (int own = 0; own < 2; own++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 20; i++) {
			if (own)
				SNAPSHOT(w, 20, WITNESS_RUN, &running, "", START, WORKER);
			else
				SNAPSHOT(w, 20, WITNESS_RUN, &running, "", START, WORKER, COMPUTE);
			SNAPSHOT(w, 80, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE,
				 READ);
		}
		thread(w, 7, 2000, 400, 0);
		r = result_of(w);
		near(r.share[WALK_IDLE], 0.8);
		near(r.unsure, own ? 0.8 : 0);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* A thread that is in this sleep all the time; `cpu`: it left it now and then. */
static void thread_asleep(struct walk *w, uint32_t id, const struct rec_sleep *sleep,
			  uint64_t function, uint64_t cpu)
{
	thread_id = id;
	for (int i = 0; i < 20; i++)
		SNAPSHOT(w, 100, WITNESS_SLEEP, sleep, "", function, READ);
	thread(w, id, 2000, cpu, 0);
	thread_id = 7;
}

/* An answer about two threads in `wait`, one in `other` and one that sleeps leads with this. */
static void leads_with(const struct rec_sleep *wait, const struct rec_sleep *other, uint64_t cpu,
		       uint64_t other_cpu, enum walk_class lead)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	thread_asleep(w, 7, &on_purpose, COMPUTE, 1);
	thread_asleep(w, 8, wait, WORKER, cpu);
	thread_asleep(w, 9, wait, WORKER, cpu);
	thread_asleep(w, 10, other, TAKE, other_cpu);
	r = result_of(w);
	assert_int_equal(r.lead, lead);
	if (r.lead == WALK_SLEEP)
		assert_path(&r, 0, "400 800 nanosleep");
	walk_result_release(&r);
	walk_free(w);
}

/*
 * Threads that wait for each other while one of them sleeps are not idle: that sleep is what they
 * wait for. It is not if they never left their wait, or if something outside gives them work.
 */
static void test_waits_for_each_other(void **state)
{
	static const struct rec_sleep barrier = {.syscall = 202,
						 .call = "futex",
						 .args = {8, FUTEX_WAIT_PRIVATE, 0},
						 .name = "",
						 .waker = "",
						 .holder = ""},
				      event = {.call = "read",
					       .object = OBJECT_EVENT,
					       .name = "an eventfd",
					       .waker = "",
					       .holder = ""},
				      epoll = {.syscall = 232,
					       .call = "epoll_wait",
					       .object = OBJECT_EVENT,
					       .name = "an eventfd",
					       .waker = "",
					       .holder = ""},
				      inotify = {.call = "read",
						 .object = OBJECT_EVENT,
						 .name = "anon_inode:inotify",
						 .waker = "",
						 .holder = ""},
				      pipe = {.call = "read",
					      .object = OBJECT_PIPE,
					      .name = "pipe:[5]",
					      .waker = "",
					      .holder = ""};
	static const struct {
		const struct rec_sleep *wait, *other;
		uint64_t cpu, other_cpu;
		enum walk_class lead;
	} rows[] = {
	    {&barrier, &barrier, 1, 1, WALK_SLEEP}, {&event, &event, 1, 1, WALK_SLEEP},
	    {&barrier, &barrier, 0, 0, WALK_IDLE},  {&on_condition, &barrier, 1, 1, WALK_IDLE},
	    {&barrier, &pipe, 1, 0, WALK_SLEEP},    {&barrier, &pipe, 1, 1, WALK_IDLE},
	    {&barrier, &on_epoll, 1, 0, WALK_IDLE}, {&inotify, &inotify, 1, 1, WALK_IDLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		leads_with(rows[i].wait, rows[i].other, rows[i].cpu, rows[i].other_cpu,
			   rows[i].lead);
	timeout = 0x7000;
	leads_with(&barrier, &barrier, 1, 1, WALK_IDLE);
	/* an epoll of eventfds is such a wait, unless it ends by itself after a time */
	awaits = AWAITS_OWN;
	leads_with(&epoll, &barrier, 1, 1, WALK_IDLE);
	timeout = UINT32_MAX;
	leads_with(&epoll, &event, 1, 1, WALK_SLEEP);
	awaits = AWAITS_UNKNOWN;
	timeout = 0;
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
	    cmocka_unit_test(test_client_is_not_answered),
	    cmocka_unit_test(test_children),
	    cmocka_unit_test(test_doubtful),
	    cmocka_unit_test(test_scheduler),
	    cmocka_unit_test(test_waits_without_callers),
	    cmocka_unit_test(test_loop_that_works),
	    cmocka_unit_test(test_waits_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
