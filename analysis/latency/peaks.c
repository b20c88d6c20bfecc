// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/peaks.h"

#include <math.h>

#include "analysis/base/array.h"
#include "analysis/latency/clock.h"

/* Windows of several widths slide over the histogram. A window is the top of a peak if it stands
 * out from a window on either side in two ways: surely (the lowest density that its count allows is
 * above the highest density that the other count allows) and visibly (by a factor). One pass from
 * left to right with this hysteresis finds tops and valleys in turn. docs/notes/peaks.md has the
 * reasons for the constants. */
enum {
	NR_WIDTHS = 10,
	MAX_SEGMENTS = PT_BUCKETS / 2,
	STRAY_GAP = PT_RESOLUTION, /* calls beyond this many empty buckets may be strays */
};

static const unsigned int window_width[NR_WIDTHS] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 48};

/* Poisson noise: the assumed error of the square root of a count. Its standard deviation is 1/2 for
 * any count, so the roots of two windows of one width that differ by twice this are four standard
 * deviations apart. */
#define UNSURE 1.4
/* An existing peak stays as long as it stands out by this much (exponents of the factors). */
#define HELD_UNSURE 0.7
#define HELD_FACTOR 0.6

struct peak_scan {
	double unsure;		      /* UNSURE or HELD_UNSURE */
	double ease;		      /* exponent of the factors: 1 or HELD_FACTOR */
	unsigned int low, high;	      /* buckets with calls */
	double count[PT_BUCKETS + 1]; /* calls that were seen below bucket i */
	double
	    exposure[PT_BUCKETS + 1]; /* number of buckets below i that a latency can fall into */
};

struct window {
	unsigned int low, high;
	double value; /* a density */
};

/* The best windows so far: of a top the highest values, of a valley the lowest. */
struct extreme {
	struct window sure;    /* by the limit of its density, with the noise of UNSURE */
	struct window visible; /* by its density, reduced or raised by a factor */
};

struct peak_segment {
	struct bucket_range range;
	struct window top;    /* its densest window */
	struct window valley; /* the emptiest window after it; value 0 at the end */
};

static double calls_in(const struct peak_scan *s, unsigned int low, unsigned int high)
{
	return s->count[high] - s->count[low];
}

static double exposure_of(const struct peak_scan *s, unsigned int low, unsigned int high)
{
	return s->exposure[high] - s->exposure[low];
}

/* Returns the factor by which a peak of this width must stand out: half of the prominence. */
static double peak_factor(double width)
{
	if (width < 1.5)
		return 1.7;
	return width < 2.5 ? 1.25 : 1.2;
}

/* Returns the factor by which a valley of this width must be deep: the other half. */
static double valley_factor(double width)
{
	if (width < 2.5)
		return 1.6;
	if (width < 3.5)
		return 1.45;
	return width < 5.5 ? 1.35 : 1.25;
}

/* Lower and upper limit of the density where `count` calls were seen. */
static double at_least(double count, double exposure, double unsure)
{
	double root = sqrt(count + 0.375) - unsure;

	return root > 0 ? root * root / exposure : 0;
}

static double at_most(double count, double exposure, double unsure)
{
	double root = sqrt(count + 0.375) + unsure;

	return root * root / exposure;
}

/* Sets the exposure: a bucket counts by the integers, or the ticks of a coarse clock, that fall
 * into it. */
static void set_exposure(struct peak_scan *s, const struct profile *p)
{
	const double growth = exp2(1.0 / PT_RESOLUTION);
	double width = growth - 1, ticks[PT_BUCKETS], ns, step = clock_step(p);
	unsigned int coarse = 0;

	memset(ticks, 0, sizeof(ticks));
	for (unsigned int k = 1; step > 1 && k <= 2 * CLOCK_TICKS; k++) {
		coarse = clock_tick_bucket(p, step, k);
		ticks[coarse]++;
	}
	s->exposure[0] = 0;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		ns = (double)(bucket_high_ns(i, PT_RESOLUTION) - bucket_low_ns(i, PT_RESOLUTION));
		if (i > 0 && i < coarse)
			s->exposure[i + 1] = s->exposure[i] + ticks[i] * step / width;
		else
			s->exposure[i + 1] = s->exposure[i] + (ns < 64 ? ns / width : 1);
		width *= growth;
	}
}

