// SPDX-License-Identifier: GPL-2.0-or-later
/* Peaks and all that is said of them, from records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_feed.h"
#include "tests/unit/profiles.h"

/* A read that mostly takes 3 us, one in ten 2 ms; and what else there is in a test. */
struct workload {
	struct model *m;
	struct rng rng;
	uint64_t slice;
	double fast_ns, slow_ns, slow_share;
	unsigned int calls; /* a slice */
	bool samples;
	void (*fill)(struct workload *w, struct rec_sample *s, bool slow);
};

static int setup(void **state)
{
	struct workload *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->m = model_new();
	w->rng.state = 1;
	w->fast_ns = 3000;
	w->slow_ns = 2e6;
	w->slow_share = 0.1;
	w->calls = 500;
	*state = w;
	return w->m && !feed_op(w->m, 1, LAYER_SYSCALL, "syscall:read") ? 0 : -1;
}

static int teardown(void **state)
{
	struct workload *w = *state;

	model_free(w->m);
	free(w);
	return 0;
}

static void run(struct workload *w, uint64_t slices)
{
	for (uint64_t end = w->slice + slices; w->slice < end; w->slice++) {
		struct profile p;

		profile_init(&p);
		for (unsigned int i = 0; i < w->calls; i++) {
			bool slow = rng_double(&w->rng) < w->slow_share;
			struct rec_sample s = {
			    .op = 1,
			    .tid = 7,
			    .start_ns = w->slice * SECOND + rng_next(&w->rng) % SECOND,
			    .chance_ppm = 1000000,
			};

			s.latency_ns = rng_latency(&w->rng, slow ? w->slow_ns : w->fast_ns, 0.25);
			profile_add(&p, s.latency_ns);
			if (w->fill)
				w->fill(w, &s, slow);
			if (w->samples)
				assert_int_equal(feed_sample(w->m, &s), 0);
		}
		assert_int_equal(feed_profile(w->m, 1, w->slice, &p), 0);
		assert_int_equal(feed_tick(w->m, w->slice), 0);
	}
}

static void test_two_peaks(void **state)
{
	struct workload *w = *state;
	const struct op *op;
	const struct peak *a, *b;

	run(w, 20);
	op = model_op(w->m, 0);
	assert_int_equal(op->nr_peaks, 2);
	a = &op->peaks[0];
	b = &op->peaks[1];
	assert_int_equal(a->rank, 1);
	assert_int_equal(b->rank, 2);
	assert_int_not_equal(a->id, b->id);
	assert_true(a->low_ns <= 2000 && a->high_ns >= 4500 && a->high_ns < 50000);
	assert_true(a->low_ns <= a->mode_ns && a->mode_ns < a->high_ns);
	assert_in_range(a->mode_ns, 2400, 3700);
	assert_in_range(b->mode_ns, 1600000, 2500000);
	assert_int_equal(a->low_ns, bucket_low_ns(a->range.low, 8));
	assert_int_equal(a->high_ns, bucket_high_ns(a->range.high - 1, 8));
	assert_int_equal(a->calls + b->calls, op->total.calls);
	assert_true(fabs(a->share_of_calls - 0.9) < 0.02);
	assert_true(fabs(b->share_of_calls - 0.1) < 0.02);
	assert_true(b->share_of_time > 0.98);
	assert_true(fabs(a->share_of_time + b->share_of_time - 1) < 0.01);
	assert_true(fabs(a->rate_hz - (double)a->calls / 20) < 1e-6);
	assert_true(fabs((double)(a->total_ns + b->total_ns) / (double)op->total.sum_ns - 1) <
		    0.01);
	/* No samples: unknown, not 0. */
	assert_true(a->run_queue_share == -1);
	assert_true(a->expected_preempted == -1);
	assert_true(a->seen_preempted == -1);
	assert_string_equal(a->near, "");
	assert_string_equal(a->period_near, "");
	assert_int_equal(a->nr_values, 0);
}

