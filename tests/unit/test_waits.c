// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains of simulated programs whose answers are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/waits_check.h"

#define TARGET TASK_TARGET
/* Somebody who is at work all the time, beside. */
static const struct sim_op innocent_script[] = {{LOOP, 1000}, {RUN, 2 * MS}, {NEXT}, {EXIT}};

static void innocent(uint32_t cpu)
{
	sim_task(&sim, "innocent", 0, cpu, innocent_script);
}

static void test_pass(void **state)
{
	static const struct sim_op parent[] = {{LOOP, 20},	    {RUN, 2 * MS}, {POST, 1},
					       {WAIT, 2, HOW_PIPE}, {NEXT},	   {EXIT}};
	static const struct sim_op child[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_PIPE}, {RUN, 3 * MS}, {POST, 2}, {NEXT}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "parent", TARGET, 0, parent);
	sim_task(&sim, "child", 0, 1, child);
	innocent(2);
	play(150 * MS, 3);
	expect("parent", ACCOUNT_RUN_UNSAMPLED, 40);
	expect("parent>child", ACCOUNT_RUN_UNSAMPLED, 60);
	expect_layer("parent", WAIT_PIPE_EMPTY, 0);
	expect_absent("innocent");
	assert_int_equal(stats.sleeps[ENDER_TASK], 20);
}

