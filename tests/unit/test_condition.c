// SPDX-License-Identifier: GPL-2.0-or-later
/* The condition of record --when: what it accepts, and when it is true. */
#include <string.h>

#include "tests/unit/model_feed.h"

#include "analysis/base/duration.h"
#include "analysis/latency/condition.h"
#include "tui/cli/command_line.h"

static struct condition parsed(const char *text)
{
	struct condition c;
	char error[512] = "";

	if (condition_parse(&c, text, error, sizeof(error)))
		fail_msg("%s", error);
	return c;
}

static void each_figure_is_read_with_its_unit(void **state)
{
	struct condition c = parsed("p99(serve_request) > 50ms for 5s");

	assert_int_equal(c.figure, CONDITION_QUANTILE);
	assert_true(c.quantile > 0.9899 && c.quantile < 0.9901);
	assert_string_equal(c.op, "serve_request");
	assert_false(c.below);
	assert_true(c.value == 50e6);
	assert_int_equal(c.for_ns, 5 * SECOND);
	assert_string_equal(condition_value(&c, 81e6).s, "81 ms");
	c = parsed("  p99.9 ( ns::map<int (*)(long)>::get(int) )<1.5us ");
	assert_string_equal(c.op, "ns::map<int (*)(long)>::get(int)");
	assert_true(c.below && c.value == 1500 && !c.for_ns);
	c = parsed("open(syscall:fsync) > 2m");
	assert_true(c.figure == CONDITION_OPEN && c.value == 120e9);
	c = parsed("mean(f) > 1ms");
	assert_int_equal(c.figure, CONDITION_MEAN);
	c = parsed("max(f@libx.so) > 1ms");
	assert_int_equal(c.figure, CONDITION_MAX);
	c = parsed("rate(f) < 20/s for 1m");
	assert_true(c.figure == CONDITION_RATE && c.below && c.value == 20);
	assert_string_equal(condition_value(&c, 12.5).s, "12.5/s");
	c = parsed("share(f) > 20%");
	assert_true(c.figure == CONDITION_SHARE && c.value > 0.199 && c.value < 0.201);
	assert_string_equal(condition_value(&c, 0.234).s, "23.4%");
	c = parsed("new_peak(f)");
	assert_int_equal(c.figure, CONDITION_NEW_PEAK);
	c = parsed("load > 8 for 30s");
	assert_true(c.figure == CONDITION_LOAD && c.value == 8 && c.for_ns == 30 * SECOND);
}

static void an_error_names_its_position(void **state)
{
	static const struct {
		const char *text, *place;
	} wrong[] = {
	    {"", "position 1: expected p99(OP)"},
	    {"latency(f) > 5ms", "position 1: expected p99(OP)"},
	    {"p(f) > 5ms", "position 2: expected p99(OP)"},
	    {"p100(f) > 5ms", "position 5: the number of p"},
	    {"p99 > 5ms", "position 5: expected the operation in parentheses"},
	    {"p99(f > 5ms", "position 4: this parenthesis is not closed"},
	    {"p99() > 5ms", "position 5: expected the name"},
	    {"p99(f) = 5ms", "position 8: expected < or >"},
	    {"p99(f) > 5", "position 10: expected a time with its unit"},
	    {"p99(f) > -5ms", "position 10: expected a time"},
	    {"p99(f) > 5ms for", "position 17: expected a time"},
	    {"p99(f) > 5ms for 5", "position 18: expected a time"},
	    {"p99(f) > 5ms for 5s and", "position 21: expected nothing after the time"},
	    {"p99(f) > 5ms or", "position 14: expected \"for\" and a time"},
	    {"share(f) > 20", "position 14: expected %"},
	    {"rate(f) > inf", "position 11: expected a number"},
	    {"rate(f) > 1e3", "position 11: expected a number"},
	    {"new_peak(f) > 3", "position 13: expected nothing more"},
	    {"load(f) > 3", "position 5: expected < or >"},
	};
	struct condition c;
	char error[512];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(condition_parse(&c, wrong[i].text, error, sizeof(error)), 0);
		if (!strstr(error, wrong[i].place))
			fail_msg("%s: %s", wrong[i].text, error);
	}
}

