// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks by share of wall time, on call trees made by hand: what is followed, what is told apart. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/walk_rig.h"

static void test_largest_share(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 7; k++)
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, MAIN, SERVE, COMPUTE);
		SNAPSHOT(w, 20, WITNESS_RUN, &running, "", START, MAIN, SERVE, PARSE);
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, MAIN, SERVE);
	}
	thread(w, 7, 2000, 1000, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 1);
	assert_path(&r, 0, "200 300 400");
	near(r.paths[0].share, 0.35);
	near(r.paths[0].of_class, 0.7);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_OWN_CODE);
	assert_int_equal(r.paths[0].evidence, EVIDENCE_SAMPLED);
	assert_int_equal(r.paths[0].snapshots, 70);
	near(r.share[WALK_WORK], 0.5);
	near(r.explained, 0.35);
	/* where compute() ran */
	assert_int_equal(r.paths[0].nr_pcs, 1);
	assert_int_equal(r.paths[0].pcs[0].place.offset, COMPUTE + 8);
	/* the call of compute() in serve(), a byte before the return address */
	assert_int_equal(r.nodes[r.paths[0].frames[2]].site.offset, SERVE + 7);
	walk_result_release(&r);
	walk_free(w);
}

/* Both are followed where the second is more than half of the first, and the node's own time counts
 * as a callee. */
static void test_threshold(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 50, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		SNAPSHOT(w, 26, WITNESS_RUN, &running, "", MAIN, PARSE);
		SNAPSHOT(w, 24, WITNESS_RUN, &running, "", MAIN, TAKE);
		SNAPSHOT(w, 30, WITNESS_RUN, &running, "", MAIN);
	}
	thread(w, 7, 1300, 1300, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 3);
	assert_path(&r, 0, "200 400");
	assert_path(&r, 1, "200");
	assert_path(&r, 2, "200 500");
	near(r.paths[0].share + r.paths[1].share + r.paths[2].share, r.explained);
	walk_result_release(&r);
	walk_free(w);
}

/* Calls of itself, directly or by way of another, are one node; the time counts once. */
static void test_recursion(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, SERVE, SERVE, SERVE, COMPUTE);
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, SERVE, PARSE, SERVE, PARSE, SERVE,
			 COMPUTE);
	}
	thread(w, 7, 200, 200, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 1);
	assert_path(&r, 0, "200 300 400");
	near(r.paths[0].share, 1);
	near(r.nodes[r.paths[0].frames[1]].share[WALK_WORK], 1);
	assert_true(r.nodes[r.paths[0].frames[1]].recursive);
	assert_false(r.nodes[r.paths[0].frames[2]].recursive);
	walk_result_release(&r);
	walk_free(w);
}

static void test_idle_apart(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 960, WITNESS_SLEEP, &on_epoll, "do_syscall_64;do_epoll_wait;schedule",
			 MAIN, TAKE);
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_file,
			 "do_syscall_64;__x64_sys_read;vfs_read;folio_wait;schedule", MAIN, SERVE,
			 READ);
		SNAPSHOT(w, 30, WITNESS_SLEEP, &on_purpose, "", MAIN, SERVE, PARSE);
	}
	thread(w, 7, 10000, 0, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 3);
	/* a hundredth of one thread's time is work: the answer is that it is idle */
	assert_int_equal(r.lead, WALK_IDLE);
	near(r.busy, 0.01);
	assert_path(&r, 0, "200 700 epoll_wait do_epoll_wait");
	assert_int_equal(r.paths[0].class, WALK_IDLE);
	near(r.share[WALK_IDLE], 0.96);
	assert_path(&r, 1, "200 300 800 read vfs_read folio_wait");
	assert_int_equal(r.paths[1].class, WALK_WORK);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_IO);
	assert_string_equal(r.paths[1].cause.name, "/data");
	assert_int_equal(r.paths[1].evidence, EVIDENCE_WITNESSED);
	near(r.paths[1].of_class, 1);
	near(r.paths[1].share, 0.01);
	assert_path(&r, 2, "200 300 500 nanosleep");
	assert_int_equal(r.paths[2].class, WALK_SLEEP);
	assert_int_equal(r.paths[2].cause.kind, CAUSE_SLEEP);
	walk_result_release(&r);
	walk_free(w);
}

