// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls a flight recorder keeps, and which of them a question means. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "analysis/latency/profile.h"
#include "analysis/latency/slow_calls.h"
#include "analysis/latency/slow_list.h"
#include "tui/cli/command_line.h"

#define S 1000000000ull
#define US 1000ull
#define MS 1000000ull

static struct record operation(uint32_t op, enum layer layer, const char *label)
{
	return (struct record){
	    .type = REC_OP,
	    .op = {.op = op, .layer = layer, .name = label, .label = label, .requested = ""}};
}

/* `calls` calls of this latency in the slice that begins at `start_ns`. */
static void take_calls(struct slow_calls *s, uint32_t op, uint64_t start_ns, uint64_t calls,
		       uint64_t latency_ns)
{
	const uint32_t bucket = pt_bucket(latency_ns);
	struct record rec = {.type = REC_PROFILE};

	rec.profile = (struct rec_profile){.op = op,
					   .start_ns = start_ns,
					   .end_ns = start_ns + S,
					   .calls = calls,
					   .sum_ns = calls * latency_ns,
					   .min_ns = latency_ns,
					   .max_ns = latency_ns,
					   .nr_buckets = 1,
					   .bucket = &bucket,
					   .count = &calls};
	slow_calls_take(s, &rec);
}

static struct slow_calls *begin(enum layer layer)
{
	struct slow_calls *s = slow_calls_new();
	struct record op = operation(1, layer, "read");

	assert_non_null(s);
	slow_calls_take(s, &op);
	return s;
}

static uint64_t limit(struct slow_calls *s)
{
	struct req_keep keep = {0};

	return slow_calls_changed(s, &keep) ? keep.least_ns : 0;
}

static void the_limit_is_above_nearly_all_calls(void **state)
{
	struct slow_calls *s = begin(LAYER_SYSCALL);
	uint64_t ns;

	assert_int_equal(limit(s), 0);
	take_calls(s, 1, 0, SLOW_CALLS_LEAST - 1, 10 * US);
	assert_int_equal(limit(s), 0); /* too few to tell what is usual */
	take_calls(s, 1, S, 100000, 10 * US);
	take_calls(s, 1, S, 50, 30 * MS);
	ns = limit(s);
	assert_in_range(ns, 10 * US, 13 * US);
	assert_int_equal(limit(s), 0); /* it is told once */
	assert_in_range(slow_calls_usual(s, 1), 9 * US, 11 * US);
	/* a second mode with more than a thousandth of the calls is usual, too */
	take_calls(s, 1, 2 * S, 400, 30 * MS);
	ns = limit(s);
	assert_in_range(ns, 30 * MS, 36 * MS);
	slow_calls_free(s);
}

/* A program that became slower for good is not slow for ever. */
static void the_limit_follows(void **state)
{
	struct slow_calls *s = begin(LAYER_FUNCTION);
	uint64_t ns = 0;

	take_calls(s, 1, 0, 1000000, 10 * US);
	assert_in_range(limit(s), 10 * US, 13 * US);
	for (uint64_t hour = 1; hour < 48; hour++) {
		take_calls(s, 1, hour * 3600 * S, 1000, 10 * MS);
		ns = limit(s) ?: ns;
	}
	assert_in_range(ns, 10 * MS, 12 * MS);
	assert_in_range(slow_calls_usual(s, 1), 9 * MS, 11 * MS);
	slow_calls_free(s);
}

/* The run queue and block requests are no calls of a thread. */
static void only_calls_of_threads_count(void **state)
{
	struct slow_calls *s = begin(LAYER_RUNQUEUE);
	struct rec_call call = {.op = 1, .latency_ns = S};

	take_calls(s, 1, 0, 100000, 10 * US);
	assert_int_equal(limit(s), 0);
	assert_false(slow_calls_keeps(s, &call));
	slow_calls_free(s);
}

static void twenty_a_minute_the_slowest(void **state)
{
	struct slow_calls *s = begin(LAYER_SYSCALL);
	struct rec_call call = {.op = 1};
	unsigned int kept = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		call.start_ns = i * MS;
		call.latency_ns = 10 * MS;
		kept += slow_calls_keeps(s, &call);
	}
	assert_int_equal(kept, SLOW_CALLS_PER_MINUTE);
	call.latency_ns = 5 * MS;
	assert_false(slow_calls_keeps(s, &call));
	call.latency_ns = 11 * MS;
	assert_true(slow_calls_keeps(s, &call));
	/* the next minute begins anew */
	call.start_ns = 61 * S;
	call.latency_ns = 5 * MS;
	assert_true(slow_calls_keeps(s, &call));
	slow_calls_free(s);
}

/* ---- which calls a question means */

static void put(struct slow_list *l, struct record rec)
{
	assert_int_equal(slow_list_take(l, &rec), 0);
}

