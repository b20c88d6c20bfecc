// SPDX-License-Identifier: GPL-2.0-or-later
/* The value of --ring. */
#include <math.h>

#include "tui/cli/command_line.h"

#define RING_LEAST (1ull << 20)
#define RING_MOST (8ull << 30)
#define MINUTE_NS 60e9

struct unit {
	char letter;
	bool is_time;
	double of;
};

static const struct unit *unit_named(const char *text)
{
	static const struct unit units[] = {
	    {'K', false, 1 << 10},  {'M', false, 1 << 20},	 {'G', false, 1 << 30},
	    {'m', true, MINUTE_NS}, {'h', true, 60 * MINUTE_NS}, {'d', true, 24 * 60 * MINUTE_NS},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[0] == units[i].letter && !text[1])
			return &units[i];
	}
	return NULL;
}

int ring_spec_parse(struct options *o, const char *text, char *error, size_t n)
{
	const struct unit *unit;
	char *end;
	double v = strtod(text, &end);

	unit = end > text && isfinite(v) && v > 0 ? unit_named(end) : NULL;
	if (!unit)
		return options_fail(error, n,
				    "--ring '%s' is neither a size (64M, 1G) nor a time (90m, 24h, "
				    "7d)",
				    text);
	v *= unit->of;
	o->ring_bytes = o->ring_ns = 0;
	if (unit->is_time && (v < MINUTE_NS || v > 366 * 24 * 60 * MINUTE_NS))
		return options_fail(error, n, "--ring must be from 1m to 366d (got %s)", text);
	if (!unit->is_time && (v < (double)RING_LEAST || v > (double)RING_MOST))
		return options_fail(error, n, "--ring must be from 1M to 8G (got %s)", text);
	*(unit->is_time ? &o->ring_ns : &o->ring_bytes) = (uint64_t)v;
	return 0;
}
