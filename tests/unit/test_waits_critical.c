// SPDX-License-Identifier: GPL-2.0-or-later
/* The critical path of simulated programs, of single calls; folded stacks; kinds of sleeps. */
#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/waits/folded.h"
#include "tests/unit/waits_check.h"
#include "tests/unit/waits_segments.h"

#define TARGET TASK_TARGET

static const struct sim_op innocent_script[] = {{LOOP, 1000}, {RUN, 2 * MS}, {NEXT}, {EXIT}};

static double critical_ms(const struct critical_path *p, const char *machine, const char *what)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < p->nr_states; i++) {
		struct waits_state s = waits_state(waits, i);

		if (!strcmp(s.machine, machine) && !strcmp(s.what, what))
			ns += p->states[i].critical_ns;
	}
	return (double)ns / 1e6;
}

static void near(double got, double want)
{
	double room = want * 0.03 > 0.5 ? want * 0.03 : 0.5;

	if (got < want - room || got > want + room)
		fail_msg("%.3f, not %.3f", got, want);
}

/* A request goes to a server and comes back: the path goes through both, and through the disk. */
static void test_pass_and_disk(void **state)
{
	static const struct sim_op client[] = {
	    {LOOP, 10}, {RUN, 2 * MS},	 {POST, 1}, {WAIT, 2, HOW_UNIX},
	    {NEXT},	{SLEEP, 5 * MS}, {EXIT}};
	static const struct sim_op server[] = {
	    {LOOP, 10},		 {WAIT, 1, HOW_UNIX},
	    {RUN, 3 * MS},	 {IO, OBJECT_NR_FILE, 1 * MS, 4 * MS},
	    {POST, 2},		 {NEXT},
	    {WAIT, 1, HOW_UNIX}, {EXIT}};
	struct waits_critical c;
	uint64_t sum = 0;
	double total = 0;

	sim_begin(&sim, 3);
	sim_task(&sim, "client", TARGET, 1, client);
	sim_task(&sim, "server", 0, 2, server);
	sim_task(&sim, "innocent", 0, 0, innocent_script);
	/* the client has ended before the window does: the path ends with it */
	sim_play(125 * MS, 3);
	feed_all(NULL);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near(critical_ms(&c.path, "client", "running"), 20);
	near(critical_ms(&c.path, "server", "running"), 30);
	near(critical_ms(&c.path, "/var/lib/log", "block I/O"), 40);
	near(critical_ms(&c.path, "/var/lib/log", "I/O queue"), 10);
	near(critical_ms(&c.path, "client", "sleeping"), 5);
	near(critical_ms(&c.path, "innocent", "running"), 0);
	near((double)c.path.length_ns / 1e6, 105);
	assert_true(c.path.deficit_ns * 100 < c.path.elapsed_ns);
	for (uint32_t i = 0; i < c.path.nr_states; i++) {
		sum += c.path.states[i].critical_ns;
		assert_true(c.path.states[i].critical_ns <= c.path.states[i].ns);
	}
	assert_true(sum == c.path.length_ns);
	assert_int_equal(c.nr_warnings, 0);
	/* on a path without alternatives, all of a state can be saved */
	for (uint32_t i = 0; i < c.nr_next; i++) {
		total += (double)c.next[i].speedup_ns / 1e6;
		assert_true(c.next[i].length_ns + c.next[i].speedup_ns <= c.path.length_ns + MS);
	}
	assert_true(c.nr_next > 0 && total > 50);
	waits_critical_release(&c);
}

/* Move the record that names a task to just before its first waking of another one. */
static void join_late(int task, uint32_t cpu)
{
	uint32_t tid = sim.task[task].tid, from = 0, to = 0;
	struct record joins;

	while (sim.records[from].type != REC_TASK || sim.records[from].task.tid != tid)
		from++;
	while (sim.records[to].type != REC_WAKING || sim.records[to].waking.current_tid != tid)
		to++;
	joins = sim.records[from];
	joins.task.at_ns = sim.records[to].waking.at_ns;
	joins.task.cpu = cpu;
	joins.task.state = 'R';
	memmove(&sim.records[from], &sim.records[from + 1], (to - from) * sizeof(joins));
	sim.records[to - 1] = joins;
}

