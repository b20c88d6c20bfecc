// SPDX-License-Identifier: GPL-2.0-or-later
/* The same facts of one sleep, given to all that tell what it was and who ended it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/futex.h>

#include "analysis/base/syscall_names.h"
#include "analysis/descent/causes.h"
#include "analysis/waits/waits.h"
#include "analysis/walk/class.h"
#include "tests/unit/waits_segments.h"
#include "tui/report/output_open.h"

#define MS 1000000ull

enum { CPU = 0, TARGET = 10, WAKER = 20, NAME_TIMER = 1, SOFT_RX = 3 };

/* Who the current task was at the waking. */
enum by { BY_NOBODY, BY_WAKER, BY_ITSELF, BY_IDLE };

struct sleep_case {
	const char *call; /* "": none */
	uint64_t args[WAITS_ARGS];
	enum object_kind object;
	const char *kernel;
	uint32_t flags, for_thread; /* flags: enum sleep_flags */
	enum by by;
	/* of the waking, as a descent sees them (one) and as the tracing of waits does */
	uint64_t bracket, brackets;
	const char *words; /* of the kind */
	enum walk_class class;
	enum cause_kind cause;
	enum wait_ender ender;
};

#define SOFT(n) BRACKET(BRACKET_SOFT, n)
#define CLOCK BRACKET(BRACKET_CLOCK, 0)
#define EXPIRY (CLOCK << 16 | BRACKET(BRACKET_TIMER, NAME_TIMER))
#define DISK BRACKET(BRACKET_HARD, 14)

