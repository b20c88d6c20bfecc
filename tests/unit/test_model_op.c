// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations: counts, weights, slices, open calls. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/model_feed.h"
#include "tests/unit/profiles.h"

static int setup(void **state)
{
	*state = model_new();
	return *state && !feed_op(*state, 1, LAYER_SYSCALL, "syscall:read") ? 0 : -1;
}

static int teardown(void **state)
{
	model_free(*state);
	return 0;
}

static void test_ops_in_order(void **state)
{
	struct model *m = *state;
	static const uint32_t numbers[] = {50, 3, 4000000000, 2, 7};

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(feed_op(m, numbers[i], LAYER_FUNCTION, "f"), 0);
	assert_int_equal(model_nr_ops(m), 6);
	for (size_t i = 1; i < 6; i++)
		assert_true(model_op(m, i)->op > model_op(m, i - 1)->op);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(model_op_by_number(m, numbers[i])->op, numbers[i]);
	assert_null(model_op_by_number(m, 8));
	assert_null(model_op(m, 6));
}

static void test_op_texts(void **state)
{
	struct model *m = *state;
	char label[8] = "work";
	struct record r = {.type = REC_OP,
			   .op = {.op = 2,
				  .layer = LAYER_FUNCTION,
				  .name = "work@demo",
				  .label = label,
				  .requested = "work",
				  .module = "demo",
				  .module_id = 4,
				  .offset = 0x1234,
				  .placement = "at its call sites"}};
	const struct op *op;

	assert_int_equal(model_feed(m, &r), 0);
	memset(label, 'x', 4);
	op = model_op_by_number(m, 2);
	assert_string_equal(op->label, "work");
	assert_string_equal(op->requested, "work");
	assert_string_equal(op->module, "demo");
	assert_string_equal(op->placement, "at its call sites");
	assert_int_equal(op->module_id, 4);
	assert_int_equal(op->offset, 0x1234);
	assert_true(op->adds_up);
	assert_int_equal(op->nr_peaks, 0);
	/* Said again: the placement may have changed, what was asked has not. */
	r.op.placement = "at its entry";
	r.op.requested = "";
	assert_int_equal(model_feed(m, &r), 0);
	assert_string_equal(model_op_by_number(m, 2)->placement, "at its entry");
	assert_string_equal(model_op_by_number(m, 2)->requested, "work");
	assert_int_equal(model_nr_ops(m), 2);
}

static void test_op_contradictions(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_op(m, 0, LAYER_SYSCALL, "x"), -EINVAL);
	assert_int_equal(feed_op(m, 2, LAYER_MAX, "x"), -EINVAL);
	assert_int_equal(feed_op(m, 1, LAYER_SYSCALL, "syscall:write"), -EINVAL);
	assert_int_equal(feed_op(m, 1, LAYER_BLOCK, "syscall:read"), -EINVAL);
	assert_int_equal(feed_op(m, 1, LAYER_SYSCALL, "syscall:read"), 0);
	assert_string_equal(model_op(m, 0)->name, "syscall:read");
}

static void test_too_many_ops(void **state)
{
	struct model *m = *state;

	for (uint32_t i = 2; i <= MODEL_MAX_OPS; i++)
		assert_int_equal(feed_op(m, i, LAYER_FUNCTION, "f"), 0);
	assert_int_equal(feed_op(m, 5000, LAYER_FUNCTION, "f"), -ENOMEM);
	assert_int_equal(feed_op(m, 5001, LAYER_FUNCTION, "f"), -ENOMEM);
	assert_int_equal(model_nr_ops(m), MODEL_MAX_OPS);
	assert_int_equal(model_nr_notes(m), 1);
}

static void test_unknown_op(void **state)
{
	struct record sample = {.type = REC_SAMPLE, .sample = {.op = 9}};
	struct record open = {.type = REC_OPEN, .open = {.op = 9, .comm = ""}};

	assert_int_equal(feed_calls(*state, 9, 0, 100, 1, SECOND), -EINVAL);
	assert_int_equal(model_feed(*state, &sample), -EINVAL);
	assert_int_equal(model_feed(*state, &open), -EINVAL);
}