/* The present slice, and whether the condition is met at its end. */
struct run {
	struct model *m;
	struct condition c;
	struct condition_state s;
	uint64_t slice;
};

static void begin(struct run *r, const char *text, enum layer layer)
{
	struct record meta = {.type = REC_META,
			      .meta = {.version = "",
				       .host = "",
				       .kernel = "",
				       .boot_id = "",
				       .command = "",
				       .interval_ns = SECOND,
				       .resolution = 4}};

	*r = (struct run){.m = model_new(), .c = parsed(text)};
	assert_int_equal(model_feed(r->m, &meta), 0);
	assert_int_equal(feed_op(r->m, 1, layer, "other"), 0);
	assert_int_equal(feed_op(r->m, 2, layer, "f"), 0);
}

static bool turn(struct run *r, uint64_t calls, uint64_t ns)
{
	if (calls)
		assert_int_equal(feed_calls(r->m, 2, r->slice, ns, calls, SECOND), 0);
	assert_int_equal(feed_tick(r->m, r->slice++), 0);
	return condition_met(&r->c, &r->s, r->m, -1);
}

static void it_must_be_true_for_its_time(void **state)
{
	struct run r;

	begin(&r, "p99(f) > 50ms for 3s", LAYER_SYSCALL);
	assert_false(turn(&r, 100, MS));
	assert_false(turn(&r, 100, 80 * MS));
	assert_false(turn(&r, 100, 80 * MS));
	assert_false(turn(&r, 100, MS)); /* it begins anew */
	assert_false(turn(&r, 100, 80 * MS));
	assert_false(turn(&r, 100, 80 * MS));
	assert_true(turn(&r, 100, 80 * MS));
	assert_true(turn(&r, 100, 80 * MS));
	assert_true(r.s.now > 70e6 && r.s.now < 90e6);
	assert_int_equal(r.s.op, 2);
	/* a second without a call is none with slow ones */
	assert_false(turn(&r, 0, 0));
	assert_false(turn(&r, 100, 80 * MS));
	assert_int_equal(r.s.known, 9);
	assert_int_equal(r.s.held, 7);
	model_free(r.m);
}

/* Functions are measured in bursts: nothing is known of what is between them. */
static void what_is_not_measured_changes_nothing(void **state)
{
	struct run r;

	begin(&r, "mean(f) > 50ms for 4s", LAYER_FUNCTION);
	assert_false(turn(&r, 100, 80 * MS));
	assert_false(turn(&r, 0, 0));
	assert_false(turn(&r, 0, 0));
	assert_true(turn(&r, 0, 0));
	assert_int_equal(r.s.known, 1);
	assert_false(turn(&r, 100, MS));
	model_free(r.m);
}

static void rates_and_shares(void **state)
{
	struct run r;

	begin(&r, "rate(f) < 20/s", LAYER_SYSCALL);
	assert_false(turn(&r, 50, MS));
	assert_true(turn(&r, 10, MS));
	assert_true(turn(&r, 0, 0)); /* no call at all is a low rate */
	assert_false(turn(&r, 21, MS));
	assert_true(r.s.farthest == 0);
	model_free(r.m);
	begin(&r, "share(f) > 40%", LAYER_SYSCALL);
	assert_false(turn(&r, 100, 3 * MS));
	assert_true(turn(&r, 100, 5 * MS));
	assert_false(turn(&r, 0, 0));
	model_free(r.m);
}

