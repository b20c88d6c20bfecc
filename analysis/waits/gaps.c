// SPDX-License-Identifier: GPL-2.0-or-later
/* Times in which records are missing. What crosses them is LOST, not guessed. */
#include "analysis/waits/waits_impl.h"

void gap_add(struct waits *w, uint64_t from, uint64_t to, uint32_t records)
{
	struct gap *g = &w->gaps[w->nr_gaps % GAPS];

	if (w->nr_gaps >= GAPS && g->to > w->gaps_before_ns)
		w->gaps_before_ns = g->to;
	*g = (struct gap){.from = from, .to = to, .records = records};
	w->nr_gaps++;
	w->stats.gaps++;
	w->stats.bursts += records > 1;
	w->stats.lost_records += records;
	w->stats.tainted_ns += to > from ? to - from : 0;
}

bool gap_within(const struct waits *w, uint64_t from, uint64_t to, uint32_t records)
{
	uint32_t nr = w->nr_gaps < GAPS ? w->nr_gaps : GAPS;

	if (w->gaps_before_ns > from)
		return true;
	for (uint32_t i = 0; i < nr; i++) {
		const struct gap *g = &w->gaps[i];

		if (g->records >= records && g->from < to && g->to > from)
			return true;
	}
	return false;
}
