// SPDX-License-Identifier: GPL-2.0-or-later
/* The documents of watch and doctor, from models made of records. */
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/output_models.h"
#include "tui/report/sanitise.h"

static struct output_options plain;

/* --- documents */

static json_t *document(output_fn *fn, struct model *m, const struct output_options *o)
{
	char *text = print(fn, m, o);
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("%s at %d: %.200s", error.text, error.position, text);
	free(text);
	return json;
}

static json_int_t number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("%s is not an integer", key);
	return json_integer_value(v);
}

static double real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_number(v))
		fail_msg("%s is not a number", key);
	return json_number_value(v);
}

static const char *string(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		fail_msg("%s is not text", key);
	return json_string_value(v);
}

static json_t *op_named(const json_t *doc, const char *name)
{
	json_t *op;
	size_t i;

	json_array_foreach(json_object_get(doc, "operations"), i, op)
	{
		if (!strcmp(string(op, "name"), name))
			return op;
	}
	return NULL;
}

static json_int_t sum_of(const json_t *buckets)
{
	json_int_t sum = 0, end = 0;
	json_t *b;
	size_t i;

	json_array_foreach(buckets, i, b)
	{
		assert_true(number(b, "low_ns") >= end);
		assert_true(number(b, "high_ns") > number(b, "low_ns"));
		assert_true(number(b, "count") > 0);
		end = number(b, "high_ns");
		sum += number(b, "count");
	}
	return sum;
}

static void no_null(const json_t *v)
{
	const char *key;
	json_t *sub;
	size_t i;

	assert_false(json_is_null(v));
	json_object_foreach((json_t *)v, key, sub) no_null(sub);
	json_array_foreach(v, i, sub) no_null(sub);
}

static void test_head(void **state)
{
	struct model *m = rich_model();
	json_t *doc = document(output_watch_json, m, &plain), *sub;

	assert_string_equal(string(doc, "peaktop"), PEAKTOP_VERSION);
	assert_int_equal(number(doc, "version"), 1);
	assert_string_equal(string(doc, "kind"), "watch");
	assert_int_equal(number(doc, "elapsed_ns"), 20 * S);
	sub = json_object_get(doc, "target");
	assert_int_equal(number(sub, "pid"), 4321);
	assert_int_equal(number(sub, "ns_pid"), 7);
	assert_string_equal(string(sub, "comm"), "redis-server");
	assert_string_equal(string(sub, "exe"), "/usr/bin/redis-server");
	assert_int_equal(number(sub, "started_ns"), 123456789);
	assert_null(json_object_get(sub, "ended"));
	assert_null(json_object_get(doc, "targets"));
	sub = json_object_get(doc, "cost");
	assert_int_equal(number(sub, "hits"), 10000);
	assert_int_equal(number(sub, "ns"), 30 * MS);
	assert_true(fabs(real(sub, "percent_of_target_cpu") - 1) < 1e-9); /* 20 ms of 2 s */
	assert_true(fabs(real(sub, "percent_of_host_cpu") - 1) < 1e-9);	  /* 100 ms of 10 s */
	sub = json_object_get(doc, "lost");
	assert_int_equal(number(sub, "records"), 3);
	assert_int_equal(number(sub, "samples"), 5);
	assert_int_equal(number(sub, "stacks"), 0);
	assert_int_equal(number(sub, "tainted_ns"), 2 * MS);
	sub = json_object_get(doc, "notes");
	assert_string_equal(json_string_value(json_array_get(sub, 0)),
			    "kernel functions cannot be probed here");
	no_null(doc);
	json_decref(doc);
	model_free(m);
}

/* The percentiles of an object rise from `low` to `high`. Without calls there are none. */
static void assert_percentiles(const json_t *o, json_int_t low, json_int_t high)
{
	static const char *const keys[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!number(o, "calls")) {
			assert_null(json_object_get(o, keys[i]));
			continue;
		}
		assert_true(number(o, keys[i]) >= low && number(o, keys[i]) <= high);
		low = number(o, keys[i]);
	}
}