static void test_classes(void **state)
{
	struct rec_thread_snapshot l = {.kind = WITNESS_SLEEP, .state = 'S', .sleep = on_epoll};

	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.kind = WITNESS_RUN;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.kind = WITNESS_SLEEP;
	l.sleep = on_condition;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.sleep = on_mutex;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.sleep = on_purpose;
	assert_int_equal(walk_class_of(&l), WALK_SLEEP);
	l.sleep = on_file;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	/* a client that waits for its answer works; a server that waits for a request does not */
	l.sleep = on_socket;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.serves = 1;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.serves = 0;
	l.sleep = on_file;
	l.sleep.object = OBJECT_PIPE;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	/* what a child writes comes of work that the thread has started */
	l.awaits = AWAITS_CHILD;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.awaits = AWAITS_UNKNOWN;
	l.sleep.object = OBJECT_TERMINAL;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.sleep.object = OBJECT_DEVICE;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.sleep.object = OBJECT_OTHER;
	l.sleep.name = "";
	l.kernel = "do_syscall_64;ksys_read;vfs_read;anon_pipe_read";
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.kernel = "";
	/* a given child: its end is awaited; any child: nothing to do */
	l.sleep = on_epoll;
	l.sleep.call = "wait4";
	l.args[0] = 1234;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.args[0] = UINT64_MAX;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	l.args[0] = UINT32_MAX;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	/* the server of the only connection of an epoll */
	l.sleep.call = "epoll_wait";
	l.awaits = AWAITS_PEER;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.sleep.call = "wait4";
	/* the only child */
	l.awaits = AWAITS_CHILD;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.awaits = AWAITS_UNKNOWN;
	l.sleep.call = "waitid";
	l.args[0] = 3;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.args[0] = 0;
	assert_int_equal(walk_class_of(&l), WALK_IDLE);
	/* held up from outside: not idle, whatever it was doing */
	l.state = 'T';
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.state = 't';
	assert_int_equal(walk_class_of(&l), WALK_WORK);
	l.state = 'S';
	l.sleep.work = SLEEP_FROZEN;
	assert_int_equal(walk_class_of(&l), WALK_WORK);
}

/* A thread that is held up while it waits for its next request is not idle. */
static void test_held_up(void **state)
{
	static const struct {
		uint32_t work;
		const char *holder, *name;
	} cases[] = {{SLEEP_STOPPED, "", ""},
		     {SLEEP_TRACED, "strace 9", "strace 9"},
		     {SLEEP_FROZEN, "", "the cgroup freezer"}};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct rec_sleep held = on_epoll;
		struct walk *w = begin(&defaults);
		struct walk_result r;

		held.work = cases[k].work;
		held.holder = cases[k].holder;
		for (int i = 0; i < 10; i++)
			SNAPSHOT(w, 100, WITNESS_SLEEP, &held, "schedule;get_signal", MAIN, TAKE);
		thread(w, 7, 1000, 0, 0);
		r = result_of(w);
		assert_int_equal(r.lead, WALK_WORK);
		near(r.share[WALK_WORK], 1);
		near(r.share[WALK_IDLE], 0);
		assert_int_equal(r.paths[0].cause.kind, CAUSE_STOPPED);
		assert_string_equal(r.paths[0].cause.name, cases[k].name);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* Threads have roots of their own; shares are of the time of all. */
static void test_threads(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 60, WITNESS_RUN, &running, "", START, MAIN, COMPUTE);
		SNAPSHOT(w, 40, WITNESS_SLEEP, &on_mutex, "", START, WORKER, TAKE);
		SNAPSHOT(w, 60, WITNESS_SLEEP, &on_condition, "", START, WORKER, TAKE);
	}
	thread(w, 7, 1000, 600, 100);
	thread(w, 8, 1000, 0, 0);
	thread(w, 7, 0, 0, 0);
	r = result_of(w);
	assert_int_equal(r.threads, 2);
	assert_path(&r, 0, "200 400");
	near(r.paths[0].share, 0.3);
	assert_path(&r, 1, "600 700 futex");
	near(r.paths[1].share, 0.2);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_LOCK);
	assert_string_equal(r.paths[1].cause.name, "other 9");
	/* the run queue is less than half of the largest: no path, but counted */
	near(r.runqueue, 0.05);
	near(r.share[WALK_WORK], 0.55);
	assert_int_equal(r.nr_paths, 3);
	assert_int_equal(r.paths[2].class, WALK_IDLE);
	walk_result_release(&r);
	walk_free(w);
}

