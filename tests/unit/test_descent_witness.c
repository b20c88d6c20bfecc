// SPDX-License-Identifier: GPL-2.0-or-later
/* Witnesses: stacks that propose what is armed, and what probes make of them. */
#include <linux/futex.h>
#include <math.h>

#include "analysis/descent/witness.h"
#include "tests/unit/descent/bench.h"

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

		give_witness(&b, frame, 2, 9 * MS, &on_purpose);
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

		give_witness(&b, frame, 2, 9 * MS, &on_purpose);
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
	lose(&b, "ab", FNODE_BLOWN);
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

/* ---- a wait with a timeout that is begun again and again */

enum { WAIT_MS = 2 };
#define TIMED_OUT BRACKET(BRACKET_CLOCK, 0)

/* A sleep of WAIT_MS that ends at `at_ms`, at the futex `word`. `bracket` 0: "hoarder" ended it. */
static void wait_at(struct witnesses *w, uint64_t at_ms, uint64_t word, uint32_t bracket)
{
	struct rec_frame frame = {1, 0x110, 0x100};
	struct rec_witness r = {.tid = 5,
				.at_ns = at_ms * MS,
				.weight_ns = WAIT_MS * MS,
				.kind = WITNESS_SLEEP,
				.nr_frames = 1,
				.frames = &frame,
				.sleep = {.syscall = 202,
					  .call = "futex",
					  .args = {word, FUTEX_WAIT_BITSET_PRIVATE, 0},
					  .bracket = bracket,
					  .waker_tid = bracket ? 0 : 30,
					  .waker = bracket ? "" : "hoarder"}};

	assert_int_equal(witnesses_add(w, &r), 0);
}

static void call_ends(struct witnesses *w, uint64_t from_ms, uint64_t to_ms)
{
	assert_int_equal(witnesses_call(w, 5, from_ms * MS, to_ms * MS), 0);
}

/* How long the sleeps had causes of this kind. */
static uint64_t slept_ms(const struct witnesses *w, enum cause_kind kind)
{
	const struct witness_own *own = witnesses_node(w, 0)->own;
	uint64_t ns = 0;

	for (unsigned int i = 0; own && i < own->sleeps.nr; i++)
		if (own->sleeps.entry[i].cause.kind == kind)
			ns += own->sleeps.entry[i].ns;
	return ns / MS;
}

static struct witnesses *begin_waits(void)
{
	struct witnesses *w = witnesses_new((struct rec_code){1, 0x100});

	assert_non_null(w);
	return w;
}

/* Who ends the last one is who was waited for, whether the stacks come before the call or after. */
static void test_wait_is_begun_again(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct witnesses *w = begin_waits();

		if (late)
			call_ends(w, 0, 10);
		wait_at(w, 3, 0x1000, TIMED_OUT);
		wait_at(w, 6, 0x1000, TIMED_OUT);
		wait_at(w, 9, 0x1000, 0);
		if (!late)
			call_ends(w, 0, 10);
		assert_int_equal(slept_ms(w, CAUSE_WAIT), 6);
		assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 0);
		witnesses_free(w);
	}
}

/* The last wait, without a stack, arrives before the others, whose stacks have to be unwound. */
static void test_stacks_of_timeouts_come_later(void **state)
{
	struct witnesses *w = begin_waits();

	wait_at(w, 9, 0x1000, 0);
	call_ends(w, 0, 10);
	wait_at(w, 3, 0x1000, TIMED_OUT);
	wait_at(w, 6, 0x1000, TIMED_OUT);
	assert_int_equal(slept_ms(w, CAUSE_WAIT), 6);
	assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 0);
	/* the call before this one ended with a timeout */
	call_ends(w, 20, 30);
	wait_at(w, 43, 0x1000, 0);
	call_ends(w, 40, 50);
	wait_at(w, 29, 0x1000, TIMED_OUT);
	assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 2);
	/* one that was counted already */
	wait_at(w, 45, 0x1000, TIMED_OUT);
	assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 4);
	wait_at(w, 48, 0x1000, 0);
	assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 2);
	assert_int_equal(slept_ms(w, CAUSE_WAIT), 12);
	witnesses_free(w);
}

/* A loop that ticks, and works between the ticks for longer than it waits, is signalled at last. */
static void test_ticks_of_a_loop(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct witnesses *w = begin_waits();

		if (late) {
			wait_at(w, 23, 0x1000, 0);
			call_ends(w, 0, 30);
		}
		wait_at(w, 3, 0x1000, TIMED_OUT);
		wait_at(w, 8, 0x1000, TIMED_OUT);
		wait_at(w, 13, 0x1000, TIMED_OUT);
		wait_at(w, 18, 0x1000, TIMED_OUT);
		if (!late) {
			wait_at(w, 23, 0x1000, 0);
			call_ends(w, 0, 30);
		}
		assert_int_equal(slept_ms(w, CAUSE_WAIT), 2);
		assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 8);
		witnesses_free(w);
	}
}

/* Whichever of them arrives last: it belongs to the wait that begins again after it. */
static void test_one_timeout_comes_later(void **state)
{
	static const uint64_t at_ms[][2] = {{3, 6}, {6, 3}};

	for (size_t i = 0; i < 2; i++) {
		struct witnesses *w = begin_waits();

		wait_at(w, at_ms[i][0], 0x1000, TIMED_OUT);
		wait_at(w, 9, 0x1000, 0);
		call_ends(w, 0, 10);
		wait_at(w, at_ms[i][1], 0x1000, TIMED_OUT);
		assert_int_equal(slept_ms(w, CAUSE_WAIT), 6);
		assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 0);
		witnesses_free(w);
	}
}

/* Another futex, a call that times out for good, and the next call are other waits. */
static void test_timeouts_that_remain(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct witnesses *w = begin_waits();

		if (late)
			call_ends(w, 0, 10);
		wait_at(w, 3, 0x1000, TIMED_OUT);
		wait_at(w, 6, 0x2000, 0);
		wait_at(w, 9, 0x1000, TIMED_OUT);
		call_ends(w, late ? 10 : 0, late ? 20 : 10);
		wait_at(w, 13, 0x1000, 0);
		if (!late)
			call_ends(w, 10, 20);
		assert_int_equal(slept_ms(w, CAUSE_WAIT), 4);
		assert_int_equal(slept_ms(w, CAUSE_TIMEOUT), 4);
		witnesses_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	    cmocka_unit_test(test_wait_is_begun_again),
	    cmocka_unit_test(test_timeouts_that_remain),
	    cmocka_unit_test(test_ticks_of_a_loop),
	    cmocka_unit_test(test_one_timeout_comes_later),
	    cmocka_unit_test(test_stacks_of_timeouts_come_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
