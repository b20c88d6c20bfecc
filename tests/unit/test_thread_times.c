// SPDX-License-Identifier: GPL-2.0-or-later
/* To which sleep the time between two scans belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/thread_times.c" /* not among the pure libraries */

int send_record(struct collector *c, const struct record *rec)
{
	(void)c;
	(void)rec;
	return 0;
}

uint64_t snapshots_since_start(const struct collector *c, uint64_t at)
{
	(void)c;
	return at;
}

void quota_owner(const struct pt_quota *q, char *out, size_t n)
{
	(void)q;
	(void)n;
	*out = '\0';
}

void quota_text(const struct pt_quota *q, char *out, size_t n)
{
	(void)q;
	(void)n;
	*out = '\0';
}

#define MS 1000000ull
#define UNSEEN_NS (40 * MS)

/* Divides 1.6 s asleep, of which the present sleep has this part, after so many switches. */
static uint64_t divide(struct snapshot_thread *t, uint32_t state, uint64_t switches,
		       uint64_t present)
{
	struct pt_task_now now = {.state = state,
				  .switches = 100 + switches,
				  .ran_ns = 5000 * MS - present,
				  .clock_ns = 5000 * MS};

	t->now.switches = 100;
	t->pending = 7;
	return thread_divide(t, &now, 1600 * MS, UNSEEN_NS);
}

static void test_divide(void **state)
{
	struct snapshot_thread t = {.held = true};

	(void)state;
	/* it woke and fell asleep again, once: all of it was seen */
	assert_int_equal(divide(&t, 1, 1, 100 * MS), 100 * MS);
	assert_int_equal(t.pending, 7 + 1500 * MS);
	/* it woke and runs since */
	assert_int_equal(divide(&t, 0, 0, 0), 0);
	assert_int_equal(t.pending, 7 + 1600 * MS);
	/* a long sleep that was not seen is not given to the present one */
	assert_int_equal(divide(&t, 1, 2, 100 * MS), 100 * MS + 2 * UNSEEN_NS);
	assert_int_equal(t.pending, 7);
	t.held = false;
	assert_int_equal(divide(&t, 1, 1, 100 * MS), 100 * MS + UNSEEN_NS);
	/* many short ones are: the scan finds each kind as often as it takes time */
	assert_int_equal(divide(&t, 1, 1000, 100 * MS), 1600 * MS);
	assert_int_equal(divide(&t, 0, 1000, 0), 1600 * MS);
	/* the clocks of two CPUs differ a little */
	assert_int_equal(divide(&t, 1, 1, 1700 * MS), 1600 * MS);
}

/* The sleep of a thread that began after the last scan stands for all the time since that scan. */
static void test_newborn(void **state)
{
	struct pt_task_now now = {.tid = 9,
				  .tgid = 7,
				  .state = 1,
				  .switches = 3,
				  .cpu_ns = 2 * MS,
				  .runq_ns = 1 * MS,
				  .started_ns = 990 * MS};
	struct snapshot_thread t = {.now = now}, first = {.reported_cpu_ns = 50 * MS};

	(void)state;
	thread_begin(&t, 980 * MS, 1000 * MS);
	assert_true(t.newborn);
	assert_int_equal(thread_account(&t, &now, 1000 * MS), 20 * MS);
	assert_int_equal(t.cpu, 2 * MS);
	t.now = now;
	thread_end(&t, &first);
	assert_int_equal(first.reported_cpu_ns, 52 * MS);

	/* one that runs has used what it has used */
	t = (struct snapshot_thread){.now = now};
	t.now.state = now.state = 0;
	thread_begin(&t, 980 * MS, 1000 * MS);
	assert_int_equal(thread_account(&t, &now, 1000 * MS), 7 * MS);
	assert_int_equal(t.wall, 10 * MS);

	/* at the first scan the age of a thread says nothing about the time before */
	t = (struct snapshot_thread){.now = now};
	thread_begin(&t, 0, 1000 * MS);
	assert_false(t.newborn);
	assert_int_equal(thread_account(&t, &now, 1000 * MS), 0);
}

/* What ended threads have used is told once, without what their own records contain. */
static void test_ended_threads_are_reported_once(void **state)
{
	uint64_t told = 30;

	(void)state;
	assert_int_equal(take_unreported(100, &told), 70);
	assert_int_equal(take_unreported(100, &told), 0);
	told += 20;
	assert_int_equal(take_unreported(110, &told), 0);
	assert_int_equal(take_unreported(130, &told), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_divide),
					   cmocka_unit_test(test_newborn),
					   cmocka_unit_test(test_ended_threads_are_reported_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