static void put_call(struct slow_list *l, uint32_t op, uint64_t start_ns, uint64_t latency_ns,
		     uint64_t usual_ns)
{
	put(l, (struct record){.type = REC_SLOW_CALL,
			       .slow_call = {.call = {.op = op,
						      .start_ns = start_ns,
						      .latency_ns = latency_ns,
						      .preempted_by = "",
						      .interrupt_name = ""},
					     .usual_ns = usual_ns}});
}

static struct slow_list *some_calls(void)
{
	struct slow_list *l = slow_list_new();

	assert_non_null(l);
	put(l, (struct record){.type = REC_META, .meta = {.realtime_ns = 1000 * S}});
	put(l, operation(1, LAYER_SYSCALL, "read"));
	put(l, operation(2, LAYER_SYSCALL, "epoll_wait"));
	put(l, operation(3, LAYER_SYSCALL, "futex"));
	put_call(l, 1, 10 * S, 30 * MS, 2 * US);
	put_call(l, 1, 20 * S, 50 * MS, 2 * US);
	put_call(l, 2, 30 * S, 9 * S, S);
	put_call(l, 3, 50 * S, 80 * MS, 3 * US); /* a lock */
	put_call(l, 3, 60 * S, 5 * S, 500 * MS); /* workers that have nothing to do */
	put_call(l, 9, 60 * S, 5 * S, 500 * MS); /* of an operation that is not known */
	return l;
}

static const struct slow_list_call **pick(struct slow_list *l, struct slow_question q, size_t *nr)
{
	const struct slow_list_call **calls;
	struct slow_beside beside;

	if (!q.most)
		q.most = 100;
	calls = slow_list_pick(l, &q, nr, &beside);
	assert_non_null(calls);
	return calls;
}

static void the_slowest_first(void **state)
{
	struct slow_list *l = some_calls();
	const struct slow_list_call **calls;
	size_t nr;

	assert_int_equal(slow_list_nr(l), 5);
	calls = pick(l, (struct slow_question){.most = 3}, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(calls[0]->call->call.latency_ns, 80 * MS);
	assert_int_equal(calls[1]->call->call.latency_ns, 50 * MS);
	assert_int_equal(calls[2]->call->call.latency_ns, 30 * MS);
	free(calls);
	calls = pick(l, (struct slow_question){0}, &nr);
	assert_int_equal(nr, 5);
	assert_int_equal(calls[3]->call->call.latency_ns, 9 * S); /* waits for work come last */
	free(calls);
	calls = pick(l, (struct slow_question){.op = "futex"}, &nr);
	assert_int_equal(nr, 2);
	free(calls);
	assert_true(slow_list_has_op(l, "epoll_wait"));
	assert_false(slow_list_has_op(l, "write"));
	slow_list_free(l);
}

/* A poll for the answer of a server counts; of a longer one that is left out the answer tells. */
static void waits_for_answers_and_for_work(void **state)
{
	struct slow_list *l = some_calls();
	struct rec_witness sleep = {.kind = WITNESS_SLEEP, .weight_ns = 370 * MS, .functions = ""};
	struct record rec = {
	    .type = REC_SLOW_CALL,
	    .slow_call = {
		.call = {.op = 4, .latency_ns = 375 * MS, .preempted_by = "", .interrupt_name = ""},
		.nr_sleeps = 1,
		.sleeps = &sleep}};
	struct slow_question q = {.most = 1};
	const struct slow_list_call **calls;
	struct slow_beside beside;
	size_t nr;

	put(l, operation(4, LAYER_SYSCALL, "poll"));
	sleep.sleep = (struct rec_sleep)SLEEP_NONE;
	put(l, rec);
	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(calls[0]->call->call.latency_ns, 80 * MS);
	assert_non_null(beside.left_out);
	assert_int_equal(beside.left_out->call->call.latency_ns, 9 * S);
	free(calls);
	sleep.sleep.flags = SLEEP_AS_CLIENT;
	put(l, rec);
	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(calls[0]->call->call.latency_ns, 375 * MS);
	free(calls);
	/* none is left out */
	q = (struct slow_question){.most = 1, .op = "read"};
	free(slow_list_pick(l, &q, &nr, &beside));
	assert_null(beside.left_out);
	q = (struct slow_question){.most = 100};
	free(slow_list_pick(l, &q, &nr, &beside));
	assert_null(beside.left_out);
	/* most of the call was something else */
	sleep.weight_ns = 100 * MS;
	rec.slow_call.call.latency_ns = 800 * MS;
	put(l, rec);
	q = (struct slow_question){.most = 1};
	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(calls[0]->call->call.latency_ns, 375 * MS);
	free(calls);
	slow_list_free(l);
}

/* By its name with and without parameters, as answers print them. */
static void the_operation_by_its_name(void **state)
{
	static const struct {
		const char *name;
		size_t calls;
	} ask[] = {{"Shop::sell(int, char const*)", 1},
		   {"Shop::sell", 1},
		   {"_ZN4Shop4sellEiPKc@shop", 1},
		   {"sell", 0},
		   {"Shop::sell(int)", 0}};
	struct slow_list *l = slow_list_new();
	struct record op = operation(1, LAYER_FUNCTION, "Shop::sell(int, char const*)");
	size_t nr;

	assert_non_null(l);
	op.op.name = "_ZN4Shop4sellEiPKc@shop";
	put(l, op);
	put(l, operation(2, LAYER_FUNCTION, "buy"));
	put_call(l, 1, S, 30 * MS, 2 * US);
	put_call(l, 2, S, 40 * MS, 2 * US);
	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
		free(pick(l, (struct slow_question){.op = ask[i].name}, &nr));
		assert_int_equal(nr, ask[i].calls);
		assert_int_equal(slow_list_has_op(l, ask[i].name), ask[i].calls);
	}
	slow_list_free(l);
}