/* The id stays while the peak drifts and its rank changes. */
static void test_ids_stay(void **state)
{
	struct workload *w = *state;
	const struct op *op;
	int slow;

	run(w, 5);
	slow = model_op(w->m, 0)->peaks[1].id;
	w->slow_ns = 2.3e6;
	run(w, 5);
	op = model_op(w->m, 0);
	assert_int_equal(op->peaks[op->nr_peaks - 1].id, slow);
	/* A new one between them. */
	w->slow_ns = 80e3;
	run(w, 20);
	op = model_op(w->m, 0);
	assert_int_equal(op->nr_peaks, 3);
	assert_int_equal(op->peaks[2].id, slow);
	assert_int_equal(op->peaks[2].rank, 3);
	assert_int_not_equal(op->peaks[1].id, slow);
	assert_int_not_equal(op->peaks[1].id, op->peaks[0].id);
}

/* Everything that can be read of an operation, as text. */
static void print_op(char *to, size_t size, const struct op *op)
{
	size_t n = 0;

	n += (size_t)snprintf(to + n, size - n, "%s %lu %lu %lu %g %lu|", op->name, op->total.calls,
			      op->total.sum_ns, op->recent.calls, op->share_seen, op->floor_ns);
	for (unsigned int i = 0; i < op->nr_peaks && n < size; i++) {
		const struct peak *p = &op->peaks[i];

		n += (size_t)snprintf(
		    to + n, size - n, "%d %d %u-%u %lu %lu %.17g %.17g %.17g %.17g ", p->rank,
		    p->id, p->range.low, p->range.high, p->calls, p->mode_ns, p->rate_hz,
		    p->period_ns, p->run_queue_share, p->expected_preempted);
		for (unsigned int k = 0; k < p->nr_values && n < size; k++)
			n += (size_t)snprintf(to + n, size - n, "%s %s %.17g ", p->values[k].name,
					      p->values[k].text, p->values[k].separation);
		for (unsigned int k = 0; k < p->nr_related && n < size; k++)
			n += (size_t)snprintf(to + n, size - n, "%u %d %s %.17g ", p->related[k].op,
					      p->related[k].peak_id, p->related[k].by,
					      p->related[k].score);
	}
	assert_true(n < size);
}

static void fill_known(struct workload *w, struct rec_sample *s, bool slow)
{
	s->known = 0xfff;
	s->ret = slow ? -11 : 1 + (int64_t)(rng_next(&w->rng) % 4000);
	s->args[0] = rng_next(&w->rng) % 4;
	s->args[2] = 4096;
	s->oncpu_ns = slow ? 20000 : s->latency_ns;
	s->runqueue_ns = slow ? s->latency_ns / 4 : 0;
	s->sleeps = slow;
	s->preempted = slow && rng_next(&w->rng) % 2;
}

/* Asking changes nothing: asked at every moment or only at the end, the answer is the same. */
static void test_asking_changes_nothing(void **state)
{
	static char seldom[65536], often[65536];

	for (int pass = 0; pass < 2; pass++) {
		struct workload w = {.m = model_new(),
				     .rng = {77},
				     .fast_ns = 3000,
				     .slow_ns = 2e6,
				     .slow_share = 0.1,
				     .calls = 100,
				     .samples = true,
				     .fill = fill_known};

		assert_int_equal(feed_op(w.m, 1, LAYER_SYSCALL, "syscall:read"), 0);
		for (int i = 0; i < 30; i++) {
			w.slow_ns = i < 15 ? 2e6 : 80e3;
			if (pass) {
				model_op_peaks(w.m, 1);
				assert_int_equal(feed_calls(w.m, 1, w.slice, 3000 + i, 50, SECOND),
						 0);
				model_op(w.m, 0);
				model_op_peaks(w.m, 1);
			} else {
				assert_int_equal(feed_calls(w.m, 1, w.slice, 3000 + i, 50, SECOND),
						 0);
			}
			run(&w, 1);
		}
		print_op(pass ? often : seldom, sizeof(seldom), model_op_peaks(w.m, 1));
		model_free(w.m);
	}
	assert_string_equal(seldom, often);
	assert_true(strlen(seldom) > 300);
}

