// SPDX-License-Identifier: GPL-2.0-or-later
/* What time goes into beside callees, on one scale with them; witnesses; the result. */
#include <math.h>

#include "analysis/descent/change.h"
#include "analysis/descent/witness.h"
#include "tests/unit/descent/bench.h"

static const struct rec_sleep on_purpose = {
    .syscall = 35, .call = "nanosleep", .object = SLEEP_ON_NOTHING, .ended_by = ENDED_TIMER};
static const struct rec_sleep read_file = {.syscall = 0,
					   .call = "read",
					   .object = SLEEP_ON_FILE,
					   .name = "/var/db",
					   .ended_by = ENDED_REQUEST};

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
	struct rec_sleep s = {.object = SLEEP_ON_FILE, .name = long_name};
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
	cause_of_sleep(&s, &c);
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

/* --- on one scale with callees */

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

/* --- witnesses */

/* A chain of eight, proposed by its sleeps: armed at once, measured, done. */
static void test_chain_in_one_round(void **state)
{
	struct bench b;
	struct descent_progress p;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'x');
	for (char c = 'a'; c < 'h'; c++) {
		site(&b, c, (char)(c + 1));
		site(&b, c, 'y');
	}
	start(&b, false);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 10; i++) {
		stack(&b, "abcdefgh", 9 * MS, &on_purpose);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "abcdefgh"));
	assert_non_null(armed(&b, "abcdefgy")); /* a sibling, to be shown */
	assert_null(armed(&b, "x"));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US, .blocked = 9 * MS),
	      P("ab", 9800 * US, .blocked = 9 * MS), P("abc", 9700 * US, .blocked = 9 * MS),
	      P("abcd", 9600 * US, .blocked = 9 * MS), P("abcde", 9500 * US, .blocked = 9 * MS),
	      P("abcdef", 9400 * US, .blocked = 9 * MS), P("abcdefg", 9300 * US, .blocked = 9 * MS),
	      P("abcdefgh", 9200 * US, .blocked = 9 * MS), P("abcdefgy", 20 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "abcdefgh", CAUSE_SLEEP);
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 1);
	assert_int_equal(p.witnesses, 10);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].nr_siblings, 1);
	assert_int_equal(r.nodes[r.paths[0].siblings[0]].function.offset, code('y').offset);
	assert_int_equal(r.nodes[r.paths[0].siblings[0]].latency_ns, 20 * US);
	assert_int_equal(r.nodes[r.paths[0].frames[8]].records, 20);
	descent_result_release(&r);
	bench_end(&b);
}

/* Few stacks are read of calls that sleep often: the sleeps without one do not outweigh them. */
static void test_stacks_among_many_sleeps(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'x');
	for (char c = 'a'; c < 'h'; c++)
		site(&b, c, (char)(c + 1));
	start(&b, false);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 10; i++) {
		stack(&b, "abcdefgh", 300 * US, &on_purpose);
		for (int k = 0; k < 29; k++)
			sleep_without_stack(&b, 300 * US, &on_purpose);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "abcdefgh"));
	descent_progress(b.d, &p);
	assert_int_equal(p.witnesses, 10);
	bench_end(&b);
}

/* Where no stack is read at all, such sleeps still name the cause. */
static void test_sleeps_without_any_stack(void **state)
{
	struct descent_progress p;
	struct bench b;

	bench_begin(&b);
	start(&b, false);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 60 && descent_status(b.d) == DESCENT_IN_PROGRESS; i++) {
		sleep_without_stack(&b, 9 * MS, &on_purpose);
		CALL(&b, 10 * MS, NOTHING);
	}
	descent_progress(b.d, &p);
	assert_int_equal(p.witnesses, 0);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_SLEEP);
	bench_end(&b);
}