/* Samples are scaled to what the scheduler counted; a large wait for a CPU is a path of the root.
 */
static void test_scale(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 4; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
	thread(w, 7, 1000, 400, 600);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 2);
	/* the host's contention stands beside the program's own path, never before it */
	assert_path(&r, 0, "200 400");
	near(r.paths[0].share, 0.4);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_RUN_QUEUE);
	assert_int_equal(r.paths[1].evidence, EVIDENCE_MEASURED);
	assert_path(&r, 1, "200");
	near(r.paths[1].share, 0.6);
	near(r.explained, 1);
	walk_result_release(&r);
	walk_free(w);
}

/* A CPU quota is a cause of its own: it leads if it has more time than the work. */
static void test_quota(void **state)
{
	struct walk *w = begin(&defaults);
	struct record thread = {.type = REC_THREAD,
				.thread = {.pid = 7,
					   .tid = 7,
					   .comm = "t",
					   .at_ns = 1000,
					   .wall_ns = 1000,
					   .cpu_ns = 300,
					   .runqueue_ns = 50,
					   .quota_ns = 650,
					   .quota_of = "/web",
					   .quota_detail = "30 ms of CPU time each 100 ms"}};
	struct walk_result r;

	(void)state;
	for (int i = 0; i < 40; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
	assert_int_equal(walk_feed(w, &thread), 0);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_WORK);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_QUOTA);
	assert_string_equal(r.paths[0].cause.name, "/web");
	assert_string_equal(r.paths[0].cause.detail, "30 ms of CPU time each 100 ms");
	near(r.paths[0].share, 0.65);
	assert_path(&r, 1, "200 400");
	near(r.paths[1].share, 0.3);
	near(r.share[WALK_WORK], 1);
	walk_result_release(&r);
	walk_free(w);
}

static void test_depth(void **state)
{
	struct rec_walk ask = defaults;
	struct walk_result r;
	struct walk *w;

	ask.max_depth = 2;
	w = begin(&ask);
	for (int i = 0; i < 10; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, SERVE, COMPUTE);
	thread(w, 7, 100, 100, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 1);
	assert_path(&r, 0, "200 300");
	assert_true(r.paths[0].cut);
	assert_true(r.depth_reached);
	near(r.explained, 1);
	walk_result_release(&r);
	walk_free(w);
}

/* Running in the kernel: below the system call, or in the handler of a fault. */
static void test_kernel(void **state)
{
	struct rec_sleep in_write = {
	    .syscall = 1, .call = "write", .name = "", .waker = "", .holder = ""};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &in_write,
			 "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_write;vfs_write",
			 MAIN, READ);
		SNAPSHOT(w, 8, WITNESS_RUN, &running, "asm_exc_page_fault;handle_mm_fault", MAIN,
			 COMPUTE);
	}
	thread(w, 7, 180, 180, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 2);
	assert_path(&r, 0, "200 800 write vfs_write");
	assert_int_equal(r.paths[0].cause.kind, CAUSE_OWN_CODE);
	assert_path(&r, 1, "200 400 asm_exc_page_fault handle_mm_fault");
	assert_int_equal(r.paths[1].cause.kind, CAUSE_PAGE_FAULT);
	walk_result_release(&r);
	walk_free(w);
}

/* What the kernel does at one place is divided by its causes; time without a cause of its own goes
 * with most of it. */