/* What a waker did before it was followed is not known, but for whom the sleeper waited is: the
 * wait is on the path, and the path has no hole. */
static void test_waker_joins_late(void **state)
{
	static const struct sim_op server[] = {
	    {RUN, 10 * MS}, {WAIT, 1, HOW_PIPE}, {RUN, 10 * MS}, {EXIT}};
	static const struct sim_op client[] = {{RUN, 40 * MS}, {POST, 1}, {RUN, 1 * MS}, {EXIT}};
	struct waits_critical c;
	bool after = false;
	int late;

	sim_begin(&sim, 2);
	sim_task(&sim, "server", TARGET, 1, server);
	late = sim_task(&sim, "client", 0, 0, client);
	sim_play(50 * MS, 2);
	join_late(late, 0);
	feed_all(NULL);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near(critical_ms(&c.path, "server", "running"), 20);
	near(critical_ms(&c.path, "server", "waiting for data in a pipe"), 30);
	for (uint32_t i = 0; i < c.path.nr_states; i++)
		after |= !strcmp(waits_state(waits, i).what, "runnable") &&
			 !strcmp(waits_state(waits, i).after, "waiting for data in a pipe");
	assert_true(after);
	near((double)c.path.deficit_ns / 1e6, 0);
	waits_critical_release(&c);
}

/* Woken by an interrupt of which nothing is known: the path has a hole, and says so. */
static void test_deficit(void **state)
{
	static const struct sim_op script[] = {
	    {RUN, 10 * MS}, {WAIT, 1, HOW_PEER}, {RUN, 10 * MS}, {EXIT}};
	struct waits_critical c;
	unsigned int told = 0;

	sim_begin(&sim, 2);
	sim_task(&sim, "target", TARGET, 1, script);
	sim_task(&sim, "innocent", 0, 0, innocent_script);
	sim_timer(&sim, 3, sim.now + 40 * MS)->semaphore = 1;
	sim_play(49 * MS, 2);
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		if (sim.records[i].type == REC_WAKING)
			sim.records[i].waking.brackets = BRACKET(BRACKET_BARE, 0);
	}
	feed_all(NULL);
	assert_int_equal(stats.unknown_irq, 1);
	expect("target", ACCOUNT_UNKNOWN, 30);
	expect_absent("innocent");
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near((double)c.path.deficit_ns / 1e6, 30);
	for (uint32_t i = 0; i < c.nr_warnings; i++)
		told +=
		    strstr(c.warning[i], "explains") || strstr(c.warning[i], "unknown interrupt");
	assert_int_equal(told, 2);
	waits_critical_release(&c);
}

/* A producer that waits for its consumer: what it waits in says that the queue is full. */
static void test_back_pressure(void **state)
{
	static const struct sim_op producer[] = {{LOOP, 20},	      {RUN, 1 * MS}, {POST, 1},
						 {WAIT, 2, HOW_PIPE}, {NEXT},	     {EXIT}};
	static const struct sim_op consumer[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_PIPE}, {RUN, 6 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	struct waits_critical c;

	sim_begin(&sim, 2);
	sim_task(&sim, "producer", TARGET, 0, producer);
	sim_task(&sim, "consumer", TARGET, 1, consumer);
	sim_play(139 * MS, 2);
	/* the producer's waits are in write() */
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		if (sim.records[i].type == REC_ASLEEP &&
		    sim.records[i].asleep.tid == sim.task[0].tid)
			sim.records[i].asleep.syscall = SYS_write;
	}
	feed_all(NULL);
	expect_layer("producer", WAIT_PIPE_FULL, 0);
	expect_layer("consumer", WAIT_PIPE_EMPTY, 0);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near(critical_ms(&c.path, "consumer", "running"), 119);
	near(critical_ms(&c.path, "producer", "running"), 20);
	waits_critical_release(&c);
}