static void test_raw_counts_exactly(void **state)
{
	struct model *m = *state;
	struct rng rng = {1};
	struct profile all;
	const struct op *op;

	profile_init(&all);
	for (uint64_t slice = 0; slice < 20; slice++) {
		struct profile p;

		profile_init(&p);
		for (int i = 0; i < 777; i++)
			profile_add(&p, rng_latency(&rng, 5000, 3));
		profile_merge(&all, &p);
		assert_int_equal(feed_profile(m, 1, slice, &p), 0);
		assert_int_equal(feed_tick(m, slice), 0);
		assert_memory_equal(&model_op(m, 0)->recent, &p, sizeof(p));
	}
	op = model_op(m, 0);
	assert_memory_equal(&op->total, &all, sizeof(all));
	assert_int_equal(op->seen_calls, 20 * 777);
	assert_true(op->adds_up);
	assert_true(op->share_seen == 1);
	assert_int_equal(op->nr_slices, 20);
}

static void test_weighted_by_bursts(void **state)
{
	struct model *m = *state;
	const struct op *op;

	for (uint64_t slice = 0; slice < 10; slice++) {
		/* A fiftieth of the time was looked at. */
		assert_int_equal(feed_calls(m, 1, slice, 3000, 1000, SECOND / 50), 0);
		assert_int_equal(feed_tick(m, slice), 0);
	}
	op = model_op(m, 0);
	assert_int_equal(op->total.calls, 500000);
	assert_int_equal(op->total.count[pt_bucket(3000)], 500000);
	assert_int_equal(op->total.sum_ns, 500000ULL * 3000);
	assert_int_equal(op->total.min_ns, 3000);
	assert_int_equal(op->total.max_ns, 3000);
	assert_int_equal(op->recent.calls, 50000);
	assert_int_equal(op->seen_calls, 10000);
	assert_true(fabs(op->share_seen - 0.02) < 1e-9);
	assert_int_equal(op->slices[0].calls, 50000);
	assert_int_equal(op->slices[0].armed_ns, SECOND / 50);
}

static void test_weights_differ_by_slice(void **state)
{
	struct model *m = *state;
	uint64_t expected = 0;

	for (uint64_t slice = 0; slice < 100; slice++) {
		uint64_t armed = SECOND / (1 + slice % 7);

		assert_int_equal(feed_calls(m, 1, slice, 3000, 10 + slice, armed), 0);
		expected += (10 + slice) * (1 + slice % 7);
	}
	/* The fractions of SECOND / 3, / 6 and / 7 leave less than one call. */
	assert_in_range(model_op(m, 0)->total.calls, expected - 1, expected + 1);
	assert_int_equal(profile_sum_of_counts(&model_op(m, 0)->total),
			 model_op(m, 0)->total.calls);
}

/* A slow call that ends when nothing is armed weighs as those of the burst that it began in. */
static void test_late_ends_keep_their_weight(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_calls(m, 1, 0, 3000, 100, SECOND / 10), 0);
	assert_int_equal(feed_calls(m, 1, 1, 900 * MS, 2, 0), 0);
	assert_int_equal(model_op(m, 0)->total.calls, 1020);
	assert_int_equal(model_op(m, 0)->total.count[pt_bucket(900 * MS)], 20);
}

static void test_never_armed(void **state)
{
	struct model *m = *state;

	assert_true(model_op(m, 0)->share_seen == 0);
	assert_int_equal(feed_calls(m, 1, 0, 3000, 0, 0), 0);
	assert_int_equal(feed_tick(m, 0), 0);
	assert_int_equal(model_op(m, 0)->total.calls, 0);
	assert_int_equal(model_op(m, 0)->total.min_ns, 0);
	assert_true(model_op(m, 0)->share_seen == 0);
	assert_int_equal(model_op(m, 0)->nr_peaks, 0);
	assert_int_equal(model_op(m, 0)->floor_ns, 0);
	/* Armed for half of the next: that is how much of nothing was seen. */
	assert_int_equal(feed_calls(m, 1, 1, 3000, 0, SECOND / 2), 0);
	assert_true(fabs(model_op(m, 0)->share_seen - 0.25) < 1e-9);
}