static void test_causes_of_one_place(void **state)
{
	struct rec_sleep frees = running;
	struct walk *w = begin(&defaults);
	struct walk_result r;

	frees.work = SLEEP_IN_RECLAIM;
	frees.name = "/web";
	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 80, WITNESS_RUN, &running, "asm_exc_page_fault;do_fault", MAIN, READ);
		SNAPSHOT(w, 20, WITNESS_RUN, &frees, "asm_exc_page_fault;do_fault", MAIN, READ);
	}
	thread(w, 7, 1000, 1000, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_PAGE_FAULT);
	near(r.paths[0].share, 0.8);
	assert_int_equal(r.paths[0].snapshots, 16);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_RECLAIM);
	assert_string_equal(r.paths[1].cause.name, "/web");
	near(r.paths[1].share, 0.2);
	walk_result_release(&r);
	walk_free(w);

	w = begin(&defaults);
	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 60, WITNESS_RUN, &frees, "vfs_write;charge", MAIN, READ);
		SNAPSHOT(w, 40, WITNESS_RUN, &running, "vfs_write;charge", MAIN, READ);
	}
	thread(w, 7, 1000, 1000, 0);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_RECLAIM);
	near(r.paths[0].share, 1);
	walk_result_release(&r);
	walk_free(w);
}

/* One system call waits in several places of the kernel for the same file: that is one path. */
static void test_places_of_one_call(void **state)
{
	static const char entry[] = "entry_SYSCALL_64_after_hwframe;do_syscall_64;do_fsync;";
	static const struct {
		uint64_t ns;
		const char *place;
	} places[] = {{30, "wait_writeback"}, {25, "wait_journal;commit"}, {20, "flush_device"}};
	struct rec_sleep in_fsync = on_file, in_read = on_file, runs = running;
	struct rec_sleep in_rename = {.syscall = 82, .call = "rename", .name = "", .waker = ""};
	struct walk *w = begin(&defaults);
	struct walk_result r;
	char kernel[128];

	in_fsync.call = runs.call = "fsync";
	in_fsync.syscall = runs.syscall = 74;
	for (int i = 0; i < 10; i++) {
		for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
			snprintf(kernel, sizeof(kernel), "%s%s", entry, places[k].place);
			SNAPSHOT(w, places[k].ns, WITNESS_SLEEP, &in_fsync, kernel, MAIN, READ);
		}
		snprintf(kernel, sizeof(kernel), "%ssubmit", entry);
		SNAPSHOT(w, 40, WITNESS_RUN, &runs, kernel, MAIN, READ);
		/* larger than each of these places */
		SNAPSHOT(w, 35, WITNESS_SLEEP, &in_read, "", MAIN, COMPUTE);
	}
	thread(w, 7, 1500, 400, 0);
	r = result_of(w);
	assert_path(&r, 0, "200 800 fsync do_fsync");
	near(r.paths[0].share, 750.0 / 1500);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_IO);
	assert_int_equal(r.paths[0].snapshots, 30);
	assert_int_equal(r.paths[0].evidence, EVIDENCE_WITNESSED);
	assert_path(&r, 1, "200 800 fsync do_fsync submit");
	near(r.paths[1].share, 400.0 / 1500);
	walk_result_release(&r);
	walk_free(w);

	/* the callers of the short sleeps are unknown; those of the others tell which call it is */
	w = begin(&defaults);
	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 60, WITNESS_SLEEP, &in_fsync, entry, 0);
		SNAPSHOT(w, 30, WITNESS_SLEEP, &in_fsync, entry, MAIN, READ);
	}
	thread(w, 7, 900, 0, 0);
	r = result_of(w);
	assert_path(&r, 0, "200 800 fsync do_fsync");
	near(r.paths[0].share, 300.0 / 900);
	near(r.paths[1].share, 600.0 / 900);
	walk_result_release(&r);
	walk_free(w);

	/* what is known leads before a larger part of which nothing is known */
	for (int larger = 0; larger < 2; larger++) {
		w = begin(&defaults);
		for (int i = 0; i < 10; i++) {
			SNAPSHOT(w, larger ? 80 : 50, WITNESS_SLEEP, &in_rename, "", 0);
			SNAPSHOT(w, 30, WITNESS_SLEEP, &in_fsync, entry, MAIN, READ);
		}
		thread(w, 7, larger ? 1100 : 800, 0, 0);
		r = result_of(w);
		assert_path(&r, 0, larger ? "? rename" : "200 800 fsync do_fsync");
		walk_result_release(&r);
		walk_free(w);
	}
}

