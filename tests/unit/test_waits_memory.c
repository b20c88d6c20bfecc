// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The analysis of waits needs no more memory for a long stream than for a short one, and its sums
 * stay right; also if a thousand threads queue for one lock. PEAKTOP_WAITS_RECORDS sets the length
 * of the stream: a million records in a check, a hundred million in `make fuzz`.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "analysis/waits/waits.h"
#include "analysis/waits/waits_critical.h"

#define US 1000ull
#define MS 1000000ull

enum {
	PARENT = 1,
	FIRST_CHILD = 2,
	TIDS = 20000, /* then they are used again */
	OBJECTS = 500,
	TRACES = 3000,
	RECORDS_OF_CHILD = 12,
	THREADS = 1000, /* of the convoy */
	TURNS = 30000,
};
/* What one process takes of its parent's time, as feed_process() plays it. */
enum { LIFE_US = 200, DEVICE_US = 40, READY_US = 40, RUN_US = 120 };

/* A shell that starts short-lived processes, one after the other, and waits for each. */
struct stream {
	struct waits *waits;
	uint64_t at;
	uint32_t sequence;
};

static void feed(struct stream *s, const struct record *r)
{
	waits_feed(s->waits, r);
}

static void feed_window(struct stream *s, uint32_t edge)
{
	feed(s, &(struct record){.type = REC_WINDOW, .window = {.at_ns = s->at, .edge = edge}});
}

static void feed_switch(struct stream *s, uint32_t prev, uint64_t prev_start, uint32_t next,
			uint64_t next_start, uint32_t state, uint32_t stack)
{
	s->at += 20 * US;
	feed(s, &(struct record){.type = REC_SWITCH,
				 .switched = {.at_ns = s->at,
					      .sequence = ++s->sequence,
					      .prev_tid = prev,
					      .prev_start_ns = prev_start,
					      .next_tid = next,
					      .next_start_ns = next_start,
					      .state = state,
					      .kernel_stack = stack}});
}

static void feed_asleep(struct stream *s, uint32_t tid, uint32_t object)
{
	feed(s, &(struct record){.type = REC_ASLEEP,
				 .asleep = {.at_ns = s->at,
					    .sequence = ++s->sequence,
					    .tid = tid,
					    .syscall = 0,
					    .object = object}});
}

static void feed_waking(struct stream *s, uint32_t current, uint64_t current_start, uint32_t wakee,
			uint64_t wakee_start, uint64_t brackets, uint64_t cause)
{
	s->at += 20 * US;
	feed(s, &(struct record){.type = REC_WAKING,
				 .waking = {.at_ns = s->at,
					    .sequence = ++s->sequence,
					    .current_tid = current,
					    .current_start_ns = current_start,
					    .wakee_tid = wakee,
					    .wakee_start_ns = wakee_start,
					    .brackets = brackets,
					    .cause = cause}});
}

static void feed_request(struct stream *s, uint32_t event, uint64_t request, uint32_t tid,
			 uint64_t start)
{
	s->at += 20 * US;
	feed(s, &(struct record){.type = REC_BLOCK,
				 .block = {.at_ns = s->at,
					   .sequence = ++s->sequence,
					   .event = event,
					   .request = request,
					   .tid = tid,
					   .start_ns = start}});
}

