// SPDX-License-Identifier: GPL-2.0-or-later
/* What time goes into beside callees, on one scale with them; the result. */
#include <linux/futex.h>
#include <math.h>
#include <sys/syscall.h>

#include "tests/unit/descent/bench.h"

/* --- the words */

static void test_words(void **state)
{
	static const char *const kinds[] = {"own code",
					    "loop",
					    "preemption",
					    "run queue",
					    "interrupt",
					    "page fault",
					    "io",
					    "lock",
					    "sleep",
					    "timeout",
					    "network",
					    "wait",
					    "unmeasured callees",
					    "unknown",
					    "cpu quota",
					    "stopped",
					    "throttled",
					    "reclaim",
					    "compaction",
					    "swap",
					    "huge page",
					    "kernel",
					    "signal handler"};
	static const char *const statuses[] = {
	    "root cause found", "maximum depth reached", "in progress",	    "distribution changed",
	    "not enough calls", "target ended",		 "partly explained"};
	static const char *const evidences[] = {"measured", "witnessed", "sampled", "estimated"};
	char long_name[300];
	struct rec_sleep s = {.call = "fsync", .object = OBJECT_FILE, .name = long_name};
	struct cause c;
	int i;

	for (i = 0; i < CAUSE_KINDS; i++)
		assert_string_equal(cause_kind_text((enum cause_kind)i), kinds[i]);
	for (i = 0; i < DESCENT_STATUSES; i++)
		assert_string_equal(descent_status_text((enum descent_status)i), statuses[i]);
	for (i = 0; i < EVIDENCE_KINDS; i++)
		assert_string_equal(evidence_text((enum evidence)i), evidences[i]);
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	cause_of_sleep(&s, "", &c);
	assert_int_equal(strlen(c.name), CAUSE_TEXT - 1);
}

static void test_tally_keeps_the_heaviest(void **state)
{
	struct cause_tally t = {0};
	struct cause c = {.kind = CAUSE_IO};
	uint64_t sum = 0;
	unsigned int i;

	assert_null(cause_tally_top(&t));
	for (i = 0; i < 1000; i++) {
		snprintf(c.name, sizeof(c.name), "file %u", i % 40);
		cause_tally_add(&t, &c, i % 40 == 7 ? 100 : 1);
	}
	assert_int_equal(t.nr, CAUSE_NAMES);
	assert_string_equal(cause_tally_top(&t)->name, "file 7");
	for (i = 0; i < t.nr; i++)
		sum += t.entry[i].ns;
	assert_int_equal(sum, 25 * 100 + 975); /* nothing gets lost */
}

/* Waits with one name and several details: the detail of most of the time counts, not the first. */
static void test_tally_keeps_the_usual_detail(void **state)
{
	struct cause_tally t = {0};
	struct cause odd = {.kind = CAUSE_LOCK, .name = "holder", .detail = "which ran"},
		     usual = {.kind = CAUSE_LOCK, .name = "holder", .detail = "which was in read"};

	cause_tally_add(&t, &odd, 300);
	assert_string_equal(cause_tally_top(&t)->detail, odd.detail);
	for (int i = 0; i < 7; i++)
		cause_tally_add(&t, &usual, 100);
	assert_string_equal(cause_tally_top(&t)->detail, usual.detail);
	cause_tally_add(&t, &odd, 300);
	assert_string_equal(cause_tally_top(&t)->detail, usual.detail);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.entry[0].ns, 1300);
}