static void test_unknown_callers(void **state)
{
	struct rec_frame frame = {.module = PROGRAM, .offset = COMPUTE + 8, .function = COMPUTE};
	struct record rec = {.type = REC_THREAD_SNAPSHOT};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	rec.snapshot = (struct rec_thread_snapshot){.weight_ns = 10,
						    .kind = WITNESS_RUN,
						    .comm = "",
						    .sleep = running,
						    .kernel = "",
						    .stop = 2,
						    .stop_text = "the copy ends",
						    .nr_frames = 1,
						    .frames = &frame};
	for (int i = 0; i < 10; i++)
		assert_int_equal(walk_feed(w, &rec), 0);
	thread(w, 7, 100, 100, 0);
	r = result_of(w);
	assert_path(&r, 0, "? 400");
	near(r.unknown_callers, 1);
	assert_string_equal(r.unknown_why, "the copy ends");
	walk_result_release(&r);
	walk_free(w);
}

static void test_settles(void **state)
{
	struct record over = {.type = REC_WALK, .walk = {.stop = 1}}, bad = {.type = REC_WALK};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 99; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
	assert_false(walk_settled(w));
	for (int i = 0; i < 300; i++)
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
	assert_true(walk_settled(w));
	/* what comes after its end counts no more */
	assert_int_equal(walk_feed(w, &over), 0);
	SNAPSHOT(w, 1000000, WITNESS_RUN, &running, "", MAIN, PARSE);
	r = result_of(w);
	assert_path(&r, 0, "200 400");
	assert_int_equal(r.snapshots, 399);
	walk_result_release(&r);
	/* idle looks alone settle nothing */
	walk_free(w);
	w = begin(&defaults);
	for (int i = 0; i < 500; i++)
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", MAIN);
	assert_false(walk_settled(w));
	assert_int_equal(walk_feed(w, &bad), -EINVAL);
	walk_free(w);
}

static void thread_at(struct walk *w, uint32_t tid, uint64_t at, uint64_t wall, uint64_t cpu,
		      uint64_t runqueue)
{
	struct record rec = {.type = REC_THREAD};

	rec.thread = (struct rec_thread){.tid = tid,
					 .comm = "t",
					 .at_ns = at,
					 .wall_ns = wall,
					 .cpu_ns = cpu,
					 .runqueue_ns = runqueue};
	assert_int_equal(walk_feed(w, &rec), 0);
}

/* One busy thread among many idle ones is the answer; a pool that waits is idle, whatever the run
 * queue says. */
static void test_lead(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 90, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		SNAPSHOT(w, 1900, WITNESS_SLEEP, &on_condition, "", WORKER, TAKE);
	}
	for (uint32_t t = 0; t < 20; t++)
		thread_at(w, 7 + t, 1001, 1000, t ? 0 : 900, 0);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_WORK);
	near(r.busy, 0.9);
	assert_path(&r, 0, "200 400");
	walk_result_release(&r);
	walk_free(w);

	w = begin(&defaults);
	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 4, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		SNAPSHOT(w, 900, WITNESS_SLEEP, &on_epoll, "", MAIN, TAKE);
	}
	thread_at(w, 7, 10001, 10000, 40, 300);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_IDLE);
	assert_path(&r, 0, "200 700 epoll_wait");
	assert_int_equal(r.paths[r.nr_paths - 1].cause.kind, CAUSE_RUN_QUEUE);
	walk_result_release(&r);
	walk_free(w);
}

/* What the host does to an idle program is not the program's work, unless it is most of the time
 * of a thread. */
