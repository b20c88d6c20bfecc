// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: values that are given stay as they are, others get the default of the verb. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tui/cli/command_line.h"
#include "tui/cli/option_table.h"
#include "tui/cli/usage.h"

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
	PARSE("descend", "-p", "1", "--interval", "1", "--json-lines");
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

static void assert_refused(char **argv, const char *words)
{
	char error[512] = "";
	int argc = 0;

	while (argv[argc])
		argc++;
	assert_int_not_equal(options_parse(&o, argc, argv, error, sizeof(error)), 0);
	assert_non_null(strstr(error, words));
}

#define REFUSED(words, ...) assert_refused((char *[]){"peaktop", __VA_ARGS__, NULL}, words)

static void a_value_is_a_parameter_or_a_member_behind_one(void **state)
{
	PARSE("watch", "-p", "1", "--value", "req->len", "--value", "kind", "--value", "arg1->fd");
	assert_int_equal(o.nr_values, 3);
	assert_string_equal(o.values[0], "req->len");
	assert_false(o.no_values);
	PARSE("record", "-p", "1", "-o", "f", "--no-values");
	assert_true(o.no_values && !o.nr_values);
	REFUSED("--value 'a->b->c' is not", "watch", "-p", "1", "--value", "a->b->c");
	REFUSED("--value 'a,b' is not", "watch", "-p", "1", "--value", "a,b");
	REFUSED("--value '->len' is not", "watch", "-p", "1", "--value", "->len");
	REFUSED("--value 'len->' is not", "watch", "-p", "1", "--value", "len->");
	REFUSED("--value '' is not", "watch", "-p", "1", "--value", "");
	REFUSED("more than 4 values", "watch", "-p", "1", "--value", "a", "--value", "b", "--value",
		"c", "--value", "d", "--value", "e");
	REFUSED("which --no-values forbids", "watch", "-p", "1", "--value", "a", "--no-values");
}

static void the_host_is_a_target_of_kernel_functions(void **state)
{
	PARSE("watch", "--host", "-f", "kernel:vfs_read", "-f", "kernel:vfs_write");
	assert_true(o.host && options_have_target(&o));
	PARSE("descend", "--host", "-f", "kernel:vfs_read");
	assert_true(o.host);
	REFUSED("--host", "watch", "--host");
	REFUSED("--host", "watch", "--host", "-f", "kernel:vfs_read", "-f", "main");
	REFUSED("--host", "descend", "--host", "-f", "syscall:read");
	REFUSED("--host", "watch", "--host", "--follow", "-f", "kernel:vfs_read");
	REFUSED("more than one kind of target", "watch", "--host", "-p", "1", "-f",
		"kernel:vfs_read");
}

/* The screen copies what a descent asks for each time a person asks: not all the options. */
static void what_a_descent_asks_is_small(void **state)
{
	assert_true(sizeof(o.question) <= 256);
	assert_true(sizeof(o) > 100 * sizeof(o.question));
}

/* The shortest command line of each form that is complete. */
static const char *const forms[NR_FORMS][8] = {
    [FORM_SCREEN] = {"-p", "1"},
    [FORM_SCREEN_FILE] = {"-r", "x"},
    [FORM_WATCH] = {"watch", "-p", "1"},
    [FORM_WATCH_FILE] = {"watch", "-r", "x"},
    [FORM_DESCEND] = {"descend", "-p", "1", "-f", "main"},
    [FORM_WALK] = {"descend", "-p", "1"},
    [FORM_OPEN] = {"descend", "-p", "1", "--open"},
    [FORM_DESCEND_FILE] = {"descend", "-r", "x"},
    [FORM_CHAINS] = {"chains", "-p", "1"},
    [FORM_CRITICAL] = {"critical", "-p", "1"},
    [FORM_WAITS_FILE] = {"chains", "-r", "x"},
    [FORM_RECORD] = {"record", "-p", "1", "-o", "x"},
    [FORM_RESUME] = {"resume", "x", "-p", "1"},
    [FORM_DIFF] = {"diff", "x", "y"},
    [FORM_WHY] = {"why", "x"},
    [FORM_EXPORT] = {"export", "x", "--format", "json"},
    [FORM_DOCTOR] = {"doctor"},
    [FORM_COVERAGE] = {"doctor", "-p", "1"},
    [FORM_HELP] = {"help"},
};

/* A value that each option accepts. */
static const char *value_of(const struct option_row *row)
{
	switch (row->kind) {
	case OPTION_NUMBER:
	case OPTION_WHOLE:
		return "1";
	default:
		return row->id == OPT_PEAK	  ? "1"
		       : row->id == OPT_RING	  ? "64M"
		       : row->id == OPT_WHEN	  ? "load > 1"
		       : row->id == OPT_EVERY	  ? "10m"
		       : !strcmp(row->name, "at") ? "03:12"
						  : "main";
	}
}

/* Parse the command line of a form with one more option. 0 or the error of options_parse(). */
static int parse_with(enum form form, const struct option_row *row, char *error, size_t n)
{
	char name[64], *argv[16] = {"peaktop"};
	int argc = 1;

	for (size_t i = 0; forms[form][i]; i++)
		argv[argc++] = (char *)forms[form][i];
	snprintf(name, sizeof(name), "--%s", row ? row->name : "");
	if (row)
		argv[argc++] = name;
	if (row && row->value)
		argv[argc++] = (char *)value_of(row);
	/* options that need another one */
	if (row && row->id == OPT_BEGIN)
		argv[argc++] = "--end=main";
	if (row && row->id == OPT_END)
		argv[argc++] = "--begin=main";
	if (row && (row->id == OPT_EVERY || !strcmp(row->name, "exec")))
		argv[argc++] = "--when=load > 1";
	if (row && !strcmp(row->name, "force"))
		argv[argc++] = "-ox";
	if (row && !strcmp(row->name, "interval") &&
	    (form == FORM_WALK || form == FORM_CHAINS || form == FORM_CRITICAL))
		argv[argc++] = "--json-lines";
	argv[argc] = NULL;
	return options_parse(&o, argc, argv, error, n);
}

