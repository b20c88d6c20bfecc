// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/duration.h"

#include <math.h>

#include "analysis/base/array.h"

uint64_t duration_parse(const char *text, const char *unit, const char **end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},	 {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6},
		     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	const size_t nr = ARRAY_SIZE(units);
	char *after;
	double v = strtod(text, &after);

	if (after == text || !isfinite(v) || v <= 0)
		return 0;
	*end = after;
	while (*after == ' ')
		after++;
	/* first the units in the text, then `unit` */
	for (size_t i = 0; i < 2 * nr; i++) {
		const char *name = units[i % nr].name;

		if (i < nr ? strncmp(after, name, strlen(name)) : strcmp(unit, name))
			continue;
		*end = i < nr ? after + strlen(name) : *end;
		v *= units[i % nr].ns;
		/* add the number of the smaller unit: 08 in "1m08s", 05 in "3h05m" */
		if (i < nr && units[i].ns > 1e9 && **end >= '0' && **end <= '9') {
			v += strtod(*end, &after) * units[i].ns / 60;
			*end = *after == (*name == 'm' ? 's' : 'm') ? after + 1 : after;
		}
		return v >= 1 && v < 1e18 ? (uint64_t)(v + 0.5) : 0;
	}
	return 0;
}