/* A peak that is only seen while half of a slice has come uses up no id. */
static void test_asking_uses_no_id(void **state)
{
	struct workload *w = *state;
	int id[2];

	for (int pass = 0; pass < 2; pass++) {
		struct model *m = model_new();
		struct profile fill;

		assert_int_equal(feed_op(m, 1, LAYER_SYSCALL, "syscall:read"), 0);
		assert_int_equal(feed_calls(m, 1, 0, 3000, 1000, SECOND), 0);
		assert_int_equal(feed_tick(m, 0), 0);
		assert_int_equal(feed_calls(m, 1, 1, 200000, 1000, SECOND), 0);
		if (pass)
			assert_int_equal(model_op_peaks(m, 1)->nr_peaks, 2);
		/* The gap between the two is filled in the same slice. */
		profile_init(&fill);
		for (unsigned int b = pt_bucket(3000) + 1; b < pt_bucket(200000); b++)
			for (int i = 0; i < 1000; i++)
				profile_add(&fill, bucket_low_ns(b, 8));
		assert_int_equal(feed_profile(m, 1, 1, &fill), 0);
		assert_int_equal(feed_tick(m, 1), 0);
		assert_int_equal(model_op(m, 0)->nr_peaks, 1);
		assert_int_equal(feed_calls(m, 1, 2, SECOND, 1000, SECOND), 0);
		assert_int_equal(feed_tick(m, 2), 0);
		assert_int_equal(model_op(m, 0)->nr_peaks, 2);
		id[pass] = model_op(m, 0)->peaks[1].id;
		model_free(m);
	}
	assert_int_equal(id[0], id[1]);
	assert_non_null(w);
}

static void test_asking_twice(void **state)
{
	struct workload *w = *state;
	static char first[65536], second[65536];
	const struct peak *before;

	w->samples = true;
	w->fill = fill_known;
	run(w, 10);
	print_op(first, sizeof(first), model_op_peaks(w->m, 1));
	before = model_op_by_number(w->m, 1)->peaks;
	print_op(second, sizeof(second), model_op_peaks(w->m, 1));
	assert_string_equal(first, second);
	/* The cheaper question gives what is known. */
	assert_ptr_equal(model_op(w->m, 0)->peaks, before);
	assert_true(model_op(w->m, 0)->peaks[0].nr_values > 0);
	run(w, 1);
	print_op(second, sizeof(second), model_op_peaks(w->m, 1));
	assert_string_not_equal(first, second);
}

/* Before the first tick there are peaks as well: a replay may end there. */
static void test_peaks_without_tick(void **state)
{
	struct workload *w = *state;

	assert_int_equal(feed_calls(w->m, 1, 0, 3000, 500, SECOND), 0);
	assert_int_equal(feed_calls(w->m, 1, 1, 3000000, 500, SECOND), 0);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 2);
	assert_int_equal(model_op(w->m, 0)->peaks[0].id, 1);
	assert_int_equal(feed_tick(w->m, 1), 0);
	assert_int_equal(model_op(w->m, 0)->peaks[0].id, 1);
	assert_int_equal(model_op(w->m, 0)->peaks[1].id, 2);
}

static void test_values_reach_the_peak(void **state)
{
	struct workload *w = *state;
	const struct op *op;

	w->samples = true;
	w->fill = fill_known;
	run(w, 20);
	op = model_op_peaks(w->m, 1);
	assert_int_equal(op->nr_peaks, 2);
	assert_true(op->peaks[1].nr_values >= 3);
	assert_string_equal(op->peaks[1].values[0].name, "return value");
	assert_string_equal(op->peaks[1].values[0].text,
			    "-11 (EAGAIN) in 100% of these, 0% of the others");
	assert_string_equal(op->peaks[0].values[0].text,
			    "above 0 in 100% of these, 0% of the others");
	for (unsigned int k = 0; k < op->peaks[1].nr_values; k++)
		assert_null(strstr(op->peaks[1].values[k].name, "argument"));
}

