// SPDX-License-Identifier: GPL-2.0-or-later
/* A model of a part of the time. */
#include "tests/unit/model_feed.h"
#include "tests/unit/synthetic.h"

#include "analysis/latency/event_log.h"

enum { READ = 2, COMMAND = 7, SPIKE_NS = 24000000 };

static const struct peak *peak_at(const struct op *op, uint64_t ns)
{
	for (unsigned int i = 0; i < op->nr_peaks; i++)
		if (pt_bucket(ns) >= op->peaks[i].range.low &&
		    pt_bucket(ns) < op->peaks[i].range.high)
			return &op->peaks[i];
	return NULL;
}

/* All of the time: the same figures and the same peaks, of functions that are sampled, too. */
static void test_whole_run(void **state)
{
	struct model *m = synth_model(40), *part = model_span(m, 0, 40 * SECOND);

	assert_int_equal(model_since_ns(part), 0);
	assert_int_equal(model_elapsed_ns(part), 40 * SECOND);
	assert_int_equal(model_nr_ops(part), model_nr_ops(m));
	assert_string_equal(model_meta(part)->host, "db1");
	assert_int_equal(model_target(part, 0)->pid, 1234);
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *a = model_op(m, i), *b = model_op(part, i);

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->shown, b->shown);
		assert_int_equal(a->total.calls, b->total.calls);
		assert_int_equal(a->total.sum_ns, b->total.sum_ns);
		assert_int_equal(a->total.min_ns, b->total.min_ns);
		assert_int_equal(a->total.max_ns, b->total.max_ns);
		assert_memory_equal(a->total.count, b->total.count, sizeof(a->total.count));
		assert_int_equal(a->seen_calls, b->seen_calls);
		assert_int_equal(a->recent.calls, b->recent.calls);
		assert_int_equal(a->calls_low, b->calls_low);
		assert_int_equal(a->calls_high, b->calls_high);
		assert_true(fabs(model_covered_ns(a, 40e9) - model_covered_ns(b, 40e9)) < 1);
		assert_int_equal(b->open, 0);
		for (unsigned int k = 0; a->share_seen == 1 && k < a->nr_peaks; k++) {
			assert_int_equal(a->nr_peaks, b->nr_peaks);
			assert_int_equal(a->peaks[k].id, b->peaks[k].id);
			assert_int_equal(a->peaks[k].calls, b->peaks[k].calls);
		}
	}
	model_free(part);
	model_free(m);
}

/* The model of a part of the run has the parameter names of the whole run. */
static void test_parameters(void **state)
{
	static const char text[] = ",n,0;kind,i,4";
	struct model *m = synth_model(4), *part;
	const struct op *function = model_op_by_number(m, COMMAND);
	const struct record rec = {.type = REC_SYMBOL,
				   .symbol = {.module = function->module_id,
					      .offset = function->offset,
					      .parameters = text}};

	assert_int_equal(function->layer, LAYER_FUNCTION);
	assert_int_equal(model_feed(m, &rec), 0);
	part = model_span(m, SECOND, 2 * SECOND);
	assert_string_equal(model_op_by_number(part, COMMAND)->parameters, text);
	assert_null(model_op_by_number(part, READ)->parameters);
	model_free(part);
	model_free(m);
}

/* One second: its calls, its rates, its peaks, which have the ids of the whole run. */
static void test_one_second(void **state)
{
	struct model *m = synth_model(40);
	struct model *quiet = model_span(m, 12 * SECOND, 13 * SECOND),
		     *spike = model_span(m, 14 * SECOND, 15 * SECOND);
	const struct op *all = model_op_peaks(m, READ), *q = model_op_peaks(quiet, READ),
			*s = model_op_peaks(spike, READ);

	assert_int_equal(model_since_ns(quiet), 12 * SECOND);
	assert_int_equal(model_elapsed_ns(quiet), 13 * SECOND);
	assert_int_equal(q->nr_slices, 1);
	assert_int_equal(q->total.calls, all->slices[12].calls);
	assert_int_equal(s->total.calls, all->slices[14].calls);
	assert_true(fabs(model_covered_ns(q, 13e9) - 1e9) < 1);
	assert_null(peak_at(q, SPIKE_NS));
	assert_non_null(peak_at(s, SPIKE_NS));
	assert_int_equal(peak_at(s, SPIKE_NS)->id, peak_at(all, SPIKE_NS)->id);
	assert_int_equal(peak_at(s, SPIKE_NS)->number, peak_at(all, SPIKE_NS)->number);
	assert_int_equal(peak_at(q, 1100)->id, peak_at(all, 1100)->id);
	/* all calls of the peak are in each 5th second */
	assert_true(peak_at(s, SPIKE_NS)->rate_hz > 4.9 * peak_at(all, SPIKE_NS)->rate_hz * 0.9);
	model_free(quiet);
	model_free(spike);
	model_free(m);
}