static void test_share_seen_counts_unseen(void **state)
{
	struct model *m = *state;
	struct rec_profile rec = {.op = 1, .end_ns = SECOND, .armed_ns = SECOND, .unseen = 300};
	uint32_t bucket = 80;
	uint64_t count = 100;

	rec.calls = count;
	rec.nr_buckets = 1;
	rec.bucket = &bucket;
	rec.count = &count;
	rec.abnormal = 5;
	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_true(fabs(model_op(m, 0)->share_seen - 0.25) < 1e-9);
	assert_int_equal(model_op(m, 0)->unseen, 300);
	assert_int_equal(model_op(m, 0)->abnormal, 5);
	rec.start_ns = SECOND;
	rec.end_ns = 2 * SECOND;
	rec.armed_ns = SECOND / 2;
	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_int_equal(model_op(m, 0)->unseen, 900);
	assert_int_equal(model_op(m, 0)->abnormal, 15);
	assert_true(fabs(model_op(m, 0)->share_seen - 200.0 / 1200) < 1e-9);
}

/*
 * A burst that sees 4500 calls in 15 ms; then, until the end 4 s later, less than a millisecond was
 * armed. That time has calls like those before, whether the short burst saw some or none.
 */
static void test_short_armed_time_tells_nothing(void **state)
{
	uint32_t bucket = 80;

	for (uint64_t seen = 0; seen <= 300; seen += 300) {
		struct model *m = model_new();
		uint64_t count = 4500;
		struct rec_profile rec = {.op = 1,
					  .end_ns = 15 * MS,
					  .armed_ns = 13 * MS,
					  .calls = 4500,
					  .run_calls = 4482,
					  .run_ns = 87 * MS / 10,
					  .probe_ns = 4 * MS,
					  .armed_cpu_ns = 89 * MS / 10,
					  .cpu_ns = 99 * MS / 10,
					  .nr_buckets = 1,
					  .bucket = &bucket,
					  .count = &count};
		const struct op *op;

		assert_non_null(m);
		assert_int_equal(feed_op(m, 1, LAYER_FUNCTION, "f"), 0);
		assert_int_equal(feed_profile_record(m, &rec), 0);
		rec.start_ns = 15 * MS;
		rec.end_ns = 4 * SECOND;
		rec.armed_ns = 7 * MS / 10;
		rec.armed_cpu_ns = 6 * MS / 10;
		rec.run_calls = rec.run_ns = rec.probe_ns = 0;
		rec.cpu_ns = 2 * SECOND;
		rec.calls = count = seen;
		rec.nr_buckets = seen ? 1 : 0;
		assert_int_equal(feed_profile_record(m, &rec), 0);
		op = model_op(m, 0);
		assert_int_equal(op->seen_calls, 4500 + seen);
		assert_true(op->total.calls > 500000 && op->total.calls < 8000000);
		assert_true(profile_adds_up(&op->total));
		model_free(m);
	}
}

/*
 * One thread makes a call of 150 ms whenever somebody looks, a tenth of the time: scaled up it
 * would be in ten of them at once. It cannot be, unless the calls overlap.
 */
