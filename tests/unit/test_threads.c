// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of the targets, from records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/event_log.h"
#include "analysis/latency/threads.h"
#include "tests/unit/model_feed.h"

static void spend(struct threads *t, uint32_t tid, uint64_t cpu, uint64_t runqueue, uint32_t ended)
{
	struct record r = {.type = REC_THREAD,
			   .thread = {.pid = 7,
				      .tid = tid,
				      .comm = "worker",
				      .at_ns = 5 * SECOND,
				      .wall_ns = SECOND,
				      .cpu_ns = cpu,
				      .runqueue_ns = runqueue,
				      .ended = ended}};

	threads_feed(t, &r);
}

static void call(struct threads *t, uint32_t tid, uint32_t op, uint64_t ns, uint64_t chance)
{
	struct record r = {
	    .type = REC_SAMPLE,
	    .sample = {.op = op, .tid = tid, .latency_ns = ns, .chance_ppm = chance}};

	threads_feed(t, &r);
}

static void test_times(void **state)
{
	struct threads t = {0};

	spend(&t, 9, SECOND / 4, SECOND / 2, 0);
	spend(&t, 8, 5 * SECOND, SECOND, 0); /* more than there was */
	spend(&t, 10, 0, 0, 0);
	assert_int_equal(t.nr, 3);
	assert_int_equal(t.list[0].tid, 8);
	assert_int_equal(t.list[0].cpu_ns, SECOND);
	assert_int_equal(t.list[0].runqueue_ns, 0);
	assert_int_equal(t.list[1].tid, 9);
	assert_int_equal(t.list[1].pid, 7);
	assert_int_equal(t.list[1].cpu_ns, SECOND / 4);
	assert_int_equal(t.list[1].runqueue_ns, SECOND / 2);
	assert_string_equal(t.list[1].comm, "worker");
	spend(&t, 9, 0, 0, 1);
	assert_int_equal(t.nr, 2);
	assert_int_equal(t.list[1].tid, 10);
	spend(&t, 9, 0, 0, 1); /* twice is no harm */
	assert_int_equal(t.nr, 2);
	threads_release(&t);
}

static void test_waits(void **state)
{
	struct threads t = {0};
	struct record r = {.type = REC_THREAD_SNAPSHOT,
			   .snapshot = {.pid = 7,
					.tid = 8,
					.comm = "worker",
					.kind = WITNESS_SLEEP,
					.sleep = {.call = "fsync", .name = "/data/log"}}};

	threads_feed(&t, &r);
	assert_string_equal(t.list[0].wait, "fsync /data/log");
	r.snapshot.sleep = (struct rec_sleep){.call = "futex", .name = "", .holder = "other 9"};
	threads_feed(&t, &r);
	assert_string_equal(t.list[0].wait, "futex, held by other 9");
	r.snapshot.sleep = (struct rec_sleep){0};
	threads_feed(&t, &r);
	assert_string_equal(t.list[0].wait, "asleep");
	r.snapshot.kind = WITNESS_RUN;
	threads_feed(&t, &r);
	assert_string_equal(t.list[0].wait, "running");
	r.snapshot.reason = SNAPSHOTS_FOR_OPEN; /* an answer to another question */
	r.snapshot.tid = 9;
	threads_feed(&t, &r);
	assert_int_equal(t.nr, 1);
	threads_release(&t);
}

static void test_operations(void **state)
{
	struct threads t = {0};

	call(&t, 8, 1, 1000, 0); /* a thread that is not known */
	assert_int_equal(t.nr, 0);
	spend(&t, 8, 0, 0, 0);
	call(&t, 8, 1, 1000, 0);
	call(&t, 8, 2, 600, 500000); /* stands for two */
	assert_int_equal(t.list[0].ops[0].op, 2);
	assert_int_equal(t.list[0].ops[1].op, 1);
	for (uint32_t op = 3; op < 100; op++)
		call(&t, 8, op, 10, 0);
	assert_int_equal(t.list[0].ops[0].op, 2);
	for (int i = 0; i < 200; i++)
		call(&t, 8, 200, 1000, 0);
	assert_int_equal(t.list[0].ops[0].op, 200);
	threads_release(&t);
}