static void test_run_queue_and_preemption(void **state)
{
	struct workload *w = *state;
	const struct peak *p;

	w->samples = true;
	w->fill = fill_known;
	run(w, 20);
	p = model_op_peaks(w->m, 1)->peaks;
	assert_true(fabs(p[0].run_queue_share) < 1e-9);
	assert_true(fabs(p[1].run_queue_share - 0.25) < 1e-3);
	/* Half of the slow ones were preempted. */
	assert_true(p[0].seen_preempted == 0);
	assert_true(fabs(p[1].seen_preempted / (double)p[1].calls - 0.5) < 0.15);
	assert_true(p[0].expected_preempted >= 0);
}

static void fill_cpu_bound(struct workload *w, struct rec_sample *s, bool slow)
{
	s->known = SAMPLE_ONCPU | SAMPLE_SWITCHES | SAMPLE_RUNQUEUE;
	s->oncpu_ns = slow ? 3000 : s->latency_ns;
	s->preempted = slow;
	s->runqueue_ns = slow ? s->latency_ns - 3000 : 0;
}

static int feed_constant(struct model *m, const char *name, uint64_t ns)
{
	struct record r = {.type = REC_CONSTANT, .constant = {name, ns, ns, 1}};

	return model_feed(m, &r);
}

/*
 * OSprof, section 3.3, figure 3: a zero-byte read in a loop that never yields.
 * Its N calls of t_cpu on the CPU contain N * t_cpu / Q ends of a quantum.
 */
static void test_preemption_without_yield(void **state)
{
	struct workload *w = *state;
	struct record cost = {.type = REC_COST, .cost = {.target_cpu_ns = 20 * SECOND}};
	double expected;
	const struct peak *p;

	w->samples = true;
	w->fill = fill_cpu_bound;
	w->calls = 20000;
	w->slow_share = 0.001;
	w->slow_ns = 4e6;
	assert_int_equal(feed_constant(w->m, "scheduler slice", 3 * MS), 0);
	assert_int_equal(model_feed(w->m, &cost), 0);
	run(w, 10);
	/* The calls that were preempted are a shadow of the others, unless all peaks are to be
	 * listed. */
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 1);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_folded, 1);
	p = model_op_peaks(w->m, 1)->folded;
	assert_int_equal(p->fold, PEAK_PREEMPTED);
	assert_int_equal(p->shadow_of, model_op_peaks(w->m, 1)->peaks[0].id);
	model_list_all_peaks(w->m, true);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 2);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_folded, 0);
	p = model_op_peaks(w->m, 1)->peaks;
	assert_int_equal(p[1].shadow_of, p[0].id);
	expected = (double)p[0].calls * 3045 / (3 * MS);
	assert_true(fabs(p[0].expected_preempted / expected - 1) < 0.1);
	assert_in_range((uint64_t)p[0].expected_preempted, 170, 230);
	assert_true(fabs(p[1].seen_preempted - (double)p[1].calls) < 1e-6);
	/* Those that were preempted were there 200 times: as expected. */
	assert_in_range(p[1].calls, 150, 250);
}

static void fill_stolen(struct workload *w, struct rec_sample *s, bool slow)
{
	fill_cpu_bound(w, s, slow);
	s->preempted = 0;
	s->steal_ns = s->runqueue_ns;
}