/* Two pipes to the same process are told alike; one with a path is told by its path. */
static void test_pipes_are_joined(void **state)
{
	static const struct sim_op reader[] = {{LOOP, 5},
					       {POST, 1},
					       {WAIT, 2, HOW_PIPE},
					       {POST, 1},
					       {WAIT, 2, HOW_OTHER_PIPE},
					       {POST, 1},
					       {WAIT, 2, HOW_FIFO},
					       {NEXT},
					       {EXIT}};
	static const struct sim_op writer[] = {
	    {LOOP, 15}, {WAIT, 1, HOW_POLL}, {RUN, 2 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	uint64_t unnamed = 0, fifo = 0;

	sim_begin(&sim, 2);
	sim_task(&sim, "reader", TARGET, 0, reader);
	sim_task(&sim, "writer", 0, 1, writer);
	play(60 * MS, 2);
	expect("reader>writer", ACCOUNT_RUN_UNSAMPLED, 30);
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (chains.nodes[i].parent != i || l->state != CHAIN_SLEEP ||
		    l->kind != WAIT_PIPE_EMPTY)
			continue;
		if (!strcmp(l->what, "/run/fifo"))
			fifo += 1;
		else
			unnamed += 1;
		assert_true(!*l->what || !strcmp(l->what, "/run/fifo"));
	}
	assert_int_equal(unnamed, 1);
	assert_int_equal(fifo, 1);
}

static void triangle(unsigned int how, unsigned int bracket)
{
	static struct sim_op a[] = {{LOOP, 20},	  {RUN, 1 * MS}, {POST, 1},
				    {WAIT, 3, 0}, {NEXT},	 {EXIT}};
	static struct sim_op b[] = {{LOOP, 20}, {WAIT, 1, 0}, {RUN, 2 * MS},
				    {POST, 2},	{NEXT},	      {EXIT}};
	static struct sim_op c[] = {{LOOP, 20}, {WAIT, 2, 0}, {RUN, 3 * MS},
				    {POST, 3},	{NEXT},	      {EXIT}};

	a[3].b = b[1].b = c[1].b = (int)how;
	a[2].code = b[3].code = c[3].code = bracket;
	sim_begin(&sim, 4);
	sim_task(&sim, "A", TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "C", 0, 2, c);
	innocent(3);
	play(150 * MS, 4);
	expect("A", ACCOUNT_RUN_UNSAMPLED, 20);
	expect("A>C", ACCOUNT_RUN_UNSAMPLED, 60);
	expect("A>C>B", ACCOUNT_RUN_UNSAMPLED, 40);
	expect_absent("innocent");
	assert_true(account.ns[ACCOUNT_NETWORK] == 0 && account.ns[ACCOUNT_HARDWARE] == 0);
}

static void test_triangle(void **state)
{
	triangle(HOW_PIPE, POST);
}

/* A server behind a Unix socket, and behind loopback: the same answers. */
static void test_unix_and_loopback(void **state)
{
	triangle(HOW_UNIX, POST);
	sim_release(&sim);
	triangle(HOW_TCP, POST_SOFT);
}

static void test_futex_chain(void **state)
{
	static const struct sim_op a[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {POST, 1}, {WAIT, 3, HOW_CONDITION}, {NEXT}, {EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 10}, {WAIT, 1, HOW_CONDITION}, {RUN, 4 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	static const struct sim_op c[] = {
	    {LOOP, 10}, {WAIT, 2, HOW_CONDITION}, {RUN, 2 * MS}, {POST, 3}, {NEXT}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "A", TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "C", 0, 2, c);
	play(100 * MS, 3);
	expect("A>C>B", ACCOUNT_RUN_UNSAMPLED, 40);
	expect("A>C", ACCOUNT_RUN_UNSAMPLED, 20);
	expect_layer("C", WAIT_CONDITION, 0);
}

static void test_fork_and_wait(void **state)
{
	static const struct sim_op parent[] = {{RUN, 3 * MS},	     {FORK, 1},	    {RUN, 2 * MS},
					       {WAIT, 1, HOW_CHILD}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op child[] = {
	    {RUN, 5 * MS}, {SLEEP, 30 * MS}, {RUN, 4 * MS}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "parent", TARGET, 0, parent);
	sim_task(&sim, "child", 0, 1, child);
	play(60 * MS, 1);
	expect("parent", ACCOUNT_RUN_UNSAMPLED, 6);
	expect("parent>child", ACCOUNT_RUN_UNSAMPLED, 7);
	expect("parent>child", ACCOUNT_DELIBERATE, 30);
	assert_true(account.ns[ACCOUNT_TIMED_OUT] == 0);
	expect_layer("parent", WAIT_CHILD, 0);
}

/* The parent's sleep begins before the task that ends it was made: until then it was its parent. */
static void test_before_birth(void **state)
{
	static const struct sim_op waiter[] = {{WAIT, 1, HOW_PIPE}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op shell[] = {{RUN, 10 * MS}, {FORK, 2}, {RUN, 50 * MS}, {EXIT}};
	static const struct sim_op made[] = {{RUN, 6 * MS}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "waiter", TARGET, 0, waiter);
	sim_task(&sim, "shell", 0, 1, shell);
	sim_task(&sim, "made", 0, 2, made);
	play(100 * MS, 2);
	expect("waiter>made", ACCOUNT_RUN_UNSAMPLED, 6);
	expect("waiter>shell", ACCOUNT_RUN_UNSAMPLED, 10);
}

static void test_vfork(void **state)
{
	static const struct sim_op parent[] = {
	    {RUN, 1 * MS}, {FORK, 1}, {WAIT, 1, HOW_VFORK}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op child[] = {{RUN, 8 * MS}, {POST, 1}, {RUN, 5 * MS}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "parent", TARGET, 0, parent);
	sim_task(&sim, "child", 0, 1, child);
	play(30 * MS, 1);
	expect("parent>child", ACCOUNT_RUN_UNSAMPLED, 8);
	expect_layer("parent", WAIT_VFORK, 0);
}

/* A loop of poll() with a timer, while a thread of its own works and tells nobody: one sleep. */
static void test_poll_loop(void **state)
{
	static const struct sim_op poller[] = {
	    {RUN, 2 * MS}, {LOOP, 1}, {WAIT_FOR, 5, HOW_POLL, 10 * MS}, {RUN, 20 * US}, {UNTIL, 1},
	    {RUN, 2 * MS}, {EXIT}};
	static const struct sim_op helper[] = {{RUN, 55 * MS}, {POST, 1}, {EXIT}};
	unsigned int merged = 0;

	sim_begin(&sim, 3);
	sim_task(&sim, "poller", TARGET, 0, poller);
	sim_task(&sim, "helper", TARGET, 1, helper);
	innocent(2);
	sim.task[1].pid = sim.task[0].pid;
	play(100 * MS, 3);
	expect("poller", ACCOUNT_TIMED_OUT, 60);
	assert_true(account.ns[ACCOUNT_DELIBERATE] == 0);
	assert_int_equal(stats.merged, 5);
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (!(l->notes & NOTE_MERGED))
			continue;
		merged++;
		assert_string_equal(l->hint, "helper");
	}
	assert_int_equal(merged, 1);
	for (uint32_t i = 0; i < chains.nr; i++) {
		if (chains.nodes[i].account == ACCOUNT_TIMED_OUT && chains.nodes[i].self_ns)
			assert_int_equal(chains.nodes[i].count, 1);
	}
	expect_absent("innocent");
}

/* Threads that sleep until their timers, while another one works now and then: nobody was done. */
static void test_ticks_have_no_hint(void **state)
{
	static const struct sim_op ticker[] = {{LOOP, 30},     {WAIT_FOR, 5, HOW_CONDITION, 7 * MS},
					       {RUN, 20 * US}, {NEXT},
					       {RUN, 2 * MS},  {EXIT}};
	static const struct sim_op sleeper[] = {{LOOP, 30}, {SLEEP, 7 * MS}, {RUN, 20 * US},
						{NEXT},	    {RUN, 2 * MS},   {EXIT}};
	static const struct sim_op works[] = {
	    {LOOP, 20}, {RUN, 3 * MS}, {SLEEP, 8 * MS}, {NEXT}, {EXIT}};
	unsigned int merged = 0;

	sim_begin(&sim, 3);
	sim_task(&sim, "ticker", TARGET, 0, ticker);
	sim_task(&sim, "sleeper", TARGET, 1, sleeper);
	sim_task(&sim, "works", TARGET, 2, works);
	sim.task[1].pid = sim.task[2].pid = sim.task[0].pid;
	play(300 * MS, 3);
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (!(l->notes & NOTE_MERGED))
			continue;
		merged++;
		assert_string_equal(l->hint, "");
	}
	assert_true(merged >= 2);
}

/* Asleep before the window and to its end: what it sleeps in is known from the list of tasks. */
static void test_asleep_all_the_time(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {EXIT}};

	for (unsigned int known = 0; known < 2; known++) {
		struct record *r;

		sim_begin(&sim, 1);
		sim_task(&sim, "dormant", TARGET, 0, script);
		innocent(0);
		sim_window(&sim, WINDOW_BEGIN);
		sim_tell_task(&sim, 0, 'S');
		if (known) {
			r = sim_put(&sim, REC_ASLEEP);
			r->asleep.at_ns = sim_at(&sim);
			r->asleep.cpu = WAITS_NO_CPU;
			r->asleep.tid = sim.task[0].tid;
			r->asleep.syscall = SYS_futex;
			r->asleep.args[1] = 137;
		}
		sim_tell_task(&sim, 1, 'Q');
		sim_enqueue(&sim, 1);
		sim_run(&sim, 100 * MS);
		sim_window(&sim, WINDOW_END);
		feed_all(NULL);
		expect("dormant", known ? ACCOUNT_IDLE : ACCOUNT_UNKNOWN, 100);
		expect_layer("dormant", known ? WAIT_CONDITION : WAIT_UNKNOWN,
			     NOTE_BEFORE | NOTE_STILL);
		expect_absent("innocent");
		sim_release(&sim);
	}
}

/* It reads from a pipe from before the window to its end. Who can end that is known from its
 * object: it is idle only if it has not started that process. */
static void test_a_pipe_all_the_time(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {EXIT}};

	for (unsigned int started = 0; started < 2; started++) {
		struct record *r;

		sim_begin(&sim, 1);
		sim_task(&sim, "reader", TARGET, 0, script);
		innocent(0);
		sim_window(&sim, WINDOW_BEGIN);
		sim_tell_task(&sim, 0, 'S');
		r = sim_put(&sim, REC_OBJECT);
		r->object = (struct rec_object){
		    .object = 77, .kind = OBJECT_PIPE, .serves = started, .name = "packer 12"};
		r = sim_put(&sim, REC_ASLEEP);
		r->asleep.at_ns = sim_at(&sim);
		r->asleep.cpu = WAITS_NO_CPU;
		r->asleep.tid = sim.task[0].tid;
		r->asleep.syscall = SYS_read;
		r->asleep.object = 77;
		sim_tell_task(&sim, 1, 'Q');
		sim_enqueue(&sim, 1);
		sim_run(&sim, 100 * MS);
		sim_window(&sim, WINDOW_END);
		feed_all(NULL);
		expect("reader", started ? ACCOUNT_OTHER_PATH : ACCOUNT_IDLE, 100);
		expect_layer("reader", WAIT_PIPE_EMPTY,
			     NOTE_BEFORE | NOTE_STILL | (started ? NOTE_CHILD : 0u));
		assert_string_equal(chains.nodes[0].layer.what, "packer 12");
		sim_release(&sim);
	}
}

static void test_nanosleep(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {SLEEP, 10 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "sleeper", TARGET, 0, script);
	innocent(1);
	play(150 * MS, 2);
	expect("sleeper", ACCOUNT_RUN_UNSAMPLED, 10);
	expect("sleeper", ACCOUNT_DELIBERATE, 100);
	assert_true(account.ns[ACCOUNT_TIMED_OUT] == 0);
	expect_absent("innocent");
}

/* An alarm that the process has set for itself is its timer, not hardware. */
static void test_alarm(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {WAIT_FOR, 5, HOW_POLL, 10 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim.timer = TIMER_ALARM;
	sim_task(&sim, "sleeper", TARGET, 0, script);
	innocent(1);
	play(150 * MS, 2);
	expect("sleeper", ACCOUNT_TIMED_OUT, 100);
	assert_true(account.ns[ACCOUNT_HARDWARE] == 0);
}

/* A timer that expires on top of the completion of a request is not ended by the request. */
static void test_timer_on_completion(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {SLEEP, 10 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim.below_timer = BRACKET(BRACKET_BLOCK, 0);
	sim_task(&sim, "sleeper", TARGET, 0, script);
	innocent(1);
	play(150 * MS, 2);
	expect("sleeper", ACCOUNT_DELIBERATE, 100);
	assert_true(account.ns[ACCOUNT_DEVICE] == 0);
	assert_int_equal(stats.sleeps[ENDER_REQUEST], 0);
}

/* The interrupt of the disk falls on an innocent task. */
static void test_disk(void **state)
{
	static const struct sim_op script[] = {{LOOP, 10},
					       {RUN, 1 * MS},
					       {IO, OBJECT_NR_FILE, 2 * MS, 5 * MS},
					       {NEXT},
					       {IO, OBJECT_NR_COLD, 1 * MS, 7 * MS},
					       {FAULT, OBJECT_NR_COLD, 1 * MS, 4 * MS},
					       {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "writer", TARGET, 1, script);
	innocent(0);
	play(150 * MS, 2);
	expect("writer>/var/lib/log", ACCOUNT_IO_QUEUE, 20);
	expect("writer>/var/lib/log", ACCOUNT_DEVICE, 50);
	expect("writer>/usr/share/cold", ACCOUNT_DEVICE, 7);
	expect("writer>/usr/share/cold", ACCOUNT_PAGE_FAULT, 4);
	expect("writer", ACCOUNT_RUN_UNSAMPLED, 10);
	expect_absent("innocent");
	assert_int_equal(stats.sleeps[ENDER_REQUEST], 12);
}

/* All requests of the thread that completed in its sleep, and not those of another one. */
static void test_requests(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {IO, OBJECT_NR_FILE, 2 * MS, 6 * MS, 3}, {NEXT}, {EXIT}};
	static const struct sim_op other[] = {
	    {LOOP, 20}, {RUN, 1 * MS}, {IO, OBJECT_NR_COLD, 1 * MS, 1 * MS}, {NEXT}, {EXIT}};
	struct waits_requests all[4];

	sim_begin(&sim, 3);
	sim_name(&sim, BRACKET_BLOCK, SIM_DISK, "vdx");
	sim_task(&sim, "writer", TARGET, 1, script);
	sim_task(&sim, "other", 0, 2, other);
	innocent(0);
	play(150 * MS, 3);
	expect("writer>/var/lib/log", ACCOUNT_IO_QUEUE, 20);
	expect("writer>/var/lib/log", ACCOUNT_DEVICE, 60);
	assert_int_equal(waits_chains_requests(&chains, all, 4), 1);
	assert_string_equal(all[0].device, "vdx");
	assert_int_equal(all[0].operation, SIM_WRITE);
	assert_int_equal(all[0].sums.count, 40);
	assert_int_equal(all[0].sums.bytes, 40 * SIM_BYTES);
	assert_in_range(all[0].sums.queue_ns, 79 * MS, 81 * MS);
	assert_in_range(all[0].sums.device_ns, 149 * MS, 151 * MS);
}

/* The completion is finished by a worker of the kernel: queue, device, and worker apart. */
static void test_direct_io_worker(void **state)
{
	static const struct sim_op script[] = {{LOOP, 10},
					       {RUN, 1 * MS},
					       {IO_WORK, OBJECT_NR_FILE, 1 * MS, 4 * MS, 7},
					       {NEXT},
					       {EXIT}};
	static const struct sim_op worker[] = {{LOOP, 10},
					       {WAIT, 0, HOW_WORKER},
					       {BEGIN, 7},
					       {RUN, 2 * MS},
					       {POST, SIM_SEMAPHORES - 1},
					       {FINISH, 7},
					       {NEXT},
					       {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "reader", TARGET, 1, script);
	sim_task(&sim, "kworker/2:1", TASK_KERNEL | TASK_KWORKER, 2, worker);
	innocent(0);
	play(150 * MS, 3);
	expect("reader", ACCOUNT_RUN_UNSAMPLED, 10);
	expect("reader>/var/lib/log", ACCOUNT_IO_QUEUE, 10);
	expect("reader>/var/lib/log", ACCOUNT_DEVICE, 40);
	expect("reader>kworker/2:1", ACCOUNT_RUN_UNSAMPLED, 20);
	expect_absent("innocent");
	assert_int_equal(stats.sleeps[ENDER_WORK], 10);
}

/* Work that another task queued: what that one did before is what was waited for. */
static void test_work_of_another(void **state)
{
	static const struct sim_op script[] = {{WAIT, 2, HOW_PIPE}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op queuer[] = {
	    {RUN, 5 * MS}, {QUEUE, 3}, {POST, 0}, {RUN, 30 * MS}, {EXIT}};
	static const struct sim_op worker[] = {
	    {WAIT, 0, HOW_WORKER}, {BEGIN, 3}, {RUN, 2 * MS}, {POST, 2}, {FINISH, 3},
	    {WAIT, 0, HOW_WORKER}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "target", TARGET, 0, script);
	sim_task(&sim, "queuer", 0, 1, queuer);
	sim_task(&sim, "kworker", TASK_KERNEL | TASK_KWORKER, 2, worker);
	play(50 * MS, 3);
	expect("target>queuer", ACCOUNT_RUN_UNSAMPLED, 5);
	expect("target>kworker", ACCOUNT_RUN_UNSAMPLED, 2);
}

static void test_io_uring(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 5}, {RUN, 1 * MS}, {QUEUE, 4}, {POST, 1}, {WAIT, 2, HOW_URING}, {NEXT}, {EXIT}};
	static const struct sim_op worker[] = {{LOOP, 5},
					       {WAIT, 1, HOW_WORKER},
					       {BEGIN, 4},
					       {RUN, 1 * MS},
					       {IO, OBJECT_NR_FILE, 1 * MS, 6 * MS},
					       {POST, 2},
					       {FINISH, 4},
					       {NEXT},
					       {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "ringer", TARGET, 1, script);
	sim_task(&sim, "iou-wrk", TASK_URING, 2, worker);
	innocent(0);
	play(100 * MS, 3);
	expect("ringer>iou-wrk>/var/lib/log", ACCOUNT_DEVICE, 30);
	expect("ringer>iou-wrk>/var/lib/log", ACCOUNT_IO_QUEUE, 5);
	expect("ringer>iou-wrk", ACCOUNT_RUN_UNSAMPLED, 5);
	expect_absent("innocent");
}

/* Four threads and one lock: each waits for all others in turn, with their shares. */
static void test_convoy(void **state)
{
	static struct sim_op script[4][7];
	static const uint64_t hold[4] = {1 * MS, 2 * MS, 4 * MS, 8 * MS};
	static const char *const name[4] = {"one", "two", "four", "eight"};

	sim_begin(&sim, 5);
	for (int i = 0; i < 4; i++) {
		const struct sim_op ops[7] = {
		    {LOOP, 10},	 {RUN, 10 * US}, {LOCK, 0}, {RUN, (int64_t)hold[i]},
		    {UNLOCK, 0}, {NEXT},	 {EXIT}};

		memcpy(script[i], ops, sizeof(ops));
		sim_task(&sim, name[i], i ? 0 : TARGET, (uint32_t)i, script[i]);
		sim.task[i].pid = 500;
	}
	innocent(4);
	play(200 * MS, 5);
	/* nine waits for a whole turn of the three others, and what is left at the end */
	expect("one>two", ACCOUNT_RUN_UNSAMPLED, 18);
	expect("one>four", ACCOUNT_RUN_UNSAMPLED, 36);
	expect("one>eight", ACCOUNT_RUN_UNSAMPLED, 72);
	expect_layer("one", WAIT_LOCK, 0);
	expect_absent("innocent");
}

/* What is known of the locks of the outermost waits of this task. */
static struct lock_waits locks_of(const char *comm)
{
	struct lock_waits locks = {0};

	for (uint32_t i = 0; i < chains.nr; i++)
		if (chains.nodes[i].parent == i && !strcmp(chains.nodes[i].layer.comm, comm))
			lock_waits_add(&locks, chains.nodes[i].locks);
	return locks;
}

/* One thread waits at one place for two threads: they have one lock in turn, or each its own. */
static void test_one_lock_or_several(void **state)
{
	for (int second = 0; second < 2; second++) {
		const struct sim_op owner[] = {{LOOP, 20},  {LOCK, 0},	    {RUN, 2 * MS},
					       {UNLOCK, 0}, {RUN, 10 * US}, {NEXT},
					       {EXIT}},
				    other[] = {{LOOP, 20},     {LOCK, second},
					       {RUN, 3 * MS},  {UNLOCK, second},
					       {RUN, 10 * US}, {NEXT},
					       {EXIT}},
				    waiter[] = {{LOOP, 8},   {RUN, 100 * US}, {LOCK, 0},
						{UNLOCK, 0}, {LOCK, second},  {UNLOCK, second},
						{NEXT},	     {EXIT}};

		sim_begin(&sim, 4);
		sim_task(&sim, "waiter", TARGET, 0, waiter);
		sim_task(&sim, "owner", 0, 1, owner);
		sim_task(&sim, "other", 0, 2, other);
		for (int i = 0; i < 3; i++)
			sim.task[i].pid = 500;
		innocent(3);
		play(200 * MS, 4);
		expect_layer("waiter", WAIT_LOCK, 0);
		assert_true(locks_of("waiter").count >= 5);
		assert_true(locks_of("waiter").lock);
		assert_int_equal(locks_of("waiter").lock == LOCKS_DIFFER, second);
		if (!second)
			teardown(state);
	}
}

/* Ten items for a pool of four: three of four find nothing when they are woken. */
static void broadcast(unsigned int how)
{
	static const struct sim_op boss[] = {
	    {LOOP, 10}, {RUN, 5 * MS}, {POST_ALL, 1}, {NEXT}, {EXIT}};
	const struct sim_op worker[] = {
	    {LOOP, 100}, {WAIT, 1, how, 0, 1}, {RUN, 1 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 6);
	sim_task(&sim, "boss", 0, 0, boss);
	for (uint32_t i = 1; i <= 4; i++)
		sim_task(&sim, "worker", TARGET, i, worker);
	innocent(5);
	sim_play(60 * MS, 6);
	feed_all(NULL);
}

static void test_broadcast(void **state)
{
	broadcast(HOW_CONDITION);
	assert_true(stats.false_wakeups >= 20 && stats.false_wakeups <= 31);
	expect_layer("worker", WAIT_CONDITION, NOTE_FALSE_WAKEUP);
	expect_absent("innocent");
	expect("worker", ACCOUNT_RUN_UNSAMPLED, 10);
}

/* The same waits for room: each time there may have been some. */
static void test_waits_for_room_are_not_in_vain(void **state)
{
	broadcast(HOW_PIPE_FULL);
	assert_int_equal(stats.false_wakeups, 0);
	expect_layer("worker", WAIT_PIPE_FULL, 0);
}

static void test_two_spinners(void **state)
{
	static const struct sim_op script[] = {{RUN, 100 * MS}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "spinner", TARGET, 0, script);
	sim_task(&sim, "rival", 0, 0, script);
	innocent(1);
	play(160 * MS, 3);
	expect("spinner", ACCOUNT_RUN_UNSAMPLED, 80);
	expect("spinner", ACCOUNT_RUN_QUEUE, 80);
	expect_absent("innocent");
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (l->state != CHAIN_RUNNABLE || l->why != READY_PREEMPTED)
			continue;
		assert_string_equal(l->what, "rival");
	}
}

/* Woken on the CPU of its waker, which goes on: a hand-off, not a queue. */
static void test_handoff(void **state)
{
	static const struct sim_op a[] = {{LOOP, 10},	 {POST, 1}, {WAIT, 2, HOW_PIPE},
					  {RUN, 1 * MS}, {NEXT},    {EXIT}};
	static const struct sim_op b[] = {{LOOP, 10}, {WAIT, 1, HOW_PIPE}, {RUN, 1 * MS},
					  {POST, 2},  {RUN, 2 * MS},	   {NEXT},
					  {EXIT}};

	sim_begin(&sim, 1);
	sim_task(&sim, "A", TARGET, 0, a);
	sim_task(&sim, "B", 0, 0, b);
	play(60 * MS, 2);
	expect("A>B", ACCOUNT_HANDOFF, 20);
	expect("A>B", ACCOUNT_RUN_UNSAMPLED, 10);
}

static void test_network(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 5}, {RUN, 1 * MS}, {WAIT, 1, HOW_PEER}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "client", TARGET, 1, script);
	innocent(0);
	for (int i = 0; i < 5; i++)
		sim_timer(&sim, 3, sim.now + (uint64_t)(i + 1) * 21 * MS)->semaphore = 1;
	play(120 * MS, 2);
	expect("client>10.9.0.2:5432", ACCOUNT_NETWORK, 100);
	expect_absent("innocent");
}

static void test_accept_idle(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {WAIT, 1, HOW_ACCEPT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "server", TARGET, 0, script);
	innocent(1);
	sim_play(100 * MS, 2);
	feed_all(NULL);
	expect("server", ACCOUNT_IDLE, 99);
	expect_layer("server", WAIT_CONNECTION, NOTE_STILL);
	expect_absent("innocent");
}

static void test_stopped(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 2 * MS}, {WAIT, 1, HOW_STOPPED}, {RUN, 2 * MS}, {EXIT}};
	static const struct sim_op shell[] = {{SLEEP, 50 * MS}, {SIGNAL}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "job", TARGET, 0, script);
	sim_task(&sim, "shell", 0, 1, shell);
	sim_play(80 * MS, 2);
	feed_all(NULL);
	expect_layer("job", WAIT_STOPPED, 0);
	expect("job", ACCOUNT_STOPPED, 48);
	expect_absent("shell");
}

/* A debugger is named; that it let the task go on is no signal. */
static void test_traced(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 2 * MS}, {WAIT, 1, HOW_TRACED}, {RUN, 2 * MS}, {EXIT}};
	static const struct sim_op gdb[] = {{SLEEP, 50 * MS}, {SIGNAL}, {POST, 1}, {EXIT}};
	bool found = false;

	sim_begin(&sim, 2);
	sim_task(&sim, "job", TARGET, 0, script);
	sim_task(&sim, "gdb", 0, 1, gdb);
	sim_play(80 * MS, 2);
	feed_all(NULL);
	expect("job", ACCOUNT_STOPPED, 48);
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (l->state != CHAIN_SLEEP || l->kind != WAIT_TRACED)
			continue;
		found = true;
		assert_string_equal(l->what, "gdb");
		assert_false(l->notes & NOTE_SIGNAL);
	}
	assert_true(found);
}