static void test_queue_does_not_lead(void **state)
{
	static const struct {
		uint64_t run, queue;
		enum walk_class lead;
	} cases[] = {{40, 2000, WALK_IDLE},
		     {40, 4900, WALK_IDLE},
		     {40, 5100, WALK_WORK},
		     {990, 0, WALK_IDLE},
		     {1010, 0, WALK_WORK}};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 10; i++) {
			SNAPSHOT(w, cases[k].run / 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
			SNAPSHOT(w, 3000, WITNESS_SLEEP, &on_epoll, "", MAIN, TAKE);
		}
		for (uint32_t t = 0; t < 4; t++)
			thread_at(w, 7 + t, 10001, 10000, t ? 0 : cases[k].run,
				  t ? 0 : cases[k].queue);
		r = result_of(w);
		assert_int_equal(r.lead, cases[k].lead);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* A timed sleep leads only if there is nothing else. */
static void test_sleep_does_not_lead(void **state)
{
	static const struct {
		uint64_t run, sleep, idle;
		enum walk_class lead;
		bool besides; /* the answer names the sleep after something else */
	} cases[] = {
	    {150, 850, 0, WALK_WORK, true},  {600, 400, 0, WALK_WORK, false},
	    {10, 600, 390, WALK_IDLE, true}, {10, 985, 5, WALK_SLEEP, false},
	    {0, 1000, 0, WALK_SLEEP, false},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 10; i++) {
			SNAPSHOT(w, cases[k].run, WITNESS_RUN, &running, "", MAIN, COMPUTE);
			SNAPSHOT(w, cases[k].sleep, WITNESS_SLEEP, &on_purpose, "", MAIN, SERVE);
			if (cases[k].idle)
				SNAPSHOT(w, cases[k].idle, WITNESS_SLEEP, &on_epoll, "", MAIN,
					 TAKE);
		}
		thread_at(w, 7, 10001, 10000, cases[k].run * 10, 0);
		r = result_of(w);
		assert_int_equal(r.lead, cases[k].lead);
		assert_true(!walk_main_sleep(&r) == !cases[k].besides);
		if (cases[k].besides)
			assert_int_equal(walk_main_sleep(&r)->class, WALK_SLEEP);
		walk_result_release(&r);
		walk_free(w);
	}
}

/* A sleep leads that lies inside the requests for which the same thread waits, if it is longer. */
static void test_sleep_in_requests(void **state)
{
	for (int inside = 0; inside < 2; inside++) {
		for (int longer = 0; longer < 2; longer++) {
			struct walk *w = begin(&defaults);
			struct walk_result r;

			for (int i = 0; i < 10; i++) {
				SNAPSHOT(w, longer ? 600 : 400, WITNESS_SLEEP, &on_purpose, "",
					 MAIN, SERVE, inside ? PARSE : 0);
				SNAPSHOT(w, longer ? 400 : 600, WITNESS_SLEEP, &on_epoll, "", MAIN,
					 TAKE);
			}
			thread_at(w, 7, 10001, 10000, 0, 0);
			r = result_of(w);
			assert_int_equal(r.lead, inside && longer ? WALK_SLEEP : WALK_IDLE);
			walk_result_release(&r);
			walk_free(w);
		}
	}
}

/* A first thread that sleeps is named beside the answer, however many threads are idle. */
static void test_sleep_of_main_thread(void **state)
{
	process = 7;
	for (uint32_t threads = 2; threads <= 5; threads++) {
		struct walk *w = begin(&defaults);
		struct walk_result r;

		for (int i = 0; i < 10; i++) {
			SNAPSHOT(w, 180, WITNESS_SLEEP, &on_purpose, "", MAIN, SERVE);
			SNAPSHOT(w, 820, WITNESS_SLEEP, &on_epoll, "", MAIN, TAKE);
		}
		for (uint32_t i = 0; i < threads; i++)
			thread_at(w, 7 + i, 10001, 10000 / threads, 0, 0);
		r = result_of(w);
		assert_int_equal(r.lead, WALK_IDLE);
		/* 18% of the time of all: 36% of one of two threads, 54% of one of three */
		assert_true(!walk_main_sleep(&r) == (threads == 2));
		walk_result_release(&r);
		walk_free(w);
	}
	process = 0;
}

/* So does one wait that is nearly all of the work, but not one of two. */
static void test_one_wait_settles(void **state)
{
	for (int two = 0; two < 2; two++) {
		struct walk *w = begin(&defaults);

		for (int second = 1; second <= 5; second++) {
			assert_false(walk_settled(w) && second <= 3);
			SNAPSHOT(w, two ? 500000000 : 950000000, WITNESS_SLEEP, &on_file, "", MAIN,
				 READ);
			SNAPSHOT(w, two ? 500000000 : 50000000, WITNESS_SLEEP, &on_file, "", MAIN,
				 SERVE, READ);
			thread_at(w, 7, (uint64_t)second * 1000000000 + 1, 1000000000, 0, 0);
		}
		assert_true(walk_settled(w) == !two);
		walk_free(w);
	}
}

