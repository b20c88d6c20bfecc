// SPDX-License-Identifier: GPL-2.0-or-later
/* What changed between two sessions, and `peaktop diff` as text and as JSON. */
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/output_models.h"
#include "tui/report/output_diff.h"

enum { SLICES = 10 };

static struct output_options plain;

/* A session in which `op` of this layer was called as in `mode`. */
static void feed_calls(struct model *m, uint32_t op, enum layer layer, const char *name,
		       const char *requested, const struct mode *mode, unsigned int nr)
{
	feed_op(m, op, layer, name, requested);
	for (unsigned int i = 0; i < SLICES && nr; i++)
		feed_slice(m, op, i, mode, nr, 0);
}

static struct model *session(void)
{
	struct model *m = model_new();

	assert_non_null(m);
	feed_host(m);
	return m;
}

static void end(struct model *m)
{
	for (unsigned int i = 0; i < SLICES; i++)
		feed_tick(m, i);
}

static const struct mode fast[] = {{2 * US, 1000}};
static const struct mode slower[] = {{2 * US, 1000}, {40 * MS, 50}};

static const struct diff_pair *pair_named(const struct diff *d, const char *name)
{
	for (unsigned int i = 0; i < d->result.nr; i++) {
		if (!strcmp(d->result.pair[i].name, name))
			return &d->pair[i];
	}
	fail_msg("no pair %s", name);
	return NULL;
}

static bool is_omitted(const struct diff *d, const char *name, enum diff_left_out why)
{
	for (unsigned int i = 0; i < d->nr_omitted; i++) {
		if (!strcmp(d->omitted[i].op->name, name) && d->omitted[i].why == why)
			return true;
	}
	return false;
}

static void test_new_peak(void **unused)
{
	struct model *a = session(), *b = session();
	const struct diff_pair *p;
	struct diff d;

	(void)unused;
	feed_calls(a, READ, LAYER_SYSCALL, "syscall:read", "", fast, 1);
	feed_calls(a, WRITE, LAYER_SYSCALL, "syscall:write", "", fast, 1);
	/* the numbers of operations differ from session to session */
	feed_calls(b, WRITE, LAYER_SYSCALL, "syscall:read", "", slower, 2);
	feed_calls(b, READ, LAYER_SYSCALL, "syscall:write", "", fast, 1);
	end(a);
	end(b);
	assert_int_equal(diff_models(a, b, &d), 0);
	assert_int_equal(d.nr_shared, 2);
	assert_int_equal(d.result.nr, 2);
	assert_int_equal(d.result.nr_changed, 1);
	p = &d.pair[0];
	assert_string_equal(p->compared->name, "syscall:read");
	assert_int_equal(p->compared->reason[0].kind, COMPARE_PEAK_NEW);
	assert_ptr_equal(p->before, model_op_by_number(a, READ));
	assert_ptr_equal(p->after, model_op_by_number(b, WRITE));
	assert_int_not_equal(pair_named(&d, "syscall:write")->compared->verdict, COMPARE_CHANGED);
	diff_release(&d);
	model_free(a);
	model_free(b);
}

/* All system calls were counted in both sessions: one that is missing was not called. */
static void test_vanished(void **unused)
{
	struct model *a = session(), *b = session();
	struct diff d;

	(void)unused;
	feed_calls(a, READ, LAYER_SYSCALL, "syscall:read", "", fast, 1);
	feed_calls(a, WRITE, LAYER_SYSCALL, "syscall:write", "", fast, 1);
	feed_calls(b, READ, LAYER_SYSCALL, "syscall:read", "", fast, 1);
	end(a);
	end(b);
	assert_int_equal(diff_models(a, b, &d), 0);
	assert_int_equal(d.nr_omitted, 0);
	assert_int_equal(d.result.nr_changed, 1);
	assert_int_equal(d.pair[0].compared->reason[0].kind, COMPARE_VANISHED);
	assert_null(d.pair[0].after);
	diff_release(&d);
	model_free(a);
	model_free(b);
}

/* What only one session measured is no change. */
static void test_not_measured(void **unused)
{
	struct model *a = session(), *b = session();
	struct diff d;

	(void)unused;
	feed_calls(a, READ, LAYER_SYSCALL, "syscall:read", "", fast, 1);
	feed_calls(a, WRITE, LAYER_SYSCALL, "syscall:write", "", fast, 1);
	feed_calls(a, FUNC, LAYER_FUNCTION, "lookup@libx.so", "lookup", fast, 1);
	feed_calls(b, READ, LAYER_SYSCALL, "syscall:read", "syscall:read", fast, 1);
	feed_calls(b, FSYNC, LAYER_RUNQUEUE, "runqueue", "runqueue", fast, 1);
	end(a);
	end(b);
	assert_int_equal(diff_models(a, b, &d), 0);
	assert_int_equal(d.nr_shared, 1);
	assert_int_equal(d.result.nr, 1);
	assert_int_equal(d.result.nr_changed, 0);
	assert_int_equal(d.nr_omitted, 3);
	assert_true(is_omitted(&d, "syscall:write", DIFF_ONLY_BEFORE));
	assert_true(is_omitted(&d, "lookup@libx.so", DIFF_ONLY_BEFORE));
	assert_true(is_omitted(&d, "runqueue", DIFF_ONLY_AFTER));
	diff_release(&d);
	model_free(a);
	model_free(b);
}

/* Twice the calls are a change if they were counted, and none if both numbers are estimates
 * from few bursts. */