static void test_time_of_one_thread(void **state)
{
	static const struct {
		uint64_t callers, second_call;
		bool limited;
	} cases[] = {{1, SECOND, true}, {0, SECOND, false}, {2, SECOND, true}, {1, 50 * MS, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = model_new();
		uint32_t bucket = pt_bucket(150 * MS);
		uint64_t count = 2, most = cases[i].callers * 8 * SECOND;
		struct rec_profile rec = {.op = 1,
					  .calls = 2,
					  .sum_ns = 300 * MS,
					  .callers = cases[i].callers,
					  .armed_ns = 50 * MS,
					  .armed_cpu_ns = 50 * MS,
					  .cpu_ns = SECOND,
					  .nr_buckets = 1,
					  .bucket = &bucket,
					  .count = &count};
		struct record sample = {
		    .type = REC_SAMPLE,
		    .sample = {.op = 1, .tid = 7, .latency_ns = 150 * MS, .chance_ppm = 1000000}};
		const struct op *op;

		assert_non_null(m);
		assert_int_equal(feed_op(m, 1, LAYER_FUNCTION, "f"), 0);
		for (uint64_t s = 0; s < 8; s++) {
			rec.start_ns = s * SECOND;
			rec.end_ns = (s + 1) * SECOND;
			assert_int_equal(feed_profile_record(m, &rec), 0);
			rec.callers = 0;
			sample.sample.start_ns = s * cases[i].second_call;
			assert_int_equal(model_feed(m, &sample), 0);
			assert_int_equal(feed_tick(m, s), 0);
		}
		op = model_op(m, 0);
		assert_true(op->total.sum_ns > 16 * SECOND);
		if (cases[i].limited) {
			assert_int_equal(op->most_callers, cases[i].callers);
			assert_int_equal(op->time_ns, most);
			assert_true(op->total_high_ns <= (double)most);
			assert_true(op->total_low_ns <= op->total_high_ns);
		} else {
			assert_int_equal(op->most_callers, 0);
			assert_int_equal(op->time_ns, op->total.sum_ns);
			assert_true(op->total_high_ns > 16. * SECOND);
		}
		model_free(m);
	}
}

static void test_checksum(void **state)
{
	struct model *m = *state;
	uint32_t bucket = 80;
	uint64_t count = 100;
	struct rec_profile rec = {.op = 1,
				  .end_ns = SECOND,
				  .armed_ns = SECOND,
				  .calls = 100,
				  .nr_buckets = 1,
				  .bucket = &bucket,
				  .count = &count};

	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_true(model_op(m, 0)->adds_up);
	rec.start_ns = SECOND;
	rec.end_ns = 2 * SECOND;
	rec.calls = 101;
	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_false(model_op(m, 0)->adds_up);
	/* What is counted are the buckets. */
	assert_int_equal(model_op(m, 0)->total.calls, 200);
	assert_true(profile_adds_up(&model_op(m, 0)->total));
	/* Once wrong, it stays said. */
	rec.start_ns = 2 * SECOND;
	rec.end_ns = 3 * SECOND;
	rec.calls = 100;
	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_false(model_op(m, 0)->adds_up);
}

static void test_malformed_profiles(void **state)
{
	struct model *m = *state;
	uint32_t bucket[3] = {5, 6, 7};
	uint64_t count[3] = {1, 1, 1};
	struct rec_profile good = {.op = 1,
				   .start_ns = SECOND,
				   .end_ns = 2 * SECOND,
				   .armed_ns = SECOND,
				   .calls = 3,
				   .nr_buckets = 3,
				   .bucket = bucket,
				   .count = count};
	struct rec_profile bad = good;

	bad.end_ns = 0;
	assert_int_equal(feed_profile_record(m, &bad), -EINVAL);
	bad = good;
	bad.nr_buckets = PT_BUCKETS + 1;
	assert_int_equal(feed_profile_record(m, &bad), -EINVAL);
	bad = good;
	bad.bucket = NULL;
	assert_int_equal(feed_profile_record(m, &bad), -EINVAL);
	bucket[2] = 6;
	assert_int_equal(feed_profile_record(m, &good), -EINVAL);
	bucket[2] = PT_BUCKETS;
	assert_int_equal(feed_profile_record(m, &good), -EINVAL);
	bucket[2] = 7;
	count[0] = UINT64_MAX;
	assert_int_equal(feed_profile_record(m, &good), -EINVAL);
	count[0] = 1;
	assert_int_equal(model_op(m, 0)->total.calls, 0);
	assert_int_equal(model_op(m, 0)->nr_slices, 0);
	assert_int_equal(feed_profile_record(m, &good), 0);
	/* Before the last slice, or into it. */
	good.start_ns = 0;
	good.end_ns = SECOND;
	assert_int_equal(feed_profile_record(m, &good), -EINVAL);
	good.start_ns = SECOND + 1;
	good.end_ns = 3 * SECOND;
	assert_int_equal(feed_profile_record(m, &good), -EINVAL);
	assert_int_equal(model_op(m, 0)->total.calls, 3);
	/* An empty bucket is nothing. */
	good.start_ns = 2 * SECOND;
	count[1] = 0;
	good.calls = 2;
	assert_int_equal(feed_profile_record(m, &good), 0);
	assert_int_equal(model_op(m, 0)->slices[1].nr_buckets, 2);
	assert_true(model_op(m, 0)->adds_up);
}

static void test_no_overflow(void **state)
{
	struct model *m = *state;
	const struct op *op;

	/* 2^62 calls are the most; more are refused rather than wrong. */
	assert_int_equal(feed_calls(m, 1, 0, 3000, 1ULL << 61, SECOND), 0);
	assert_int_equal(feed_calls(m, 1, 1, 3000, 1ULL << 61, SECOND), 0);
	assert_int_equal(feed_calls(m, 1, 2, 3000, 1, SECOND), -EINVAL);
	assert_int_equal(feed_tick(m, 0), 0);
	op = model_op(m, 0);
	assert_int_equal(op->total.calls, 1ULL << 62);
	assert_int_equal(profile_sum_of_counts(&op->total), 1ULL << 62);
	assert_int_equal(feed_op(m, 2, LAYER_FUNCTION, "f"), 0);
	assert_int_equal(feed_calls(m, 2, 0, 3000, 1ULL << 62, 1), 0);
	assert_int_equal(model_op_by_number(m, 2)->total.calls, 1ULL << 62);
}

static void test_recent_is_the_last_slice(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_calls(m, 1, 0, 3000, 10, SECOND), 0);
	/* Not complete before the tick. */
	assert_int_equal(model_op(m, 0)->recent.calls, 0);
	assert_int_equal(model_op(m, 0)->total.calls, 10);
	assert_int_equal(feed_tick(m, 0), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 10);
	assert_int_equal(feed_calls(m, 1, 1, 70000, 3, SECOND), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 10);
	assert_int_equal(feed_tick(m, 1), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 3);
	assert_int_equal(model_op(m, 0)->recent.min_ns, 70000);
	assert_int_equal(model_op(m, 0)->recent.count[pt_bucket(3000)], 0);
	/* A slice without a word of the operation: it did nothing. */
	assert_int_equal(feed_tick(m, 2), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 0);
	assert_int_equal(model_op(m, 0)->recent.count[pt_bucket(70000)], 0);
	assert_int_equal(model_op(m, 0)->total.calls, 13);
}