/* One process: it is started, reads a disk, wakes its parent and ends. */
static void feed_process(struct stream *s, uint64_t i)
{
	uint32_t tid = FIRST_CHILD + (uint32_t)(i % TIDS), trace = 1 + (uint32_t)(i % TRACES),
		 object = 1 + (uint32_t)(i % OBJECTS);
	uint64_t born = s->at + 20 * US, request = 0x1000 + i;
	struct record r = {.type = REC_LIFE};
	char text[64];

	s->at = born;
	snprintf(text, sizeof(text), "job%u", (unsigned int)(i % 100));
	r.life = (struct rec_life){.at_ns = s->at,
				   .sequence = ++s->sequence,
				   .tid = PARENT,
				   .start_ns = 1,
				   .child_tid = tid,
				   .child_start_ns = born,
				   .child_pid = tid,
				   .flags = TASK_FOLLOWED,
				   .event = LIFE_FORK,
				   .comm = text};
	feed(s, &r);
	feed_asleep(s, PARENT, 0);
	feed_switch(s, PARENT, 1, tid, born, SWITCH_INTERRUPTIBLE, 0);
	snprintf(text, sizeof(text), "do_read;wait_%u;schedule", trace);
	feed(s, &(struct record){.type = REC_TRACE,
				 .trace = {.trace = trace, .flags = TRACE_KERNEL, .kernel = text}});
	snprintf(text, sizeof(text), "/data/%u", object);
	feed(s, &(struct record){.type = REC_OBJECT,
				 .object = {.object = object, .kind = OBJECT_FILE, .name = text}});
	feed_request(s, BLOCK_SUBMIT, request, tid, born);
	feed_request(s, BLOCK_ISSUE, request, tid, born);
	feed_asleep(s, tid, object);
	feed_switch(s, tid, born, 0, 0, 2, trace);
	feed_request(s, BLOCK_COMPLETE, request, 0, 0);
	feed_waking(s, 0, 0, tid, born, BRACKET(BRACKET_BLOCK, 0), request);
	feed_switch(s, 0, 0, tid, born, 0, 0);
	feed_waking(s, tid, born, PARENT, 1, 0, 0);
	feed_switch(s, tid, born, PARENT, 1, SWITCH_DEAD, 0);
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static uint64_t children(void)
{
	const char *records = getenv("PEAKTOP_WAITS_RECORDS");

	return (records ? strtoull(records, NULL, 10) : 1000000) / RECORDS_OF_CHILD;
}

static void feed_shell(struct stream *s)
{
	feed_window(s, WINDOW_BEGIN);
	s->at += US;
	feed(s, &(struct record){.type = REC_TASK,
				 .task = {.at_ns = s->at,
					  .sequence = ++s->sequence,
					  .tid = PARENT,
					  .pid = PARENT,
					  .start_ns = 1,
					  .flags = TASK_TARGET | TASK_FOLLOWED,
					  .state = 'R',
					  .comm = "sh"}});
}

static void expect_ns(uint64_t told, uint64_t truth)
{
	assert_in_range(told, truth - truth / 1000, truth + truth / 1000);
}

/*
 * After a tenth of the stream everything has been forgotten once: the horizon and the room for
 * segments and stacks have long been exceeded. From then on nothing may grow.
 */
static void memory_is_flat(void **state)
{
	struct stream s = {.at = 1000 * MS};
	struct waits_account account;
	struct waits_stats stats;
	uint64_t nr = children();
	size_t early = 0;

	s.waits = waits_new(&(struct waits_config){
	    .max_tasks = 8192, .horizon_ns = 200 * MS, .max_segments = 8192, .max_traces = 512});
	assert_non_null(s.waits);
	feed_shell(&s);
	for (uint64_t i = 0; i < nr; i++) {
		feed_process(&s, i);
		if (i == nr / 10)
			early = heap();
	}
	assert_in_range(heap(), 0, early + early / 20);
	feed_window(&s, WINDOW_END);
	waits_flush(s.waits);
	waits_stats(s.waits, &stats);
	waits_account(s.waits, &account);
	assert_in_range(stats.records, nr * RECORDS_OF_CHILD, nr * RECORDS_OF_CHILD + 10);
	assert_int_equal(stats.lost_records, 0);
	assert_int_equal(stats.mismatches, 0);
	assert_int_equal(stats.tasks_full, 0);
	expect_ns(account.total_ns, nr * LIFE_US * US);
	expect_ns(account.ns[ACCOUNT_DEVICE], nr * DEVICE_US * US);
	expect_ns(account.ns[ACCOUNT_RUN_UNSAMPLED], nr * RUN_US * US);
	expect_ns(account.ns[ACCOUNT_RUN_QUEUE] + account.ns[ACCOUNT_HANDOFF], nr * READY_US * US);
	waits_free(s.waits);
}

static void feed_threads(struct stream *s)
{
	feed_window(s, WINDOW_BEGIN);
	s->at += US;
	for (uint32_t i = 0; i < THREADS; i++)
		feed(s, &(struct record){.type = REC_TASK,
					 .task = {.at_ns = s->at,
						  .sequence = ++s->sequence,
						  .tid = FIRST_CHILD + i,
						  .pid = FIRST_CHILD,
						  .start_ns = 1,
						  .flags = TASK_TARGET | TASK_FOLLOWED,
						  .state = i ? 'S' : 'R',
						  .comm = "pool"}});
}

/*
 * A thousand threads have a lock in turn, so that each wait is the sum of 999 others' turns. All of
 * them cannot be told in time: later chains are cut off and say so, and no time is lost or
 * invented.
 */
static void long_convoy(void **state)
{
	struct stream s = {.at = 1000 * MS};
	struct waits_account account;
	struct waits_chains chains;
	struct waits_stats stats;
	uint64_t begin;

	s.waits = waits_new(NULL);
	assert_non_null(s.waits);
	feed_threads(&s);
	begin = s.at;
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t tid = FIRST_CHILD + i % THREADS, next = FIRST_CHILD + (i + 1) % THREADS;

		feed_waking(&s, tid, 1, next, 1, 0, 0);
		feed(&s, &(struct record){.type = REC_ASLEEP,
					  .asleep = {.at_ns = s.at,
						     .sequence = ++s.sequence,
						     .tid = tid,
						     .syscall = SYS_futex,
						     .args = {0x1000}}});
		feed_switch(&s, tid, 1, next, 1, SWITCH_INTERRUPTIBLE, 0);
	}
	feed_window(&s, WINDOW_END);
	waits_flush(s.waits);
	waits_stats(s.waits, &stats);
	waits_account(s.waits, &account);
	assert_int_equal(waits_chains(s.waits, &chains), 0);
	assert_true(stats.limits > 0);
	assert_int_equal(stats.mismatches, 0);
	assert_int_equal(account.total_ns, chains.total_ns + chains.no_room_ns);
	expect_ns(account.total_ns, THREADS * (s.at - begin));
	/* what was not told is said to be unknown, and it is not everything */
	assert_in_range(account.ns[ACCOUNT_UNKNOWN], account.total_ns / 100,
			account.total_ns / 100 * 99);
	waits_chains_release(&chains);
	waits_free(s.waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_flat),
					   cmocka_unit_test(long_convoy)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
