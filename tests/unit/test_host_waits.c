// SPDX-License-Identifier: GPL-2.0-or-later
/* What a call waited for although it could have run, and what the kernel worked at: from the
 * kernel's account to causes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/descent/causes.h"
/* pure, but in the collector, whose library is not linked here */
#include "collect/host_waits.c"

static const struct rec_host_wait *of_kind(const struct host_waits *w, uint32_t kind,
					   const char *name)
{
	for (uint32_t i = 0; i < w->nr; i++) {
		if (w->wait[i].kind == kind && !strcmp(w->wait[i].name, name))
			return &w->wait[i];
	}
	return NULL;
}

/* Not who came first, but who ran longest; time that nobody is known for has no name. */
static void test_longest_runner(void **state)
{
	struct pt_host_waits in = {.ns = {[PT_WAIT_PREEMPTED] = 10000}};
	struct pt_runner *r = in.runners[PT_WAIT_PREEMPTED].one;
	struct host_waits out;

	r[0] = (struct pt_runner){.ns = 1000, .pid = 1, .comm = "first"};
	r[1] = (struct pt_runner){.ns = 7000, .pid = 2, .comm = "longest"};
	host_waits_fill(&out, &in, 0);
	assert_string_equal(out.preempted_by, "longest");
	assert_int_equal(out.preempted_by_pid, 2);
	assert_int_equal(out.nr, 3);
	assert_int_equal(of_kind(&out, HOST_WAIT_PREEMPTED, "first")->ns, 1000);
	assert_int_equal(of_kind(&out, HOST_WAIT_PREEMPTED, "")->ns, 2000);
}

static void test_quota_and_stops(void **state)
{
	struct pt_host_waits in = {
	    .ns = {[PT_WAIT_QUOTA] = 500, [PT_WAIT_STOPPED] = 600, [PT_WAIT_FROZEN] = 700},
	    .quota.ns = 10000000,
	    .quota.period_ns = 50000000,
	    .stopper_pid = 7,
	    .stop_signal = 19,
	    .stopper = "admin"};
	const struct rec_host_wait *w;
	struct host_waits out;
	struct cause c;

	snprintf(in.quota.of.part[0], PT_GROUP_NAME, "web");
	snprintf(in.quota.of.part[1], PT_GROUP_NAME, "system");
	snprintf(in.frozen.part[0], PT_GROUP_NAME, "batch");
	host_waits_fill(&out, &in, 0);
	assert_int_equal(out.nr, 3);
	w = of_kind(&out, HOST_WAIT_QUOTA, "/system/web");
	assert_non_null(w);
	cause_of_host_wait(w, &c);
	assert_int_equal(c.kind, CAUSE_QUOTA);
	assert_string_equal(c.detail, "10 ms of CPU time each 50 ms");
	cause_of_host_wait(of_kind(&out, HOST_WAIT_STOPPED, "admin"), &c);
	assert_int_equal(c.kind, CAUSE_STOPPED);
	assert_string_equal(c.detail, "SIGSTOP, pid 7");
	cause_of_host_wait(of_kind(&out, HOST_WAIT_FROZEN, "/batch"), &c);
	assert_string_equal(c.name, "the cgroup freezer of /batch");
}

static void test_several_tasks(void **state)
{
	struct cause_tally t = {0};
	struct cause a = {.kind = CAUSE_PREEMPTION, .name = "a"},
		     b = {.kind = CAUSE_PREEMPTION, .name = "b"}, got;
	struct cause nobody = {.kind = CAUSE_PREEMPTION};

	cause_tally_add(&t, &nobody, 900);
	cause_tally_add(&t, &a, 40);
	cause_tally_add(&t, &b, 60);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	/* those who ran for a tenth of the time do not stand for all of it */
	assert_string_equal(got.name, "");
	cause_tally_add(&t, &a, 160);
	cause_tally_add(&t, &b, 240);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	/* nor does the one of them that ran longest, for less than a quarter */
	assert_string_equal(got.name, "2 tasks");
	assert_string_equal(got.detail, "none of them for more than 21% of that time");
	cause_tally_add(&t, &b, 200);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	assert_string_equal(got.name, "b");
	assert_string_equal(got.detail, "2 tasks ran; this one ran for 31% of that time");
	cause_tally_add(&t, &b, 2400);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	assert_string_equal(got.detail, "");
	/* one that is known, and not most of the time: it must not stand for all of it */
	cause_tally_add(&t, &nobody, 5600);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	assert_string_equal(got.detail, "for 30% of that time; the other tasks are not known");
}