static int choose(struct model *m, uint64_t at_ns, const struct rec_chosen *list, uint32_t n)
{
	struct record r = {.type = REC_CHOICE,
			   .choice = {.at_ns = at_ns,
				      .threads = 14,
				      .chosen_threads = n ? 2 : 14,
				      .nr_chosen = n,
				      .chosen = list}};

	return model_feed(m, &r);
}

static void test_a_choice_begins_anew(void **state)
{
	const struct rec_chosen list[] = {{.id = 8}, {.id = 20, .is_process = 1}};
	struct model *m = model_new();
	struct record tick = {.type = REC_TICK, .tick = {.end_ns = SECOND}};
	const struct op *op;

	assert_int_equal(feed_op(m, 1, LAYER_SYSCALL, "syscall:read"), 0);
	assert_int_equal(feed_calls(m, 1, 0, 1000, 500, SECOND), 0);
	assert_int_equal(model_feed(m, &tick), 0);
	assert_int_equal(model_op_peaks(m, 1)->nr_peaks, 1);
	/* a time before the last slice contradicts it */
	assert_int_equal(choose(m, SECOND / 2, list, 2), -EINVAL);
	assert_int_equal(model_choice(m)->nr, 0);

	assert_int_equal(choose(m, SECOND, list, 2), 0);
	op = model_op_peaks(m, 1);
	assert_int_equal(op->total.calls, 0);
	assert_int_equal(op->seen_calls, 0);
	assert_int_equal(op->nr_slices, 0);
	assert_int_equal(op->nr_peaks, 0);
	assert_int_equal(op->since_ns, SECOND);
	assert_string_equal(op->name, "syscall:read");
	assert_true(thread_choice_has(model_choice(m), 7, 8));
	assert_false(thread_choice_has(model_choice(m), 7, 20)); /* a thread with such an id */
	assert_true(thread_choice_has(model_choice(m), 20, 21));
	assert_false(thread_choice_has_process(model_choice(m), 8));
	assert_int_equal(model_choice(m)->chosen_threads, 2);
	assert_string_equal(event_log_at(model_event_log(m), 0)->text,
			    "profiles began anew: only calls of 2 of 14 threads count");

	assert_int_equal(feed_calls(m, 1, 1, 4000, 30, SECOND), 0);
	tick.tick = (struct rec_tick){.slice = 1, .start_ns = SECOND, .end_ns = 2 * SECOND};
	assert_int_equal(model_feed(m, &tick), 0);
	assert_int_equal(model_op_peaks(m, 1)->total.calls, 30);
	assert_int_equal(model_op_peaks(m, 1)->peaks[0].calls, 30);

	/* an operation that is new since then; and all threads again */
	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:write"), 0);
	assert_int_equal(model_op_by_number(m, 2)->since_ns, SECOND);
	assert_int_equal(choose(m, 2 * SECOND, NULL, 0), 0);
	assert_int_equal(model_choice(m)->nr, 0);
	assert_int_equal(model_op_by_number(m, 1)->total.calls, 0);
	assert_int_equal(model_op_by_number(m, 2)->since_ns, 2 * SECOND);
	model_free(m);
}

static void test_there_is_a_maximum(void **state)
{
	struct threads t = {0};

	for (uint32_t tid = 2 * THREADS_MAX; tid > 0; tid--)
		spend(&t, tid, 0, 0, 0);
	assert_int_equal(t.nr, THREADS_MAX);
	assert_true(t.too_many);
	for (size_t i = 1; i < t.nr; i++)
		assert_true(t.list[i - 1].tid < t.list[i].tid);
	threads_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_waits),
	    cmocka_unit_test(test_operations),
	    cmocka_unit_test(test_a_choice_begins_anew),
	    cmocka_unit_test(test_there_is_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
