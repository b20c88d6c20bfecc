// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Part of every unit test program: PEAKTOP_TEST=PATTERN runs only the tests whose name matches
 * the pattern (* and ?).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void __attribute__((constructor)) choose_tests(void)
{
	const char *pattern = getenv("PEAKTOP_TEST");

	if (pattern)
		cmocka_set_test_filter(pattern);
}