static const struct sleep_case cases[] = {
    {"clock_nanosleep",
     {1},
     0,
     "do_nanosleep",
     0,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping",
     WALK_SLEEP,
     CAUSE_SLEEP,
     ENDER_TIMER},
    {"clock_nanosleep",
     {1},
     0,
     "do_nanosleep",
     SLEEP_RETRIES,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping until the next try of a call that failed",
     WALK_WORK,
     CAUSE_SLEEP,
     ENDER_TIMER},
    {"clock_nanosleep",
     {1},
     0,
     "do_nanosleep",
     SLEEP_RETRIES | SLEEP_RETRIES_LOCK,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping until the next try to get a file lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TIMER},
    /* an interpreter that another thread can wake while it sleeps */
    {"ppoll",
     {1, 1},
     OBJECT_FILE,
     "do_sys_poll",
     SLEEP_RETRIES | SLEEP_RETRIES_LOCK,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping until the next try to get a file lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TIMER},
    {"poll",
     {0},
     0,
     "do_sys_poll",
     0,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping",
     WALK_SLEEP,
     CAUSE_SLEEP,
     ENDER_TIMER},
    {"poll",
     {8, 2},
     0,
     "do_sys_poll",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for events",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"poll",
     {8, 2},
     0,
     "do_sys_poll",
     0,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "waiting for events",
     WALK_IDLE,
     CAUSE_TIMEOUT,
     ENDER_TIMER},
    {"poll",
     {8, 1},
     OBJECT_SOCKET,
     "do_sys_poll",
     0,
     0,
     BY_IDLE,
     SOFT(SOFT_RX),
     SOFT(SOFT_RX) | DISK << 16,
     "waiting for data from the network",
     WALK_WORK,
     CAUSE_NETWORK,
     ENDER_NETWORK},
    {"write",
     {3},
     OBJECT_LOCAL,
     "unix_dgram_sendmsg;unix_wait_for_peer",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for room in a datagram socket",
     WALK_WORK,
     CAUSE_WAIT,
     ENDER_TASK},
    {"recvfrom",
     {3},
     OBJECT_LOCAL,
     "tcp_recvmsg",
     0,
     0,
     BY_WAKER,
     SOFT(SOFT_RX),
     SOFT(SOFT_RX),
     "waiting for data from a local socket",
     WALK_WORK,
     CAUSE_WAIT,
     ENDER_TASK},
    {"read",
     {3},
     OBJECT_PIPE,
     "pipe_read",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for data in a pipe",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"read",
     {3},
     OBJECT_FILE,
     "fifo_pipe_read",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for data in a pipe",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"write",
     {3},
     OBJECT_PIPE,
     "pipe_write",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for room in a pipe",
     WALK_WORK,
     CAUSE_WAIT,
     ENDER_TASK},
    {"openat",
     {0, 1, O_RDONLY},
     OBJECT_OTHER,
     "fifo_open",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a writer of a FIFO",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"open",
     {1, O_WRONLY},
     OBJECT_OTHER,
     "fifo_open",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a reader of a FIFO",
     WALK_WORK,
     CAUSE_WAIT,
     ENDER_TASK},
    {"newfstatat",
     {0, 1},
     OBJECT_OTHER,
     "request_wait_answer",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for I/O",
     WALK_WORK,
     CAUSE_IO,
     ENDER_TASK},
    {"read",
     {3},
     OBJECT_TERMINAL,
     "n_tty_read",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a terminal",
     WALK_IDLE,
     CAUSE_IO,
     ENDER_TASK},
    {"read",
     {3},
     OBJECT_EVENT,
     "eventfd_read",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a message",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"read",
     {3},
     OBJECT_TIMER,
     "timerfd_read",
     0,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "sleeping",
     WALK_SLEEP,
     CAUSE_SLEEP,
     ENDER_TIMER},
    {"read",
     {3},
     OBJECT_FILE,
     "filemap_read;io_schedule",
     SLEEP_IN_IOWAIT,
     0,
     BY_WAKER,
     SOFT(4),
     BRACKET(BRACKET_BLOCK, 0) | DISK << 16,
     "waiting for I/O",
     WALK_WORK,
     CAUSE_IO,
     ENDER_REQUEST},
    {"fsync",
     {3},
     OBJECT_FILE,
     "do_fsync;jbd2_log_wait_commit",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for the journal",
     WALK_WORK,
     CAUSE_IO,
     ENDER_TASK},
    {"write",
     {3},
     OBJECT_FILE,
     "ksys_write;balance_dirty_pages",
     0,
     0,
     BY_IDLE,
     CLOCK,
     EXPIRY,
     "throttled while writing: too many dirty pages",
     WALK_WORK,
     CAUSE_THROTTLED,
     ENDER_TIMER},
    {"futex",
     {8, FUTEX_WAIT_PRIVATE, 2},
     0,
     "futex_wait",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TASK},
    {"futex",
     {8, FUTEX_WAIT_BITSET_PRIVATE, 3},
     0,
     "futex_wait",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TASK},
    {"futex",
     {8, FUTEX_WAIT_BITSET_PRIVATE, 0},
     0,
     "futex_wait",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a condition",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"futex",
     {8, FUTEX_WAIT_BITSET, 11},
     0,
     "futex_wait",
     0,
     1,
     BY_WAKER,
     0,
     0,
     "joining a thread",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"flock",
     {3},
     OBJECT_FILE,
     "flock_lock_inode_wait",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a file lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TASK},
    {"fcntl",
     {3, F_SETLKW},
     OBJECT_FILE,
     "fcntl_setlk",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a file lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TASK},
    {"mmap",
     {0},
     0,
     "down_write_killable;rwsem_down_write_slowpath",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a kernel lock",
     WALK_WORK,
     CAUSE_LOCK,
     ENDER_TASK},
    {"wait4",
     {(uint64_t)-1},
     0,
     "do_wait",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a child",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"pause",
     {0},
     0,
     "__x64_sys_pause",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a signal",
     WALK_IDLE,
     CAUSE_WAIT,
     ENDER_TASK},
    {"msgsnd",
     {0},
     0,
     "do_msgsnd",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for room for a message",
     WALK_WORK,
     CAUSE_WAIT,
     ENDER_TASK},
    {"",
     {0},
     0,
     "asm_exc_page_fault;filemap_fault;io_schedule",
     SLEEP_IN_IOWAIT,
     0,
     BY_WAKER,
     SOFT(4),
     BRACKET(BRACKET_BLOCK, 0) | DISK << 16,
     "waiting for a page of a file",
     WALK_WORK,
     CAUSE_PAGE_FAULT,
     ENDER_REQUEST},
    {"",
     {0},
     0,
     "asm_exc_page_fault;exc_page_fault;handle_mm_fault;handle_userfault",
     0,
     0,
     BY_WAKER,
     0,
     0,
     "waiting for a page that another thread has to provide (userfaultfd)",
     WALK_WORK,
     CAUSE_PAGE_FAULT,
     ENDER_TASK},
    {"ioctl",
     {3},
     OBJECT_OTHER,
     "drm_ioctl",
     0,
     0,
     BY_WAKER,
     DISK,
     DISK,
     "waiting",
     WALK_WORK,
     CAUSE_UNKNOWN,
     ENDER_IRQ},
    {"ioctl",
     {3},
     OBJECT_OTHER,
     "drm_ioctl",
     0,
     0,
     BY_ITSELF,
     0,
     0,
     "waiting",
     WALK_WORK,
     CAUSE_UNKNOWN,
     ENDER_SELF},
};