static void test_percentiles(void **state)
{
	struct model *m = rich_model();
	json_t *doc = document(output_watch_json, m, &plain), *op, *peak;
	size_t i, k, peaks = 0;

	json_array_foreach(json_object_get(doc, "operations"), i, op)
	{
		bool any = number(op, "calls") > 0;

		assert_percentiles(op, any ? number(op, "min_ns") : 0,
				   any ? number(op, "max_ns") : 0);
		json_array_foreach(json_object_get(op, "peaks"), k, peak)
		{
			assert_percentiles(peak, number(peak, "low_ns"), number(peak, "high_ns"));
			peaks++;
		}
	}
	assert_true(peaks > 2);
	json_decref(doc);
	model_free(m);
}

static void test_operations(void **state)
{
	struct model *m = rich_model();
	struct output_options o = {0};
	json_t *doc, *ops, *op;
	json_int_t last = INT64_MAX;
	size_t i;

	o.elapsed_ns = 9 * S;
	doc = document(output_watch_json, m, &o);
	assert_int_equal(number(doc, "elapsed_ns"), 9 * S);
	ops = json_object_get(doc, "operations");
	assert_int_equal(json_array_size(ops), 6); /* all but getpid, which was never called */
	assert_null(op_named(doc, "syscall:getpid"));
	json_array_foreach(ops, i, op)
	{
		assert_true(number(op, "total_ns") <= last);
		last = number(op, "total_ns");
		assert_int_equal(sum_of(json_object_get(op, "buckets")), number(op, "calls"));
		assert_int_equal(number(op, "abnormal"), 0);
		if (json_array_size(json_object_get(op, "slices")))
			assert_true(real(op, "share_of_calls_seen") == 1);
	}
	op = op_named(doc, "lookup(int, char const*)@libx.so");
	assert_string_equal(string(op, "layer"), "function");
	assert_string_equal(string(op, "module"), "libx.so");
	assert_string_equal(string(op, "requested"), "lookup");
	assert_int_equal(number(op, "calls"), 20 * (180000 + 60));
	assert_int_equal(number(op, "total_ns"), 20 * (180000 * 600 + 60 * 40 * MS));
	op = op_named(doc, "syscall:read");
	assert_string_equal(string(op, "layer"), "syscall");
	assert_null(json_object_get(op, "module"));
	assert_null(json_object_get(op, "requested"));
	assert_int_equal(number(op, "calls"), 20 * (10000 + 400));
	op = op_named(doc, "syscall:futex"); /* never returned */
	assert_int_equal(number(op, "calls"), 0);
	assert_int_equal(number(op, "open"), 1);
	assert_int_equal(number(op, "oldest_open_ns"), 12 * S);
	assert_null(json_object_get(op, "min_ns"));
	op = json_array_get(json_object_get(op, "open_calls"), 0);
	assert_int_equal(number(op, "tid"), 4325);
	assert_string_equal(string(op, "comm"), "bio");
	op = op_named(doc, "syscall:splice"); /* asked for, never called */
	assert_non_null(op);
	assert_int_equal(number(op, "calls"), 0);
	assert_null(json_object_get(op, "oldest_open_ns"));
	json_decref(doc);
	model_free(m);
}

static void test_peaks(void **state)
{
	struct model *m = rich_model();
	json_t *doc = document(output_watch_json, m, &plain), *op, *peaks, *p;
	double calls = 0, time = 0;
	bool related = false;
	json_t *r;
	size_t i, j;

	op = op_named(doc, "syscall:read");
	peaks = json_object_get(op, "peaks");
	assert_int_equal(json_array_size(peaks), 2);
	json_array_foreach(peaks, i, p)
	{
		assert_int_equal(number(p, "peak"), i + 1);
		assert_true(number(p, "low_ns") <= number(p, "mode_ns"));
		assert_true(number(p, "mode_ns") < number(p, "high_ns"));
		calls += real(p, "share_of_calls");
		time += real(p, "share_of_time");
		assert_true(real(p, "rate_hz") > 0);
		json_array_foreach(json_object_get(p, "related"), j, r)
		{
			if (strcmp(string(r, "name"), "syscall:write"))
				continue;
			related = true;
			assert_true(number(r, "peak") >= 1 && number(r, "peak") <= 2);
			assert_true(strlen(string(r, "by")) > 0);
		}
	}
	assert_true(fabs(calls - 1) < 1e-6 && fabs(time - 1) < 1e-3);
	assert_true(related); /* the slow peaks have the same counts and shape */
	p = json_array_get(peaks, 0);
	assert_true(number(p, "low_ns") <= (json_int_t)(2 * US) &&
		    number(p, "high_ns") > (json_int_t)(2 * US));
	p = json_array_get(peaks, 1);
	assert_int_equal(number(p, "calls"), 20 * 400);
	assert_null(json_object_get(p, "near"));
	p = json_array_get(
	    json_object_get(op_named(doc, "lookup(int, char const*)@libx.so"), "peaks"), 1);
	assert_non_null(strstr(string(p, "near"), "delayed ACK"));
	json_decref(doc);
	model_free(m);
}

