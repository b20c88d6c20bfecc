// SPDX-License-Identifier: GPL-2.0-or-later
/* Phase 2 of the comparison: differences in the number and location of peaks. */
#include "analysis/latency/compare_impl.h"

#include <math.h>

#include "analysis/base/array.h"
#include "analysis/latency/peaks.h"

enum {
	MAX_PEAKS = 16,
	MIN_CALLS = 8 /* calls that must be seen in a peak before it is compared */
};

struct profile_peaks {
	unsigned int nr;
	struct peak_span span[MAX_PEAKS];
	double share[MAX_PEAKS];
	bool excess[MAX_PEAKS]; /* the other profile has far fewer calls here */
	bool alone[MAX_PEAKS];	/* ... and it has no peak here */
	bool reported[MAX_PEAKS];
};

static void find(const struct compared_profile *s, struct profile_peaks *f)
{
	*f = (struct profile_peaks){0};
	f->nr = peaks_find_seen(s->profile, s->share_seen, f->span, MAX_PEAKS);
	for (unsigned int i = 0; i < f->nr; i++)
		f->share[i] = side_share(s, (int)f->span[i].range.low, (int)f->span[i].range.high);
}

/* Returns true if a peak of `f` has its mode in [low, high). */
static bool has_mode(const struct profile_peaks *f, int low, int high)
{
	return any_of(i, f->nr, (int)f->span[i].mode >= low && (int)f->span[i].mode < high);
}

/* Marks the peaks of `own` that `other` does not have, or has far lighter. Calls of `other` within
 * the tolerance of the range count as well, so that a drift is never an excess. */
static void mark_excess(const struct compared_profile *own, struct profile_peaks *f,
			const struct compared_profile *other, const struct profile_peaks *theirs,
			int drift, const struct compare_options *o)
{
	double share, there;
	int low, high;

	for (unsigned int i = 0; i < f->nr; i++) {
		low = (int)f->span[i].range.low;
		high = (int)f->span[i].range.high;
		share = f->share[i];
		there = side_share(other, low - drift, high + drift);
		if (share * own->seen < MIN_CALLS ||
		    (share < o->min_peak_calls &&
		     side_time_share(own, low, high) < o->min_peak_time))
			continue;
		if (share < o->peak_factor * there && share - there < o->min_moved)
			continue;
		if (!shares_differ(share, own->seen, there, other->seen, o->sigmas))
			continue;
		f->excess[i] = true;
		f->alone[i] = !has_mode(theirs, low - drift, high + drift);
	}
}

static uint64_t mode_ns(const struct peak_span *p)
{
	return (uint64_t)llround(exp2((p->mode + 0.5) / PT_RESOLUTION));
}

/* Reports a peak that is gone and a new one of about the same weight as one peak that moved. */
static void report_moves(struct profile_peaks *a, struct profile_peaks *b,
			 struct compare_pair *pair)
{
	double ratio, best_ratio;
	unsigned int best;

	for (unsigned int i = 0; i < a->nr; i++) {
		if (!a->alone[i])
			continue;
		best = b->nr;
		best_ratio = log(2);
		for (unsigned int j = 0; j < b->nr; j++) {
			ratio = fabs(log(a->share[i] / b->share[j]));
			if (b->alone[j] && !b->reported[j] && ratio < best_ratio) {
				best = j;
				best_ratio = ratio;
			}
		}
		if (best == b->nr)
			continue;
		a->reported[i] = b->reported[best] = true;
		compare_add_reason(pair, (struct compare_reason){
					     .kind = COMPARE_PEAK_MOVED,
					     .mode_ns = mode_ns(&b->span[best]),
					     .old_mode_ns = mode_ns(&a->span[i]),
					     .before = a->share[i],
					     .after = b->share[best],
					 });
	}
}

/* Returns true if the share of a peak changed only because there are more or fewer calls elsewhere:
 * then the peak itself did not change. */
static bool diluted(double before, double after, const struct compare_pair *pair)
{
	return before > 0 && after > 0 &&
	       fabs(log2(after / before) + pair->metrics.calls) < log2(1.4);
}

/* Reports the peaks that only one side has (`alone`), or those that only changed their weight. */
static void report_peaks(const struct profile_peaks *f, const struct compared_profile *other,
			 bool is_after, bool alone, int drift, struct compare_pair *pair)
{
	struct compare_reason r;
	double there;

	for (unsigned int i = 0; i < f->nr; i++) {
		if (!f->excess[i] || f->reported[i] || f->alone[i] != alone)
			continue;
		there = side_share(other, (int)f->span[i].range.low - drift,
				   (int)f->span[i].range.high + drift);
		r = (struct compare_reason){
		    .kind = !f->alone[i] ? COMPARE_PEAK_WEIGHT
			    : is_after	 ? COMPARE_PEAK_NEW
					 : COMPARE_PEAK_GONE,
		    .mode_ns = mode_ns(&f->span[i]),
		    .before = is_after ? there : f->share[i],
		    .after = is_after ? f->share[i] : there,
		};
		if (r.kind != COMPARE_PEAK_WEIGHT || !pair->nr_reasons ||
		    !diluted(r.before, r.after, pair))
			compare_add_reason(pair, r);
	}
}

void compare_peaks(const struct compared_profile *before, const struct compared_profile *after,
		   const struct compare_options *o, struct compare_pair *pair)
{
	int drift = (int)lround(fmin(o->tolerance, 2) * PT_RESOLUTION);
	struct profile_peaks a, b;

	find(before, &a);
	find(after, &b);
	mark_excess(before, &a, after, &b, drift, o);
	mark_excess(after, &b, before, &a, drift, o);
	report_moves(&a, &b, pair);
	/* report new and gone peaks before the peaks that became heavier or lighter because of
	 * them */
	report_peaks(&b, before, true, true, drift, pair);
	report_peaks(&a, after, false, true, drift, pair);
	report_peaks(&b, before, true, false, drift, pair);
	report_peaks(&a, after, false, false, drift, pair);
}

void compare_shape(const struct compared_profile *before, const struct compared_profile *after,
		   int drift, struct compare_pair *pair)
{
	unsigned int nr = pair->nr_reasons;
	bool slower = pair->metrics.slower >= pair->metrics.faster;
	struct profile_peaks a, b;

	find(before, &a);
	find(after, &b);
	/* the same number of peaks, and one at another place: report that it moved */
	for (unsigned int i = 0; a.nr == b.nr && i < a.nr; i++) {
		if (abs((int)a.span[i].mode - (int)b.span[i].mode) <= drift)
			continue;
		compare_add_reason(pair, (struct compare_reason){
					     .kind = COMPARE_PEAK_MOVED,
					     .mode_ns = mode_ns(&b.span[i]),
					     .old_mode_ns = mode_ns(&a.span[i]),
					     .before = a.share[i],
					     .after = b.share[i],
					 });
	}
	if (pair->nr_reasons == nr)
		compare_add_reason(
		    pair, (struct compare_reason){
			      .kind = COMPARE_SHAPE,
			      .before = slower ? 0 : -1,
			      .after = slower ? pair->metrics.slower : pair->metrics.faster,
			  });
}
