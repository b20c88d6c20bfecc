// SPDX-License-Identifier: GPL-2.0-or-later
/* What a thread did while another one waited for it, by its off-CPU intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/past.h"

#define MS 1000000ull

enum { POLL = 7, FUTEX = 202 };

/* The thread sleeps from `since` until `now` in this system call. */
static void sleeps(struct pt_asleep *a, uint64_t since, uint64_t now, uint32_t switches,
		   int32_t syscall)
{
	struct pt_past *p = past_add(a, since, now, switches);

	assert_non_null(p);
	p->syscall = syscall;
	p->preempt_pid = 0;
}

static struct pt_record_sleep did(const struct pt_asleep *a, uint64_t since, uint64_t until,
				  uint32_t switches)
{
	struct pt_record_sleep r;

	memset(&r, 0, sizeof(r));
	past_fill(&r, a, since, until, switches);
	return r;
}

static void without_a_history_nothing_is_known(void **state)
{
	struct pt_asleep a = {0};

	assert_int_equal(did(&a, 100 * MS, 200 * MS, 3).did, PT_DID_UNKNOWN);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, PAST_NOT_COUNTED).did, PT_DID_UNKNOWN);
}

static void a_complete_history_tells_what_ran(void **state)
{
	struct pt_asleep a = {0};
	struct pt_record_sleep r;

	sleeps(&a, 50 * MS, 90 * MS, 7, POLL);
	r = did(&a, 100 * MS, 200 * MS, 7);
	assert_int_equal(r.did, PT_DID_RUN);
	assert_int_equal(r.did_ns, 100 * MS);
	sleeps(&a, 110 * MS, 120 * MS, 8, POLL);
	r = did(&a, 100 * MS, 200 * MS, 8);
	assert_int_equal(r.did, PT_DID_RUN);
	assert_int_equal(r.did_ns, 90 * MS);
	/* it has slept again since: this changes nothing about the time before */
	sleeps(&a, 210 * MS, 300 * MS, 9, POLL);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, 8).did, PT_DID_RUN);
	sleeps(&a, 310 * MS, 390 * MS, 10, FUTEX);
	r = did(&a, 300 * MS, 400 * MS, 10);
	assert_int_equal(r.did, PT_DID_SLEEP);
	assert_int_equal(r.did_syscall, FUTEX);
	assert_int_equal(r.did_ns, 80 * MS);
}

/* Between two bursts, or two measured calls, intervals are not noted. */
static void what_was_not_watched_is_no_running(void **state)
{
	struct pt_asleep a = {0};

	sleeps(&a, 50 * MS, 90 * MS, 7, POLL);
	/* it has left its CPU a second time, unseen */
	assert_int_equal(did(&a, 100 * MS, 200 * MS, 8).did, PT_DID_UNKNOWN);
	/* and twice before this interval */
	sleeps(&a, 150 * MS, 160 * MS, 10, POLL);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, 10).did, PT_DID_UNKNOWN);
	/* the time after it is known */
	assert_int_equal(did(&a, 155 * MS, 200 * MS, 10).did, PT_DID_RUN);
	/* a sleep that was seen is known in any case */
	sleeps(&a, 210 * MS, 290 * MS, 15, FUTEX);
	assert_int_equal(did(&a, 200 * MS, 300 * MS, 15).did, PT_DID_SLEEP);
}

/* In a burst the first thing that is seen of a thread may be that it gets a CPU. */
static void a_sleep_that_began_before_the_burst(void **state)
{
	struct pt_asleep a = {0};
	struct pt_record_sleep r;

	sleeps(&a, 0, 190 * MS, 7, POLL);
	r = did(&a, 100 * MS, 200 * MS, 7);
	assert_int_equal(r.did, PT_DID_SLEEP);
	assert_int_equal(r.did_ns, 90 * MS);
	/* of the next burst it says nothing */
	assert_int_equal(did(&a, 300 * MS, 400 * MS, 9).did, PT_DID_UNKNOWN);
	sleeps(&a, 390 * MS, 395 * MS, 10, POLL);
	assert_int_equal(did(&a, 300 * MS, 400 * MS, 10).did, PT_DID_UNKNOWN);
}

/* The owner of a lock need not run at the end, so its number of switches is not known then. */
static void an_owner_that_did_not_wake_the_thread(void **state)
{
	struct pt_asleep a = {0};

	sleeps(&a, 50 * MS, 90 * MS, 7, POLL);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, PAST_NOT_COUNTED).did, PT_DID_UNKNOWN);
	sleeps(&a, 199 * MS, 210 * MS, 8, POLL);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, PAST_NOT_COUNTED).did, PT_DID_RUN);
}

static void earlier_intervals_are_forgotten(void **state)
{
	struct pt_asleep a = {0};

	for (uint32_t i = 0; i < PT_PASTS + 2; i++)
		sleeps(&a, (100 + 10 * i) * MS, (101 + 10 * i) * MS, i, POLL);
	assert_int_equal(did(&a, 105 * MS, 300 * MS, PT_PASTS + 1).did, PT_DID_UNKNOWN);
	assert_int_equal(did(&a, 125 * MS, 300 * MS, PT_PASTS + 1).did, PT_DID_RUN);
}

static void preempted_and_born(void **state)
{
	struct pt_asleep a = {0};
	struct pt_record_sleep r;
	struct pt_past *p;

	past_begin(&a, 80 * MS, 0);
	assert_int_equal(did(&a, 100 * MS, 200 * MS, 0).did, PT_DID_RUN);
	assert_int_equal(did(&a, 70 * MS, 200 * MS, 0).did, PT_DID_UNKNOWN);
	p = past_add(&a, 110 * MS, 180 * MS, 1);
	assert_non_null(p);
	p->preempt_pid = 42;
	memcpy(p->preempt_comm, "make", 5);
	r = did(&a, 100 * MS, 200 * MS, 1);
	assert_int_equal(r.did, PT_DID_WAIT_FOR_CPU);
	assert_int_equal(r.did_pid, 42);
	assert_string_equal(r.did_comm, "make");
	/* too short to be kept, but it leaves no gap */
	assert_null(past_add(&a, 200 * MS, 200 * MS + PAST_MIN_NS - 1, 2));
	assert_int_equal(did(&a, 190 * MS, 300 * MS, 2).did, PT_DID_RUN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_a_history_nothing_is_known),
	    cmocka_unit_test(a_complete_history_tells_what_ran),
	    cmocka_unit_test(what_was_not_watched_is_no_running),
	    cmocka_unit_test(a_sleep_that_began_before_the_burst),
	    cmocka_unit_test(an_owner_that_did_not_wake_the_thread),
	    cmocka_unit_test(earlier_intervals_are_forgotten),
	    cmocka_unit_test(preempted_and_born),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