/* The commonest stack is the wrong answer: probes refute it. */
static void test_witnesses_are_refuted(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c')->flags |= CALL_SITE_LOOP; /* not one to be shown beside a */
	start(&b, false);
	for (int i = 0; i < 10; i++) {
		stack(&b, "a", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "a"));
	assert_null(armed(&b, "c"));
	CALLS(20, &b, 10 * MS, P("a", MS));
	expect_done(&b, DESCENT_IN_PROGRESS);
	assert_non_null(armed(&b, "c"));
	CALLS(20, &b, 10 * MS, P("a", MS), P("c", 8 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "c", CAUSE_OWN_CODE);
	assert_int_equal(nr_paths(&b), 1);
	bench_end(&b);
}

static void test_level_by_level_does_not_listen(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	site(&b, 'a', 'b');
	ask(&b, true);
	for (int i = 0; i < 10; i++) {
		stack(&b, "ab", 9 * MS, &on_purpose);
		CALL(&b, 10 * MS, NOTHING);
	}
	profile(&b, 100, 10 * MS);
	assert_int_equal(b.nr_armed, 2);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	assert_non_null(armed(&b, "ab"));
	bench_end(&b);
}

/* A stack counts when its call is in the peak, before or after the call is told of. */
static void test_witnesses_of_other_calls(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, false);
	stack(&b, "a", MS, &on_purpose);
	CALL(&b, 7 * MS, NOTHING); /* too fast */
	stack(&b, "a", MS, &on_purpose);
	CALL(&b, 10 * MS, NOTHING);
	b.now -= 10 * MS; /* late: its call is over */
	stack(&b, "a", MS, &on_purpose);
	b.now += 20 * MS; /* of no call */
	stack(&b, "a", MS, &on_purpose);
	descent_progress(b.d, &p);
	assert_int_equal(p.witnesses, 2);
	bench_end(&b);
}

static void test_bad_stacks(void **state)
{
	struct rec_frame frame[200];
	struct record rec = {.type = REC_WITNESS};
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	start(&b, false);
	rec.witness.op = OP;
	rec.witness.tid = 5;
	rec.witness.at_ns = b.now + 1;
	assert_int_equal(feed(&b, &rec), -EINVAL); /* no frames */
	for (int i = 0; i < 200; i++)
		frame[i] = (struct rec_frame){1, code('a').offset + 9, code('a').offset};
	rec.witness.nr_frames = 200;
	rec.witness.frames = frame;
	frame[0] = (struct rec_frame){1, code('0').offset + 9, code('0').offset};
	assert_int_equal(feed(&b, &rec), 0); /* too deep: cut */
	rec.witness.op = OP + 1;
	assert_int_equal(feed(&b, &rec), 0);
	CALL(&b, 10 * MS, NOTHING);
	descent_progress(b.d, &p);
	assert_int_equal(p.witnesses, 1);
	bench_end(&b);
}

/* A frame that was left by a jump is missing in the stack. */
static void test_witness_of_a_tail_call(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b')->kind = CALLEE_TAIL;
	start(&b, false);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 10; i++) {
		struct rec_frame frame[2] = {{1, site_offset('0', 0) + 5, code('0').offset},
					     {1, code('b').offset + 1, code('b').offset}};
		struct record rec = {.type = REC_WITNESS};

		rec.witness = (struct rec_witness){.op = OP,
						   .tid = 5,
						   .at_ns = b.now + 5,
						   .weight_ns = 9 * MS,
						   .kind = WITNESS_SLEEP,
						   .sleep = on_purpose,
						   .nr_frames = 2,
						   .frames = frame};
		assert_int_equal(feed(&b, &rec), 0);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "ab"));
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .blocked = 9 * MS),
	      P("ab", 9 * MS, .blocked = 9 * MS));
	expect_path(&b, 0, "ab", CAUSE_SLEEP);
	bench_end(&b);
}

