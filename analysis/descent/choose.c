// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/choose.h"

#include <math.h>

#include "analysis/descent/choose_impl.h"

enum {
	/* a call of at least this many times the mode is in the tail of its peak */
	TAIL_FACTOR = 2,
	SLOWEST_CALLS = 10, /* calls to see among the slowest that are asked for */
	/* fewer calls than this far above the mode may still become a peak of their own */
	TAIL_CALLS = 20,
	/* calls to see in each peak that matters; fewer when calls are rare */
	STABLE_CALLS = 10,
	STABLE_FEWEST = 5,
	HEAVY_CALLS = 10,  /* calls to see beyond all peaks before the descent asks for them */
	AROUND_FEWEST = 3, /* calls to see around a latency that is in no peak */
	LAST_FEWEST = 3,   /* slow calls to see when it is time to choose */
	FEWEST = 10,	   /* lower limit of start_ops when calls are rare */
	/* buckets without calls beside a peak that count as the peak, on either side */
	ROOM = 3,
};

#define SLOW_NS 200000000ull /* calls that take this long are waited for in vain */
#define WATCH_S 1.0	     /* seconds to watch the profile before choosing */
#define PATIENT_S 2.0	     /* seconds after which fewer than start_ops calls are enough */
#define OPEN_S 3.0	     /* seconds to wait for calls that are open for long to end */
#define MATTERS 0.1	     /* a peak with this share of the time must be stable */
/* a mean of this many times the mode shows that several peaks were merged */
#define MIXED 2.0
/* Ask for the longest calls that have this part of the time beyond all peaks. */
#define HEAVY_PART 0.8
/* A tail with more of a peak's time is left out if the user named a latency near the mode. */
#define TAIL_SMALL 0.2
/* The calls longer than the mean are another kind of calls if their share of the time exceeds their
 * share of the calls by this much. In an exponential tail it does so by 1/e. */
#define ANOTHER_KIND 0.4
/* Calls beyond all peaks are chosen if they have this many times the time of the largest peak. */
#define HEAVIER 1.5
#define NEAREST 1.25 /* a latency this factor outside of a peak still means that peak */
/* a latency this factor above or below the mode means calls like it, not the whole peak */
#define FAR_FROM_MODE 1.4
#define AROUND 1.25 /* calls up to this factor above and below a latency that is in no peak */

/* Lowers a number of calls to wait for, from `enough` towards `least`, the longer the descent has
 * waited. */
static unsigned int fewer(const struct choose_question *q, unsigned int enough, unsigned int least)
{
	double now = enough;

	if (q->waited_s > PATIENT_S)
		now *= PATIENT_S / q->waited_s;
	return now > least ? (unsigned int)now : least;
}

static unsigned int enough_calls(const struct op *op, const struct choose_question *q)
{
	if (q->start_ops_fixed || q->start_ops <= FEWEST)
		return q->start_ops;
	/* of calls that take seconds, an answer from a few is better than none */
	if (q->last_chance && op->total.sum_ns > SLOW_NS * op->total.calls)
		return LAST_FEWEST;
	return fewer(q, q->start_ops, FEWEST);
}

static double seen(const struct op *op, uint64_t weighted)
{
	return (double)weighted * (op->share_seen > 0 && op->share_seen < 1 ? op->share_seen : 1);
}

unsigned int peak_tail_begin(const struct peak *p)
{
	unsigned int at = pt_bucket(TAIL_FACTOR * p->mode_ns);

	return at < p->range.high ? at : p->range.high;
}

static struct bucket_range tail_of(const struct peak *p)
{
	return (struct bucket_range){peak_tail_begin(p), p->range.high};
}

bool peak_is_mixed(const struct op *op, const struct peak *p)
{
	double time = (double)profile_range_sum(&op->total, p->range),
	       calls = (double)profile_range_calls(&op->total, p->range);

	return profile_range_calls(&op->total, tail_of(p)) &&
	       time > MIXED * calls * (double)p->mode_ns;
}

struct bucket_range calls_heaviest(const struct op *op, struct bucket_range range)
{
	double all = (double)profile_range_sum(&op->total, range);
	struct bucket_range part = {range.high, range.high};

	while (part.low > range.low &&
	       (double)profile_range_sum(&op->total, part) < HEAVY_PART * all)
		part.low--;
	return part;
}

uint64_t calls_mean_ns(const struct op *op, uint64_t low_ns, uint64_t high_ns)
{
	struct bucket_range range = {pt_bucket(low_ns), PT_BUCKETS};
	uint64_t calls;

	if (high_ns != UINT64_MAX)
		range.high = pt_bucket(high_ns - 1) + 1;
	calls = profile_range_calls(&op->total, range);
	return calls ? profile_range_sum(&op->total, range) / calls : 0;
}

struct bucket_range calls_another_kind(const struct op *op, struct bucket_range range)
{
	double calls = (double)profile_range_calls(&op->total, range),
	       time = (double)profile_range_sum(&op->total, range);
	struct bucket_range longer = range;

