/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats figures for display. Each function returns a small struct by value, to be used in place:
 * `printf("%s", format_time(ns).s)`. The text is ASCII, so bytes are columns.
 *
 * The plain forms have at most three significant digits and no trailing
 * zeros ("1.25 us", "12 ms"); the `_fixed` forms always take the same number of
 * columns, right-aligned, for tables. Rounding never turns a share below 1 into "100%", nor a share
 * above 0 into "0%".
 */
#pragma once

#include <stdarg.h>

/* Format what follows the parameter `fmt` of the calling function, cut off after size - 1 bytes. */
#define format_arguments(out, size, fmt)                                                           \
	do {                                                                                       \
		va_list arguments_;                                                                \
		va_start(arguments_, fmt);                                                         \
		vsnprintf(out, size, fmt, arguments_);                                             \
		va_end(arguments_);                                                                \
	} while (0)

struct text {
	char s[40];
};

enum {
	FORMAT_TIME_WIDTH = 7,	  /* "1.25 us", " 123 ns", "12.3  s", "  1m08s" */
	FORMAT_COUNT_WIDTH = 5,	  /* "  123", "1.23k", " 123M" */
	FORMAT_PERCENT_WIDTH = 6, /* " 12.3%", "  100%", " <0.1%" */
};

/* "0 ns", "1.25 us", "12 ms", "3.5 s", "1m08s", "3h05m", "12d04h" */
struct text format_time(uint64_t ns);
struct text format_time_fixed(uint64_t ns);
/* How long something has lasted: as format_time(), but 0 is "just started". */
struct text format_age(uint64_t ns);
/* A half-open range: "1.25-2.5 us", "900 ns-1.1 us"; equal ends give one time. */
struct text format_range(uint64_t low_ns, uint64_t high_ns);
/* "999", "1.23k", "12.3k", "1.2M", ... */
struct text format_count(uint64_t n);
struct text format_count_fixed(uint64_t n);
/* All digits, in groups of three: "1'234'567". */
struct text format_count_exact(uint64_t n);
/* Events a second: "0.2", "12.5", "1.2k"; 0 gives "0", less than 0.001 "<0.001" */
struct text format_rate(double hz);
struct text format_rate_fixed(double hz); /* FORMAT_COUNT_WIDTH */
/* A share 0..1: "12.3%", "<0.1%", ">99.9%", "100%"; "-" when it is not a number or negative. */
struct text format_percent(double share);
struct text format_percent_fixed(double share);
