// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/base/format.h"

static void test_age(void **state)
{
	assert_string_equal(format_age(0).s, "just started");
	assert_string_equal(format_age(1).s, "1 ns");
	assert_string_equal(format_age(68400000000).s, "1m08s");
}

static void test_time(void **state)
{
	static const struct {
		uint64_t ns;
		const char *plain, *fixed;
	} c[] = {
	    {0, "0 ns", "   0 ns"},
	    {7, "7 ns", "   7 ns"},
	    {999, "999 ns", " 999 ns"},
	    {1000, "1 us", "1.00 us"},
	    {1250, "1.25 us", "1.25 us"},
	    {1256, "1.26 us", "1.26 us"},
	    {9994, "9.99 us", "9.99 us"},
	    {9996, "10 us", "10.0 us"},
	    {12300, "12.3 us", "12.3 us"},
	    {99960, "100 us", " 100 us"},
	    {999499, "999 us", " 999 us"},
	    {999500, "1 ms", "1.00 ms"},
	    {12000000, "12 ms", "12.0 ms"},
	    {3500000000, "3.5 s", "3.50  s"},
	    {59000000000, "59 s", "59.0  s"},
	    {59900000000, "59.9 s", "59.9  s"},
	    {59960000000, "1m00s", "  1m00s"},
	    {60000000000, "1m00s", "  1m00s"},
	    {68400000000, "1m08s", "  1m08s"},
	    {3599400000000, "59m59s", " 59m59s"},
	    {3599600000000, "1h00m", "  1h00m"},
	    {3600000000000, "1h00m", "  1h00m"},
	    {11129000000000, "3h05m", "  3h05m"},
	    {86369000000000, "23h59m", " 23h59m"},
	    {86370000000000, "1d00h", "  1d00h"},
	    {86400000000000, "1d00h", "  1d00h"},
	    {1051200000000000, "12d04h", " 12d04h"},
	    {86398200000000000, "1000d", "  1000d"},
	    {UINT64_MAX, "213504d", "213504d"},
	};
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		assert_string_equal(format_time(c[i].ns).s, c[i].plain);
		assert_string_equal(format_time_fixed(c[i].ns).s, c[i].fixed);
	}
}

static void test_range(void **state)
{
	assert_string_equal(format_range(1250, 2500).s, "1.25-2.5 us");
	assert_string_equal(format_range(900, 1100).s, "900 ns-1.1 us");
	assert_string_equal(format_range(5000000, 5000000).s, "5 ms");
	assert_string_equal(format_range(60000000000, 68000000000).s, "1m00s-1m08s");
	assert_string_equal(format_range(2000000000, 68000000000).s, "2 s-1m08s");
	assert_string_equal(format_range(2000000000, 59960000000).s, "2 s-1m00s");
	assert_string_equal(format_range(0, 1).s, "0-1 ns");
	assert_string_equal(format_range(0, UINT64_MAX).s, "0 ns-213504d");
}

static void test_count(void **state)
{
	static const struct {
		uint64_t n;
		const char *plain, *fixed, *exact;
	} c[] = {
	    {0, "0", "    0", "0"},
	    {999, "999", "  999", "999"},
	    {1000, "1k", "1.00k", "1'000"},
	    {1234, "1.23k", "1.23k", "1'234"},
	    {99951, "100k", " 100k", "99'951"},
	    {999499, "999k", " 999k", "999'499"},
	    {999500, "1M", "1.00M", "999'500"},
	    {1234567, "1.23M", "1.23M", "1'234'567"},
	    {UINT64_MAX, "18.4E", "18.4E", "18'446'744'073'709'551'615"},
	};
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		assert_string_equal(format_count(c[i].n).s, c[i].plain);
		assert_string_equal(format_count_fixed(c[i].n).s, c[i].fixed);
		assert_string_equal(format_count_exact(c[i].n).s, c[i].exact);
	}
}

static void test_rate(void **state)
{
	static const struct {
		double hz;
		const char *plain, *fixed;
	} c[] = {
	    {0, "0", " 0.00"},	      {0.0001, "<0.001", "<0.01"}, {0.02, "0.02", " 0.02"},
	    {0.2, "0.2", " 0.20"},    {12.5, "12.5", " 12.5"},	   {999.4, "999", "  999"},
	    {1250, "1.25k", "1.25k"}, {-1, "-", "    -"},	   {NAN, "-", "    -"},
	    {2.5e8, "250M", " 250M"},
	};
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		assert_string_equal(format_rate(c[i].hz).s, c[i].plain);
		assert_string_equal(format_rate_fixed(c[i].hz).s, c[i].fixed);
	}
}

static void test_percent(void **state)
{
	static const struct {
		double share;
		const char *plain, *fixed;
	} c[] = {
	    {0, "0%", "    0%"},	  {1e-9, "<0.1%", " <0.1%"}, {0.001, "0.1%", "  0.1%"},
	    {0.12345, "12.3%", " 12.3%"}, {0.5, "50%", " 50.0%"},    {0.999, "99.9%", " 99.9%"},
	    {0.9999, ">99.9%", ">99.9%"}, {1, "100%", "  100%"},     {2.5, "250%", "  250%"},
	    {-1, "-", "     -"},	  {NAN, "-", "     -"},
	};
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		assert_string_equal(format_percent(c[i].share).s, c[i].plain);
		assert_string_equal(format_percent_fixed(c[i].share).s, c[i].fixed);
	}
}

/* The fixed forms keep their width for every magnitude. */
static void test_widths(void **state)
{
	uint64_t v = 0;
	double share;
	int i;

	for (i = 0; i < 5000; i++) {
		assert_int_equal(strlen(format_time_fixed(v).s), FORMAT_TIME_WIDTH);
		assert_int_equal(strlen(format_count_fixed(v).s), FORMAT_COUNT_WIDTH);
		assert_int_equal(strlen(format_rate_fixed((double)v / 1000).s), FORMAT_COUNT_WIDTH);
		if (v > UINT64_MAX / 101 * 100)
			break;
		v += v / 100 + 1;
	}
	assert_true(i > 1000 && i < 5000);
	for (share = 1e-6; share < 100; share *= 1.01)
		assert_int_equal(strlen(format_percent_fixed(share).s), FORMAT_PERCENT_WIDTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_age),	   cmocka_unit_test(test_time),
	    cmocka_unit_test(test_range),  cmocka_unit_test(test_count),
	    cmocka_unit_test(test_rate),   cmocka_unit_test(test_percent),
	    cmocka_unit_test(test_widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