/*
 * More tasks than a tally has room for, each for as long: the last of them has inherited the time
 * of others, and is not named for it.
 */
static void test_many_tasks(void **state)
{
	struct cause_tally t = {0};
	struct cause c = {.kind = CAUSE_PREEMPTION}, got;

	for (int i = 0; i < 20 * CAUSE_NAMES; i++) {
		snprintf(c.name, sizeof(c.name), "task %d", i);
		cause_tally_add(&t, &c, 100);
	}
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	assert_string_equal(got.name, "at least 8 tasks");
	assert_string_equal(got.detail, "none of them for more than 1% of that time");
	assert_int_equal(got.tid, 0);
	/* one that has run for longer than the others together is named, with its own time */
	snprintf(c.name, sizeof(c.name), "make");
	cause_tally_add(&t, &c, 24000);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &got);
	assert_string_equal(got.name, "make");
	assert_non_null(strstr(got.detail, "this one ran for 60% of that time"));
}

/* Steal time is a preemption, with the hypervisor in the place of a task. */
static void test_steal(void **state)
{
	struct pt_host_waits in = {.ns = {[PT_WAIT_PREEMPTED] = 4000}};
	struct cause_tally t = {0};
	struct host_waits out;
	struct cause c;

	in.runners[PT_WAIT_PREEMPTED].one[0] =
	    (struct pt_runner){.ns = 4000, .pid = 3, .comm = "make"};
	host_waits_fill(&out, &in, 6000);
	assert_int_equal(out.nr, 2);
	assert_string_equal(out.preempted_by, "make");
	assert_int_equal(of_kind(&out, HOST_WAIT_STEAL, "")->ns, 6000);
	cause_of_host_wait(of_kind(&out, HOST_WAIT_STEAL, ""), &c);
	assert_int_equal(c.kind, CAUSE_PREEMPTION);
	assert_string_equal(c.name, "the hypervisor");
	assert_string_equal(c.detail, "steal time");
	cause_tally_add(&t, &c, 6000);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &c);
	assert_string_equal(c.detail, "steal time");
	cause_of_host_wait(of_kind(&out, HOST_WAIT_PREEMPTED, "make"), &c);
	cause_tally_add(&t, &c, 4000);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &c);
	assert_string_equal(c.name, "the hypervisor");
	assert_string_equal(c.detail, "steal time, 60% of that time; 1 task ran");
	cause_of_host_wait(of_kind(&out, HOST_WAIT_PREEMPTED, "make"), &c);
	cause_tally_add(&t, &c, 5000);
	cause_tally_tasks(&t, CAUSE_PREEMPTION, &c);
	assert_string_equal(c.name, "make");
	assert_string_equal(
	    c.detail,
	    "1 task ran; this one ran for 60% of that time; the hypervisor took the CPU, too");
	/* none is left out */
	host_waits_fill(&out, &in, 0);
	assert_null(of_kind(&out, HOST_WAIT_STEAL, ""));
}

/* Two cgroups are throttled: neither is a task that ran. */
static void test_several_quotas(void **state)
{
	struct cause a = {
	    .kind = CAUSE_QUOTA, .name = "/a", .detail = "10 ms of CPU time each 50 ms"};
	struct cause b = {.kind = CAUSE_QUOTA,
			  .name = "/b",
			  .detail = "20 ms of CPU time each 50 ms"},
		     got;
	struct cause_tally t = {0};

	cause_tally_add(&t, &a, 40);
	cause_tally_add(&t, &b, 60);
	cause_tally_tasks(&t, CAUSE_QUOTA, &got);
	assert_string_equal(got.name, "/b");
	assert_string_equal(got.detail, "20 ms of CPU time each 50 ms");
}

static void test_work(void **state)
{
	struct rec_sleep s = {.work = SLEEP_IN_DIRTY,
			      .name = "8:0",
			      .holder = "backup",
			      .about = "too many dirty pages"};
	struct cause c;

	assert_true(cause_of_work(&s, &c));
	assert_int_equal(c.kind, CAUSE_THROTTLED);
	assert_string_equal(c.name, "8:0");
	assert_string_equal(c.detail, "too many dirty pages, most of them by backup");
	s = (struct rec_sleep){.object = OBJECT_FILE, .name = "f"};
	assert_false(cause_of_work(&s, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_longest_runner), cmocka_unit_test(test_quota_and_stops),
	    cmocka_unit_test(test_several_tasks),  cmocka_unit_test(test_many_tasks),
	    cmocka_unit_test(test_several_quotas), cmocka_unit_test(test_work),
	    cmocka_unit_test(test_steal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