/* Calls from which the hypervisor took the CPU are preempted calls, without a context switch. */
static void test_steal_is_preemption(void **state)
{
	struct workload *w = *state;
	const struct peak *p;

	w->samples = true;
	w->fill = fill_stolen;
	w->calls = 20000;
	w->slow_share = 0.001;
	w->slow_ns = 4e6;
	run(w, 10);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 1);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_folded, 1);
	p = model_op_peaks(w->m, 1)->folded;
	assert_int_equal(p->fold, PEAK_PREEMPTED);
	assert_int_equal(p->shadow_of, model_op_peaks(w->m, 1)->peaks[0].id);
	assert_true(fabs(p->seen_preempted - (double)p->calls) < 1e-6);
	assert_true(model_op_peaks(w->m, 1)->peaks[0].seen_preempted == 0);
}

/* With a measured tick a slice ends with it; without anything, Linux' rule for the CPUs. */
static void test_quantum(void **state)
{
	struct workload *w = *state;
	struct record meta = {
	    .type = REC_META,
	    .meta = {
		.version = "", .host = "", .kernel = "", .boot_id = "", .command = "", .cpus = 2}};
	double by_default, two_cpus, with_tick;

	w->samples = true;
	w->fill = fill_cpu_bound;
	w->slow_share = 0;
	run(w, 10);
	by_default = model_op_peaks(w->m, 1)->peaks[0].expected_preempted;
	assert_int_equal(model_feed(w->m, &meta), 0);
	two_cpus = model_op_peaks(w->m, 1)->peaks[0].expected_preempted;
	assert_int_equal(feed_constant(w->m, "timer tick (HZ=250)", 4 * MS), 0);
	with_tick = model_op_peaks(w->m, 1)->peaks[0].expected_preempted;
	/* 3 ms, 1.5 ms, 4 ms */
	assert_true(fabs(two_cpus / by_default - 2) < 1e-9);
	assert_true(fabs(with_tick / by_default - 0.75) < 1e-9);
	assert_true(by_default > 0);
}

static void fill_yielding(struct workload *w, struct rec_sample *s, bool slow)
{
	s->known = SAMPLE_ONCPU | SAMPLE_SWITCHES;
	s->oncpu_ns = s->latency_ns;
	s->sleeps = rng_next(&w->rng) % 100 < 1;
}

/* OSprof's own example: where requests yield now and then, next to none is preempted. */
static void test_preemption_with_yield(void **state)
{
	struct workload *w = *state;

	w->samples = true;
	w->fill = fill_yielding;
	w->slow_share = 0;
	run(w, 10);
	assert_true(model_op_peaks(w->m, 1)->peaks[0].expected_preempted < 1);
	assert_true(model_op_peaks(w->m, 1)->peaks[0].expected_preempted >= 0);
}

static void test_floor(void **state)
{
	struct workload *w = *state;
	uint32_t bucket[3] = {10, 80, 100};
	uint64_t count[3] = {3, 5000, 5000};
	struct rec_profile rec = {.op = 1,
				  .end_ns = SECOND,
				  .armed_ns = SECOND,
				  .calls = 10003,
				  .sum_ns = 50000000,
				  .min_ns = 3,
				  .max_ns = 6000,
				  .nr_buckets = 3,
				  .bucket = bucket,
				  .count = count};

	assert_int_equal(feed_profile_record(w->m, &rec), 0);
	/* Three calls of a broken clock are not the floor. */
	assert_int_equal(model_op(w->m, 0)->floor_ns, bucket_low_ns(80, 8));
	assert_int_equal(feed_op(w->m, 2, LAYER_FUNCTION, "f"), 0);
	assert_int_equal(feed_calls(w->m, 2, 0, 1000, 50, SECOND), 0);
	/* With few calls the fastest is it, and no less than the fastest. */
	assert_int_equal(model_op_by_number(w->m, 2)->floor_ns, 1000);
}

