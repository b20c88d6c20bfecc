// SPDX-License-Identifier: GPL-2.0-or-later
/* Peaks that the calls which the host disturbed have hidden. */

#include "analysis/latency/shadows_impl.h"

/* Returns true if a peak that was hidden by the calls of others is large enough to be listed. */
static bool is_worth(const struct peak_span *part, const struct peak_span *all, unsigned int n)
{
	double calls = 0, time = 0;

	for (unsigned int i = 0; i < n; i++) {
		calls += (double)all[i].calls;
		time += peak_time(&all[i]);
	}
	return part->calls >= HIDDEN_CALLS &&
	       ((double)part->calls >= REST_CALLS * calls || peak_time(part) >= REST_TIME * time);
}

unsigned int shadows_split(const struct profile *seen, const struct profile *clean,
			   struct peak_span *span, unsigned int n, unsigned int max)
{
	struct peak_span part[PEAKS_TRACKED];
	unsigned int nr = peaks_find(clean, part, PEAKS_TRACKED), first;

	for (unsigned int i = 0; i < n && n < max; i++) {
		for (first = 0; first < nr && part[first].mode < span[i].range.low; first++)
			;
		if (first + 1 >= nr || part[first + 1].mode >= span[i].range.high ||
		    !is_worth(&part[first], part, nr) || !is_worth(&part[first + 1], part, nr))
			continue;
		memmove(&span[i + 1], &span[i], (n - i) * sizeof(*span));
		n++;
		span[i].mode = part[first].mode;
		span[i].range.high = part[first + 1].range.low;
		span[i].calls = profile_range_calls(seen, span[i].range);
		span[i + 1].mode = part[first + 1].mode;
		span[i + 1].range.low = part[first + 1].range.low;
		span[i + 1].calls = profile_range_calls(seen, span[i + 1].range);
	}
	return n;
}
