// SPDX-License-Identifier: GPL-2.0-or-later
/* How long slices last. */
#include "collect/slices.h"
#include "collect/state.h"

#define SECOND 1000000000ull

enum { FINEST_NS = 250000000 }; /* shorter slices would cost too much */

/* Each phase of the begin fills a heat map of some 100 columns about once. */
static const struct {
	uint64_t until_ns, parts;
} begin_phases[] = {{30 * SECOND, 4}, {60 * SECOND, 2}};

void slice_next(struct collector *c, uint64_t start)
{
	uint64_t length = c->slice.interval_ns, age = start - c->start_ns;

	for (int i = 0; c->options->fine_begin && i < 2; i++) {
		if (age >= begin_phases[i].until_ns)
			continue;
		length /= begin_phases[i].parts;
		break;
	}
	if (length < FINEST_NS)
		length = c->slice.interval_ns < FINEST_NS ? c->slice.interval_ns : FINEST_NS;
	c->slice.end = start + length;
}