/* Who cuts a sleep short has not made the task sleep: it was on purpose. */
static void test_sleep_cut_short(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {WAIT, 1, HOW_CLOCK}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op killer[] = {{RUN, 9 * MS}, {SIGNAL}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "dozes", TARGET, 0, script);
	sim_task(&sim, "killer", 0, 1, killer);
	play(30 * MS, 2);
	expect("dozes", ACCOUNT_DELIBERATE, 8);
	expect_layer("dozes", WAIT_CLOCK, NOTE_SIGNAL);
	expect_absent("killer");
}

/* Each page of a file that is written back ends a wait of its own: none was in vain. */
static void test_writeback(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {LOOP, 5}, {RUN, 10 * US}, {WAIT, 1, HOW_WRITEBACK}, {NEXT}, {EXIT}};
	static const struct sim_op flusher[] = {
	    {LOOP, 5}, {RUN, 4 * MS}, {POST, 1}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "writer", TARGET, 0, script);
	sim_task(&sim, "flusher", 0, 1, flusher);
	play(30 * MS, 2);
	expect_layer("writer", WAIT_WRITEBACK, 0);
	assert_true(stats.false_wakeups == 0);
}

static void test_signal(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {WAIT, 1, HOW_PIPE}, {RUN, 1 * MS}, {WAIT, 1, HOW_POLL}, {EXIT}};
	static const struct sim_op sender[] = {{RUN, 9 * MS}, {SIGNAL},	 {POST, 1},
					       {RUN, 5 * MS}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "job", TARGET, 0, script);
	sim_task(&sim, "sender", 0, 1, sender);
	play(30 * MS, 2);
	expect_layer("job", WAIT_PIPE_EMPTY, NOTE_SIGNAL);
	expect("job>sender", ACCOUNT_RUN_UNSAMPLED, 12);
	for (uint32_t i = 0; i < chains.nr; i++) {
		/* the second waking was by something else */
		if (chains.nodes[i].layer.kind == WAIT_EVENTS)
			assert_false(chains.nodes[i].layer.notes & NOTE_SIGNAL);
	}
}