/* Two calls, one slow: back along the last arrival, not beyond the entry. */
static void test_call_path(void **state)
{
	static const struct sim_op caller[] = {
	    {RUN, 1 * MS}, {POST, 1}, {WAIT, 2, HOW_UNIX}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op worker[] = {
	    {RUN, 3 * MS}, {WAIT, 1, HOW_UNIX}, {RUN, 4 * MS}, {IO, OBJECT_NR_COLD, 1 * MS, 5 * MS},
	    {POST, 2},	   {RUN, 9 * MS},	{EXIT}};
	struct critical_path sum = {0};
	uint64_t begin;

	sim_begin(&sim, 3);
	sim_task(&sim, "caller", TARGET, 1, caller);
	sim_task(&sim, "worker", 0, 2, worker);
	sim_task(&sim, "innocent", 0, 0, innocent_script);
	begin = sim.now;
	sim_play(40 * MS, 3);
	feed_all(NULL);
	/* the call takes all but the first half millisecond */
	assert_int_equal(waits_call_path(waits, sim.task[0].tid, sim.task[0].start_ns,
					 begin + MS / 2, begin + 14 * MS, &sum),
			 1);
	near((double)sum.length_ns / 1e6, 13.5);
	assert_true(sum.deficit_ns == 0);
	near(critical_ms(&sum, "worker", "running"), 6.5);
	near(critical_ms(&sum, "/usr/share/cold", "block I/O"), 5);
	near(critical_ms(&sum, "caller", "running"), 1);
	near((double)sum.under_way_ns / 1e6, 0.5);
	/* beyond what is known */
	assert_int_equal(waits_call_path(waits, sim.task[0].tid, sim.task[0].start_ns, begin,
					 begin + 900 * MS, &sum),
			 0);
	assert_int_equal(waits_call_path(waits, 1, 1, begin, begin + MS, &sum), 0);
	critical_path_release(&sum);
}

static void put_sample(uint32_t op, uint64_t start_ns, uint64_t latency_ns)
{
	struct record rec = {.type = REC_SAMPLE};

	rec.sample = (struct rec_sample){
	    .op = op, .tid = sim.task[0].tid, .start_ns = start_ns, .latency_ns = latency_ns};
	assert_int_equal(waits_feed(waits, &rec), 0);
}

/* Chains and critical path of sampled calls only: of one operation, within a range of latencies,
 * and within a window. */
static void test_calls_only(void **state)
{
	static const struct sim_op caller[] = {
	    {RUN, 1 * MS}, {POST, 1}, {WAIT, 2, HOW_UNIX}, {RUN, 1 * MS}, {EXIT}};
	static const struct sim_op worker[] = {
	    {RUN, 3 * MS}, {WAIT, 1, HOW_UNIX}, {RUN, 4 * MS}, {IO, OBJECT_NR_COLD, 1 * MS, 5 * MS},
	    {POST, 2},	   {RUN, 9 * MS},	{EXIT}};
	static const struct waits_config config = {
	    .calls_only = true, .calls_of = 7, .calls_low_ns = 1 * MS, .calls_high_ns = 1000 * MS};
	struct waits_calls calls;
	struct waits_critical c;
	uint64_t begin;

	sim_begin(&sim, 3);
	sim_task(&sim, "caller", TARGET, 1, caller);
	sim_task(&sim, "worker", 0, 2, worker);
	sim_task(&sim, "innocent", 0, 0, innocent_script);
	begin = sim.now;
	sim_play(40 * MS, 3);
	feed_all(&config);
	assert_int_equal(account.total_ns, 0);
	assert_int_equal(waits_critical(waits, 0, 0, &c), -ENOENT);
	put_sample(7, begin + MS / 2, 13 * MS + MS / 2);
	put_sample(8, begin + MS / 2, 13 * MS); /* another operation */
	put_sample(7, begin + MS / 2, MS / 2);	/* too fast */
	put_sample(7, begin - MS, 5 * MS);	/* began before the window */
	put_sample(7, begin + 39 * MS, 9 * MS); /* ended after it */
	waits_flush(waits);
	take_answers();
	waits_calls(waits, &calls);
	assert_int_equal(calls.sampled, 3);
	assert_int_equal(calls.followed, 1);
	assert_int_equal(calls.outside, 2);
	assert_int_equal(calls.ns, 13 * MS + MS / 2);
	assert_int_equal(account.total_ns, calls.ns);
	assert_true(chains.of_calls);
	expect("caller", ACCOUNT_RUN_UNSAMPLED, 1.5);
	expect("caller>worker", ACCOUNT_RUN_UNSAMPLED, 6);
	expect("caller>worker>/usr/share/cold", ACCOUNT_DEVICE, 5);
	expect_absent("innocent");
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near((double)c.path.length_ns / 1e6, 13.5);
	near(critical_ms(&c.path, "worker", "running"), 6.5);
	assert_int_equal(c.nr_next, 0);
	waits_critical_release(&c);
}

static void test_folded(void **state)
{
	static const struct sim_op a[] = {{RUN, 1 * MS}, {POST, 1}, {WAIT, 2, HOW_PIPE}, {EXIT}};
	static const struct sim_op b[] = {{WAIT, 1, HOW_PIPE}, {RUN, 2 * MS}, {POST, 2}, {EXIT}};
	struct buf out;

	sim_begin(&sim, 2);
	sim_task(&sim, "a;b\n", TARGET, 0, a);
	sim_task(&sim, "server", 0, 1, b);
	sim_play(10 * MS, 2);
	feed_all(NULL);
	buf_init(&out, 1 << 16);
	assert_int_equal(waits_folded(&chains, NULL, NULL, &out), 0);
	assert_non_null(strstr(out.data, "[a_b_ 500 run] 1"));
	assert_non_null(strstr(out.data, "[a_b_ 500 waiting for data in a pipe];ksys_read;"
					 "pipe_read;schedule;[server 501 run] "));
	for (char *line = out.data; *line; line = strchr(line, '\n') + 1)
		assert_int_equal(line[0], '[');
	buf_release(&out);
}

static void test_timeline(void **state)
{
	static const struct sim_op script[] = {
	    {LOOP, 3}, {RUN, 2 * MS}, {SLEEP, 3 * MS}, {NEXT}, {EXIT}};
	struct segment s[SEGMENTS_MAX];
	uint64_t begin;
	uint32_t nr, sleeps = 0;

	sim_begin(&sim, 1);
	sim_task(&sim, "task", TARGET, 0, script);
	begin = sim.now;
	sim_play(20 * MS, 1);
	feed_all(NULL);
	nr = segments_of(waits, sim.task[0].tid, sim.task[0].start_ns, begin + 2500 * US,
			 begin + 9 * MS, s);
	for (uint32_t i = 0; i < nr; i++) {
		sleeps += s[i].state == SEGMENT_SLEEP;
		assert_true(s[i].state != SEGMENT_SLEEP || s[i].cause.kind == ENDER_TIMER);
		assert_true(!i || s[i].to <= s[i - 1].from);
	}
	assert_int_equal(sleeps, 2);
	assert_true(nr >= 3);
}

/* ---- what a sleep was */

static void test_kinds(void **state)
{
	static const struct {
		struct wait_facts f;
		enum wait_kind kind;
	} cases[] = {
	    {{.syscall = SYS_clock_nanosleep}, WAIT_CLOCK},
	    {{.syscall = SYS_poll, .args = {0, 0, 100}}, WAIT_CLOCK},
	    {{.syscall = SYS_poll, .args = {1, 2, 100}}, WAIT_EVENTS},
	    {{.syscall = SYS_select, .args = {0}}, WAIT_CLOCK},
	    {{.syscall = SYS_pselect6, .args = {7}}, WAIT_EVENTS},
	    {{.syscall = SYS_epoll_wait}, WAIT_EVENTS},
	    {{.syscall = SYS_accept4}, WAIT_CONNECTION},
	    {{.syscall = SYS_pause}, WAIT_SIGNAL},
	    {{.syscall = SYS_wait4}, WAIT_CHILD},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT | 128, 2}}, WAIT_LOCK},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_LOCK_PI, 0}}, WAIT_LOCK},
	    /* a robust mutex; the value alone, and that of a semaphore of musl, are none */
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT, FUTEX_WAITERS | 4711}}, WAIT_LOCK},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT, FUTEX_WAITERS}}, WAIT_CONDITION},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT, UINT32_MAX}}, WAIT_CONDITION},
	    /* a read-write lock of the C library: descents call this a lock, too */
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT_BITSET | 128, 3}}, WAIT_LOCK},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT_BITSET, 4711}, .for_thread = true},
	     WAIT_JOIN},
	    {{.syscall = SYS_futex, .args = {1, FUTEX_WAIT_BITSET | 128, 0}}, WAIT_CONDITION},
	    {{.syscall = SYS_read, .has_object = true, .object = OBJECT_PIPE}, WAIT_PIPE_EMPTY},
	    {{.syscall = SYS_write, .has_object = true, .object = OBJECT_PIPE}, WAIT_PIPE_FULL},
	    {{.syscall = SYS_read, .hints = HINT_PIPE_READ}, WAIT_PIPE_EMPTY},
	    {{.syscall = SYS_read, .has_object = true, .object = OBJECT_TERMINAL}, WAIT_TERMINAL},
	    {{.syscall = SYS_read, .has_object = true, .object = OBJECT_TIMER}, WAIT_CLOCK},
	    {{.syscall = SYS_recvfrom, .has_object = true, .object = OBJECT_SOCKET}, WAIT_NETWORK},
	    {{.syscall = SYS_recvfrom, .has_object = true, .object = OBJECT_SOCKET, .serves = true},
	     WAIT_EVENTS},
	    {{.syscall = SYS_sendto, .has_object = true, .object = OBJECT_LOCAL}, WAIT_LOCAL_FULL},
	    {{.syscall = SYS_read, .has_object = true, .object = OBJECT_FILE}, WAIT_FILE},
	    {{.syscall = SYS_read, .state = SWITCH_IN_IOWAIT}, WAIT_FILE},
	    {{.syscall = SYS_fsync}, WAIT_FILE},
	    {{.syscall = SYS_fsync, .hints = HINT_JOURNAL}, WAIT_JOURNAL},
	    {{.syscall = SYS_write, .hints = HINT_WRITEBACK}, WAIT_WRITEBACK},
	    {{.syscall = SYS_mmap, .hints = HINT_LOCK}, WAIT_KERNEL_LOCK},
	    {{.syscall = SYS_openat, .contends = true}, WAIT_KERNEL_LOCK},
	    {{.syscall = SYS_futex, .args = {1, 128, 2}, .hints = HINT_LOCK}, WAIT_LOCK},
	    {{.syscall = SYS_semtimedop}, WAIT_SEMAPHORE},
	    {{.syscall = SYS_msgrcv}, WAIT_MESSAGE},
	    {{.syscall = SYS_flock}, WAIT_FILE_LOCK},
	    {{.syscall = -1, .in_fault = true}, WAIT_PAGE},
	    {{.syscall = SYS_mmap, .hints = HINT_PAGE | HINT_IO}, WAIT_PAGE},
	    {{.syscall = SYS_read, .hints = HINT_PAGE | HINT_PROVIDED}, WAIT_PROVIDED_PAGE},
	    {{.syscall = SYS_unlink, .hints = HINT_IO}, WAIT_FILE},
	    {{.syscall = SYS_unlink}, WAIT_OTHER},
	    {{.syscall = -1, .hints = HINT_PAGE | HINT_SWAP}, WAIT_SWAP},
	    {{.syscall = SYS_brk, .hints = HINT_RECLAIM}, WAIT_RECLAIM},
	    {{.syscall = SYS_read, .state = SWITCH_STOPPED}, WAIT_STOPPED},
	    {{.syscall = SYS_read, .state = SWITCH_TRACED}, WAIT_TRACED},
	    {{.syscall = SYS_read, .state = SWITCH_FROZEN | 1}, WAIT_FROZEN},
	    {{.syscall = SYS_read, .hints = HINT_FREEZER}, WAIT_FROZEN},
	    {{.syscall = SYS_clock_nanosleep, .retries = true}, WAIT_RETRY},
	    {{.syscall = SYS_clock_nanosleep, .retries = true, .retries_lock = true},
	     WAIT_FILE_LOCK_POLLED},
	    {{.syscall = SYS_clone, .hints = HINT_VFORK}, WAIT_VFORK},
	    {{.syscall = SYS_io_uring_enter, .state = SWITCH_IN_IOWAIT}, WAIT_URING},
	    {{.syscall = -1, .kernel_thread = true}, WAIT_KERNEL_IDLE},
	    {{.syscall = -1}, WAIT_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (wait_kind_of(&cases[i].f) != cases[i].kind)
			fail_msg("case %zu: %s, not %s", i,
				 wait_kind_info(wait_kind_of(&cases[i].f))->text,
				 wait_kind_info(cases[i].kind)->text);
	}
	for (unsigned int k = 0; k < WAIT_KINDS; k++)
		assert_true(strlen(wait_kind_info((enum wait_kind)k)->text) > 3);
	for (unsigned int a = 0; a < ACCOUNTS; a++)
		assert_non_null(wait_account_text((enum wait_account)a));
}

