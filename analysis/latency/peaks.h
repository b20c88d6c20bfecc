/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the peaks of a latency profile on the logarithm of the counts, as an eye does (OSprof, OSDI
 * 2006, section 3: a peak is where the logarithmic histogram falls off to both sides). The profile
 * is viewed through windows of several widths and split at valleys that are deep enough and exceed
 * Poisson noise. docs/notes/peaks.md gives the method and its constants.
 *
 * Pure: same profile in, same peaks out. Buckets are at resolution 8.
 */
#pragma once

#include "analysis/latency/profile.h"

struct peak_span {
	struct bucket_range range; /* from valley to valley, or to the end of its calls */
	unsigned int mode;	   /* bucket of the mode, inside the range */
	uint64_t calls;		   /* all calls in the range */
	double prominence; /* doublings of the count from the higher of its valleys to the mode */
};

/* Finds the peaks of `p`: disjoint, in ascending order of latency, at most `max` (the least
 * prominent ones are merged with a neighbour). A few calls far from every peak may belong to none.
 * Returns the number of peaks; 0 without calls. */
unsigned int peaks_find(const struct profile *p, struct peak_span *out, unsigned int max);
/* The same for scaled-up counts. `share_seen` (0..1) is the share of the calls that was seen: a
 * count c stands for share_seen * c observations and has their uncertainty. The `calls` of the
 * result stay scaled up. */
unsigned int peaks_find_seen(const struct profile *p, double share_seen, struct peak_span *out,
			     unsigned int max);

/* The same for a growing profile. `before` are its previous peaks: such a peak stays until its
 * valleys are clearly gone, so that a peak near the limit does not appear and disappear with every
 * slice. At most PEAKS_TRACKED peaks. */
unsigned int peaks_find_held(const struct profile *p, const struct peak_span *before,
			     unsigned int nr_before, struct peak_span *out, unsigned int max);

enum {
	PEAKS_TRACKED = 32, /* peaks that a tracker remembers; also the maximum per slice */
	/* an id is given up after its peak was absent for this many slices */
	PEAKS_FORGET = 30,
};

/* Gives each peak an id that stays the same while the peak drifts from slice to slice. Ids start at
 * 1 and are never reused. If a peak splits, the part nearest to it in place and size keeps the id.
 * If two merge, the id of the nearest stays. A peak that reappears at its old place before
 * PEAKS_FORGET slices have passed gets its id back. */
struct peak_tracked {
	int id;
	int number;	     /* 0: the peak has no number yet */
	unsigned int absent; /* slices since it was last seen */
	struct peak_span span;
};

struct peak_tracker {
	int next_id;
	unsigned int nr;
	struct peak_tracked peak[PEAKS_TRACKED]; /* ascending mode */
};

void peaks_tracker_init(struct peak_tracker *t);
/* Takes the peaks of one slice: `spans` in ascending order, as peaks_find() returns them. ids[i]
 * becomes the id of spans[i]. If n > PEAKS_TRACKED, the ids of the rest are 0. */
void peaks_tracker_update(struct peak_tracker *t, const struct peak_span *spans, unsigned int n,
			  int *ids);
/* Returns the number of a remembered peak for the user, from 1. At the first request the peak gets
 * the smallest number that no remembered peak has, and keeps it as long as its id. Returns 0 if no
 * peak has this id. */
int peaks_tracker_number(struct peak_tracker *t, int id);