/* SIGCHLD wakes a parent just before the end of its child does: it has waited for the child. Any
 * other wait was ended by the signal. */
static void test_signal_of_a_child(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {WAIT, 1, HOW_CHILD}, {RUN, 1 * MS}, {WAIT, 1, HOW_POLL}, {EXIT}};
	static const struct sim_op child[] = {{RUN, 9 * MS}, {SIGCHLD_SENT}, {POST, 1},
					      {RUN, 5 * MS}, {SIGCHLD_SENT}, {POST, 1},
					      {EXIT}};
	unsigned int children = 0;

	sim_begin(&sim, 2);
	sim_task(&sim, "shell", TARGET, 0, script);
	sim_task(&sim, "child", 0, 1, child);
	play(30 * MS, 2);
	expect_layer("shell", WAIT_EVENTS, NOTE_SIGNAL);
	for (uint32_t i = 0; i < chains.nr; i++) {
		if (chains.nodes[i].layer.kind != WAIT_CHILD)
			continue;
		children++;
		assert_false(chains.nodes[i].layer.notes & NOTE_SIGNAL);
	}
	assert_true(children > 0);
}

/* A packet wakes "job" in a soft interrupt that runs in `worker`, with this stack. */
static void soft_in(uint32_t stack)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {WAIT, 1, HOW_PEER}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op worker[] = {
	    {RUN, 9 * MS}, {POST_SOFT, 1}, {RUN, 1 * MS}, {EXIT}};

	sim_begin(&sim, 2);
	sim.waker_stack = stack;
	sim_task(&sim, "job", TARGET, 0, script);
	sim_task(&sim, "worker", 0, 1, worker);
	play(30 * MS, 2);
}

