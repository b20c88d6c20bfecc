// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/format.h"

#include <math.h>

struct unit {
	double size;
	const char *name;  /* follows the figure in plain text */
	const char *fixed; /* follows the figure in tables: three columns */
};

static const struct unit time_units[] = {
    {1, " ns", " ns"},
    {1e3, " us", " us"},
    {1e6, " ms", " ms"},
    {1e9, " s", "  s"},
};
static const struct unit count_units[] = {
    {1, "", ""},      {1e3, "k", "k"},	{1e6, "M", "M"},  {1e9, "G", "G"},
    {1e12, "T", "T"}, {1e15, "P", "P"}, {1e18, "E", "E"},
};

enum {
	NR_TIME = sizeof(time_units) / sizeof(time_units[0]),
	NR_COUNT = sizeof(count_units) / sizeof(count_units[0]),
	MANY_DAYS = 1000, /* from here on without hours */
};

/* Format v >= 0 with three significant digits; at most 4 columns if v < 1000. */
static struct text digits(double v)
{
	struct text t;

	if (v < 9.995)
		snprintf(t.s, sizeof(t.s), "%.2f", v);
	else if (v < 99.95)
		snprintf(t.s, sizeof(t.s), "%.1f", v);
	else
		snprintf(t.s, sizeof(t.s), "%.0f", v);
	return t;
}

static struct text without_zeros(struct text t)
{
	char *end = t.s + strlen(t.s);

	if (!strchr(t.s, '.'))
		return t;
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		*--end = '\0';
	return t;
}

/* The largest unit in which v, rounded to three digits, is at least 1. */
static const struct unit *unit_of(const struct unit *units, unsigned int nr, double v)
{
	unsigned int i;
	double next;

	for (i = 0; i + 1 < nr; i++) {
		next = units[i + 1].size / units[i].size;
		/* use the next unit if rounding would reach it */
		if (v / units[i].size < next * (next >= 1000 ? 0.9995 : 1))
			break;
	}
	return &units[i];
}

static struct text whole(uint64_t v)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%llu", (unsigned long long)v);
	return t;
}

/* Format ns in the unit u. Nanoseconds have no decimals. */
static struct text time_digits(uint64_t ns, const struct unit *u)
{
	return u == &time_units[0] ? whole(ns) : digits((double)ns / u->size);
}

/* From a minute on: format ns in two units, as "1m08s", "3h05m" or "12d04h". */
static struct text long_time(uint64_t ns)
{
	static const struct {
		uint64_t size,
		    parts; /* of the smaller unit, in s; so many of them are the larger one */
		char large, small;
	} pairs[] = {{1, 60, 'm', 's'}, {60, 60, 'h', 'm'}, {3600, 24, 'd', 'h'}};
	const uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);
	unsigned int i = s < 3600 ? 0 : (s + 30) / 60 < 24 * 60 ? 1 : 2;
	uint64_t n = (s + pairs[i].size / 2) / pairs[i].size;
	struct text t;

	if (n / pairs[i].parts < MANY_DAYS)
		snprintf(t.s, sizeof(t.s), "%u%c%02u%c", (unsigned int)(n / pairs[i].parts),
			 pairs[i].large, (unsigned int)(n % pairs[i].parts), pairs[i].small);
	else
		snprintf(t.s, sizeof(t.s), "%ud", (unsigned int)(n / pairs[i].parts));
	return t;
}

static bool is_long_time(uint64_t ns)
{
	return ns >= 59950000000; /* what is rounded to 60.0 s */
}

struct text format_time(uint64_t ns)
{
	const struct unit *u = unit_of(time_units, NR_TIME, (double)ns);
	struct text v, t;

	if (is_long_time(ns))
		return long_time(ns);
	v = without_zeros(time_digits(ns, u));
	snprintf(t.s, sizeof(t.s), "%.12s%s", v.s, u->name);
	return t;
}

struct text format_time_fixed(uint64_t ns)
{
	const struct unit *u = unit_of(time_units, NR_TIME, (double)ns);
	struct text v = is_long_time(ns) ? long_time(ns) : time_digits(ns, u), t;

