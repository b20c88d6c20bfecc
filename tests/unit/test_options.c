// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: values that are given stay as they are, others get the default of the verb. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tui/cli/command_line.h"

static struct options o;

static void parse(char **argv)
{
	char error[512];
	int argc = 0;

	while (argv[argc])
		argc++;
	assert_int_equal(options_parse(&o, argc, argv, error, sizeof(error)), 0);
}

#define PARSE(...) parse((char *[]){"peaktop", __VA_ARGS__, NULL})

static void the_slice_that_is_given_is_taken(void **state)
{
	PARSE("descend", "-p", "1", "-f", "main", "--interval", "1");
	assert_true(o.interval_s == 1);
	PARSE("descend", "-p", "1", "--interval", "1");
	assert_true(o.interval_s == 1);
	PARSE("descend", "-p", "1", "-f", "main", "--interval", "2.5");
	assert_true(o.interval_s == 2.5);
	PARSE("watch", "-p", "1", "--interval", "0.25");
	assert_true(o.interval_s == 0.25);
}

static void slices_have_a_default_for_each_verb(void **state)
{
	PARSE("watch", "-p", "1");
	assert_true(o.interval_s == 1);
	PARSE("descend", "-p", "1", "-f", "main");
	assert_true(o.interval_s == 0.25);
	PARSE("descend", "-p", "1");
	assert_true(o.interval_s == 0.25);
	/* a line a second */
	PARSE("descend", "-p", "1", "--json-lines");
	assert_true(o.interval_s == 1);
	PARSE("descend", "-p", "1", "--open");
	assert_true(o.interval_s == 1);
}

/* The screen copies what a descent asks for each time a person asks: not all the options. */
static void what_a_descent_asks_is_small(void **state)
{
	assert_true(sizeof(o.question) <= 256);
	assert_true(sizeof(o) > 100 * sizeof(o.question));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_slice_that_is_given_is_taken),
	    cmocka_unit_test(what_a_descent_asks_is_small),
	    cmocka_unit_test(slices_have_a_default_for_each_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