static void test_resolutions(void **state)
{
	static const unsigned int resolutions[] = {1, 2, 4, 8};
	struct model *m = rich_model();
	struct output_options o = {0};
	json_t *doc, *op, *b;
	size_t i, j, before = 0, nr;
	json_int_t in_slices;
	double width;

	for (i = 0; i < 4; i++) {
		o.resolution = resolutions[i];
		doc = document(output_watch_json, m, &o);
		op = op_named(doc, "syscall:write");
		assert_int_equal(sum_of(json_object_get(op, "buckets")), 20 * (6000 + 400));
		nr = json_array_size(json_object_get(op, "buckets"));
		assert_true(nr >= before);
		before = nr;
		json_array_foreach(json_object_get(op, "buckets"), j, b)
		{
			width = log2((double)number(b, "high_ns") / (double)number(b, "low_ns"));
			assert_true(fabs(width - 1.0 / resolutions[i]) < 0.01);
		}
		in_slices = 0;
		assert_int_equal(json_array_size(json_object_get(op, "slices")), 20);
		json_array_foreach(json_object_get(op, "slices"), j, b)
		{
			assert_int_equal(number(b, "start_ns"), j * S);
			in_slices += sum_of(json_object_get(b, "buckets"));
		}
		assert_int_equal(in_slices, number(op, "calls"));
		json_decref(doc);
	}
	model_free(m);
}

static void test_layers(void **state)
{
	static const char *const names[LAYER_MAX] = {"syscall", "function", "kernel",	"block",
						     "lock",	"runqueue", "io_uring", "net"};
	const struct mode mode[] = {{5 * US, 50}};
	struct model *m = model_new();
	char name[16];
	json_t *doc;
	uint32_t i;

	for (i = 0; i < LAYER_MAX; i++) {
		snprintf(name, sizeof(name), "op%u", i);
		feed_op(m, i + 1, (enum layer)i, name, "");
		feed_slice(m, i + 1, 0, mode, 1, 0);
	}
	feed_tick(m, 0);
	doc = document(output_watch_json, m, &plain);
	for (i = 0; i < LAYER_MAX; i++) {
		snprintf(name, sizeof(name), "op%u", i);
		assert_string_equal(string(op_named(doc, name), "layer"), names[i]);
	}
	json_decref(doc);
	model_free(m);
}

static void test_json_lines(void **state)
{
	const struct mode mode[] = {{5 * US, 50}};
	struct output_options o = {.json_lines = true};
	struct model *m = model_new();
	json_t *doc, *op;
	char *text;

	feed_host(m);
	feed_op(m, 1, LAYER_SYSCALL, "syscall:read", "");
	feed_op(m, 2, LAYER_SYSCALL, "syscall:write", "");
	feed_slice(m, 1, 0, mode, 1, 0);
	feed_slice(m, 2, 0, mode, 1, 0);
	feed_tick(m, 0);
	doc = document(output_watch_json, m, &o);
	assert_int_equal(json_array_size(json_object_get(doc, "operations")), 2);
	assert_int_equal(number(doc, "slice"), 0);
	json_decref(doc);

	o.since_ns = S;
	feed_slice(m, 1, 1, mode, 1, 0);
	feed_tick(m, 1);
	text = print(output_watch_json, m, &o);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
	doc = document(output_watch_json, m, &o);
	assert_int_equal(number(doc, "slice"), 1);
	/* every operation with its figures so far, of slices only the new ones */
	assert_int_equal(json_array_size(json_object_get(doc, "operations")), 2);
	op = op_named(doc, "syscall:write");
	assert_int_equal(number(op, "calls"), 100);
	assert_int_equal(json_array_size(json_object_get(op, "slices")), 0);
	op = op_named(doc, "syscall:read");
	assert_int_equal(number(op, "calls"), 200); /* of the whole run */
	assert_int_equal(json_array_size(json_object_get(op, "slices")), 1);
	op = json_array_get(json_object_get(op, "slices"), 0);
	assert_int_equal(number(op, "start_ns"), S);
	assert_int_equal(sum_of(json_object_get(op, "buckets")), 100);
	json_decref(doc);
	model_free(m);
}

