// SPDX-License-Identifier: GPL-2.0-or-later
/* The line of progress. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tui/report/progress.h"
#include "tui/report/sanitise.h"

#define S 1000000000ull
#define HOSTILE "ev\x1b[2Jil\r\n\xc2\x9b\xff\xe2\x80\xae"

static void assert_line(const struct progress *p, unsigned int columns, const char *wanted)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	progress_line(&b, p, columns);
	assert_string_equal(b.data ? b.data : "", wanted);
	buf_release(&b);
}

static void test_what_fits(void **state)
{
	const struct progress p = {
	    .text = "watch: measured 12 calls", .done = 0.25, .left_ns = 3 * S + S / 2};

	assert_line(&p, 80, "watch: measured 12 calls  [#####...............]  4 s left");
	assert_line(&p, 59, "watch: measured 12 calls  [#####...............]  4 s left");
	assert_line(&p, 58, "watch: measured 12 calls  4 s left");
	assert_line(&p, 35, "watch: measured 12 calls  4 s left");
	assert_line(&p, 34, "watch: measured 12 calls");
	assert_line(&p, 25, "watch: measured 12 calls");
	assert_line(&p, 24, "watch: measured 12 c...");
	assert_line(&p, 3, "");
	assert_line(&p, 0, "");
}

static void test_what_is_known(void **state)
{
	struct progress p = {.text = "descend: working", .done = -1};

	assert_line(&p, 80, "descend: working");
	p.left_at_most = true;
	progress_of_time(&p, 10 * S, 30 * S);
	assert_line(&p, 80, "descend: working  [#######.............]  at most 20 s left");
	progress_of_time(&p, 31 * S, 30 * S);
	assert_line(&p, 80, "descend: working  [####################]");
	progress_of_time(&p, 1, 0);
	assert_true(p.done == 1);
}

/* Names of targets must neither move the cursor nor begin a new line. */
static void test_hostile_text(void **state)
{
	const struct progress p = {.text = "doctor: " HOSTILE, .done = 0.5, .left_ns = S};

	for (unsigned int columns = 1; columns < 100; columns++) {
		struct buf b;

		buf_init(&b, 1 << 16);
		progress_line(&b, &p, columns);
		for (const char *c = b.data; c && *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
		assert_true(!b.data || text_columns(b.data) < columns);
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_fits),
	    cmocka_unit_test(test_what_is_known),
	    cmocka_unit_test(test_hostile_text),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