/* f0 ends with a jump, and so does what it jumps to: neither is in any stack. */
static void test_witness_of_tail_calls_of_f0(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->kind = CALLEE_TAIL;
	site(&b, 'a', 'b')->kind = CALLEE_TAIL;
	site(&b, 'b', 'c');
	start(&b, false);
	b.call.blocked_ns = 9 * MS;
	for (int i = 0; i < 10; i++) {
		struct rec_frame frame[2] = {{1, site_offset('b', 0) + 5, code('b').offset},
					     {1, code('c').offset + 1, code('c').offset}};
		struct record rec = {.type = REC_WITNESS};

		rec.witness = (struct rec_witness){.op = OP,
						   .tid = 5,
						   .at_ns = b.now + 5,
						   .weight_ns = 9 * MS,
						   .kind = WITNESS_SLEEP,
						   .sleep = on_purpose,
						   .nr_frames = 2,
						   .frames = frame};
		assert_int_equal(feed(&b, &rec), 0);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "abc"));
	CALLS(20, &b, 10 * MS, P("a", 9 * MS, .blocked = 9 * MS),
	      P("ab", 9 * MS, .blocked = 9 * MS), P("abc", 9 * MS, .blocked = 9 * MS));
	expect_path(&b, 0, "abc", CAUSE_SLEEP);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	bench_end(&b);
}

/* The loop is to blame; what runs in it, in calls too short to be timed, is told by samples. */
static void test_samples_in_a_loop(void **state)
{
	struct bench b;
	struct descent_result r;
	struct record lost = {.type = REC_FNODE_LOST};

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b')->flags |= CALL_SITE_LOOP;
	site(&b, 'b', 'c');
	start(&b, false);
	for (int i = 0; i < 10; i++) {
		stack(&b, i % 5 == 4 ? "ab" : i % 5 == 3 ? "a" : "abc", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_non_null(armed(&b, "ab"));
	lost.fnode_lost.epoch = b.epoch;
	lost.fnode_lost.node = armed(&b, "ab")->node;
	lost.fnode_lost.reason = FNODE_BLOWN;
	assert_int_equal(feed(&b, &lost), 0);
	act(&b);
	CALLS(40, &b, 10 * MS, P("a", 9900 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_LOOP);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.paths[0].nr_below, 3);
	assert_int_equal(r.paths[0].below[0].function.offset, code('c').offset);
	assert_true(r.paths[0].below[0].share > 0.55 && r.paths[0].below[0].share < 0.65);
	assert_false(r.paths[0].below[0].own);
	assert_true(r.paths[0].below[1].own || r.paths[0].below[2].own);
	assert_true(r.paths[0].below[1].share > 0.15 && r.paths[0].below[1].share < 0.25);
	/* the callee of the loop has most of the samples, its own and those of what it calls */
	assert_int_equal(r.paths[0].looped.function.offset, code('b').offset);
	assert_true(fabs(r.paths[0].looped.share - 0.8 * r.paths[0].share) < 1e-9);
	assert_true(r.paths[0].looped.calls < 1e-9);
	descent_result_release(&r);
	bench_end(&b);
}

/* A loop of calls that wait is told as what they wait for, wherever below them the stacks are. */
static void test_sleeps_in_a_loop(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, 'a', 'b');
	start(&b, true);
	b.call.blocked_ns = 8 * MS;
	for (int i = 0; i < 20; i++) {
		stack(&b, "ab", 8 * MS, &on_purpose);
		CALL(&b, 10 * MS, P("a", 9 * MS, .max = 20 * US, .count = 900, .blocked = 8 * MS));
	}
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 1);
	expect_path(&b, 0, "", CAUSE_SLEEP);
	bench_end(&b);
}

/* A callee that only the stacks know is timed from its own entry. */
static void test_witness_of_an_indirect_call(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	start(&b, false);
	for (int i = 0; i < 10; i++) {
		stack(&b, i % 2 ? "a" : "b", 9 * MS, NULL);
		CALL(&b, 10 * MS, NOTHING);
	}
	assert_int_equal(b.nr_armed, 2);
	assert_true(armed(&b, "a")->only_callee);
	assert_true(armed(&b, "b")->only_callee);
	for (int i = 0; i < 60; i++)
		CALL(&b, 10 * MS, P(i % 2 ? "a" : "b", 9 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&b), 2);
	bench_end(&b);
}