/* A function that is sampled: the estimate of a part has a wider interval than that of the run. */
static void test_sampled(void **state)
{
	struct model *m = synth_model(40), *part = model_span(m, 10 * SECOND, 20 * SECOND);
	const struct op *all = model_op_by_number(m, COMMAND),
			*op = model_op_by_number(part, COMMAND);

	assert_true(op->share_seen > 0.03 && op->share_seen < 0.05);
	assert_true(op->seen_calls < op->total.calls / 20);
	assert_true(op->total.calls > all->total.calls / 5 &&
		    op->total.calls < all->total.calls / 3);
	assert_true(op->calls_low <= op->total.calls && op->calls_high >= op->total.calls);
	assert_true((double)(op->calls_high - op->calls_low) / (double)op->total.calls >=
		    (double)(all->calls_high - all->calls_low) / (double)all->total.calls);
	model_free(part);
	model_free(m);
}

/* Times between the ends of slices are moved to these; what lies outside of the run is empty. */
static void test_ends_of_slices(void **state)
{
	struct model *m = synth_model(20), *part = model_span(m, 4400 * MS, 6300 * MS);

	assert_int_equal(model_since_ns(part), 4 * SECOND);
	assert_int_equal(model_elapsed_ns(part), 6 * SECOND);
	assert_int_equal(model_op_by_number(part, READ)->nr_slices, 2);
	model_free(part);
	part = model_span(m, 100 * SECOND, 110 * SECOND);
	assert_int_equal(model_op_by_number(part, READ)->total.calls, 0);
	assert_int_equal(model_op_by_number(part, READ)->nr_peaks, 0);
	model_free(part);
	part = model_span(m, 9 * SECOND, 3 * SECOND);
	assert_int_equal(model_op_by_number(part, READ)->total.calls, 0);
	model_free(part);
	model_free(m);
}

/* Of slices that were merged, a part cannot be told: the span covers all of them. */
static void test_merged_slices(void **state)
{
	struct model *m = model_new();
	struct model *part;

	synth_begin(m);
	for (uint64_t i = 0; i < MODEL_MAX_SLICES + 10; i++) {
		feed_calls(m, READ, i, 1000, 10 + i % 2, SECOND);
		feed_tick(m, i);
	}
	part = model_span(m, 101 * SECOND, 102 * SECOND);
	assert_int_equal(model_since_ns(part), 100 * SECOND);
	assert_int_equal(model_elapsed_ns(part), 102 * SECOND);
	assert_int_equal(model_op_by_number(part, READ)->total.calls, 21);
	model_free(part);
	part = model_span(m, 3601 * SECOND, 3602 * SECOND);
	assert_int_equal(model_since_ns(part), 3601 * SECOND);
	assert_int_equal(model_op_by_number(part, READ)->total.calls, 11);
	model_free(part);
	model_free(m);
}

static void test_events(void **state)
{
	struct model *m = synth_model(40);
	const struct event_log *log;
	struct model *part;

	synth_feed(m, (struct record){.type = REC_TARGET_END,
				      .target_end = {.pid = 1234, .at_ns = 40100 * MS}});
	part = model_span(m, 30 * SECOND, 40 * SECOND);
	log = model_event_log(part);
	for (size_t i = 0; i < event_log_nr(log); i++)
		assert_int_not_equal(event_log_at(log, i)->kind, EVENT_EXIT);
	model_free(part);
	part = model_span(m, 40 * SECOND, 41 * SECOND);
	log = model_event_log(part);
	assert_int_equal(event_log_nr(log), 1);
	assert_int_equal(event_log_at(log, 0)->kind, EVENT_EXIT);
	assert_int_equal(event_log_at(log, 0)->number, event_log_at(model_event_log(m), 0)->number);
	model_free(part);
	model_free(m);
}

/* The samples of a span are those of the calls that ended in it. */
static void test_samples(void **state)
{
	struct model *m = synth_model(0), *part;
	const struct peak *p;

	for (uint64_t i = 0; i < 20; i++) {
		uint64_t slow = i >= 10;

		for (uint64_t k = 0; k < 100; k++) {
			struct rec_sample s = {.op = READ,
					       .start_ns = i * SECOND + k * MS,
					       .latency_ns = 5 * MS + k,
					       .known = SAMPLE_RET,
					       .ret = slow ? -11 : 7,
					       .chance_ppm = 1000000};
			struct rec_sample other = s;

			other.latency_ns = 1000 + k;
			other.ret = 7;
			feed_sample(m, &s);
			feed_sample(m, &other);
		}
		feed_calls(m, READ, i, 1050, 100, SECOND);
		feed_calls(m, READ, i, 5 * MS, 100, SECOND);
		feed_tick(m, i);
	}
	part = model_span(m, 10 * SECOND, 20 * SECOND);
	p = peak_at(model_op_peaks(part, READ), 5 * MS);
	assert_non_null(p);
	assert_true(p->nr_values > 0);
	assert_non_null(strstr(p->values[0].text, "EAGAIN"));
	model_free(part);
	part = model_span(m, 0, 10 * SECOND);
	p = peak_at(model_op_peaks(part, READ), 5 * MS);
	assert_non_null(p);
	assert_int_equal(p->nr_values, 0);
	model_free(part);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole_run),	   cmocka_unit_test(test_parameters),
	    cmocka_unit_test(test_one_second),	   cmocka_unit_test(test_sampled),
	    cmocka_unit_test(test_ends_of_slices), cmocka_unit_test(test_merged_slices),
	    cmocka_unit_test(test_events),	   cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
