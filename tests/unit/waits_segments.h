/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segments of a task, for tests of the analysis of waits. */
#ifndef PEAKTOP_TEST_WAITS_SEGMENTS_H
#define PEAKTOP_TEST_WAITS_SEGMENTS_H

#include "analysis/waits/waits_impl.h"

enum { SEGMENTS_MAX = 16 };

/* The segments of one task that touch [lo, hi), newest first. Returns how many there are. */
static uint32_t segments_of(struct waits *w, uint32_t tid, uint64_t start_ns, uint64_t lo,
			    uint64_t hi, struct segment out[SEGMENTS_MAX])
{
	uint64_t number = task_at(w, tasks_find(&w->tasks, tid, start_ns))->tail;
	const struct segment *s;
	uint32_t nr = 0;

	for (; number && nr < SEGMENTS_MAX && (s = segment_get(w, number - 1)) && s->to > lo;
	     number = s->prev) {
		if (s->from < hi)
			out[nr++] = *s;
	}
	return nr;
}

#endif