/* Fills *s. Returns false if the profile is empty. */
static bool scan_init(struct peak_scan *s, const struct profile *p, double share_seen)
{
	s->unsure = UNSURE;
	s->ease = 1;
	s->low = s->high = 0;
	s->count[0] = 0;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		s->count[i + 1] = s->count[i] + (double)p->count[i] * share_seen;
		if (!p->count[i])
			continue;
		if (!s->high)
			s->low = i;
		s->high = i + 1;
	}
	if (s->high)
		set_exposure(s, p);
	return s->high;
}

/* Tries the windows between `from` and `end` as a top. Returns true if one of them stands out from
 * `valley` (which may be NULL). */
static bool raise_top(const struct peak_scan *s, unsigned int from, unsigned int end,
		      const struct extreme *valley, struct extreme *top)
{
	struct window sure, visible;
	bool any = false;

	for (unsigned int k = 0; k < NR_WIDTHS && from + window_width[k] <= end; k++) {
		unsigned int low = end - window_width[k];
		double exposure = exposure_of(s, low, end), calls = calls_in(s, low, end);

		if (exposure <= 0 || calls <= 0)
			continue;
		visible = (struct window){low, end,
					  calls / exposure / pow(peak_factor(exposure), s->ease)};
		if (visible.value > top->visible.value)
			top->visible = visible;
		if (calls <= top->sure.value * exposure)
			continue;
		sure = (struct window){low, end, at_least(calls, exposure, s->unsure)};
		any |= valley && visible.value > valley->visible.value &&
		       sure.value > valley->sure.value;
		if (sure.value > top->sure.value)
			top->sure = sure;
	}
	return any;
}

/* The same for a valley. A single bucket is no valley: at half the resolution it would not be
 * visible. */
static bool lower_valley(const struct peak_scan *s, unsigned int from, unsigned int end,
			 const struct extreme *top, struct extreme *valley)
{
	struct window sure, visible;
	bool any = false;

	for (unsigned int k = 0; k < NR_WIDTHS && from + window_width[k] <= end; k++) {
		unsigned int low = end - window_width[k];
		double exposure = exposure_of(s, low, end), calls = calls_in(s, low, end);

		if (exposure < 1.5)
			continue;
		visible = (struct window){low, end,
					  calls / exposure * pow(valley_factor(exposure), s->ease)};
		if (visible.value < valley->visible.value)
			valley->visible = visible;
		if (calls >= valley->sure.value * exposure)
			continue;
		sure = (struct window){low, end, at_most(calls, exposure, s->unsure)};
		any |= top && visible.value < top->visible.value && sure.value < top->sure.value;
		if (sure.value < valley->sure.value)
			valley->sure = sure;
	}
	return any;
}

static unsigned int end_of(const struct extreme *e)
{
	return e->sure.high > e->visible.high ? e->sure.high : e->visible.high;
}

/* Finds tops and valleys in turn. Returns the number of tops, at least 1. */
static unsigned int find_tops(const struct peak_scan *s, struct peak_segment *seg)
{
	const struct extreme none_high = {{s->low, s->low, 0}, {s->low, s->low, 0}};
	const struct extreme none_low = {{0, 0, INFINITY}, {0, 0, INFINITY}};
	struct extreme top = none_high, valley = none_low, other;
	unsigned int n = 0, from = s->low;
	bool falling = false;

	for (unsigned int end = s->low + 1; end <= s->high && n < MAX_SEGMENTS - 1; end++) {
		if (!falling) {
			raise_top(s, from, end, NULL, &top);
			other = none_low;
			if (lower_valley(s, end_of(&top), end, &top, &other)) {
				seg[n].top = top.sure;
				from = end_of(&top);
				valley = other;
				falling = true;
			}
			continue;
		}
		lower_valley(s, from, end, NULL, &valley);
		other = none_high;
		if (raise_top(s, end_of(&valley), end, &valley, &other)) {
			seg[n++].valley = valley.sure;
			from = end_of(&valley);
			top = other;
			falling = false;
		}
	}
	if (!falling) {
		if (top.sure.low == top.sure.high)
			top.sure.high = s->high;
		seg[n].top = top.sure;
	}
	seg[n++].valley = (struct window){s->high, s->high, 0};
	return n;
}

/* Returns the bucket at which to cut the valley between two tops. */
static unsigned int cut_at(const struct profile *p, const struct peak_scan *s,
			   const struct peak_segment *a, const struct peak_segment *b)
{
	unsigned int low = a->valley.low, high = a->valley.high;

	if (calls_in(s, low, high) <= 0) {
		while (low > a->top.high && !p->count[low - 1])
			low--;
		while (high < b->top.low && !p->count[high])
			high++;
	}
	return low + (high - low) / 2;
}

