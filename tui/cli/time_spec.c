// SPDX-License-Identifier: GPL-2.0-or-later
/* The value of --at, and what `why` is given. */
#include <math.h>

#include "tui/cli/command_line.h"

#define SECOND_NS 1000000000ull

/* Read a date and the T or space behind it. Returns what follows; `text` if there is no date. */
static const char *date_parse(const char *text, struct tm *t)
{
	int year, month, day, used = 0;

	if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10 ||
	    (text[used] != 'T' && text[used] != ' ') || month < 1 || month > 12 || day < 1 ||
	    day > 31)
		return text;
	t->tm_year = year - 1900;
	t->tm_mon = month - 1;
	t->tm_mday = day;
	return text + used + 1;
}

int time_span_parse(struct time_span *out, const char *text, uint64_t end_ns, char *error, size_t n)
{
	time_t end = (time_t)(end_ns / SECOND_NS), at;
	int hour, minute, second = 0, used = 0, more = 0;
	const char *clock;
	struct tm t;

	localtime_r(&end, &t);
	clock = date_parse(text, &t);
	if (sscanf(clock, "%2d:%2d%n", &hour, &minute, &used) != 2)
		used = 0;
	if (used && clock[used] && sscanf(clock + used, ":%2d%n", &second, &more) != 1)
		more = 0;
	if (!used || clock[used + more] || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
	    second < 0 || second > 59)
		return options_fail(error, n,
				    "--at '%s' is not a time; give it as 03:12, 03:12:07 or "
				    "2026-11-27T03:12",
				    text);
	t.tm_hour = hour;
	t.tm_min = minute;
	t.tm_sec = second;
	t.tm_isdst = -1;
	at = mktime(&t);
	if (clock == text && at > end) {
		t.tm_mday--;
		t.tm_isdst = -1;
		at = mktime(&t);
	}
	if (at < 0)
		at = 0;
	out->from_ns = (uint64_t)at * SECOND_NS;
	out->to_ns = out->from_ns + (more ? 1 : 60) * SECOND_NS;
	return 0;
}

int why_check(const struct options *o, char *e, size_t n)
{
	struct time_span span;

	if (o->nr_files != 1)
		return options_fail(e, n,
				    "why: give the session file of peaktop record --ring, as in "
				    "peaktop why FILE");
	if (o->at && o->question.slowest > 0)
		return options_fail(e, n,
				    "--at and --slowest cannot be combined; give one of them");
	if (o->question.slowest > 0 && o->question.slowest != floor(o->question.slowest))
		return options_fail(e, n, "why: --slowest must be a whole number (got %g)",
				    o->question.slowest);
	return o->at ? time_span_parse(&span, o->at, 0, e, n) : 0;
}