/* Of several threads that had a lock, the last one need not be to blame. */
static void test_tally_counts_holders(void **state)
{
	struct cause_tally t = {0}, all = {0};
	struct cause c = {.kind = CAUSE_LOCK,
			  .name = "worker",
			  .ender = ENDER_TASK,
			  .tid = 20,
			  .lock = 8},
		     file = {.kind = CAUSE_IO, .name = "data", .ender = ENDER_TASK, .tid = 90}, got;

	snprintf(c.detail, sizeof(c.detail), "futex, woken by worker 20");
	cause_tally_add(&t, &c, 600);
	cause_tally_lock(&t, &got);
	assert_string_equal(got.detail, c.detail);
	cause_tally_add(&t, &file, 100);
	c.tid = 21;
	cause_tally_add(&t, &c, 150);
	snprintf(c.name, sizeof(c.name), "hoarder");
	c.tid = 30;
	cause_tally_add(&t, &c, 250);
	cause_tally_join(&all, &t, CAUSE_LOCK);
	assert_int_equal(all.nr, 2);
	cause_tally_lock(&all, &got);
	assert_string_equal(got.name, "worker");
	assert_string_equal(
	    got.detail, "3 threads had it in turn; worker was the last one in 75% of that time");
	for (c.tid = 100; c.tid < 200; c.tid++)
		cause_tally_add(&all, &c, 1);
	cause_tally_lock(&all, &got);
	assert_int_equal(all.nr_holders, CAUSE_HOLDERS);
	assert_memory_equal(got.detail, "at least 16 threads", 19);
}

/* Threads that had different locks did not have one in turn; nor is it known without addresses. */
static void test_tally_of_several_locks(void **state)
{
	static const uint64_t second[] = {16, 0};
	struct cause c = {.kind = CAUSE_LOCK, .name = "worker", .ender = ENDER_TASK}, got;

	for (unsigned int i = 0; i < 2; i++) {
		struct cause_tally t = {0}, all = {0};

		c.tid = 20;
		c.lock = 8;
		cause_tally_add(&t, &c, 600);
		c.tid = 21;
		c.lock = second[i];
		cause_tally_add(&t, &c, 150);
		cause_tally_join(&all, &t, CAUSE_LOCK);
		cause_tally_lock(&all, &got);
		assert_string_equal(got.detail, "2 threads had the locks waited for here; worker "
						"was the last one in 100% of that time");
	}
}

/* Of the address of a futex its process is a part. */
static void test_lock_of_a_futex(void **state)
{
	struct rec_sleep s = {.syscall = SYS_futex,
			      .call = "futex",
			      .args = {0x1000, FUTEX_WAIT_PRIVATE, 2},
			      .name = "",
			      .waker_pid = 10,
			      .waker_tid = 20,
			      .waker = "worker",
			      .holder = "",
			      .doing = "",
			      .interrupt = "",
			      .about = ""};
	struct cause one, other;

	cause_of_sleep(&s, "", &one);
	assert_int_equal(one.kind, CAUSE_LOCK);
	assert_true(one.lock);
	cause_of_sleep(&s, "", &other);
	assert_true(one.lock == other.lock);
	s.waker_pid = 11;
	cause_of_sleep(&s, "", &other);
	assert_true(other.lock && one.lock != other.lock);
	s.waker_pid = 10;
	s.args[0] += 64;
	cause_of_sleep(&s, "", &other);
	assert_true(other.lock && one.lock != other.lock);
	s.args[0] = 0;
	cause_of_sleep(&s, "", &other);
	assert_false(other.lock);
}

/* --- on one scale with callees */

static const struct rec_sleep read_file = {.syscall = 0,
					   .call = "read",
					   .object = OBJECT_FILE,
					   .name = "/var/db",
					   .bracket = BRACKET(BRACKET_SOFT, 4)};