static void set_ranges(const struct profile *p, const struct peak_scan *s, struct peak_segment *seg,
		       unsigned int n)
{
	unsigned int low = s->low, high;

	for (unsigned int i = 0; i < n; i++) {
		high = i + 1 < n ? cut_at(p, s, &seg[i], &seg[i + 1]) : s->high;
		seg[i].range = (struct bucket_range){low, high};
		low = high;
	}
}

/* Adds half a call, so that an empty window has a logarithm, too. */
static double density(const struct peak_scan *s, const struct window *w)
{
	double exposure = exposure_of(s, w->low, w->high);

	return exposure > 0 ? (calls_in(s, w->low, w->high) + 0.5) / exposure : 0;
}

/* Returns the factor by which a peak rises above the higher of its valleys. */
static double rise(const struct peak_scan *s, const struct peak_segment *seg, unsigned int i)
{
	double top = density(s, &seg[i].top), base = 0, d;

	for (unsigned int k = i ? i - 1 : 0; k <= i; k++) {
		d = density(s, &seg[k].valley);
		base = d > base ? d : base;
	}
	if (base <= 0)
		base = 0.5;
	return top > base ? top / base : 1;
}

/* Joins segment i with its neighbour across the shallower valley. */
static void join(struct peak_segment *seg, unsigned int *n, unsigned int i)
{
	unsigned int a = i;

	if (i + 1 == *n || (i > 0 && seg[i - 1].valley.value > seg[i].valley.value))
		a = i - 1;
	seg[a].range.high = seg[a + 1].range.high;
	if (seg[a + 1].top.value > seg[a].top.value)
		seg[a].top = seg[a + 1].top;
	seg[a].valley = seg[a + 1].valley;
	memmove(&seg[a + 1], &seg[a + 2], (*n - a - 2) * sizeof(*seg));
	(*n)--;
}

/* Returns the number of calls below which calls are strays: 3 of 50, 5 of 1000, 9 of a million. */
static double least_calls(const struct peak_scan *s)
{
	double total = calls_in(s, s->low, s->high);

	return total > 50 ? 3 + 1.5 * log10(total / 50) : 3;
}

static double calls_of(const struct peak_scan *s, const struct peak_segment *seg, unsigned int i)
{
	return calls_in(s, seg[i].range.low, seg[i].range.high);
}

/* Joins the segment with the smallest `value` while it is below `least` and more than `max` are
 * left. */
static void join_least(const struct peak_scan *s, struct peak_segment *seg, unsigned int *n,
		       unsigned int max, double least,
		       double (*value)(const struct peak_scan *, const struct peak_segment *,
				       unsigned int))
{
	while (*n > max) {
		double smallest = value(s, seg, 0), v;
		unsigned int worst = 0;

		for (unsigned int i = 1; i < *n; i++) {
			v = value(s, seg, i);
			if (v < smallest) {
				smallest = v;
				worst = i;
			}
		}
		if (smallest >= least)
			break;
		join(seg, n, worst);
	}
}

/* Returns true for few calls beyond a wide gap: strays that only stretch the range. */
static bool cuts_off(const struct peak_scan *s, double strays, double all)
{
	return strays < least_calls(s) && strays <= 0.02 * all;
}

/* Returns the range without empty ends and strays. */
static struct bucket_range trim(const struct profile *p, const struct peak_scan *s,
				const struct peak_segment *seg)
{
	struct bucket_range r = seg->range;
	double all = calls_in(s, r.low, r.high);
	unsigned int gap = 0;

	for (unsigned int i = seg->top.high; i < r.high; i++) {
		gap = p->count[i] ? 0 : gap + 1;
		if (gap >= STRAY_GAP && cuts_off(s, calls_in(s, i, r.high), all))
			r.high = i;
	}
	gap = 0;
	for (unsigned int i = seg->top.low; i > r.low; i--) {
		gap = p->count[i - 1] ? 0 : gap + 1;
		if (gap >= STRAY_GAP && exposure_of(s, i - 1, i - 1 + gap) > STRAY_GAP - 1 &&
		    cuts_off(s, calls_in(s, r.low, i), all))
			r.low = i;
	}
	while (r.low + 1 < r.high && !p->count[r.low])
		r.low++;
	while (r.high > r.low + 1 && !p->count[r.high - 1])
		r.high--;
	return r;
}

