// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/choose.h"

#include <errno.h>
#include <math.h>

enum {
	SLOWEST_CALLS = 10, /* seen, among the slowest that are asked for */
	TAIL_CALLS = 20,    /* fewer than these far above the mode may become a peak of their own */
	STABLE_CALLS = 10,  /* seen, in each peak that matters; fewer when calls are rare */
	STABLE_FEWEST = 5,
	HEAVY_CALLS = 10, /* seen, beyond all peaks, before they are the question */
	FEWEST = 10,	  /* of start_ops when calls are rare */
	TAIL_FACTOR = 2,  /* times the mode: from here on a call is in the tail of its peak */
};

#define WATCH_S 1.0   /* at the profile, before anything is chosen */
#define PATIENT_S 2.0 /* until fewer than start_ops calls may do */
#define MATTERS 0.1   /* share of the time: such a peak must be stable */
#define MIXED 2.0     /* a mean so many times the mode is that of several peaks */
#define TAIL_SMALL                                                                                 \
	0.2 /* share of a peak's time: such a tail is left out of a peak that a latency near its   \
	       mode means */
#define HEAVY_PART                                                                                 \
	0.8 /* of the time beyond all peaks: the longest calls that have so much of it are asked   \
	       for */
#define HEAVIER                                                                                    \
	1.5 /* times the time of the largest peak: only then calls outside of all peaks are asked  \
	       for */
#define NEAREST 1.5 /* a latency this many times outside of a peak still means it */

/* Calls come slowly: after a while those that came will do. */
static unsigned int fewer(const struct choose_question *q, unsigned int enough, unsigned int least)
{
	double now = enough;

	if (q->waited_s > PATIENT_S)
		now *= PATIENT_S / q->waited_s;
	return now > least ? (unsigned int)now : least;
}

static unsigned int enough_calls(const struct choose_question *q)
{
	if (q->start_ops_fixed || q->start_ops <= FEWEST)
		return q->start_ops;
	return fewer(q, q->start_ops, FEWEST);
}

static double seen(const struct op *op, uint64_t weighted)
{
	return (double)weighted * (op->share_seen > 0 && op->share_seen < 1 ? op->share_seen : 1);
}

/* Where the tail of a peak begins, far above its mode; may be its end. */
static unsigned int tail_begin(const struct peak *p)
{
	unsigned int at = pt_bucket(TAIL_FACTOR * p->mode_ns);

	return at < p->range.high ? at : p->range.high;
}

static struct bucket_range tail_of(const struct peak *p)
{
	return (struct bucket_range){tail_begin(p), p->range.high};
}

/*
 * The longest calls of a range that have most of its time between them: shorter ones are many,
 * would outvote them, and are not what takes the time.
 */
static struct bucket_range heaviest_of(const struct op *op, struct bucket_range range)
{
	double all = (double)profile_range_sum(&op->total, range);
	struct bucket_range part = {range.high, range.high};

	while (part.low > range.low &&
	       (double)profile_range_sum(&op->total, part) < HEAVY_PART * all)
		part.low--;
	return part;
}

/* The part of a peak's time that the calls far above its mode have. */
static double tail_share(const struct op *op, const struct peak *p)
{
	double all = (double)profile_range_sum(&op->total, p->range);

	return all > 0 ? (double)profile_range_sum(&op->total, tail_of(p)) / all : 0;
}

/* Most of its time is that of few calls far beyond its mode: these may become a peak of their own.
 */
static bool is_unsettled(const struct op *op, const struct peak *p)
{
	return seen(op, profile_range_calls(&op->total, tail_of(p))) < TAIL_CALLS &&
	       tail_share(op, p) > 0.5;
}

static const struct peak *largest_peak(const struct op *op)
{
	const struct peak *best = NULL;

	for (unsigned int i = 0; i < op->nr_peaks; i++)
		if (!best || op->peaks[i].share_of_time > best->share_of_time)
			best = &op->peaks[i];
	return best;
}

/* Do the peaks that matter have calls enough to stay what they are? */
static bool is_stable(const struct op *op, const struct choose_question *q)
{
	unsigned int calls = fewer(q, STABLE_CALLS, STABLE_FEWEST);

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		if (p->share_of_time >= MATTERS &&
		    (seen(op, p->calls) < calls || is_unsettled(op, p)))
			return false;
	}
	return true;
}

/*
 * The part of a peak in which its time is. Where the mean is far from the mode the peak has
 * swallowed another one, and a mean over all of it would describe neither: ask for the calls near
 * the mode, or for those far above it if these have most of the time.
 */
static void take_peak(const struct op *op, const struct peak *p, struct choose_answer *out)
{
	double time = (double)profile_range_sum(&op->total, p->range),
	       calls = (double)profile_range_calls(&op->total, p->range);
	uint64_t tail = profile_range_calls(&op->total, tail_of(p));

	out->basis = CHOSEN_PEAK;
	out->low_ns = p->low_ns;
	out->high_ns = p->high_ns;
	if (!tail || time <= MIXED * calls * (double)p->mode_ns)
		return;
	out->basis = CHOSEN_RANGE;
	if (tail_share(op, p) > 0.5)
		out->low_ns = bucket_low_ns(heaviest_of(op, tail_of(p)).low, PT_RESOLUTION);
	else
		out->high_ns = bucket_low_ns(tail_begin(p), PT_RESOLUTION);
}