static void test_several_targets(void **state)
{
	struct model *m = model_new();
	json_t *doc, *all;

	feed(m, (struct record){.type = REC_TARGET,
				.target = {.pid = 5, .comm = "child", .exe = "", .requested = 0}});
	feed(m, (struct record){.type = REC_TARGET,
				.target = {.pid = 4, .comm = "parent", .exe = "", .requested = 1}});
	feed(m, (struct record){.type = REC_TARGET_END, .target_end = {.pid = 5}});
	doc = document(output_watch_json, m, &plain);
	assert_int_equal(number(json_object_get(doc, "target"), "pid"), 4);
	assert_null(json_object_get(json_object_get(doc, "target"), "exe"));
	all = json_object_get(doc, "targets");
	assert_int_equal(json_array_size(all), 2);
	assert_true(json_is_true(json_object_get(json_array_get(all, 0), "ended")));
	json_decref(doc);
	model_free(m);
}

static void test_empty(void **state)
{
	struct model *m = model_new();
	json_t *doc = document(output_watch_json, m, &plain);
	char *text;

	assert_null(json_object_get(doc, "target"));
	assert_int_equal(json_array_size(json_object_get(doc, "operations")), 0);
	assert_int_equal(number(json_object_get(doc, "cost"), "hits"), 0);
	assert_null(json_object_get(json_object_get(doc, "cost"), "percent_of_target_cpu"));
	no_null(doc);
	json_decref(doc);
	text = print(output_watch_text, m, &plain);
	assert_non_null(strstr(text, "No call of any operation was seen"));
	free(text);
	doc = document(output_doctor_json, m, &plain);
	assert_int_equal(json_array_size(json_object_get(doc, "checks")), 0);
	json_decref(doc);
	free(print(output_doctor_text, m, &plain));
	model_free(m);
}

/* Nothing that drives a terminal gets through, in any document. */
static void test_hostile(void **state)
{
	static output_fn *const fns[] = {output_watch_json, output_watch_text, output_doctor_json,
					 output_doctor_text};
	struct model *m = hostile_model();
	unsigned int len;
	size_t i, j, n;
	uint32_t cp;
	char *text;

	for (i = 0; i < 4; i++) {
		text = print(fns[i], m, &plain);
		n = strlen(text);
		for (j = 0; j < n; j += len) {
			len = utf8_decode(text + j, n - j, &cp);
			assert_true(len > 0);
			assert_true(cp == '\n' || cp >= 0x20);
			assert_true(cp < 0x7f || cp > 0x9f);
			assert_true(cp != 0x202e);
		}
		assert_non_null(strstr(text, i % 2 ? "ev\\x1b[2Jil\\xc2\\x9b\\xff\\u202e\\x0a"
						   : "ev\\\\x1b[2Jil"));
		free(text);
	}
	model_free(m);
}

static void test_large_numbers(void **state)
{
	struct model *m = hostile_model();
	json_t *doc = document(output_watch_json, m, &plain);

	assert_true(number(json_object_get(doc, "cost"), "ns") == INT64_MAX);
	json_decref(doc);
	model_free(m);
}