/* A governed operation is told of every third tick: what it did last stays shown meanwhile. */
static void test_recent_of_long_slices(void **state)
{
	struct model *m = *state;
	uint32_t bucket = 90;
	uint64_t count = 30;
	struct rec_profile rec = {.op = 1,
				  .end_ns = 3 * SECOND,
				  .armed_ns = SECOND,
				  .calls = count,
				  .nr_buckets = 1,
				  .bucket = &bucket,
				  .count = &count};

	assert_int_equal(feed_tick(m, 0), 0);
	assert_int_equal(feed_tick(m, 1), 0);
	assert_int_equal(feed_profile_record(m, &rec), 0);
	for (uint64_t slice = 2; slice < 6; slice++) {
		assert_int_equal(feed_tick(m, slice), 0);
		assert_int_equal(model_op(m, 0)->recent.calls, 90);
	}
	/* Nothing came in its time: it is over. */
	assert_int_equal(feed_tick(m, 6), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 0);
	rec.start_ns = 3 * SECOND;
	rec.end_ns = 8 * SECOND;
	rec.armed_ns = 5 * SECOND;
	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_int_equal(feed_tick(m, 7), 0);
	assert_int_equal(model_op(m, 0)->recent.calls, 30);
}

static int feed_open(struct model *m, uint32_t tid, uint64_t age, const char *comm)
{
	struct record r = {.type = REC_OPEN,
			   .open = {.op = 1,
				    .pid = 1,
				    .tid = tid,
				    .comm = comm,
				    .age_ns = age,
				    .known = SAMPLE_ARG0,
				    .args = {tid}}};

	return model_feed(m, &r);
}