/* Functions are watched from when they were armed, system calls from the start. */
static void test_rate(void **state)
{
	struct workload *w = *state;

	assert_int_equal(feed_op(w->m, 2, LAYER_FUNCTION, "f@x"), 0);
	for (uint64_t i = 5; i < 10; i++) {
		assert_int_equal(feed_calls(w->m, 1, i, 3000, 100, SECOND), 0);
		assert_int_equal(feed_calls(w->m, 2, i, 3000, 100, SECOND), 0);
		assert_int_equal(feed_tick(w->m, i), 0);
	}
	assert_true(fabs(model_op_by_number(w->m, 1)->peaks[0].rate_hz - 50) < 1e-9);
	assert_true(fabs(model_op_by_number(w->m, 2)->peaks[0].rate_hz - 100) < 1e-9);
}

static void test_near(void **state)
{
	struct workload *w = *state;

	w->slow_ns = 41.5e6;
	w->slow_share = 0.2;
	run(w, 10);
	assert_string_equal(model_op(w->m, 0)->peaks[0].near, "");
	assert_non_null(strstr(model_op(w->m, 0)->peaks[1].near, "delayed ACK"));
	/* Measured on this host, from now on. */
	assert_int_equal(feed_constant(w->m, "a context switch", 3050), 0);
	assert_string_equal(model_op(w->m, 0)->peaks[0].near, "a context switch");
}

/* A latency at a time of the scheduler says nothing of calls that do not wait for a CPU. */
static void test_near_a_time_of_the_scheduler(void **state)
{
	struct workload *w = *state;

	w->slow_ns = 2.9e6;
	w->slow_share = 0.2;
	run(w, 10);
	assert_string_equal(model_op_peaks(w->m, 1)->peaks[1].near, "");
	/* the slow calls wait for a CPU for a quarter of their time */
	w->samples = true;
	w->fill = fill_known;
	run(w, 10);
	assert_non_null(strstr(model_op_peaks(w->m, 1)->peaks[1].near, "scheduler slice"));
}

/* A slow call every five seconds among fast ones at any time. */
static void test_period_from_samples(void **state)
{
	struct workload *w = *state;
	const struct peak *p;

	w->slow_share = 0;
	w->samples = true;
	for (int i = 0; i < 60; i++) {
		if (i % 5 == 3) {
			struct rec_sample s = {.op = 1,
					       .start_ns = (uint64_t)i * SECOND + 3 * MS,
					       .latency_ns = 30 * MS,
					       .chance_ppm = 1000000};
			struct profile p1;

			profile_init(&p1);
			profile_add(&p1, s.latency_ns);
			assert_int_equal(feed_sample(w->m, &s), 0);
			assert_int_equal(feed_profile(w->m, 1, w->slice, &p1), 0);
		}
		run(w, 1);
	}
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 2);
	p = model_op_peaks(w->m, 1)->peaks;
	assert_true(p[0].period_ns == 0);
	assert_true(fabs(p[1].period_ns / (5.0 * SECOND) - 1) < 0.01);
	assert_non_null(strstr(p[1].period_near, "writeback"));
	assert_string_equal(p[0].period_near, "");
}

/* Without samples, from the slices that the peak is in. */
static void test_period_from_slices(void **state)
{
	struct workload *w = *state;
	const struct peak *p;

	w->calls = 200;
	for (int i = 0; i < 60; i++) {
		w->slow_share = i % 6 == 2 ? 0.3 : 0;
		run(w, 1);
	}
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 2);
	p = model_op_peaks(w->m, 1)->peaks;
	assert_true(p[0].period_ns == 0);
	assert_true(fabs(p[1].period_ns / (6.0 * SECOND) - 1) < 0.05);
}

/* Getters of other operations leave an answer alone. */
static void test_answers_stay_valid(void **state)
{
	struct workload *w = *state;
	static char before[65536], after[65536];
	const struct op *op;

	w->samples = true;
	w->fill = fill_known;
	for (uint32_t i = 2; i < 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "syscall:x%u", i);
		assert_int_equal(feed_op(w->m, i, LAYER_SYSCALL, name), 0);
		assert_int_equal(feed_calls(w->m, i, 0, 1000 * i, 100 * i, SECOND), 0);
	}
	run(w, 15);
	op = model_op_peaks(w->m, 1);
	print_op(before, sizeof(before), op);
	for (uint32_t i = 2; i < 10; i++)
		assert_non_null(model_op_peaks(w->m, i));
	print_op(after, sizeof(after), op);
	assert_string_equal(before, after);
}