static int32_t number_of(const struct sleep_case *c)
{
	return c->call[0] ? syscall_number(c->call) : -1;
}

/* ---- a descent, a thread snapshot, the calls that are open */

static struct rec_sleep as_sleep(const struct sleep_case *c)
{
	struct rec_sleep s = {.syscall = number_of(c),
			      .call = c->call,
			      .object = c->object,
			      .name = "",
			      .waker = "",
			      .holder = "",
			      .doing = "",
			      .about = "",
			      .interrupt = "",
			      .bracket = (uint32_t)c->bracket,
			      .flags = c->flags | (c->for_thread ? SLEEP_FOR_THREAD : 0u) |
				       (c->by == BY_ITSELF ? SLEEP_BY_ITSELF : 0u),
			      .waker_tid = c->by == BY_WAKER	? WAKER
					   : c->by == BY_ITSELF ? TARGET
								: 0};

	memcpy(s.args, c->args, sizeof(s.args));
	return s;
}

static void expect_descent(const struct sleep_case *c)
{
	struct rec_sleep s = as_sleep(c);
	struct cause cause;

	cause_of_sleep(&s, c->kernel, &cause);
	assert_string_equal(cause_kind_text(cause.kind), cause_kind_text(c->cause));
	assert_string_equal(wait_ender_text(cause.ender), wait_ender_text(c->ender));
	assert_string_equal(wait_kind_info(wait_kind_of_sleep(&s, c->kernel, false))->text,
			    c->words);
	/* a recording of another architecture: the name counts, not the number */
	s.syscall = 9999;
	assert_string_equal(wait_kind_info(wait_kind_of_sleep(&s, c->kernel, false))->text,
			    c->words);
}

static void expect_snapshot(const struct sleep_case *c)
{
	struct rec_thread_snapshot snapshot = {.reason = SNAPSHOTS_FOR_OPEN,
					       .round = 1,
					       .tid = TARGET,
					       .comm = "target",
					       .kind = WITNESS_SLEEP,
					       .state = 'S',
					       .kernel = c->kernel,
					       .stop_text = "",
					       .sleep = as_sleep(c)};
	struct open_report r = {.calls = open_calls_new()};
	struct buf out;

	memcpy(snapshot.args, c->args, sizeof(c->args));
	assert_int_equal(walk_class_of(&snapshot), c->class);
	assert_int_equal(
	    open_calls_feed((struct open_calls *)(uintptr_t)r.calls,
			    &(struct record){.type = REC_THREAD_SNAPSHOT, .snapshot = snapshot}),
	    0);
	buf_init(&out, 1 << 16);
	open_report_lines(&r, &out);
	if (!strstr(out.data, c->words))
		fail_msg("%s: %s not in: %s", c->call, c->words, out.data);
	buf_release(&out);
	open_calls_free((struct open_calls *)(uintptr_t)r.calls);
}

/* ---- chains */

static struct waits *waits;
static uint64_t now;
static uint32_t sequence;

#define FEED(type_, member, ...)                                                                   \
	assert_int_equal(waits_feed(waits, &(struct record){.type = type_,                         \
							    .member = {.at_ns = now += MS,         \
								       .cpu = CPU,                 \
								       .sequence = ++sequence,     \
								       __VA_ARGS__}}),             \
			 0)