/* The rare, slow calls above all peaks, or far above the mode of the last peak. */
static struct bucket_range heavy_calls(const struct op *op)
{
	struct bucket_range heavy = {0, PT_BUCKETS};

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		heavy.low = is_unsettled(op, p) ? tail_begin(p) : p->range.high;
	}
	return heaviest_of(op, heavy);
}

static int choose_largest(const struct op *op, const struct choose_question *q,
			  struct choose_answer *out)
{
	const struct peak *best = largest_peak(op);
	struct bucket_range heavy = heavy_calls(op);
	uint64_t calls = profile_range_calls(&op->total, heavy);
	double heavy_time = (double)profile_range_sum(&op->total, heavy);
	double peak_time = best ? (double)profile_range_sum(&op->total, best->range) : 0;

	if (best && is_unsettled(op, best))
		peak_time -= tail_share(op, best) * peak_time;
	if (calls && heavy_time > HEAVIER * peak_time) {
		if (!q->last_chance && seen(op, calls) < HEAVY_CALLS)
			return -EAGAIN;
		out->basis = CHOSEN_SLOWEST;
		out->low_ns = bucket_low_ns(heavy.low, PT_RESOLUTION);
		out->high_ns = UINT64_MAX;
		return 0;
	}
	if (!best)
		return q->last_chance ? -ENOENT : -EAGAIN;
	if (!q->last_chance && !is_stable(op, q))
		return -EAGAIN;
	take_peak(op, best, out);
	return 0;
}

static int choose_slowest(const struct op *op, const struct choose_question *q,
			  struct choose_answer *out)
{
	if (!q->last_chance && (double)op->seen_calls * q->slowest / 100 < SLOWEST_CALLS)
		return -EAGAIN;
	out->basis = CHOSEN_SLOWEST;
	out->low_ns = profile_quantile(&op->total, fmax(0, 1 - q->slowest / 100));
	out->high_ns = UINT64_MAX;
	return 0;
}

/* How far a latency is outside of a peak: 1 is inside. */
static double outside(const struct peak *p, uint64_t ns)
{
	if (ns < p->low_ns)
		return ns ? (double)p->low_ns / (double)ns : HUGE_VAL;
	return ns < p->high_ns ? 1 : (double)ns / (double)p->high_ns;
}

static int choose_latency(const struct op *op, const struct choose_question *q,
			  struct choose_answer *out)
{
	const struct peak *best = NULL;
	unsigned int at, middle;

	for (unsigned int i = 0; i < op->nr_peaks; i++)
		if (!best || outside(&op->peaks[i], q->low_ns) < outside(best, q->low_ns))
			best = &op->peaks[i];
	if (!best || outside(best, q->low_ns) > NEAREST ||
	    (!q->last_chance && seen(op, best->calls) < fewer(q, FEWEST, STABLE_FEWEST)))
		return q->last_chance && (!best || outside(best, q->low_ns) > NEAREST) ? -ENOENT
										       : -EAGAIN;
	out->basis = CHOSEN_PEAK;
	out->low_ns = best->low_ns;
	out->high_ns = best->high_ns;
	if (!profile_range_calls(&op->total, tail_of(best)))
		return 0;
	/* the latency is in the tail of a peak of faster calls: those are not meant, and the other
	 * way round */
	at = pt_bucket(q->low_ns);
	middle = (pt_bucket(best->mode_ns) + at) / 2;
	if (at >= tail_begin(best)) {
		out->basis = CHOSEN_RANGE;
		out->low_ns = bucket_low_ns(middle > tail_begin(best) ? middle : tail_begin(best),
					    PT_RESOLUTION);
	} else if (tail_share(op, best) > TAIL_SMALL) {
		out->basis = CHOSEN_RANGE;
		out->high_ns = bucket_low_ns(tail_begin(best), PT_RESOLUTION);
	}
	return 0;
}

static int choose_range(const struct op *op, const struct choose_question *q,
			struct choose_answer *out)
{
	struct bucket_range range = {pt_bucket(q->low_ns), pt_bucket(q->high_ns - 1) + 1};

	/* the range is what was asked for, and one call in it is a reason to go on */
	if (!profile_range_calls(&op->total, range))
		return q->last_chance ? -ENOENT : -EAGAIN;
	out->basis = CHOSEN_RANGE;
	out->low_ns = q->low_ns;
	out->high_ns = q->high_ns;
	return 0;
}

static int choose_number(const struct op *op, const struct choose_question *q,
			 struct choose_answer *out)
{
	if (q->number > op->nr_peaks)
		return q->last_chance ? -ENOENT : -EAGAIN;
	/* what is still growing may change the numbers of the others */
	if (!q->last_chance && !is_stable(op, q))
		return -EAGAIN;
	take_peak(op, &op->peaks[q->number - 1], out);
	return 0;
}

int choose_calls(const struct op *op, const struct choose_question *q, struct choose_answer *out)
{
	unsigned int enough = enough_calls(q);

	if (op->seen_calls < enough || (q->waited_s < WATCH_S && !q->last_chance))
		return -EAGAIN;
	out->start_ops = enough;
	if (q->slowest > 0)
		return choose_slowest(op, q, out);
	if (q->number)
		return choose_number(op, q, out);
	if (q->low_ns && q->low_ns == q->high_ns)
		return choose_latency(op, q, out);
	if (q->low_ns || q->high_ns)
		return choose_range(op, q, out);
	return choose_largest(op, q, out);
}
