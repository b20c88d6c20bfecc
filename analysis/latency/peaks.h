/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peaks of a latency profile, found on the logarithm of the counts the way an
 * eye does (OSprof, OSDI 2006, section 3: peaks are where the logarithmic
 * histogram falls off to both sides): looked at through windows of several
 * widths, split at valleys that are deep enough and more than Poisson noise.
 * docs/notes/peaks.md gives the method and its constants.
 *
 * Pure: same profile in, same peaks out. Buckets are at resolution 8.
 */
#ifndef PEAKTOP_PEAKS_H
#define PEAKTOP_PEAKS_H

#include <stdint.h>

#include "analysis/latency/profile.h"

struct peak_span {
	struct bucket_range range; /* from valley to valley, or to where its calls end */
	unsigned int mode;	   /* bucket of the mode, in the range */
	uint64_t calls;		   /* all calls in the range */
	double prominence; /* doublings of the count from the higher of its valleys to the mode */
};

/*
 * Find the peaks of `p`: disjoint, in ascending order of latency, at most `max` (the least
 * prominent ones are merged with a neighbour). A few calls far from every peak may belong
 * to none. Returns their number; 0 without calls.
 */
unsigned int peaks_find(const struct profile *p, struct peak_span *out, unsigned int max);
/*
 * The same for weighted counts: `share_seen` (0..1) is the share of the calls
 * that was seen, so that a count of c stands for share_seen * c observations
 * and is as uncertain as those. `calls` in the answer stay weighted.
 */
unsigned int peaks_find_seen(const struct profile *p, double share_seen, struct peak_span *out,
			     unsigned int max);

/*
 * The same for a profile that grows, of which `before` are the peaks as of the
 * last look: what was a peak stays one until its valleys are clearly gone, so
 * that a peak at the limit does not come and go with every slice. At most
 * PEAKS_TRACKED.
 */
unsigned int peaks_find_held(const struct profile *p, const struct peak_span *before,
			     unsigned int nr_before, struct peak_span *out, unsigned int max);

enum {
	PEAKS_TRACKED = 32, /* peaks a tracker remembers; also the most it takes at once */
	PEAKS_FORGET = 30,  /* slices after which an absent peak's id is given up */
};

/*
 * Gives each peak an id that stays with it while it drifts from slice to
 * slice. Ids start at 1 and are never given twice. When a peak splits, the
 * part nearest to it in place and size keeps the id; when two merge, the id of
 * the nearest stays. A peak that reappears where it was before PEAKS_FORGET
 * slices have passed gets its id back.
 */
struct peak_tracked {
	int id;
	unsigned int absent; /* slices since it was last seen */
	struct peak_span span;
};

struct peak_tracker {
	int next_id;
	unsigned int nr;
	struct peak_tracked peak[PEAKS_TRACKED]; /* ascending mode */
};

void peaks_tracker_init(struct peak_tracker *t);
/*
 * One slice: `spans` in ascending order, as peaks_find() gives them; ids[i]
 * becomes the id of spans[i]. With n > PEAKS_TRACKED the ids of the rest are 0.
 */
void peaks_tracker_update(struct peak_tracker *t, const struct peak_span *spans, unsigned int n,
			  int *ids);

#endif