static void feed_name(uint32_t kind, uint32_t number, const char *text)
{
	assert_int_equal(
	    waits_feed(waits, &(struct record){.type = REC_NAME, .name = {kind, number, text}}), 0);
}

static void feed_task(uint32_t tid, uint32_t flags, const char *comm, char state)
{
	assert_int_equal(waits_feed(waits, &(struct record){.type = REC_TASK,
							    .task = {.at_ns = now += MS,
								     .start_ns = tid,
								     .cpu = WAITS_NO_CPU,
								     .tid = tid,
								     .pid = TARGET,
								     .flags = flags,
								     .state = (uint32_t)state,
								     .comm = comm}}),
			 0);
}

static void feed_chain(const struct sleep_case *c)
{
	uint32_t by = c->by == BY_WAKER ? WAKER : c->by == BY_ITSELF ? TARGET : 0;
	uint32_t asleep = c->call[0] ? 0 : ASLEEP_IN_FAULT;

	assert_int_equal(
	    waits_feed(waits, &(struct record){.type = REC_WINDOW, .window = {.at_ns = now += MS}}),
	    0);
	feed_name(BRACKET_TIMER, NAME_TIMER, "hrtimer_wakeup");
	assert_int_equal(waits_feed(waits, &(struct record){.type = REC_TRACE,
							    .trace = {.trace = 7,
								      .flags = TRACE_KERNEL,
								      .kernel = c->kernel}}),
			 0);
	assert_int_equal(waits_feed(waits, &(struct record){.type = REC_OBJECT,
							    .object = {3, c->object, 0, "it"}}),
			 0);
	feed_task(TARGET, TASK_TARGET | TASK_FOLLOWED, "target", 'R');
	feed_task(11, TASK_FOLLOWED, "other", 'S');
	feed_task(WAKER, 0, "waker", 0);
	FEED(REC_ASLEEP, asleep, .tid = TARGET, .syscall = number_of(c), .flags = asleep,
	     .args = {c->args[0], c->args[1], c->args[2]}, .object = c->object ? 3 : 0);
	FEED(REC_SWITCH, switched, .prev_tid = TARGET, .prev_start_ns = TARGET, .kernel_stack = 7,
	     .state = SWITCH_INTERRUPTIBLE |
		      (c->flags & SLEEP_IN_IOWAIT ? (uint32_t)SWITCH_IN_IOWAIT : 0));
	FEED(REC_WAKING, waking, .wakee_tid = TARGET, .wakee_start_ns = TARGET, .current_tid = by,
	     .current_start_ns = by, .brackets = c->brackets);
	FEED(REC_SWITCH, switched, .next_tid = TARGET, .next_start_ns = TARGET);
	FEED(REC_WINDOW, window, .edge = WINDOW_CPU);
	FEED(REC_WINDOW, window, .edge = WINDOW_END);
	waits_flush(waits);
}

static void expect_chain(const struct sleep_case *c)
{
	struct segment s[SEGMENTS_MAX];
	struct waits_chains chains;
	uint32_t nr;
	bool told = false;

	waits = waits_new(NULL);
	now = sequence = 0;
	feed_chain(c);
	nr = segments_of(waits, TARGET, TARGET, 0, now, s);
	for (uint32_t i = 0; i < nr; i++) {
		if (s[i].state != SEGMENT_SLEEP)
			continue;
		told = true;
		assert_string_equal(wait_kind_info(s[i].kind)->text, c->words);
		assert_string_equal(wait_ender_text(s[i].cause.kind), wait_ender_text(c->ender));
	}
	assert_true(told);
	told = false;
	assert_int_equal(waits_chains(waits, &chains), 0);
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		told |= l->tid == TARGET && l->state == CHAIN_SLEEP &&
			!strcmp(wait_kind_info(l->kind)->text, c->words);
	}
	assert_true(told);
	waits_chains_release(&chains);
	waits_free(waits);
}

static void test_same_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%zu: %s, %s\n", i, cases[i].call, cases[i].words);
		expect_descent(&cases[i]);
		expect_snapshot(&cases[i]);
		/* the tracing of waits does not see calls that fail */
		if (!(cases[i].flags & SLEEP_RETRIES))
			expect_chain(&cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
