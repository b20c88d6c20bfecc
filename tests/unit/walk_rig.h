/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk that is fed with snapshots made by hand, and checks of its result. */
#ifndef PEAKTOP_TESTS_WALK_RIG_H
#define PEAKTOP_TESTS_WALK_RIG_H

#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/walk/walk.h"

enum { PROGRAM = 1, LIBC = 2 };
/* Functions, and places in them from which they call: function + 8. */
enum {
	START = 0x100,
	MAIN = 0x200,
	SERVE = 0x300,
	COMPUTE = 0x400,
	PARSE = 0x500,
	WORKER = 0x600,
	TAKE = 0x700,
	READ = 0x800,
	LOCK = 0x900,
	SCHEDULE = 0xa00
};

static const struct rec_walk defaults = {
    .maxcount_ppm = 500000, .max_depth = 16, .min_snapshots = 100};
static const struct rec_sleep running = SLEEP_NONE;

static struct walk *begin(const struct rec_walk *ask)
{
	struct record rec = {.type = REC_WALK, .walk = *ask};
	struct walk *w = walk_new();

	assert_non_null(w);
	assert_int_equal(walk_feed(w, &rec), 0);
	return w;
}

static enum awaits awaits;     /* of the snapshots that follow */
static uint32_t process;       /* of the snapshots that follow; 7: they are of its first thread */
static uint32_t thread_id = 7; /* of the snapshots that follow */
static uint64_t timeout;       /* address of it: the fourth argument of a futex call */
static bool cut;	       /* the stacks of the snapshots that follow end early */

/* Feed a snapshot of thread `thread_id`, whose stack is of these functions, outermost first; 0 ends
 * it.
 */
static int snapshot(struct walk *w, uint64_t ns, enum witness_kind kind,
		    const struct rec_sleep *sleep, const char *kernel, const uint64_t *functions)
{
	struct rec_frame frames[64];
	struct record rec = {.type = REC_THREAD_SNAPSHOT};
	uint32_t n = 0;

	for (; functions[n]; n++)
		frames[n] = (struct rec_frame){.module = functions[n] == READ ? LIBC : PROGRAM,
					       .offset = functions[n] + 8,
					       .function = functions[n]};
	rec.snapshot = (struct rec_thread_snapshot){.reason = SNAPSHOTS_FOR_WALK,
						    .pid = process,
						    .tid = thread_id,
						    .comm = "t",
						    .weight_ns = ns,
						    .kind = kind,
						    .state = 'S',
						    .sleep = *sleep,
						    .args = {[3] = timeout},
						    .kernel = kernel,
						    .stop = cut,
						    .stop_text = "",
						    .nr_frames = n,
						    .frames = frames,
						    .awaits = awaits};
	return walk_feed(w, &rec);
}

#define SNAPSHOT(w, ns, kind, sleep, kernel, ...)                                                  \
	snapshot(w, ns, kind, sleep, kernel, (const uint64_t[]){__VA_ARGS__, 0})

static void thread(struct walk *w, uint32_t id, uint64_t wall, uint64_t cpu, uint64_t runqueue)
{
	struct record rec = {.type = REC_THREAD};

	rec.thread = (struct rec_thread){
	    .tid = id, .comm = "t", .wall_ns = wall, .cpu_ns = cpu, .runqueue_ns = runqueue};
	assert_int_equal(walk_feed(w, &rec), 0);
}

static bool only_start(void *ctx, struct rec_code function)
{
	return function.module == PROGRAM && function.offset == START;
}

static bool takes_lock(void *ctx, struct rec_code function, struct rec_code callee)
{
	return function.module == PROGRAM && function.offset == LOCK;
}

static bool schedules(void *ctx, struct rec_code function)
{
	return function.module == PROGRAM && function.offset == SCHEDULE;
}

static struct walk_result result_of(struct walk *w)
{
	static const struct walk_functions functions = {only_start, takes_lock, schedules, NULL};
	struct walk_result r;

	assert_int_equal(walk_result(w, &functions, &r), 0);
	return r;
}

/* The path as functions: "200 300 400" and names of the kernel. */
static void assert_path(const struct walk_result *r, unsigned int i, const char *expected)
{
	char text[512] = "";
	size_t at = 0;

	assert_true(i < r->nr_paths);
	for (unsigned int k = 0; k < r->paths[i].nr_frames; k++) {
		const struct walk_node *n = &r->nodes[r->paths[i].frames[k]];

		if (n->kind == WALK_FUNCTION)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%llx", k ? " " : "",
					       (unsigned long long)n->function.offset);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", k ? " " : "",
					       n->kind == WALK_UNKNOWN ? "?" : n->name);
	}
	assert_string_equal(text, expected);
}

static void near(double a, double b)
{
	if (a < b - 1e-6 || a > b + 1e-6)
		fail_msg("%g is not %g", a, b);
}

static const struct rec_sleep on_epoll = {
    .syscall = 232, .call = "epoll_wait", .name = "", .waker = "", .holder = ""};
static const struct rec_sleep on_condition = {
    .syscall = 202, .call = "futex", .name = "", .waker = "", .holder = ""};
static const struct rec_sleep on_mutex = {.syscall = 202,
					  .call = "futex",
					  .args = {8, FUTEX_WAIT, 2},
					  .name = "",
					  .waker = "",
					  .holder = "other 9"};
static const struct rec_sleep on_reclaim = {.syscall = 1,
					    .call = "write",
					    .work = SLEEP_IN_RECLAIM,
					    .name = "/web",
					    .waker = "",
					    .holder = ""};
static const struct rec_sleep on_purpose = {
    .syscall = 35, .call = "nanosleep", .name = "", .waker = "", .holder = ""};
static const struct rec_sleep on_file = {.syscall = 0,
					 .call = "read",
					 .object = OBJECT_FILE,
					 .name = "/data",
					 .waker = "",
					 .holder = ""};
static const struct rec_sleep on_socket = {.syscall = 45,
					   .call = "recvfrom",
					   .object = OBJECT_SOCKET,
					   .name = "10.0.0.1:5432",
					   .waker = "",
					   .holder = ""};

#endif