/* A stuck call is shown though the operation has no peak at all. */
static void test_no_calls(void **state)
{
	struct workload *w = *state;
	struct record r = {
	    .type = REC_OPEN,
	    .open = {.op = 1, .pid = 3, .tid = 4, .comm = "db", .age_ns = 10 * SECOND}};

	assert_int_equal(model_feed(w->m, &r), 0);
	assert_int_equal(feed_tick(w->m, 0), 0);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_peaks, 0);
	assert_int_equal(model_op_peaks(w->m, 1)->nr_open_calls, 1);
	assert_int_equal(model_op_peaks(w->m, 1)->oldest_open_ns, 10 * SECOND);
	assert_null(model_op_peaks(w->m, 2));
}

/* Whatever a hostile file holds: no crash, no count that does not add up. */
static void test_hostile(void **state)
{
	struct rng rng = {99};

	for (int round = 0; round < 30; round++) {
		struct model *m = model_new();

		for (int i = 0; i < 400; i++) {
			struct record r;
			uint32_t bucket[8];
			uint64_t count[8];
			uint64_t *words = (uint64_t *)&r;

			for (size_t k = 0; k < sizeof(r) / 8; k++)
				words[k] = rng_next(&rng) >> rng_next(&rng) % 64;
			for (int k = 0; k < 8; k++) {
				bucket[k] = (uint32_t)(k * 40 + (int)(rng_next(&rng) % 50));
				count[k] = rng_next(&rng) >> rng_next(&rng) % 64;
			}
			switch (rng_next(&rng) % 5) {
			case 0:
				r.type = REC_OP;
				r.op.op = 1 + rng_next(&rng) % 3;
				r.op.layer = rng_next(&rng) % 7;
				r.op.name = r.op.label = r.op.requested = "x";
				r.op.module = r.op.placement = NULL;
				break;
			case 1:
				r.type = REC_PROFILE;
				r.profile.op = 1 + rng_next(&rng) % 3;
				r.profile.nr_buckets = rng_next(&rng) % 9;
				r.profile.bucket = bucket;
				r.profile.count = count;
				break;
			case 2:
				r.type = REC_SAMPLE;
				r.sample.op = 1 + rng_next(&rng) % 3;
				r.sample.text = "x";
				break;
			case 3:
				r.type = REC_OPEN;
				r.open.op = 1 + rng_next(&rng) % 3;
				r.open.comm = NULL;
				break;
			default:
				r.type = REC_TICK;
				break;
			}
			model_feed(m, &r);
			for (size_t k = 0; k < model_nr_ops(m); k++) {
				const struct op *op = model_op_peaks(m, model_op(m, k)->op);

				assert_int_equal(profile_sum_of_counts(&op->total),
						 op->total.calls);
			}
		}
		model_free(m);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_two_peaks),
	    TEST(test_ids_stay),
	    TEST(test_asking_changes_nothing),
	    TEST(test_asking_uses_no_id),
	    TEST(test_asking_twice),
	    TEST(test_peaks_without_tick),
	    TEST(test_values_reach_the_peak),
	    TEST(test_run_queue_and_preemption),
	    TEST(test_preemption_without_yield),
	    TEST(test_steal_is_preemption),
	    TEST(test_quantum),
	    TEST(test_preemption_with_yield),
	    TEST(test_floor),
	    TEST(test_rate),
	    TEST(test_near),
	    TEST(test_near_a_time_of_the_scheduler),
	    TEST(test_period_from_samples),
	    TEST(test_period_from_slices),
	    TEST(test_answers_stay_valid),
	    TEST(test_no_calls),
	    TEST(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