/* Returns the densest bucket of the top, averaged with its neighbours, that has calls. */
static unsigned int find_mode(const struct profile *p, const struct peak_scan *s,
			      const struct window *top, struct bucket_range r)
{
	unsigned int reach = 1 + (top->high - top->low) / 4, mode = top->low, from, to;
	double best = -1, calls, exposure, weight;

	for (unsigned int i = top->low; i < top->high; i++) {
		calls = exposure = 0;
		if (!p->count[i])
			continue;
		from = i > r.low + reach ? i - reach : r.low;
		to = i + reach < r.high ? i + reach : r.high - 1;
		for (unsigned int k = from; k <= to; k++) {
			weight = reach + 1 - (k > i ? k - i : i - k);
			calls += weight * (double)p->count[k];
			exposure += weight * exposure_of(s, k, k + 1);
		}
		if (calls > best * exposure) {
			best = calls / exposure;
			mode = i;
		}
	}
	return mode;
}

static unsigned int find(const struct profile *p, struct peak_scan *s, struct peak_span *out,
			 unsigned int max)
{
	struct peak_segment seg[MAX_SEGMENTS];
	unsigned int n = find_tops(s, seg);

	set_ranges(p, s, seg, n);
	join_least(s, seg, &n, 1, least_calls(s), calls_of);
	join_least(s, seg, &n, max, INFINITY, rise);
	for (unsigned int i = 0; i < n; i++) {
		out[i].range = trim(p, s, &seg[i]);
		out[i].mode = find_mode(p, s, &seg[i].top, out[i].range);
		out[i].calls = profile_range_calls(p, out[i].range);
		out[i].prominence = log2(rise(s, seg, i));
	}
	return n;
}

unsigned int peaks_find_seen(const struct profile *p, double share_seen, struct peak_span *out,
			     unsigned int max)
{
	struct peak_scan s;

	if (!max || !scan_init(&s, p, share_seen > 0 && share_seen < 1 ? share_seen : 1))
		return 0;
	return find(p, &s, out, max);
}

unsigned int peaks_find(const struct profile *p, struct peak_span *out, unsigned int max)
{
	return peaks_find_seen(p, 1, out, max);
}

static bool holds(const struct peak_span *span, unsigned int mode)
{
	return mode >= span->range.low && mode < span->range.high;
}

/* Splits the sure peak `whole` into those peaks of weak[0..nr) that it holds. Returns the number of
 * parts; 0 if there are fewer than two. */
static unsigned int held_parts(const struct profile *p, const struct peak_span *whole,
			       const struct peak_span *weak, unsigned int nr, struct peak_span *out)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr && n < PEAKS_TRACKED; i++)
		if (holds(whole, weak[i].mode))
			out[n++] = weak[i];
	if (n < 2)
		return 0;
	out[0].range.low = whole->range.low;
	for (unsigned int i = 0; i + 1 < n; i++)
		out[i].range.high = out[i + 1].range.low;
	out[n - 1].range.high = whole->range.high;
	for (unsigned int i = 0; i < n; i++)
		out[i].calls = profile_range_calls(p, out[i].range);
	return n;
}

unsigned int peaks_find_held(const struct profile *p, const struct peak_span *before,
			     unsigned int nr_before, struct peak_span *out, unsigned int max)
{
	struct peak_span sure[PEAKS_TRACKED], weak[PEAKS_TRACKED], part[PEAKS_TRACKED];
	unsigned int nr_sure, nr_found = 0, nr_weak = 0, nr, n = 0;
	struct peak_scan s;

	max = max < PEAKS_TRACKED ? max : PEAKS_TRACKED;
	nr_sure = peaks_find(p, sure, max);
	if (nr_before > nr_sure && scan_init(&s, p, 1)) {
		s.unsure = HELD_UNSURE;
		s.ease = HELD_FACTOR;
		nr_found = find(p, &s, weak, PEAKS_TRACKED);
	}
	for (unsigned int i = 0; i < nr_found; i++)
		if (any_of(k, nr_before, holds(&weak[i], before[k].mode)))
			weak[nr_weak++] = weak[i];
	for (unsigned int i = 0; i < nr_sure && n < max; i++) {
		nr = held_parts(p, &sure[i], weak, nr_weak, part);
		if (nr < 2 || n + nr + (nr_sure - i - 1) > max) {
			out[n++] = sure[i];
			continue;
		}
		memcpy(&out[n], part, nr * sizeof(*part));
		n += nr;
	}
	return n;
}