/* A time means the calls that were open then; with none, the nearest one is named. */
static void the_calls_of_a_time(void **state)
{
	struct slow_list *l = some_calls();
	struct slow_question q = {.most = 9, .from_ns = 1035 * S, .to_ns = 1036 * S};
	const struct slow_list_call **calls;
	struct slow_beside beside;
	size_t nr;

	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(nr, 1);
	assert_int_equal(calls[0]->call->call.latency_ns, 9 * S);
	assert_null(beside.nearest);
	free(calls);
	q.op = "read";
	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(nr, 0);
	assert_non_null(beside.nearest);
	assert_int_equal(beside.nearest->call->call.latency_ns, 50 * MS);
	free(calls);
	/* the clock was set: from here on it is another one */
	put(l, (struct record){.type = REC_CLOCK,
			       .clock = {.at_ns = 100 * S, .realtime_ns = 5000 * S}});
	put_call(l, 1, 101 * S, 70 * MS, 2 * US);
	q = (struct slow_question){.most = 9, .from_ns = 5001 * S, .to_ns = 5002 * S};
	calls = slow_list_pick(l, &q, &nr, &beside);
	assert_int_equal(nr, 1);
	assert_int_equal(calls[0]->realtime_ns, 5001 * S);
	free(calls);
	slow_list_free(l);
}

/* ---- what the command line means */

static void sizes_and_times_of_a_ring(void **state)
{
	static const char *const wrong[] = {"",	  "64",	 "M",  "-1M",  "64MB", "64 M", "1K",
					    "9G", "10s", "30", "0.5m", "400d", "nanM", "1e9G"};
	static struct options o;
	char error[256];

	assert_int_equal(ring_spec_parse(&o, "64M", error, sizeof(error)), 0);
	assert_int_equal(o.ring_bytes, 64 << 20);
	assert_int_equal(o.ring_ns, 0);
	assert_int_equal(ring_spec_parse(&o, "24h", error, sizeof(error)), 0);
	assert_int_equal(o.ring_bytes, 0);
	assert_int_equal(o.ring_ns, 24 * 3600 * S);
	assert_int_equal(ring_spec_parse(&o, "1.5G", error, sizeof(error)), 0);
	assert_int_equal(o.ring_bytes, 3ull << 29);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		error[0] = '\0';
		assert_int_equal(ring_spec_parse(&o, wrong[i], error, sizeof(error)), -EINVAL);
		assert_non_null(strstr(error, "--ring"));
	}
}

static void times_of_day(void **state)
{
	static const char *const wrong[] = {
	    "",		  "3",	  "24:00",  "12:60", "12:00x", "12:00:60", "2026-13-01T01:00",
	    "2026-11-27", "noon", "12:00:", "12:0 0"};
	const uint64_t noon = 1795780800; /* 2026-11-27, 12:00 UTC */
	struct time_span t;
	char error[256];

	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(time_span_parse(&t, "11:30", noon * S, error, sizeof(error)), 0);
	assert_int_equal(t.from_ns, (noon - 1800) * S);
	assert_int_equal(t.to_ns, (noon - 1800 + 60) * S);
	/* the day before: the session ended at noon */
	assert_int_equal(time_span_parse(&t, "12:30:05", noon * S, error, sizeof(error)), 0);
	assert_int_equal(t.from_ns, (noon - 86400 + 1805) * S);
	assert_int_equal(t.to_ns, t.from_ns + S);
	assert_int_equal(time_span_parse(&t, "2026-11-27T12:30", noon * S, error, sizeof(error)),
			 0);
	assert_int_equal(t.from_ns, (noon + 1800) * S);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(time_span_parse(&t, wrong[i], noon * S, error, sizeof(error)),
				 -EINVAL);
		assert_non_null(strstr(error, "--at"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_limit_is_above_nearly_all_calls),
	    cmocka_unit_test(the_limit_follows),
	    cmocka_unit_test(only_calls_of_threads_count),
	    cmocka_unit_test(twenty_a_minute_the_slowest),
	    cmocka_unit_test(the_slowest_first),
	    cmocka_unit_test(waits_for_answers_and_for_work),
	    cmocka_unit_test(the_operation_by_its_name),
	    cmocka_unit_test(the_calls_of_a_time),
	    cmocka_unit_test(sizes_and_times_of_a_ring),
	    cmocka_unit_test(times_of_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