static void test_open_calls(void **state)
{
	struct model *m = *state;
	const struct op *op;

	assert_int_equal(feed_open(m, 11, 5 * MS, "a"), 0);
	assert_int_equal(feed_open(m, 12, 9 * MS, "b"), 0);
	assert_int_equal(feed_open(m, 13, 1 * MS, "c"), 0);
	assert_int_equal(feed_open(m, 14, 5 * MS, "d"), 0);
	assert_int_equal(model_op(m, 0)->nr_open_calls, 0);
	assert_int_equal(feed_tick(m, 0), 0);
	op = model_op(m, 0);
	assert_int_equal(op->nr_open_calls, 4);
	assert_int_equal(op->open, 4);
	assert_int_equal(op->oldest_open_ns, 9 * MS);
	assert_string_equal(op->open_calls[0].comm, "b");
	assert_string_equal(op->open_calls[1].comm, "a");
	assert_string_equal(op->open_calls[2].comm, "d");
	assert_string_equal(op->open_calls[3].comm, "c");
	assert_int_equal(op->open_calls[0].args[0], 12);
	assert_int_equal(op->open_calls[3].tid, 13);
	/* The next slice replaces the list. */
	assert_int_equal(feed_open(m, 12, SECOND, "b"), 0);
	assert_int_equal(model_op(m, 0)->nr_open_calls, 4);
	assert_int_equal(feed_tick(m, 1), 0);
	op = model_op(m, 0);
	assert_int_equal(op->nr_open_calls, 1);
	assert_string_equal(op->open_calls[0].comm, "b");
	assert_int_equal(op->oldest_open_ns, SECOND);
	assert_int_equal(feed_tick(m, 2), 0);
	assert_int_equal(model_op(m, 0)->nr_open_calls, 0);
	assert_int_equal(model_op(m, 0)->open, 0);
	assert_int_equal(model_op(m, 0)->oldest_open_ns, 0);
}

static void test_open_in_profile(void **state)
{
	struct model *m = *state;
	struct rec_profile rec = {
	    .op = 1, .end_ns = SECOND, .armed_ns = SECOND, .open = 900, .oldest_open_ns = 77 * MS};

	assert_int_equal(feed_profile_record(m, &rec), 0);
	assert_int_equal(feed_open(m, 1, 50 * MS, "x"), 0);
	assert_int_equal(feed_tick(m, 0), 0);
	/* More are open than are listed, and the oldest need not be among them. */
	assert_int_equal(model_op(m, 0)->open, 900);
	assert_int_equal(model_op(m, 0)->oldest_open_ns, 77 * MS);
	assert_int_equal(model_op(m, 0)->nr_open_calls, 1);
	/* A call that is stuck is no call yet: no peak, no count. */
	assert_int_equal(model_op(m, 0)->total.calls, 0);
}

static void test_too_many_open(void **state)
{
	struct model *m = *state;
	const struct op *op;

	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(feed_open(m, i, 1000 + (i * 7919) % 500,
					   "a comm far too long for "
					   "any task of this system"),
				 0);
	assert_int_equal(feed_tick(m, 0), 0);
	op = model_op(m, 0);
	assert_int_equal(op->nr_open_calls, MODEL_MAX_OPEN);
	for (unsigned int i = 0; i < MODEL_MAX_OPEN; i++)
		assert_int_equal(op->open_calls[i].age_ns, 1499 - i);
	assert_true(strlen(op->open_calls[0].comm) < 32);
}