/* Memory is bounded however many stacks come. */
static void test_many_witnesses(void **state)
{
	struct bench b;
	struct descent_progress p;
	struct record rec = {.type = REC_WITNESS};
	struct rec_frame frame[64];
	int full = 0;

	bench_begin(&b);
	start(&b, false);
	for (unsigned int i = 0; i < 20000; i++) {
		frame[0] = (struct rec_frame){1, code('0').offset + 5, code('0').offset};
		for (unsigned int k = 1; k < 64; k++)
			frame[k] =
			    (struct rec_frame){1, (uint64_t)i * 4096 + k, (uint64_t)i * 4096};
		rec.witness = (struct rec_witness){.op = OP,
						   .tid = 5,
						   .at_ns = b.now + 1,
						   .weight_ns = 1,
						   .nr_frames = 64,
						   .frames = frame};
		full += feed(&b, &rec) != 0;
		if (i % 500 == 499) {
			struct record call = {.type = REC_CALL};

			call.call = (struct rec_call){
			    .op = OP, .tid = 5, .start_ns = b.now, .latency_ns = 10 * MS};
			full += feed(&b, &call) == -ENOSPC;
			b.now += 20 * MS;
		}
	}
	descent_progress(b.d, &p);
	assert_int_equal(p.witnesses, 20000);
	assert_true(full > 0);
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

/* --- the distribution */

static void test_distribution_changed(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (int i = 0; i < 10; i++)
		profile(&b, 150, 10 * MS); /* the same */
	expect_done(&b, DESCENT_IN_PROGRESS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_IN_PROGRESS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_CHANGED);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_true(strlen(r.change) > 0);
	descent_result_release(&r);
	bench_end(&b);
}

/*
 * The fast calls take twice as long as before, and the slow ones, the peak, are as they were: no
 * change. For the peak of the fast ones it is a change.
 */
static void test_only_the_peak_counts(void **state)
{
	static struct change c;

	change_init(&c, 8 * MS, 16 * MS);
	for (unsigned int i = 0; i < 12000; i++) {
		bool later = i > 2000;
		struct profile one;

		profile_init(&one);
		profile_add(&one, i % 20 ? (later ? 60 : 30) * US : 10 * MS);
		c.fixed = later;
		change_add(&c, &one, 500, 0);
	}
	assert_false(change_seen(&c));
	change_init(&c, 20 * US, 40 * US);
	for (unsigned int i = 0; i < 8000; i++) {
		struct profile one;

		profile_init(&one);
		profile_add(&one, i % 20 ? (i > 2000 ? 60 : 30) * US : 10 * MS);
		c.fixed = i > 2000;
		change_add(&c, &one, 500, 0);
	}
	assert_true(change_seen(&c));
}

/* What a fuse had to end is no change of the program. */
static void test_probes_are_no_change(void **state)
{
	struct bench b;
	struct record lost = {.type = REC_FNODE_LOST};

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	profile(&b, 250, 80 * MS);
	lost.fnode_lost.epoch = b.epoch;
	lost.fnode_lost.node = armed(&b, "a")->node;
	assert_int_equal(feed(&b, &lost), 0);
	act(&b);
	/* these slices began before it was taken off, or while it was */
	profile(&b, 250, 80 * MS);
	profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_IN_PROGRESS);
	/* what goes on afterwards is the program's own */
	for (int i = 0; i < 4; i++)
		profile(&b, 250, 80 * MS);
	expect_done(&b, DESCENT_CHANGED);
	bench_end(&b);
}

