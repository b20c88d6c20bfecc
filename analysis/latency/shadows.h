/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadows: peaks that consist of calls of another peak which the host made
 * longer, because it ran something else meanwhile (preemption, waiting for a
 * CPU after a sleep) or had to map a page. The sampled calls say how long each
 * of them waited for a CPU; without that time most calls of a shadow have the
 * latency of the peak that they belong to. docs/notes/peaks.md has the method.
 *
 * Pure: same samples in, same answer out.
 */
#ifndef PEAKTOP_SHADOWS_H
#define PEAKTOP_SHADOWS_H

#include "analysis/latency/model.h"
#include "analysis/latency/peaks.h"
#include "analysis/latency/samples.h"

struct shadow_verdict {
	int of; /* index of the peak whose calls these are; -1: its own calls */
	enum peak_fold why;
};

/*
 * Fill out[0..n) for the peaks span[0..n), which are in ascending order and
 * disjoint, in the profile `seen`; n is at most PEAKS_TRACKED. `call` and `weight` are as
 * samples_list() gives them.
 */
void shadows_find(const struct profile *seen, const struct peak_span *span, unsigned int n,
		  const struct call_sample *const *call, const double *weight,
		  unsigned int nr_calls, struct shadow_verdict *out);

/*
 * The profile without the calls that the host made longer than the core of their peak. From
 * each bucket of `seen` it subtracts the share of the sampled calls in that bucket and its
 * neighbours that were made longer.
 */
void shadows_clean(const struct profile *seen, const struct peak_span *span, unsigned int n,
		   const struct call_sample *const *call, const double *weight,
		   unsigned int nr_calls, struct profile *clean);
/*
 * Split those of the n peaks span[] (room for `max`) in which the profile
 * `clean` has two, because disturbed calls fill the valley between them.
 * Returns the number of peaks.
 */
unsigned int shadows_split(const struct profile *seen, const struct profile *clean,
			   struct peak_span *span, unsigned int n, unsigned int max);

#endif