static void test_hints(void **state)
{
	static const char *const spins[] = {"osq_lock", "rwsem_down_write_slowpath", "down_write",
					    "vm_mmap_pgoff"};
	const char *wants;

	assert_int_equal(wait_hints("ksys_read;vfs_read;pipe_read;schedule"), HINT_PIPE_READ);
	assert_int_equal(wait_hints("asm_exc_page_fault;handle_mm_fault;io_schedule"),
			 HINT_PAGE | HINT_IO);
	assert_int_equal(wait_hints(""), 0);
	assert_int_equal(wait_hints("__send_signal_locked;signal_wake_up_state"), HINT_SIGNAL);
	assert_int_equal(wait_hints("__send_signal_locked;__wake_up;ep_poll_callback"), 0);
	assert_int_equal(wait_hints("exit_to_user_mode_loop;get_signal;schedule"), HINT_FREEZER);
	assert_int_equal(wait_hints("get_signal;do_group_exit;do_exit;schedule"), 0);
	assert_int_equal(wait_hints_of(spins, 4, &wants),
			 HINT_LOCK | HINT_OWNED | HINT_ADDRESS_SPACE);
	assert_string_equal(wants, "vm_mmap_pgoff");
}

/* A worker of the kernel that a timer wakes now and then ends the target's wait once: its idle time
 * is not on the path. */