	if (calls <= 0 || time <= 0)
		return range;
	longer.low = pt_bucket((uint64_t)(time / calls)) + 1;
	return (double)profile_range_sum(&op->total, longer) / time -
			   (double)profile_range_calls(&op->total, longer) / calls >=
		       ANOTHER_KIND
		   ? longer
		   : range;
}

/* Returns the share of a peak's time that its tail has. */
static double tail_share(const struct op *op, const struct peak *p)
{
	double all = (double)profile_range_sum(&op->total, p->range);

	return all > 0 ? (double)profile_range_sum(&op->total, tail_of(p)) / all : 0;
}

/* Returns true if few calls far beyond the mode have most of the time of the peak: these may still
 * become a peak of their own. */
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

/* Returns true if every peak that matters has enough calls to keep its place. */
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

/* Chooses the part of a peak that has most of its time. If the mean is far from the mode, the peak
 * includes another one, and a mean over both would describe neither. Then choose the calls near the
 * mode, or the tail if it has most of the time. */
static void take_peak(const struct op *op, const struct peak *p, struct choose_answer *out)
{
	out->basis = CHOSEN_PEAK;
	out->low_ns = p->low_ns;
	out->high_ns = p->high_ns;
	if (!peak_is_mixed(op, p))
		return;
	out->basis = CHOSEN_RANGE;
	if (tail_share(op, p) > 0.5)
		out->low_ns = bucket_low_ns(calls_heaviest(op, tail_of(p)).low, PT_RESOLUTION);
	else
		out->high_ns = bucket_low_ns(peak_tail_begin(p), PT_RESOLUTION);
}

/* Returns the range of the rare, slow calls above all peaks, or in the tail of the last peak if
 * that is not stable. */
static struct bucket_range heavy_calls(const struct op *op)
{
	struct bucket_range heavy = {0, PT_BUCKETS};

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		heavy.low = is_unsettled(op, p) ? peak_tail_begin(p) : p->range.high;
	}
	return calls_heaviest(op, heavy);
}

/* Returns true if a call that is open takes longer than all that have ended, and has a good part of
 * their time already: the calls with most time may all be open still. */
static bool longest_are_open(const struct op *op)
{
	return op->open && op->oldest_open_ns > op->total.max_ns &&
	       (double)op->oldest_open_ns >= MATTERS * (double)op->total.sum_ns;
}

static int choose_largest(const struct op *op, const struct choose_question *q,
			  struct choose_answer *out)
{
	const struct peak *best = largest_peak(op);
	struct bucket_range heavy = heavy_calls(op);
	uint64_t calls = profile_range_calls(&op->total, heavy);
	double heavy_time = (double)profile_range_sum(&op->total, heavy);
	double peak_time = best ? (double)profile_range_sum(&op->total, best->range) : 0;

	if (!q->last_chance && q->waited_s < OPEN_S && longest_are_open(op))
		return -EAGAIN;
	if (best && is_unsettled(op, best))
		peak_time -= tail_share(op, best) * peak_time;
	if (calls && heavy_time > HEAVIER * peak_time && !q->within_peaks) {
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
	struct bucket_range range = {0, PT_BUCKETS}, longer;
	double calls;

	if (!q->last_chance && (double)op->seen_calls * q->slowest / 100 < SLOWEST_CALLS)
		return -EAGAIN;
	/* whole buckets, as the shares of the answer: a bucket may hold most of the calls */
	range.low = pt_bucket(profile_quantile(&op->total, fmax(0, 1 - q->slowest / 100)));
	longer = calls_another_kind(op, range);
	calls = seen(op, profile_range_calls(&op->total, longer));
	if (longer.low > range.low && !q->last_chance &&
	    calls < fewer(q, SLOWEST_CALLS, STABLE_FEWEST))
		return -EAGAIN;
	if (calls >= LAST_FEWEST)
		range = longer;
	out->basis = CHOSEN_SLOWEST;
	out->low_ns = bucket_low_ns(range.low, PT_RESOLUTION);
	out->high_ns = UINT64_MAX;
	return 0;
}

/* Returns the factor by which a latency is outside of a peak; 1: inside. */
static double outside(const struct peak *p, uint64_t ns)
{
	if (ns < p->low_ns)
		return ns ? (double)p->low_ns / (double)ns : HUGE_VAL;
	return ns < p->high_ns ? 1 : (double)ns / (double)p->high_ns;
}

/* Chooses the calls around a latency that is in no peak, because they are few, or far from the mode
 * of its peak: those up to AROUND above and below it that belong to no other peak. */
static int choose_around(const struct op *op, const struct choose_question *q,
			 struct choose_answer *out)
{
	unsigned int at = pt_bucket(q->low_ns);
	struct bucket_range range = {pt_bucket((uint64_t)((double)q->low_ns / AROUND)),
				     pt_bucket((uint64_t)((double)q->low_ns * AROUND)) + 1};
	double calls;

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		if (p->range.high <= at && p->range.high > range.low)
			range.low = p->range.high;
		if (p->range.low > at && p->range.low < range.high)
			range.high = p->range.low;
	}
	calls = seen(op, profile_range_calls(&op->total, range));
	if (calls < AROUND_FEWEST || (!q->last_chance && (q->waited_s < PATIENT_S ||
							  calls < fewer(q, FEWEST, STABLE_FEWEST))))
		return q->last_chance ? -ENOENT : -EAGAIN;
	out->basis = CHOSEN_RANGE;
	out->low_ns = bucket_low_ns(range.low, PT_RESOLUTION);
	out->high_ns = bucket_low_ns(range.high, PT_RESOLUTION);
	return 0;
}

