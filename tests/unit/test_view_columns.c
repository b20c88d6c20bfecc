// SPDX-License-Identifier: GPL-2.0-or-later
/* The menu of columns: the list below changes at once, and the choice is written as settings. */
#include "tests/unit/screen_harness.h"

#include <locale.h>
#include <string.h>

#include "tui/views/op_rows.h"

static void test_columns_are_hidden_and_shown(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "expect CALLS/S\nkey F\nexpect Columns of the operations\n"
		       "expect > [x]  operation\nexpect [x] ↓wall\nexpect [ ]  max\n"
		       "key Space\nexpect the name is always shown\n"
		       "key j j j j Space\nexpect > [ ]  rate\nkey q\nreject CALLS/S\n"
		       "expect P99\nexpect WALL%\nkey F j j j j Space q\nexpect CALLS/S");
	/* max was not shown at this width until it was chosen */
	harness_run(h, "reject MAX\nkey F G k k k Space\nexpect > [x]  max\nkey F\nexpect MAX");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

/* The position of a heading in the second line of the dump. */
static long heading_at(struct harness *h, const char *text)
{
	const char *line, *at;

	harness_run(h, "dump");
	line = strstr(harness_out(h), "OPERATION");
	assert_non_null(line);
	at = strstr(line, text);
	assert_non_null(at);
	return at - line;
}

static void test_columns_move(void **state)
{
	struct harness *h = harness_new(5, NULL);

	assert_true(heading_at(h, "P50") < heading_at(h, "P99"));
	harness_run(h, "key F j j j j j j\nexpect > [x]  p50\nkey J\nexpect > [x]  p50\nkey q");
	assert_true(heading_at(h, "P99") < heading_at(h, "P50"));
	harness_run(h, "key F j j j j j j j < <\nkey q");
	assert_true(heading_at(h, "P50") < heading_at(h, "WALL%"));
	harness_run(h, "key F G J\nexpect this is the last column\nkey g K\n"
		       "expect the name is always the first column\n"
		       "key j K\nexpect first column after the name\n"
		       "key a q");
	assert_true(heading_at(h, "P50") < heading_at(h, "P99"));
	assert_true(heading_at(h, "WALL%") < heading_at(h, "P50"));
	harness_free(h);
}

/* Left and right sort by the columns that are shown, in their order. */
static void test_sort(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "key F G k k k Space s\nexpect > [x] ↓max\nkey q\nexpect ↓MAX\n"
		       "key R\nexpect ↑MAX\nkey Left\nexpect ↑P99\nkey Right Right\n"
		       "expect ↑PEAKS");
	harness_run(h, "key F g j j j j j Space\nexpect > [ ]  wall\nkey q g Left Left Left\n"
		       "expect ↑P50\nkey Left\nexpect ↑CALLS/S\nreject WALL%");
	harness_run(h, "key F g s q\nexpect ↑OPERATION\nkey F\nkey G k k s\n"
		       "expect cannot be sorted by the histogram");
	harness_free(h);
}

static void test_settings(void **state)
{
	struct screen_options options = {.root = SCREEN_OPERATIONS,
					 .columns = 1U << COLUMN_P99 | 1U << COLUMN_WALL,
					 .sort = 1 + BY_P99,
					 .reverse = true};
	enum op_column order[] = {COLUMN_P99, COLUMN_WALL};
	struct harness *h;

	options.column_order = op_columns_pack(order, 2);
	h = harness_new(5, &options);
	assert_true(heading_at(h, "P99") < heading_at(h, "WALL%"));
	harness_run(h, "expect ↑P99\nkey F\nexpect [x] ↑p99\nexpect [ ]  rate\nkey W");
	assert_string_equal(harness_log(h),
			    "configure 'columns = p99 wall\nsort = p99 reverse\n'\n");
	harness_run(h, "key j j Space\nexpect > [ ]  wall\nkey k Space\n"
		       "expect at least one column beside the name");
	harness_run(h, "key a g s R W");
	assert_string_equal(harness_log(h), "configure 'columns = auto\nsort = name\n'\n");
	harness_free(h);
}

/* A column that is chosen and does not fit says so; nothing breaks on the smallest screens. */
static void test_narrow(void **state)
{
	struct harness *h = harness_new(5, NULL);

	harness_run(h, "size 200 50\nkey F\nexpect [x]  layer\nkey j Space Space\nsize 60 24\n"
		       "expect (no room)\nkey ?\nexpect Menu of columns\nkey q\nsize 20 5\nkey G\n"
		       "expect > [x]\nsize 1 1\nkey g\nsize 80 24\nexpect > [x]  operation\n"
		       "key Esc\nexpect OPERATION");
	harness_free(h);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_columns_are_hidden_and_shown),
	    cmocka_unit_test(test_columns_move),
	    cmocka_unit_test(test_sort),
	    cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_narrow),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