static void a_call_that_is_open(void **state)
{
	struct record open = {.type = REC_OPEN};
	struct run r;

	begin(&r, "open(f) > 2s", LAYER_SYSCALL);
	for (uint64_t age = 1; age <= 3; age++) {
		open.open = (struct rec_open){.op = 2,
					      .pid = 1,
					      .tid = 1,
					      .comm = "x",
					      .start_ns = 0,
					      .age_ns = age * SECOND};
		assert_int_equal(model_feed(r.m, &open), 0);
		assert_int_equal(turn(&r, 0, 0), age > 2);
	}
	assert_false(turn(&r, 0, 0));
	model_free(r.m);
}

/* Peaks are new after the first minute, and once. */
static void a_new_peak(void **state)
{
	unsigned int met = 0;
	struct run r;

	begin(&r, "new_peak(f)", LAYER_SYSCALL);
	for (unsigned int i = 0; i < 70; i++)
		assert_false(turn(&r, 1000, MS));
	for (unsigned int i = 0; i < 30; i++) {
		assert_int_equal(feed_calls(r.m, 2, r.slice, 60 * MS, 500, SECOND), 0);
		met += turn(&r, 1000, MS);
	}
	assert_int_equal(met, 1);
	model_free(r.m);
}

static void the_load(void **state)
{
	struct run r;

	begin(&r, "load > 8", LAYER_SYSCALL);
	turn(&r, 1, MS);
	assert_false(condition_met(&r.c, &r.s, r.m, 7.9));
	assert_true(condition_met(&r.c, &r.s, r.m, 8.1));
	assert_true(condition_met(&r.c, &r.s, r.m, -1)); /* not known */
	assert_false(condition_met(&r.c, &r.s, r.m, 0.5));
	model_free(r.m);
}

static int options(struct options *o, const char *f, const char *when, char *error, size_t n)
{
	char *argv[] = {"peaktop", "record",	 "-p", "1",	  "-o", "x",
			"--when",  (char *)when, "-f", (char *)f, NULL};

	return options_parse(o, f ? 10 : 8, argv, error, n);
}

/* What the condition is about is measured, beside what is measured without it. */
static void its_operation_is_measured(void **state)
{
	struct options o;
	char e[512];

	assert_int_equal(options(&o, NULL, "p99(work) > 5ms", e, sizeof(e)), 0);
	assert_int_equal(o.nr_ops, 2);
	assert_int_equal(o.ops[0].kind, OP_ALL_SYSCALLS);
	assert_string_equal(o.ops[1].text, "work");
	assert_int_equal(o.every_ns, 600 * SECOND);
	assert_int_equal(options(&o, NULL, "p99(syscall:read) > 5ms", e, sizeof(e)), 0);
	assert_int_equal(o.nr_ops, 0);
	assert_int_equal(options(&o, "work", "p99(work) > 5ms", e, sizeof(e)), 0);
	assert_int_equal(o.nr_ops, 1);
	assert_int_equal(options(&o, "work", "p99(syscall:read) > 5ms", e, sizeof(e)), 0);
	assert_int_equal(o.nr_ops, 2);
	assert_int_equal(options(&o, "work", "load > 5", e, sizeof(e)), 0);
	assert_int_equal(o.nr_ops, 1);
	assert_int_not_equal(options(&o, NULL, "p99(syscalls) > 5ms", e, sizeof(e)), 0);
	assert_non_null(strstr(e, "position 5"));
	assert_int_not_equal(options(&o, NULL, "p99(syscall:nonsense) > 5ms", e, sizeof(e)), 0);
	assert_non_null(strstr(e, "position 5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_figure_is_read_with_its_unit),
	    cmocka_unit_test(an_error_names_its_position),
	    cmocka_unit_test(it_must_be_true_for_its_time),
	    cmocka_unit_test(what_is_not_measured_changes_nothing),
	    cmocka_unit_test(rates_and_shares),
	    cmocka_unit_test(a_call_that_is_open),
	    cmocka_unit_test(a_new_peak),
	    cmocka_unit_test(the_load),
	    cmocka_unit_test(its_operation_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
