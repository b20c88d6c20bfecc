/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds shadows: peaks made of calls of another peak that the host made longer. The host ran
 * something else meanwhile (preemption, waiting for a CPU after a sleep), handled an interrupt, or
 * had to map a page. The sampled calls say how long each waited for a CPU; without that time, most
 * calls of a shadow have the latency of the peak that they belong to. docs/notes/peaks.md has the
 * method.
 *
 * Pure: same samples in, same answer out.
 */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/latency/peaks.h"
#include "analysis/latency/samples.h"

struct shadow_verdict {
	int of; /* index of the peak whose calls these are; -1: not a shadow */
	enum peak_fold why;
};

/* What the host and the probes do to latencies. */
struct shadow_host {
	double blur_ns;	      /* latencies that differ by less cannot be told apart */
	double page_fault_ns; /* what a minor page fault costs; 0: not known */
};

/* Fills out[0..n) for the peaks span[0..n) of the profile `seen`, which are disjoint and in
 * ascending order; n is at most PEAKS_TRACKED. */
void shadows_find(const struct profile *seen, const struct peak_span *span, unsigned int n,
		  const struct weighted_calls *calls, const struct shadow_host *host,
		  struct shadow_verdict *out);

/* Fills *clean with the profile `seen` without the calls that the host made longer than the core of
 * their peak. From each bucket it subtracts the share of such calls among the sampled calls in that
 * bucket and its neighbours. */
void shadows_clean(const struct profile *seen, const struct peak_span *span, unsigned int n,
		   const struct weighted_calls *calls, struct profile *clean);
/* Splits each peak of span[0..n) that is two peaks in the profile `clean`, because calls disturbed
 * by the host fill the valley between them. `span` has room for `max` peaks. Returns the number of
 * peaks. */
unsigned int shadows_split(const struct profile *seen, const struct profile *clean,
			   struct peak_span *span, unsigned int n, unsigned int max);