static void test_soft_by_chance(void **state)
{
	soft_in(STACK_SENDS);
	expect("job>worker", ACCOUNT_RUN_UNSAMPLED, 8);
	waits_chains_release(&chains);
	sim_release(&sim);
	/* whoever enables soft interrupts next runs those that are due */
	soft_in(STACK_BY_CHANCE);
	expect("job>10.9.0.2:5432", ACCOUNT_NETWORK, 8);
	expect_absent("worker");
}

/* One thread after the other is joined, with hardly a run between: each has really ended. */
static void test_joins(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS},  {WAIT, 1, HOW_JOIN, 1},
					       {RUN, 10 * US}, {WAIT, 2, HOW_JOIN, 2},
					       {RUN, 10 * US}, {EXIT}};
	static const struct sim_op first[] = {{RUN, 8 * MS}, {POST, 1}, {EXIT}},
				   second[] = {{RUN, 12 * MS}, {POST, 2}, {EXIT}};

	sim_begin(&sim, 3);
	sim_task(&sim, "main", TARGET, 0, script);
	sim_task(&sim, "first", TARGET, 1, first);
	sim_task(&sim, "second", TARGET, 2, second);
	for (int i = 1; i < 3; i++)
		sim.task[i].pid = sim.task[0].pid;
	play(30 * MS, 3);
	assert_true(stats.false_wakeups == 0);
}

