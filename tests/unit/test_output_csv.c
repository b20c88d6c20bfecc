// SPDX-License-Identifier: GPL-2.0-or-later
/* watch --csv and --top, from models made of records. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/output_models.h"
#include "tui/report/output_csv.h"

enum { MAX_ROWS = 200, MAX_FIELDS = 40 };

/* A document as a reader of RFC 4180 sees it. */
struct table {
	char *field[MAX_ROWS][MAX_FIELDS];
	unsigned int nr[MAX_ROWS], rows;
};

/* Split `text` in place. */
static void read_csv(char *text, struct table *t)
{
	char *p = text;

	memset(t, 0, sizeof(*t));
	while (*p) {
		unsigned int row = t->rows++;

		assert_true(row < MAX_ROWS);
		do {
			char *to = p, end;

			assert_true(t->nr[row] < MAX_FIELDS);
			t->field[row][t->nr[row]++] = to;
			if (*p == '"') {
				for (p++; *p != '"' || p[1] == '"'; p++) {
					assert_int_not_equal(*p, '\0');
					p += *p == '"';
					*to++ = *p;
				}
				p++;
			} else {
				for (; *p != ',' && *p != '\n'; p++) {
					assert_int_not_equal(*p, '\0');
					assert_int_not_equal(*p, '"');
					*to++ = *p;
				}
			}
			end = *p++;
			*to = '\0';
			if (end == '\n')
				break;
			assert_int_equal(end, ',');
		} while (true);
	}
}

static const char *cell(const struct table *t, unsigned int row, const char *column)
{
	for (unsigned int i = 0; i < t->nr[0]; i++)
		if (!strcmp(t->field[0][i], column))
			return t->field[row][i];
	fail_msg("no column %s", column);
	return "";
}

static unsigned long long figure(const struct table *t, unsigned int row, const char *column)
{
	const char *s = cell(t, row, column);
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	if (!*s || *end)
		fail_msg("row %u: %s is '%s', not a number", row, column, s);
	return v;
}

/* The row of an operation, or of one of its peaks; 0: there is none. */
static unsigned int row_of(const struct table *t, const char *name, const char *peak)
{
	for (unsigned int i = 1; i < t->rows; i++)
		if (!strcmp(cell(t, i, "name"), name) && !strcmp(cell(t, i, "peak"), peak))
			return i;
	return 0;
}

static void test_csv(void **state)
{
	static const char lookup[] = "lookup(int, char const*)@libx.so";
	struct output_options o = {0};
	struct model *m = rich_model();
	char *text = print(output_watch_csv, m, &o);
	unsigned int row, ops = 0;
	struct table t;

	/* a name with a comma is quoted */
	assert_non_null(strstr(text, "\n\"lookup(int, char const*)@libx.so\","));
	read_csv(text, &t);
	for (unsigned int i = 1; i < t.rows; i++) {
		assert_int_equal(t.nr[i], t.nr[0]);
		ops += !cell(&t, i, "peak")[0];
	}
	assert_int_equal(ops, 6);
	row = row_of(&t, lookup, "");
	assert_int_equal(row, 1);
	assert_string_equal(cell(&t, row, "layer"), "function");
	assert_string_equal(cell(&t, row, "module"), "libx.so");
	assert_int_equal(figure(&t, row, "calls"), 20 * (180000 + 60));
	assert_int_equal(figure(&t, row, "total_ns"), 20 * (180000 * 600 + 60 * 40 * MS));
	assert_int_equal(figure(&t, row, "rate_hz"), 180060);
	assert_in_range(figure(&t, row, "p50_ns"), 500, 700);
	assert_in_range(figure(&t, row, "p999_ns"), figure(&t, row, "p50_ns"),
			figure(&t, row, "max_ns"));
	row = row_of(&t, lookup, "1");
	assert_int_equal(row, 2);
	assert_in_range(figure(&t, row, "p50_ns"), figure(&t, row, "low_ns"),
			figure(&t, row, "high_ns"));
	/* never returned: without calls there are no latencies */
	row = row_of(&t, "syscall:futex", "");
	assert_int_equal(figure(&t, row, "calls"), 0);
	assert_int_equal(figure(&t, row, "oldest_open_ns"), 12 * S);
	assert_string_equal(cell(&t, row, "p50_ns"), "");
	assert_string_equal(cell(&t, row, "min_ns"), "");
	free(text);
	model_free(m);
}

static void test_hostile_names(void **state)
{
	struct output_options o = {0};
	struct model *m = model_new();
	struct table t;
	char *text;

	feed_op(m, 1, LAYER_FUNCTION, "a\"b,\"\"c\n" HOSTILE, "x");
	feed_tick(m, 0);
	text = print(output_watch_csv, m, &o);
	for (const char *c = text; *c; c++)
		assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
	read_csv(text, &t);
	assert_int_equal(t.rows, 2);
	assert_int_equal(t.nr[1], t.nr[0]);
	assert_int_equal(strncmp(cell(&t, 1, "name"), "a\"b,\"\"c\\x0a", 11), 0);
	free(text);
	model_free(m);
}

static void test_no_operations(void **state)
{
	struct output_options o = {0};
	struct model *m = model_new();
	char *text = print(output_watch_csv, m, &o);

	assert_int_equal(strncmp(text, "name,function,layer,module,peak,calls,", 38), 0);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
	model_free(m);
}

/* --top keeps the operations with most time, in every form of output, and says what is missing. */
static void test_top(void **state)
{
	struct output_options o = {.top = 1};
	struct model *m = rich_model();
	struct table t;
	char *text = print(output_watch_csv, m, &o);

	read_csv(text, &t);
	for (unsigned int i = 1; i < t.rows; i++)
		assert_string_equal(cell(&t, i, "name"), "lookup(int, char const*)@libx.so");
	free(text);
	text = print(output_watch_text, m, &o);
	assert_non_null(strstr(text, "\n5 more operations are not shown (--top 1)\n"));
	assert_null(strstr(text, "syscall:fsync"));
	free(text);
	text = print(output_watch_json, m, &o);
	assert_non_null(strstr(text, "\"operations_left_out\":5"));
	assert_null(strstr(text, "\"name\":\"syscall:fsync\",\"layer\""));
	free(text);
	o.top = 6;
	text = print(output_watch_json, m, &o);
	assert_null(strstr(text, "operations_left_out"));
	free(text);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_csv),
	    cmocka_unit_test(test_hostile_names),
	    cmocka_unit_test(test_no_operations),
	    cmocka_unit_test(test_top),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