/* Returns true if a latency below the tail of a peak is far from its mode. */
static bool is_far_from_mode(const struct peak *p, uint64_t ns)
{
	double factor = (double)ns / (double)p->mode_ns;

	return pt_bucket(ns) < peak_tail_begin(p) &&
	       (factor > FAR_FROM_MODE || factor * FAR_FROM_MODE < 1);
}

static int choose_latency(const struct op *op, const struct choose_question *q,
			  struct choose_answer *out)
{
	const struct peak *best = NULL;
	unsigned int at, middle;

	for (unsigned int i = 0; i < op->nr_peaks; i++)
		if (!best || outside(&op->peaks[i], q->low_ns) < outside(best, q->low_ns))
			best = &op->peaks[i];
	if (!best || outside(best, q->low_ns) > NEAREST || is_far_from_mode(best, q->low_ns))
		return choose_around(op, q, out);
	if (!q->last_chance && seen(op, best->calls) < fewer(q, FEWEST, STABLE_FEWEST))
		return -EAGAIN;
	out->basis = CHOSEN_PEAK;
	out->low_ns = best->low_ns;
	out->high_ns = best->high_ns;
	if (!profile_range_calls(&op->total, tail_of(best)))
		return 0;
	/* If the latency is in the tail of a peak, leave out the faster calls: those nearer to the
	 * mode, and those of less than half of the latency. If it is near the mode, leave out a
	 * large tail. */
	at = pt_bucket(q->low_ns);
	middle = (pt_bucket(best->mode_ns) + at) / 2;
	if (middle + PT_RESOLUTION < at)
		middle = at - PT_RESOLUTION;
	if (at >= peak_tail_begin(best)) {
		/* with more calls, the latency may turn out to be a peak of its own */
		if (!q->last_chance && seen(op, profile_range_calls(&op->total, tail_of(best))) <
					   fewer(q, TAIL_CALLS, STABLE_CALLS))
			return -EAGAIN;
		out->basis = CHOSEN_RANGE;
		out->low_ns = bucket_low_ns(
		    middle > peak_tail_begin(best) ? middle : peak_tail_begin(best), PT_RESOLUTION);
	} else if (tail_share(op, best) > TAIL_SMALL) {
		out->basis = CHOSEN_RANGE;
		out->high_ns = bucket_low_ns(peak_tail_begin(best), PT_RESOLUTION);
	}
	return 0;
}

static int choose_range(const struct op *op, const struct choose_question *q,
			struct choose_answer *out)
{
	struct bucket_range range = {pt_bucket(q->low_ns), pt_bucket(q->high_ns - 1) + 1};

	/* The user gave the range: one call in it is enough. */
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
	/* a peak that is not stable yet may change the numbers of the others */
	if (!q->last_chance && !is_stable(op, q))
		return -EAGAIN;
	take_peak(op, &op->peaks[q->number - 1], out);
	return 0;
}

/* Returns the number of buckets by which a peak may be extended from `bucket` on, upwards or
 * downwards: half of those without calls, so that two peaks do not overlap. */
static unsigned int room_from(const struct profile *p, unsigned int bucket, int step)
{
	unsigned int empty = 0;

	for (; bucket < PT_BUCKETS && empty < 2 * ROOM && !p->count[bucket]; bucket += step)
		empty++;
	return empty / 2;
}

void calls_add_room(const struct op *op, uint64_t *low_ns, uint64_t *high_ns)
{
	unsigned int low = pt_bucket(*low_ns), high = pt_bucket(*high_ns - 1);

	low -= room_from(&op->total, low - 1, -1);
	high += room_from(&op->total, high + 1, 1);
	*low_ns = bucket_low_ns(low, PT_RESOLUTION);
	*high_ns = bucket_high_ns(high, PT_RESOLUTION);
}

static int choose_by(const struct op *op, const struct choose_question *q,
		     struct choose_answer *out)
{
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

int choose_calls(const struct op *op, const struct choose_question *q, struct choose_answer *out)
{
	unsigned int enough = enough_calls(op, q);
	int err;

	if (op->seen_calls < enough || (q->waited_s < WATCH_S && !q->last_chance))
		return -EAGAIN;
	out->start_ops = enough;
	err = choose_by(op, q, out);
	if (!err && out->basis == CHOSEN_PEAK)
		calls_add_room(op, &out->low_ns, &out->high_ns);
	return err;
}
