// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of the screen, by its goldens: those that users misread are gone, the better ones are
 * there. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/base/buf.h"

/* All goldens, one after the other. */
static struct buf screens;

static int read_goldens(void **state)
{
	char part[4096];
	glob_t found;

	buf_init(&screens, 16 << 20);
	if (glob("tests/unit/golden/*.txt", 0, NULL, &found))
		return -1;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");
		size_t n;

		if (!f)
			return -1;
		while ((n = fread(part, 1, sizeof(part), f)))
			buf_append(&screens, part, n);
		fclose(f);
	}
	globfree(&found);
	buf_putc(&screens, '\0');
	return screens.err;
}

static int release_goldens(void **state)
{
	buf_release(&screens);
	return 0;
}

static void test_words_that_users_misread_are_gone(void **state)
{
	static const char *const words[] = {
	    "vwall",
	    "vcpu",
	    " s a column",
	    "of calls / of time",
	    "per s of wall",
	    "asleep on purpose",
	    "waiting to be given",
	    "witnessed, ",
	    "armed now",
	    "is being looked for",
	    "(unverified)",
	    "goes with ",
	    "in bursts: ",
	    "below software",
	    " min; ",
	    "oldest 0 ns",
	    "STARTING",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(screens.data, words[i]))
			fail_msg("a golden has \"%s\"", words[i]);
}

static void test_better_words_are_there(void **state)
{
	static const char *const words[] = {
	    "WALL%",
	    "per column",
	    "calls/s",
	    "timed sleep",
	    "idle: waiting",
	    "probes active",
	    "% of calls",
	    "finding the cause",
	    "sampled: ",
	    "counts are estimates",
	    "tends to occur with",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strstr(screens.data, words[i]))
			fail_msg("no golden has \"%s\"", words[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words_that_users_misread_are_gone),
	    cmocka_unit_test(test_better_words_are_there),
	};

	return cmocka_run_group_tests(tests, read_goldens, release_goldens);
}
