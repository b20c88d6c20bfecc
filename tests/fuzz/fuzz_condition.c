// SPDX-License-Identifier: GPL-2.0-or-later
/* The condition of --when as text: it is read, or refused with a position inside it. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>

#include "analysis/latency/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct condition c;
	char error[1024] = "", *text = strndup((const char *)data, size);
	const char *at;
	size_t position;

	must(text);
	if (condition_parse(&c, text, error, sizeof(error))) {
		at = strstr(error, "': position ");
		while (at && strstr(at + 1, "': position "))
			at = strstr(at + 1, "': position ");
		must(at && sscanf(at, "': position %zu: ", &position) == 1);
		must(position >= 1 && position <= strlen(text) + 1);
	} else {
		must(!c.op[0] == (c.figure == CONDITION_LOAD));
		must(isfinite(c.value) && c.value >= 0);
		must(c.figure != CONDITION_QUANTILE || (c.quantile > 0 && c.quantile < 1));
		must(condition_value(&c, c.value).s[0]);
	}
	free(text);
	return 0;
}