	if (is_long_time(ns))
		snprintf(t.s, sizeof(t.s), "%7.12s", v.s);
	else
		snprintf(t.s, sizeof(t.s), "%4.4s%s", v.s, u->fixed);
	return t;
}

struct text format_age(uint64_t ns)
{
	return ns ? format_time(ns) : (struct text){"just started"};
}

struct text format_range(uint64_t low_ns, uint64_t high_ns)
{
	const struct unit *low = unit_of(time_units, NR_TIME, (double)low_ns);
	const struct unit *high = unit_of(time_units, NR_TIME, (double)high_ns);
	struct text a = format_time(low_ns), b = format_time(high_ns), t;

	if (!strcmp(a.s, b.s))
		return a;
	if (low == high && !is_long_time(high_ns))
		a = without_zeros(time_digits(low_ns, low));
	snprintf(t.s, sizeof(t.s), "%.16s-%.16s", a.s, b.s);
	return t;
}

struct text format_count(uint64_t n)
{
	const struct unit *u = unit_of(count_units, NR_COUNT, (double)n);
	struct text v = u == &count_units[0] ? whole(n)
					     : without_zeros(digits((double)n / u->size)),
		    t;

	snprintf(t.s, sizeof(t.s), "%.12s%s", v.s, u->name);
	return t;
}

struct text format_count_fixed(uint64_t n)
{
	const struct unit *u = unit_of(count_units, NR_COUNT, (double)n);
	struct text t;

	if (u == &count_units[0])
		snprintf(t.s, sizeof(t.s), "%5llu", (unsigned long long)n);
	else
		snprintf(t.s, sizeof(t.s), "%4.4s%s", digits((double)n / u->size).s, u->fixed);
	return t;
}

struct text format_count_exact(uint64_t n)
{
	struct text plain = whole(n), t;
	size_t len = strlen(plain.s), i, at = 0;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[at++] = '\'';
		t.s[at++] = plain.s[i];
	}
	t.s[at] = '\0';
	return t;
}

struct text format_rate(double hz)
{
	const struct unit *u;
	struct text v, t;

	if (isnan(hz) || hz < 0)
		return (struct text){"-"};
	if (hz > 0 && hz < 0.001)
		return (struct text){"<0.001"};
	if (hz < 0.0995) {
		snprintf(v.s, sizeof(v.s), "%.3f", hz);
		return without_zeros(v);
	}
	u = unit_of(count_units, NR_COUNT, hz);
	v = without_zeros(digits(fmin(hz / u->size, 1e9)));
	snprintf(t.s, sizeof(t.s), "%.12s%s", v.s, u->name);
	return t;
}

struct text format_rate_fixed(double hz)
{
	const struct unit *u;
	struct text t;

	if (isnan(hz) || hz < 0)
		return (struct text){"    -"};
	if (hz > 0 && hz < 0.005)
		return (struct text){"<0.01"};
	u = unit_of(count_units, NR_COUNT, hz);
	if (u == &count_units[0])
		snprintf(t.s, sizeof(t.s), "%5.5s", digits(hz).s);
	else
		snprintf(t.s, sizeof(t.s), "%4.4s%s", digits(fmin(hz / u->size, 999)).s, u->fixed);
	return t;
}

struct text format_percent(double share)
{
	struct text v, t;

	if (isnan(share) || share < 0)
		return (struct text){"-"};
	if (share == 0)
		return (struct text){"0%"};
	if (share < 0.001)
		return (struct text){"<0.1%"};
	if (share < 1 && share >= 0.9995)
		return (struct text){">99.9%"};
	if (share >= 0.9995)
		snprintf(t.s, sizeof(t.s), "%.0f", fmin(share * 100, 1e6));
	else
		snprintf(t.s, sizeof(t.s), "%.1f", share * 100);
	v = without_zeros(t);
	snprintf(t.s, sizeof(t.s), "%.12s%%", v.s);
	return t;
}

struct text format_percent_fixed(double share)
{
	struct text t;

	if (share >= 0.001 && share < 0.9995)
		snprintf(t.s, sizeof(t.s), "%5.1f%%", share * 100);
	else
		snprintf(t.s, sizeof(t.s), "%6.6s", format_percent(share).s);
	return t;
}