static void test_preemption(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	b.call.runqueue_ns = 7 * MS;
	b.call.preempted_ns = 6900 * US;
	b.call.preempted_by = "hog";
	b.call.preempted_by_pid = 77;
	/* It stood in a or in c, by chance: neither is to blame. */
	for (int i = 0; i < 20; i++) {
		if (i % 2)
			CALL(&b, 10 * MS, P("a", 8 * MS, .runqueue = 7 * MS), P("c", MS));
		else
			CALL(&b, 10 * MS, P("c", 8 * MS, .runqueue = 7 * MS), P("a", MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_PREEMPTION);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].place, 0);
	assert_string_equal(r.paths[0].cause.name, "hog");
	assert_string_equal(r.paths[0].cause.detail, "pid 77");
	assert_true(fabs(r.paths[0].share - 0.69) < 1e-9);
	/* what the program itself does is told beside it: f0, a and c have 1 ms each */
	for (unsigned int i = 1; i < r.nr_paths; i++)
		assert_true(fabs(r.paths[i].share - 0.1) < 1e-9);
	assert_int_equal(r.nr_paths, 4);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The hypervisor takes the CPU in one of seven calls. The longest call is reported without this
 * time, so the loop is still found, and the hypervisor is named beside it.
 */
static void test_steal_in_one_call_of_a_loop(void **state)
{
	const struct rec_host_wait steal = {
	    .kind = HOST_WAIT_STEAL, .ns = 7 * MS, .name = "", .detail = ""};
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, 'a', 'b');
	start(&b, true);
	b.call.runqueue_ns = b.call.preempted_ns = steal.ns;
	b.call.waits = &steal;
	b.call.nr_waits = 1;
	CALLS(20, &b, 15 * MS, P("a", 14 * MS, .max = MS, .count = 7, .runqueue = steal.ns));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_LOOP);
	assert_true(fabs(r.paths[0].share - 8.0 / 15) < 1e-9);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_PREEMPTION);
	assert_string_equal(r.paths[1].cause.name, "the hypervisor");
	assert_true(fabs(r.paths[1].share - 7.0 / 15) < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

/* When it always stands in one callee, that is the place of it. */
static void test_place_of_preemption(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.runqueue_ns = 7 * MS;
	CALLS(20, &b, 10 * MS, P("a", 8 * MS, .runqueue = 7 * MS));
	expect_path(&b, 0, "", CAUSE_RUN_QUEUE);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nodes[r.paths[0].place].function.offset, code('a').offset);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_interrupt(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.interrupt_ns = 6 * MS;
	b.call.interrupt = 24;
	b.call.interrupt_name = "eth0";
	CALLS(20, &b, 10 * MS, P("a", 3 * MS, .interrupt = 2 * MS));
	expect_path(&b, 0, "", CAUSE_INTERRUPT);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_string_equal(r.paths[0].cause.name, "eth0");
	assert_string_equal(r.paths[0].cause.detail, "24");
	descent_result_release(&r);
	bench_end(&b);
}

/* Where the sender cannot say in which fnode it stood, callees get no vote for it. */
static void test_preemption_that_hides(void **state)
{
	struct bench b;

	bench_begin(&b);
	b.known &= ~(uint32_t)CALL_KNOWN_NODE_RUNQUEUE;
	site(&b, '0', 'a');
	start(&b, true);
	b.call.runqueue_ns = b.call.preempted_ns = 7 * MS;
	CALLS(20, &b, 10 * MS, P("a", 8 * MS));
	assert_int_equal(nr_paths(&b), 1);
	expect_path(&b, 0, "", CAUSE_PREEMPTION);
	bench_end(&b);
}

/* A little of it is no cause where the function's own rest is far more, armed callees or not. */
static void test_a_little_hides_nothing(void **state)
{
	struct bench b;

	bench_begin(&b);
	b.known &= ~(uint32_t)(CALL_KNOWN_NODE_RUNQUEUE | CALL_KNOWN_NODE_INTERRUPT);
	site(&b, '0', 'a');
	site(&b, '0', 'b');
	start(&b, true);
	b.call.interrupt_ns = 30 * US;
	b.call.runqueue_ns = 20 * US;
	CALLS(20, &b, 10 * MS, P("a", 10 * US), P("b", 1 * US));
	assert_int_equal(nr_paths(&b), 1);
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
	/* nothing but f0 is timed yet */
	bench_begin(&b);
	b.known &= ~(uint32_t)CALL_KNOWN_NODE_INTERRUPT;
	site(&b, '0', 'a');
	start(&b, false);
	b.call.interrupt_ns = 30 * US;
	CALLS(40, &b, 10 * MS, NOTHING);
	assert_non_null(armed(&b, "a"));
	bench_end(&b);
}

static void test_page_faults(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.fault_ns = 7 * MS;
	CALLS(40, &b, 10 * MS, P("a", 9 * MS, .fault = 7 * MS));
	expect_path(&b, 0, "a", CAUSE_PAGE_FAULT);
	bench_end(&b);
	/* An estimate of 8 ms: the function that met them took 5. */
	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.fault_ns = 8 * MS;
	CALLS(40, &b, 10 * MS, P("a", 5 * MS, .fault = 8 * MS));
	assert_int_equal(descent_result(b.d, &r), 0);
	for (uint32_t i = 0; i < r.nr_paths; i++)
		assert_true(r.paths[i].cause.kind != CAUSE_PAGE_FAULT ||
			    (r.paths[i].nr_frames == 2 && fabs(r.paths[i].share - 0.5) < 1e-9));
	descent_result_release(&r);
	bench_end(&b);
	/* Only counted: a constant times the count, and f0's. */
	bench_begin(&b);
	b.known &= ~(uint32_t)(CALL_KNOWN_FAULT_NS | CALL_KNOWN_NODE_FAULT);
	site(&b, '0', 'a');
	rec.descent.minor_fault_ns = 500;
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	b.call.minor_faults = 14000;
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	expect_path(&b, 0, "", CAUSE_PAGE_FAULT);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].evidence, EVIDENCE_ESTIMATED);
	assert_string_equal(r.paths[0].cause.detail, "14000 minor, 0 major in a call");
	assert_true(fabs(r.explained - 0.7) < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_blocked_by_cause(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 40; i++) {
		stack(&b, "a", 8 * MS, &read_file);
		CALL(&b, 10 * MS, P("a", 9500 * US, .blocked = 9 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_IO);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_string_equal(r.paths[0].cause.name, "/var/db");
	assert_string_equal(r.paths[0].cause.detail, "read");
	assert_true(fabs(r.paths[0].share - 0.9) < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_blocked_for_nobody_knows_what(void **state)
{
	struct bench b;

	bench_begin(&b);
	start(&b, true);
	b.call.blocked_ns = 9 * MS;
	CALLS(20, &b, 10 * MS, NOTHING);
	expect_path(&b, 0, "", CAUSE_UNKNOWN);
	bench_end(&b);
	/* A sender that does not measure it must not make it own code. */
	bench_begin(&b);
	b.known = 0;
	start(&b, true);
	CALLS(20, &b, 10 * MS, NOTHING);
	expect_path(&b, 0, "", CAUSE_UNKNOWN);
	bench_end(&b);
}

/* Pages of a file: waiting for them and what the faults themselves take is one cause. */
static void test_faults_that_wait(void **state)
{
	const struct rec_sleep page = {
	    .syscall = -1, .call = "", .name = "/data", .bracket = BRACKET(BRACKET_SOFT, 4)};
	struct descent_result r;
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (unsigned int i = 0; i < 40; i++) {
		stack(&b, "a", 5 * MS, &page);
		b.call.blocked_ns = 5 * MS;
		b.call.fault_ns = 4250 * US;
		b.call.major_faults = 24;
		CALL(&b, 10 * MS, P("a", 9500 * US, .blocked = 5 * MS, .fault = 4250 * US));
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_PAGE_FAULT);
	assert_string_equal(r.paths[0].cause.name, "/data");
	assert_string_equal(r.paths[0].cause.detail, "0 minor, 24 major in a call");
	assert_true(r.paths[0].share > 0.92 && r.paths[0].share < 0.93);
	assert_int_equal(r.paths[0].latency_ns, 9250 * US);
	descent_result_release(&r);
	bench_end(&b);
}

/* Two kinds of sleep in one function are two paths that share its time. */
static void test_two_kinds_of_sleep(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	start(&b, true);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 20; i++) {
		stack(&b, "", 6 * MS, &on_purpose);
		stack(&b, "", 3 * MS, &read_file);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_SLEEP);
	assert_true(fabs(r.paths[0].share - 0.6) < 1e-9);
	assert_int_equal(r.paths[1].cause.kind, CAUSE_IO);
	assert_true(fabs(r.paths[1].share - 0.3) < 1e-9);
	assert_true(fabs(r.explained - 0.9) < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

/* --- the result */

static void test_shares_of_two_paths(void **state)
{
	struct bench b;
	struct descent_result r;
	double sum = 0;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	site(&b, '0', 's');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 5 * MS), P("c", 4500 * US), P("s", 100 * US));
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_ROOT_CAUSE);
	assert_int_equal(r.rounds, 1);
	assert_int_equal(r.calls_used, 20);
	assert_int_equal(r.latency_ns, 10 * MS);
	assert_int_equal(r.nr_paths, 2);
	assert_string_equal(letters_of(&r, 0), "a");
	assert_true(fabs(r.paths[0].share - 0.5) < 1e-9);
	assert_true(fabs(r.paths[1].share - 0.45) < 1e-9);
	for (unsigned int i = 0; i < r.nr_paths; i++)
		sum += r.paths[i].share;
	assert_true(fabs(sum - r.explained) < 1e-12);
	/* c and s stand beside a, largest first. */
	assert_int_equal(r.paths[0].nr_siblings, 2);
	assert_int_equal(r.nodes[r.paths[0].siblings[0]].function.offset, code('c').offset);
	assert_int_equal(r.nodes[r.paths[0].siblings[1]].function.offset, code('s').offset);
	assert_int_equal(r.nodes[0].maxcount, 20);
	assert_true(r.nodes[0].share == 1);
	assert_int_equal(r.nodes[r.paths[0].frames[1]].maxcount, 20);
	assert_int_equal(r.nodes[r.paths[0].frames[1]].latency_ns, 5 * MS);
	assert_int_equal(r.nodes[r.paths[0].frames[1]].decisions, 1);
	assert_true(r.nodes[r.paths[0].frames[1]].root_cause);
	descent_result_release(&r);
	bench_end(&b);
}

/* An answer is there at any time. */
static void test_result_in_progress(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_IN_PROGRESS);
	descent_result_release(&r);
	CALLS(25, &b, 10 * MS, P("a", 9 * MS), P("ab", 8 * MS));
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.status, DESCENT_IN_PROGRESS);
	assert_int_equal(r.nr_paths, 1);
	assert_string_equal(letters_of(&r, 0), "a");
	assert_int_equal(r.paths[0].cause.kind, CAUSE_UNMEASURED);
	assert_int_equal(r.calls_used, 25);
	descent_result_release(&r);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_tally_keeps_the_heaviest),
	    cmocka_unit_test(test_tally_keeps_the_usual_detail),
	    cmocka_unit_test(test_tally_counts_holders),
	    cmocka_unit_test(test_tally_of_several_locks),
	    cmocka_unit_test(test_lock_of_a_futex),
	    cmocka_unit_test(test_preemption),
	    cmocka_unit_test(test_steal_in_one_call_of_a_loop),
	    cmocka_unit_test(test_place_of_preemption),
	    cmocka_unit_test(test_interrupt),
	    cmocka_unit_test(test_preemption_that_hides),
	    cmocka_unit_test(test_a_little_hides_nothing),
	    cmocka_unit_test(test_page_faults),
	    cmocka_unit_test(test_faults_that_wait),
	    cmocka_unit_test(test_blocked_by_cause),
	    cmocka_unit_test(test_blocked_for_nobody_knows_what),
	    cmocka_unit_test(test_two_kinds_of_sleep),
	    cmocka_unit_test(test_shares_of_two_paths),
	    cmocka_unit_test(test_result_in_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