static void test_idle_worker(void **state)
{
	static const struct sim_op target[] = {
	    {RUN, 80 * MS}, {WAIT, 1, HOW_PIPE}, {RUN, 5 * MS}, {EXIT}};
	static const struct sim_op worker[] = {{LOOP, 10},    {WAIT_FOR, 5, HOW_WORKER, 9 * MS},
					       {RUN, 1 * MS}, {NEXT},
					       {POST, 1},     {EXIT}};
	struct waits_critical c;

	sim_begin(&sim, 2);
	sim_task(&sim, "target", TARGET, 0, target);
	sim_task(&sim, "kworker", TASK_KERNEL | TASK_KWORKER, 1, worker);
	sim_play(110 * MS, 2);
	feed_all(NULL);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near(critical_ms(&c.path, "target", "running"), 85);
	near(critical_ms(&c.path, "kworker", "idle"), 0);
	waits_critical_release(&c);
}

/* A thread whose CPU quota is used up is throttled; other waits for a CPU keep their name. */
static void test_throttled(void **state)
{
	static const struct sim_op busy[] = {{LOOP, 10}, {RUN, 10 * MS}, {NEXT}, {EXIT}};
	struct waits_critical c;

	sim_begin(&sim, 1);
	sim_task(&sim, "target", TARGET, 0, busy);
	sim_task(&sim, "other", 0, 0, busy);
	sim_play(100 * MS, 2);
	for (uint32_t i = 0, turns = 0; i < sim.nr_records; i++) {
		struct record *r = &sim.records[i];

		/* every other time that the target leaves the CPU */
		if (r->type == REC_SWITCH && r->switched.prev_tid == sim.task[0].tid && turns++ % 2)
			r->switched.state |= SWITCH_THROTTLED;
	}
	feed_all(NULL);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	near(critical_ms(&c.path, "target", "throttled by the CPU quota"), 24);
	near(critical_ms(&c.path, "target", "runnable"), 24);
	near(critical_ms(&c.path, "target", "running"), 52);
	waits_critical_release(&c);
}

#define CASE(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_waker_joins_late), CASE(test_pass_and_disk),     CASE(test_deficit),
	    CASE(test_back_pressure),	 CASE(test_call_path),	       CASE(test_calls_only),
	    CASE(test_folded),		 CASE(test_timeline),	       CASE(test_idle_worker),
	    CASE(test_throttled),	 cmocka_unit_test(test_kinds), cmocka_unit_test(test_hints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