static void test_doctor(void **state)
{
	struct model *m = model_new();
	json_t *doc, *checks, *c;
	char *text;

	feed_host(m);
	feed(m, (struct record){.type = REC_CHECK,
				.check = {"BTF", 1, "everything", "rebuild the kernel"}});
	feed(m, (struct record){
		    .type = REC_CHECK,
		    .check = {"uprobe_multi", 0, "fast attaching", "use Linux 6.6 or later"}});
	doc = document(output_doctor_json, m, &plain);
	assert_string_equal(string(doc, "kind"), "doctor");
	assert_string_equal(string(doc, "kernel"), "6.18.0");
	checks = json_object_get(doc, "checks");
	assert_int_equal(json_array_size(checks), 2);
	c = json_array_get(checks, 0);
	assert_string_equal(string(c, "name"), "BTF");
	assert_true(json_is_true(json_object_get(c, "ok")));
	assert_string_equal(string(c, "needed_for"), "everything");
	assert_null(json_object_get(c, "remedy")); /* there is nothing to do */
	c = json_array_get(checks, 1);
	assert_true(json_is_false(json_object_get(c, "ok")));
	assert_string_equal(string(c, "remedy"), "use Linux 6.6 or later");
	json_decref(doc);
	text = print(output_doctor_text, m, &plain);
	assert_non_null(strstr(text, "Kernel: 6.18.0\n"));
	assert_non_null(strstr(text, "ok       BTF\n"));
	assert_non_null(strstr(
	    text,
	    "MISSING  uprobe_multi\n         for fast attaching\n         remedy: use Linux 6.6"));
	assert_null(strstr(text, "rebuild the kernel"));
	free(text);
	model_free(m);
}

static void test_same_bytes(void **state)
{
	struct model *a = rich_model(), *b = rich_model();
	char *x = print(output_watch_json, a, &plain), *y = print(output_watch_json, b, &plain), *z;

	assert_string_equal(x, y);
	z = print(output_watch_json, a, &plain);
	assert_string_equal(x, z);
	free(x);
	free(y);
	free(z);
	model_free(a);
	model_free(b);
}

static void test_write_errors(void **state)
{
	static output_fn *const fns[] = {output_watch_json, output_watch_text, output_doctor_json,
					 output_doctor_text};
	struct model *m = rich_model();
	FILE *f;
	size_t i;

	for (i = 0; i < 4; i++) {
		f = fopen("/dev/full", "w");
		assert_non_null(f);
		assert_int_equal(fns[i](m, &plain, f), -ENOSPC);
		fclose(f);
	}
	model_free(m);
}

/* --- the published schema */

static int run(const char *const argv[])
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_schema(void **state)
{
	static const char *const have[] = {"python3", "-c", "import jsonschema", NULL};
	const struct output_options line = {.json_lines = true, .resolution = 8, .top = 2};
	char path[] = "/tmp/test_output_XXXXXX";
	const char *const validate[] = {"python3", "tests/integration/validate_json.py", path,
					NULL};
	struct model *m[3] = {rich_model(), hostile_model(), model_new()};
	int fd = mkstemp(path), i;
	FILE *f = fdopen(fd, "w");

	assert_non_null(f);
	for (i = 0; i < 3; i++) {
		assert_int_equal(output_watch_json(m[i], &line, f), 0);
		assert_int_equal(output_doctor_json(m[i], &plain, f), 0);
		model_free(m[i]);
	}
	fclose(f);
	if (run(have)) {
		unlink(path);
		skip();
	}
	i = run(validate);
	unlink(path);
	assert_int_equal(i, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_head),	  cmocka_unit_test(test_operations),
	    cmocka_unit_test(test_percentiles),	  cmocka_unit_test(test_peaks),
	    cmocka_unit_test(test_resolutions),	  cmocka_unit_test(test_layers),
	    cmocka_unit_test(test_json_lines),	  cmocka_unit_test(test_several_targets),
	    cmocka_unit_test(test_empty),	  cmocka_unit_test(test_hostile),
	    cmocka_unit_test(test_large_numbers), cmocka_unit_test(test_doctor),
	    cmocka_unit_test(test_same_bytes),	  cmocka_unit_test(test_write_errors),
	    cmocka_unit_test(test_schema),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