static void test_join(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 1 * MS}, {WAIT, 1, HOW_JOIN, 1}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op thread[] = {{RUN, 12 * MS}, {POST, 1}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "main", TARGET, 0, script);
	sim_task(&sim, "thread", TARGET, 1, thread);
	sim.task[1].pid = sim.task[0].pid;
	play(30 * MS, 2);
	expect_layer("main", WAIT_JOIN, 0);
	expect("main>thread", ACCOUNT_RUN_UNSAMPLED, 11);
}

/* Samples give runs their stacks; time is sampled only where there was one. */
static void test_samples(void **state)
{
	static const struct sim_op script[] = {{RUN, 5 * MS}, {SAMPLE, 900}, {RUN, 5 * MS},
					       {SAMPLE, 901}, {RUN, 5 * MS}, {SLEEP, 1 * MS},
					       {RUN, 4 * MS}, {EXIT}};

	sim_begin(&sim, 1);
	sim_task(&sim, "sampled", TARGET, 0, script);
	play(40 * MS, 1);
	expect("sampled", ACCOUNT_RUN_SAMPLED, 15);
	expect("sampled", ACCOUNT_RUN_UNSAMPLED, 4);
}

/* Work that the target starts and does not wait for stands apart. */
static void test_started(void **state)
{
	static const struct sim_op script[] = {{RUN, 1 * MS}, {POST, 1},      {FORK, 2},
					       {FORK, 3},     {RUN, 40 * MS}, {EXIT}};
	static const struct sim_op logger[] = {
	    {WAIT, 1, HOW_PIPE}, {RUN, 9 * MS}, {WAIT, 1, HOW_PIPE}, {EXIT}};
	static const struct sim_op child[] = {{RUN, 6 * MS}, {EXIT}};
	struct waits_started started[4];

	sim_begin(&sim, 4);
	sim_task(&sim, "target", TARGET, 0, script);
	sim_task(&sim, "logger", 0, 1, logger);
	sim_task(&sim, "child", 0, 2, child);
	/* a thread of its own is no such work */
	sim_task(&sim, "thread", TARGET, 3, child);
	play(60 * MS, 2);
	assert_int_equal(waits_started(waits, started, 4), 2);
	assert_string_equal(started[0].comm, "logger");
	assert_true(started[0].ns > 8900 * US && started[0].ns < 9100 * US);
	assert_string_equal(started[1].comm, "child");
	expect_absent("logger");
	expect_absent("child");
}