/* The same distribution, sampled again and again, is not said to have changed. */
static void test_noise_is_no_change(void **state)
{
	static struct change c;
	uint64_t rng = 12345;
	unsigned int changed = 0;

	for (unsigned int run = 0; run < 200; run++) {
		change_init(&c, 0, 0);
		for (unsigned int i = 0; i < 100 + 200 * 20; i++) {
			struct profile one;
			double u;

			profile_init(&one);
			rng = rng * 6364136223846793005u + 1442695040888963407u;
			u = (double)(rng >> 11) / 9007199254740992.0;
			/* two modes, one with 5% of the calls */
			profile_add(&one, (uint64_t)(u < 0.05 ? 12e6 * exp(u * 20)
							      : 1e5 * exp((u - 0.5) * 2)));
			change_add(&c, &one, 100, 0);
			c.fixed = i > 100;
		}
		changed += change_seen(&c);
	}
	assert_true(changed <= 1);
}

/* Two modes, with `fast` and `slow` as their latencies, in `n` slices; has it changed? */
static bool changes(uint64_t fast, uint64_t slow, uint64_t probes_ns)
{
	static struct change c;
	struct profile one;

	change_init(&c, 0, 0);
	for (int i = 0; i < 12; i++) {
		bool before = i < 4;

		profile_init(&one);
		one.count[pt_bucket(before ? 30 * US : fast)] = 75;
		one.count[pt_bucket(before ? MS : slow)] = 25;
		one.calls = 100;
		one.sum_ns = before ? 75 * 30 * US + 25 * MS : 75 * fast + 25 * slow;
		c.fixed = !before;
		change_add(&c, &one, 100, before ? 0 : probes_ns);
	}
	return change_seen(&c);
}

/* Of calls that are no longer than their probes the latency is not known. */
static void test_a_wrong_price_is_no_change(void **state)
{
	assert_false(changes(30 * US, MS, 0));
	assert_true(changes(8 * US, MS, 0));
	assert_true(changes(8 * US, MS, 1 * US));
	assert_false(changes(8 * US, MS, 40 * US));
	assert_true(changes(30 * US, 4 * MS, 40 * US));
	assert_true(changes(8 * US, 10 * US, 40 * US));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_tally_keeps_the_heaviest),
	    cmocka_unit_test(test_tally_keeps_the_usual_detail),
	    cmocka_unit_test(test_preemption),
	    cmocka_unit_test(test_steal_in_one_call_of_a_loop),
	    cmocka_unit_test(test_place_of_preemption),
	    cmocka_unit_test(test_interrupt),
	    cmocka_unit_test(test_preemption_that_hides),
	    cmocka_unit_test(test_a_little_hides_nothing),
	    cmocka_unit_test(test_page_faults),
	    cmocka_unit_test(test_blocked_by_cause),
	    cmocka_unit_test(test_blocked_for_nobody_knows_what),
	    cmocka_unit_test(test_two_kinds_of_sleep),
	    cmocka_unit_test(test_chain_in_one_round),
	    cmocka_unit_test(test_stacks_among_many_sleeps),
	    cmocka_unit_test(test_sleeps_without_any_stack),
	    cmocka_unit_test(test_witnesses_are_refuted),
	    cmocka_unit_test(test_level_by_level_does_not_listen),
	    cmocka_unit_test(test_witnesses_of_other_calls),
	    cmocka_unit_test(test_bad_stacks),
	    cmocka_unit_test(test_witness_of_a_tail_call),
	    cmocka_unit_test(test_witness_of_tail_calls_of_f0),
	    cmocka_unit_test(test_samples_in_a_loop),
	    cmocka_unit_test(test_sleeps_in_a_loop),
	    cmocka_unit_test(test_witness_of_an_indirect_call),
	    cmocka_unit_test(test_many_witnesses),
	    cmocka_unit_test(test_shares_of_two_paths),
	    cmocka_unit_test(test_result_in_progress),
	    cmocka_unit_test(test_distribution_changed),
	    cmocka_unit_test(test_only_the_peak_counts),
	    cmocka_unit_test(test_probes_are_no_change),
	    cmocka_unit_test(test_noise_is_no_change),
	    cmocka_unit_test(test_a_wrong_price_is_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