/* Idle looks settle an answer once the threads' own account covers three seconds without work. */
static void test_idle_settles(void **state)
{
	struct walk *w = begin(&defaults);

	thread_at(w, 7, 1000000001, 1000000000, 0, 0);
	for (int i = 0; i < 400; i++)
		SNAPSHOT(w, 1000000, WITNESS_SLEEP, &on_epoll, "", MAIN, TAKE);
	assert_false(walk_settled(w));
	thread_at(w, 7, 2600000001, 1600000000, 0, 0);
	assert_false(walk_settled(w));
	thread_at(w, 7, 3600000001, 1000000000, 0, 0);
	assert_true(walk_settled(w));
	walk_free(w);
}

/* Forty functions with the same time below one: flat, with those that have a little more of their
 * own named. */
static void test_flat(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		for (uint64_t k = 0; k < 40; k++) {
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, MAIN, SERVE,
				 0x10000 + 16 * k);
			/* a helper that they all call has most of its own time */
			SNAPSHOT(w, 2, WITNESS_RUN, &running, "", START, MAIN, SERVE,
				 0x10000 + 16 * k, PARSE);
		}
	}
	thread(w, 7, 4800, 4800, 0);
	r = result_of(w);
	assert_true(r.flat);
	assert_int_equal(r.nr_paths, 1);
	assert_path(&r, 0, "200 300");
	assert_true(r.paths[0].flat);
	near(r.paths[0].share, 1);
	assert_int_equal(r.nr_tops, WALK_TOPS);
	assert_int_equal(r.nodes[r.tops[0].node].function.offset, PARSE);
	near(r.tops[0].of_work, 2.0 / 12);
	near(r.tops[1].of_work, 10.0 / 12 / 40);
	walk_result_release(&r);
	walk_free(w);
}

/* Three functions of a quarter each are three paths, not a flat profile. */
static void test_not_flat(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	for (int i = 0; i < 10; i++) {
		SNAPSHOT(w, 25, WITNESS_RUN, &running, "", MAIN, SERVE);
		SNAPSHOT(w, 25, WITNESS_RUN, &running, "", MAIN, PARSE);
		SNAPSHOT(w, 25, WITNESS_RUN, &running, "", MAIN, TAKE);
	}
	thread(w, 7, 750, 750, 0);
	r = result_of(w);
	assert_false(r.flat);
	assert_int_equal(r.nr_paths, 3);
	assert_int_equal(r.nr_tops, 0);
	walk_result_release(&r);
	walk_free(w);
}

/* A thread that ran in these frames all the time. */
static void run_in(struct walk *w, const struct rec_frame *frames, uint32_t nr)
{
	struct record rec = {.type = REC_THREAD_SNAPSHOT};

	rec.snapshot = (struct rec_thread_snapshot){.weight_ns = 10,
						    .pid = 3,
						    .kind = WITNESS_RUN,
						    .comm = "",
						    .sleep = running,
						    .kernel = "",
						    .stop_text = "",
						    .nr_frames = nr,
						    .frames = frames};
	for (int i = 0; i < 10; i++)
		assert_int_equal(walk_feed(w, &rec), 0);
	thread(w, 7, 100, 100, 0);
}

/* Neighbouring frames in code of no file are one node; its own time is counted as unnamed. */
static void test_unnamed(void **state)
{
	struct rec_frame frames[] = {{.module = PROGRAM, .offset = MAIN + 8, .function = MAIN},
				     {.offset = 0x7f0000001000},
				     {.offset = 0x7f0000002000},
				     {.offset = 0x7f0000003000}};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	run_in(w, frames, 4);
	r = result_of(w);
	assert_path(&r, 0, "200 ?");
	near(r.unnamed, 1);
	near(r.unknown_callers, 0);
	assert_int_equal(r.nodes[r.paths[0].frames[0]].pid, 3);
	walk_result_release(&r);
	walk_free(w);
}