static void test_slices_bounded(void **state)
{
	struct model *m = *state;
	const struct op *op;
	uint64_t sum = 0;

	for (uint64_t slice = 0; slice < MODEL_MAX_SLICES + 1000; slice++)
		assert_int_equal(feed_calls(m, 1, slice, 1000 + slice, 2, SECOND), 0);
	op = model_op(m, 0);
	assert_true(op->nr_slices <= MODEL_MAX_SLICES);
	for (unsigned int i = 0; i < op->nr_slices; i++)
		sum += op->slices[i].calls;
	assert_int_equal(sum, op->total.calls);
	assert_int_equal(op->slices[op->nr_slices - 1].end_ns, (MODEL_MAX_SLICES + 1000) * SECOND);
}

/* However many operations there are: their slices are coarsened before memory runs out. */
static void test_all_slices_bounded(void **state)
{
	enum { OPS = 40, SLICES = 1000 };
	struct model *m = *state;
	uint32_t bucket[PT_BUCKETS];
	uint64_t count[PT_BUCKETS];
	size_t bytes = 0;

	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		bucket[i] = i;
		count[i] = 1;
	}
	for (uint32_t op = 2; op <= OPS; op++)
		assert_int_equal(feed_op(m, op, LAYER_FUNCTION, "f"), 0);
	for (uint64_t slice = 0; slice < SLICES; slice++) {
		for (uint32_t op = 1; op <= OPS; op++) {
			struct rec_profile rec = {.op = op,
						  .start_ns = slice * SECOND,
						  .end_ns = (slice + 1) * SECOND,
						  .armed_ns = SECOND,
						  .calls = PT_BUCKETS,
						  .nr_buckets = PT_BUCKETS,
						  .bucket = bucket,
						  .count = count};

			assert_int_equal(feed_profile_record(m, &rec), 0);
		}
	}
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);
		uint64_t calls = 0;

		for (unsigned int k = 0; k < op->nr_slices; k++)
			calls += op->slices[k].calls;
		assert_int_equal(calls, op->total.calls);
		assert_int_equal(calls, SLICES * PT_BUCKETS);
		/* None pays for all. */
		assert_in_range(op->nr_slices, SLICES / 3, SLICES);
		bytes += op->nr_slices * (sizeof(struct slice) + PT_BUCKETS * 10);
	}
	assert_true(bytes < 97 << 20);
}

/* Two operations do not mix. */
static void test_ops_are_separate(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_op(m, 2, LAYER_SYSCALL, "syscall:write"), 0);
	assert_int_equal(feed_calls(m, 1, 0, 3000, 10, SECOND), 0);
	assert_int_equal(feed_calls(m, 2, 0, 5000, 20, SECOND / 2), 0);
	assert_int_equal(feed_tick(m, 0), 0);
	assert_int_equal(model_op_by_number(m, 1)->total.calls, 10);
	assert_int_equal(model_op_by_number(m, 2)->total.calls, 40);
	assert_true(model_op_by_number(m, 1)->share_seen == 1);
}

static void test_elapsed_without_tick(void **state)
{
	assert_int_equal(feed_calls(*state, 1, 4, 3000, 10, SECOND), 0);
	assert_int_equal(model_elapsed_ns(*state), 5 * SECOND);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_ops_in_order),
	    TEST(test_op_texts),
	    TEST(test_op_contradictions),
	    TEST(test_too_many_ops),
	    TEST(test_unknown_op),
	    TEST(test_raw_counts_exactly),
	    TEST(test_weighted_by_bursts),
	    TEST(test_weights_differ_by_slice),
	    TEST(test_late_ends_keep_their_weight),
	    TEST(test_never_armed),
	    TEST(test_share_seen_counts_unseen),
	    TEST(test_short_armed_time_tells_nothing),
	    TEST(test_time_of_one_thread),
	    TEST(test_checksum),
	    TEST(test_malformed_profiles),
	    TEST(test_no_overflow),
	    TEST(test_recent_is_the_last_slice),
	    TEST(test_recent_of_long_slices),
	    TEST(test_open_calls),
	    TEST(test_open_in_profile),
	    TEST(test_too_many_open),
	    TEST(test_slices_bounded),
	    TEST(test_all_slices_bounded),
	    TEST(test_ops_are_separate),
	    TEST(test_elapsed_without_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