/* True if an option says what is asked for: a target, or another form of the verb. */
static bool is_of_the_form(const struct option_row *row)
{
	return row->group == GROUP_TARGET || row->id == OPT_OP || row->id == OPT_HELP ||
	       row->id == OPT_VERSION || !strcmp(row->name, "open");
}

static void each_verb_refuses_the_options_that_it_does_not_use(void **state)
{
	unsigned int taken = 0, refused = 0;
	char error[512], named[80];

	for (enum form form = 0; form < NR_FORMS; form++) {
		assert_int_equal(parse_with(form, NULL, error, sizeof(error)), 0);
		assert_int_equal(option_form(&o), form);
		for (size_t i = 0; i < nr_option_rows; i++) {
			const struct option_row *row = &option_rows[i];

			if (is_of_the_form(row))
				continue;
			error[0] = '\0';
			if (!parse_with(form, row, error, sizeof(error))) {
				assert_true(row->forms & 1u << form);
				taken++;
				continue;
			}
			if (row->forms & 1u << form)
				fail_msg("--%s with %s: %s", row->name, option_form_name(form),
					 error);
			/* of a pair that belongs together, either one may be named */
			snprintf(named, sizeof(named), "cannot be used with %s;",
				 option_form_name(form));
			assert_non_null(strstr(error, named));
			assert_true(error[0] == '-');
			refused++;
		}
	}
	assert_true(taken > 100 && refused > 100);
}

static void a_refusal_names_the_option_and_who_takes_it(void **state)
{
	char error[512],
	    *watch[] = {"peaktop", "watch", "-p", "1", "--open", NULL},
	    *open[] = {"peaktop", "descend", "-p", "1", "--open", "--interval", "2", NULL},
	    *beside[] = {"peaktop", "watch", "-p", "1", "-r", "x", NULL},
	    *alone[] = {"peaktop", "descend", "-p", "1", "--force", NULL},
	    *walk[] = {"peaktop", "descend", "-p", "1", "--interval", "2", NULL},
	    *chains[] = {"peaktop", "chains", "-p", "1", "--interval", "2", NULL},
	    *both[] = {"peaktop", "watch", "-p", "1", "--csv", "--json", NULL};

	assert_int_not_equal(options_parse(&o, 5, watch, error, sizeof(error)), 0);
	assert_string_equal(error, "--open cannot be used with watch; it works with descend");
	assert_int_not_equal(options_parse(&o, 7, open, error, sizeof(error)), 0);
	assert_non_null(strstr(error, "--interval cannot be used with descend --open"));
	assert_non_null(strstr(error, "watch, descend"));
	assert_int_not_equal(options_parse(&o, 6, beside, error, sizeof(error)), 0);
	assert_non_null(strstr(error, "-r FILE"));
	assert_int_not_equal(options_parse(&o, 5, alone, error, sizeof(error)), 0);
	assert_non_null(strstr(error, "-o FILE"));
	assert_int_not_equal(options_parse(&o, 6, walk, error, sizeof(error)), 0);
	assert_non_null(strstr(error, "--interval works with descend without -f only together "
				      "with --json-lines or -f OP"));
	assert_int_not_equal(options_parse(&o, 6, chains, error, sizeof(error)), 0);
	assert_non_null(strstr(error, "--interval works with chains only"));
	assert_int_not_equal(options_parse(&o, 6, both, error, sizeof(error)), 0);
	assert_string_equal(error, "--csv and --json cannot be combined; give one of them");
}

/* The help of a verb lists its options and no other, in lines that fit a terminal. */
static void help_lists_the_options_of_the_verb(void **state)
{
	for (size_t v = 0; v < nr_verb_rows; v++) {
		const struct verb_row *verb = &verb_rows[v];
		char name[64];
		struct buf b;

		if (!verb->help || !*verb->word)
			continue;
		assert_non_null(verb->examples[1]);
		buf_init(&b, 1 << 16);
		assert_int_equal(usage_text(verb->verb, &b), 0);
		for (size_t i = 0; i < nr_option_rows; i++) {
			snprintf(name, sizeof(name), "--%s%s", option_rows[i].name,
				 option_rows[i].value ? " " : "\n ");
			name[strcspn(name, "\n")] = '\0';
			if (option_rows[i].forms & verb->forms)
				assert_non_null(strstr(b.data, name));
			else
				assert_null(strstr(b.data, name));
		}
		for (const char *line = b.data; *line;) {
			size_t len = strcspn(line, "\n");

			assert_true(len <= 80);
			line += len + (line[len] == '\n');
		}
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_slice_that_is_given_is_taken),
	    cmocka_unit_test(a_value_is_a_parameter_or_a_member_behind_one),
	    cmocka_unit_test(the_host_is_a_target_of_kernel_functions),
	    cmocka_unit_test(what_a_descent_asks_is_small),
	    cmocka_unit_test(slices_have_a_default_for_each_verb),
	    cmocka_unit_test(each_verb_refuses_the_options_that_it_does_not_use),
	    cmocka_unit_test(a_refusal_names_the_option_and_who_takes_it),
	    cmocka_unit_test(help_lists_the_options_of_the_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