/* Code of a file without symbols was not made at run time. */
static void test_without_symbols(void **state)
{
	struct rec_frame frames[] = {{.module = PROGRAM, .offset = MAIN + 8, .function = MAIN},
				     {.module = LIBC, .offset = 0x1234}};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	run_in(w, frames, 2);
	r = result_of(w);
	assert_path(&r, 0, "200 ?");
	near(r.unnamed, 0);
	assert_int_equal(r.nodes[r.paths[0].frames[1]].function.module, LIBC);
	walk_result_release(&r);
	walk_free(w);
}

/* More functions than there is room for: shares of what is known stay right. */
static void test_full(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;
	int err = 0;

	for (uint64_t i = 0; i < WALK_MAX_NODES + 10; i++)
		err = SNAPSHOT(w, 1, WITNESS_RUN, &running, "", MAIN, 0x10000 + i * 16);
	assert_int_equal(err, -ENOSPC);
	for (int i = 0; i < 10; i++)
		SNAPSHOT(w, WALK_MAX_NODES, WITNESS_RUN, &running, "", MAIN, 0x10000);
	thread(w, 7, 11 * WALK_MAX_NODES, 0, 0);
	r = result_of(w);
	assert_path(&r, 0, "200 10000");
	walk_result_release(&r);
	walk_free(w);
}

static void test_nothing(void **state)
{
	struct walk *w = walk_new();
	struct walk_result r = result_of(w);

	assert_false(walk_asked(w));
	assert_int_equal(r.nr_paths, 0);
	walk_result_release(&r);
	walk_free(w);
	w = begin(&defaults);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 0);
	walk_result_release(&r);
	walk_free(w);
}

/* Memory that is freed, and a writer that is throttled, are causes of their own. */
static void test_kernel_work(void **state)
{
	const struct rec_sleep frees = {.syscall = -1,
					.call = "",
					.name = "/group",
					.waker = "",
					.holder = "",
					.work = SLEEP_IN_RECLAIM,
					.about = "memory limit of 32 MiB reached"},
			       throttled = {.syscall = 0,
					    .call = "read",
					    .name = "/a/file",
					    .waker = "",
					    .holder = "",
					    .work = SLEEP_IN_DIRTY,
					    .about = "too many dirty pages"};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	(void)state;
	for (int i = 0; i < 100; i++) {
		SNAPSHOT(w, 6, WITNESS_RUN, &frees, "asm_exc_page_fault;shrink_node", MAIN,
			 COMPUTE);
		SNAPSHOT(w, 4, WITNESS_SLEEP, &throttled, "balance_dirty_pages", MAIN, SERVE);
	}
	thread(w, 7, 1000, 600, 0);
	r = result_of(w);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_RECLAIM);
	assert_string_equal(r.paths[0].cause.detail, "memory limit of 32 MiB reached");
	assert_int_equal(r.paths[1].cause.kind, CAUSE_THROTTLED);
	assert_string_equal(r.paths[1].cause.name, "/a/file");
	assert_int_equal(r.paths[1].class, WALK_WORK);
	walk_result_release(&r);
	walk_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_largest_share),
	    cmocka_unit_test(test_threshold),
	    cmocka_unit_test(test_recursion),
	    cmocka_unit_test(test_idle_apart),
	    cmocka_unit_test(test_classes),
	    cmocka_unit_test(test_held_up),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_scale),
	    cmocka_unit_test(test_quota),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_kernel),
	    cmocka_unit_test(test_causes_of_one_place),
	    cmocka_unit_test(test_places_of_one_call),
	    cmocka_unit_test(test_kernel_work),
	    cmocka_unit_test(test_unknown_callers),
	    cmocka_unit_test(test_settles),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_lead),
	    cmocka_unit_test(test_queue_does_not_lead),
	    cmocka_unit_test(test_sleep_does_not_lead),
	    cmocka_unit_test(test_sleep_in_requests),
	    cmocka_unit_test(test_sleep_of_main_thread),
	    cmocka_unit_test(test_idle_settles),
	    cmocka_unit_test(test_one_wait_settles),
	    cmocka_unit_test(test_flat),
	    cmocka_unit_test(test_not_flat),
	    cmocka_unit_test(test_unnamed),
	    cmocka_unit_test(test_without_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