static void test_estimated_calls(void **unused)
{
	const struct mode one[] = {{2 * US, 300}}, more[] = {{2 * US, 630}};

	(void)unused;
	for (int seen = 0; seen < 2; seen++) {
		struct model *a = session(), *b = session(), *both[2] = {a, b};
		struct diff d;

		for (int i = 0; i < 2; i++) {
			const struct mode *mode = i ? more : one;

			feed_op(both[i], FUNC, LAYER_FUNCTION, "lookup@libx.so", "lookup");
			for (unsigned int s = 0; s < SLICES; s++) {
				uint32_t bucket = pt_bucket(mode->ns);
				/* the calls of a few bursts hardly tell those of all the time */
				uint64_t count = seen ? mode->calls : s % 5 ? 0 : mode->calls / 6;

				feed(both[i],
				     (struct record){.type = REC_PROFILE,
						     .profile = {.op = FUNC,
								 .start_ns = s * S,
								 .end_ns = (s + 1) * S,
								 .calls = count,
								 .sum_ns = count * mode->ns,
								 .min_ns = mode->ns,
								 .max_ns = mode->ns,
								 .nr_buckets = 1,
								 .bucket = &bucket,
								 .count = &count,
								 .armed_ns = seen ? S : S / 30}});
			}
			end(both[i]);
		}
		assert_int_equal(diff_models(a, b, &d), 0);
		assert_int_equal(d.result.nr, 1);
		if (seen)
			assert_int_equal(d.pair[0].compared->reason[0].kind, COMPARE_CALLS);
		assert_int_equal(d.result.nr_changed, seen);
		diff_release(&d);
		model_free(a);
		model_free(b);
	}
}

static void feed_program(struct model *m, const char *comm, const char *exe)
{
	feed(m, (struct record){.type = REC_TARGET,
				.target = {.pid = 9, .comm = comm, .exe = exe, .requested = 1}});
}

static void test_same_program(void **unused)
{
	static const struct {
		const char *comm[2], *exe[2];
		bool same;
	} cases[] = {
	    {{"redis-server", "redis-server"}, {"/usr/bin/redis", "/opt/redis-8"}, true},
	    {{"main", "worker"}, {"/usr/bin/app", "/opt/new/app"}, true},
	    {{"main", "worker"}, {"/usr/bin/app (deleted)", "/usr/bin/app"}, true},
	    {{"main", "worker"}, {"/usr/bin/app", "/usr/bin/apps"}, false},
	    {{"", ""}, {"", ""}, false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *a = model_new(), *b = model_new();

		feed_program(a, cases[i].comm[0], cases[i].exe[0]);
		feed_program(b, cases[i].comm[1], cases[i].exe[1]);
		assert_int_equal(diff_same_program(a, b), cases[i].same);
		model_free(a);
		model_free(b);
	}
}

/* ---- what is printed */

static struct model *printed[2];
static struct diff printed_diff;

static char *print_diff(bool json)
{
	struct diff_report r = {.diff = &printed_diff,
				.model = {printed[0], printed[1]},
				.file = {"old" HOSTILE, "new"}};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(json ? output_diff_json(&r, &plain, f) : output_diff_text(&r, &plain, f),
			 0);
	fclose(f);
	return text;
}

static void print_begin(void)
{
	printed[0] = session();
	printed[1] = session();
	feed_calls(printed[0], READ, LAYER_SYSCALL, "syscall:read", "", fast, 1);
	feed_calls(printed[0], FUNC, LAYER_FUNCTION, HOSTILE "@libx.so", HOSTILE, fast, 1);
	feed_calls(printed[1], READ, LAYER_SYSCALL, "syscall:read", "", slower, 2);
	end(printed[0]);
	end(printed[1]);
	assert_int_equal(diff_models(printed[0], printed[1], &printed_diff), 0);
}

static void print_end(void)
{
	diff_release(&printed_diff);
	model_free(printed[0]);
	model_free(printed[1]);
}

static void test_text(void **unused)
{
	char *text;

	(void)unused;
	print_begin();
	text = print_diff(false);
	assert_non_null(strstr(text, "After:  new\n"));
	assert_non_null(strstr(text, "1 of 1 operations changed."));
	assert_non_null(strstr(text, "  - new peak at "));
	assert_non_null(strstr(text, "    before: 20k calls, 2k/s"));
	assert_non_null(strstr(text, "Measured only before, so not compared: "));
	assert_null(strchr(text, '\x1b'));
	free(text);
	print_end();
}

static void test_json(void **unused)
{
	json_t *document, *op, *reason;
	json_error_t error;
	char *text;

	(void)unused;
	print_begin();
	text = print_diff(true);
	document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!document)
		fail_msg("%s: %s", error.text, text);
	assert_string_equal(json_string_value(json_object_get(document, "kind")), "diff");
	assert_int_equal(json_integer_value(json_object_get(document, "changed")), 1);
	assert_non_null(json_object_get(json_object_get(document, "before"), "lost"));
	assert_null(json_object_get(json_object_get(document, "before"), "kind"));
	op = json_array_get(json_object_get(document, "operations"), 0);
	assert_string_equal(json_string_value(json_object_get(op, "verdict")), "changed");
	reason = json_array_get(json_object_get(op, "reasons"), 0);
	assert_string_equal(json_string_value(json_object_get(reason, "kind")), "new peak");
	assert_true(json_real_value(json_object_get(reason, "share_after")) > 0.04);
	op = json_array_get(json_object_get(document, "operations"), 1);
	assert_string_equal(json_string_value(json_object_get(op, "verdict")),
			    "measured only before");
	json_decref(document);
	free(text);
	print_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_new_peak),	 cmocka_unit_test(test_vanished),
	    cmocka_unit_test(test_not_measured), cmocka_unit_test(test_estimated_calls),
	    cmocka_unit_test(test_same_program), cmocka_unit_test(test_text),
	    cmocka_unit_test(test_json),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