/* The server asks first, then is asked: until the request it was busy with other work. */
static void test_rsp_compat(void **state)
{
	static const struct sim_op a[] = {
	    {LOOP, 10}, {RUN, 1 * MS}, {WAIT, 1, HOW_PIPE}, {NEXT}, {EXIT}};
	static const struct sim_op b[] = {{LOOP, 10}, {RUN, 8 * MS}, {POST, 1}, {NEXT}, {EXIT}};

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_play(90 * MS, 2);
	feed_all(NULL);
	expect("A>B", ACCOUNT_RUN_UNSAMPLED, 70);
	/* B ran all the time: its run does not fit into any wait of A */
	feed_all(&(struct waits_config){.rsp_compat = true});
	expect("A>B", ACCOUNT_RUN_UNSAMPLED, 0);
	expect("A>B", ACCOUNT_OTHER_PATH, 70);
}

#define CASE(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_pass),
	    CASE(test_triangle),
	    CASE(test_unix_and_loopback),
	    CASE(test_futex_chain),
	    CASE(test_fork_and_wait),
	    CASE(test_before_birth),
	    CASE(test_vfork),
	    CASE(test_poll_loop),
	    CASE(test_ticks_have_no_hint),
	    CASE(test_nanosleep),
	    CASE(test_alarm),
	    CASE(test_timer_on_completion),
	    CASE(test_asleep_all_the_time),
	    CASE(test_a_pipe_all_the_time),
	    CASE(test_disk),
	    CASE(test_requests),
	    CASE(test_direct_io_worker),
	    CASE(test_work_of_another),
	    CASE(test_pipes_are_joined),
	    CASE(test_io_uring),
	    CASE(test_convoy),
	    CASE(test_one_lock_or_several),
	    CASE(test_broadcast),
	    CASE(test_waits_for_room_are_not_in_vain),
	    CASE(test_two_spinners),
	    CASE(test_handoff),
	    CASE(test_network),

	    CASE(test_accept_idle),
	    CASE(test_stopped),
	    CASE(test_traced),
	    CASE(test_sleep_cut_short),
	    CASE(test_writeback),
	    CASE(test_join),
	    CASE(test_joins),
	    CASE(test_signal),
	    CASE(test_signal_of_a_child),
	    CASE(test_soft_by_chance),
	    CASE(test_samples),
	    CASE(test_started),
	    CASE(test_rsp_compat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
