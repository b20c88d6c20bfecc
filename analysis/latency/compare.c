// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/compare.h"

#include <math.h>

#include "analysis/base/array.h"
#include "analysis/latency/compare_impl.h"
#include "analysis/latency/emd.h"

void compare_options_init(struct compare_options *o)
{
	*o = (struct compare_options){
	    .min_share = 0.002,
	    .min_calls = 20,
	    .rate_factor = 2,
	    .tolerance = 0.25,
	    .min_moved = 0.05,
	    .min_emd = 0.8,
	    .peak_factor = 2,
	    .min_peak_calls = 0.005,
	    .min_peak_time = 0.05,
	    .sigmas = 4,
	};
}

void compare_add_reason(struct compare_pair *pair, struct compare_reason reason)
{
	if (pair->nr_reasons < COMPARE_MAX_REASONS)
		pair->reason[pair->nr_reasons++] = reason;
}

static void side_init(struct compared_profile *s, const struct compare_item *item)
{
	const struct profile *p = item->profile;
	double sum = 0;

	*s = (struct compared_profile){.profile = p, .share_seen = 1};
	if (item->share_seen > 0 && item->share_seen < 1)
		s->share_seen = item->share_seen;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		s->weighted += (double)p->count[i];
		s->time += (double)p->count[i] * exp2((i + 0.5) / PT_RESOLUTION);
	}
	s->seen = s->weighted * s->share_seen;
	for (unsigned int i = 0; i < PT_BUCKETS && s->weighted > 0; i++) {
		sum += (double)p->count[i];
		s->cumulative[i + 1] = sum / s->weighted;
	}
}

static int clamp(int bucket)
{
	return bucket < 0 ? 0 : bucket > PT_BUCKETS ? PT_BUCKETS : bucket;
}

double side_share(const struct compared_profile *s, int low, int high)
{
	return s->cumulative[clamp(high)] - s->cumulative[clamp(low)];
}

double side_time_share(const struct compared_profile *s, int low, int high)
{
	double time = 0;

	for (int i = clamp(low); i < clamp(high); i++)
		time += (double)s->profile->count[i] * exp2((i + 0.5) / PT_RESOLUTION);
	return s->time > 0 ? time / s->time : 0;
}

bool shares_differ(double a, double na, double b, double nb, double sigmas)
{
	double p = (a * na + b * nb) / (na + nb);

	/* assume at least half a call: a share of 0 is not exact either */
	p = fmin(fmax(p, 0.5 / (na + nb)), 1 - 0.5 / (na + nb));
	return fabs(a - b) > sigmas * sqrt(p * (1 - p) * (1 / na + 1 / nb));
}

/* Returns the largest share of calls that moved up by more than `drift` buckets between `from` and
 * `to`. */
static double moved_up(const struct compared_profile *from, const struct compared_profile *to,
		       int drift)
{
	double most = 0;

	for (int i = 0; i <= PT_BUCKETS; i++)
		most = fmax(most, from->cumulative[i] - to->cumulative[clamp(i + drift)]);
	return most;
}

static double chi_square(const struct compared_profile *a, const struct compared_profile *b)
{
	double sum = 0, x, y;

	for (int i = 0; i < PT_BUCKETS; i++) {
		x = side_share(a, i, i + 1);
		y = side_share(b, i, i + 1);
		if (x + y > 0)
			sum += (x - y) * (x - y) / (x + y);
	}
	return sum / 2;
}

/* Returns log2 of the ratio of b to a, each divided by its elapsed time if both times are known. */
static double log_ratio(double a, double elapsed_a, double b, double elapsed_b)
{
	if (a <= 0 || b <= 0)
		return a > 0 ? -INFINITY : b > 0 ? INFINITY : 0;
	if (elapsed_a <= 0 || elapsed_b <= 0)
		elapsed_a = elapsed_b = 1;
	return log2(b / elapsed_b / (a / elapsed_a));
}

static int drift_of(const struct compare_options *o)
{
	return (int)lround(fmin(o->tolerance, 2) * PT_RESOLUTION);
}

static void measure(const struct compared_profile *a, const struct compared_profile *b,
		    double elapsed_a, double elapsed_b, const struct compare_options *o,
		    struct compare_metrics *m)
{
	m->emd = emd_profiles(a->profile, b->profile);
	m->emd_noise = emd_noise(a->profile, b->profile, a->seen, b->seen);
	m->calls = log_ratio(a->weighted, elapsed_a, b->weighted, elapsed_b);
	m->latency = log_ratio(a->time, elapsed_a, b->time, elapsed_b);
	if (a->weighted <= 0 || b->weighted <= 0)
		return;
	m->chi_square = chi_square(a, b);
	m->slower = moved_up(a, b, drift_of(o));
	m->faster = moved_up(b, a, drift_of(o));
}

/* --- the three phases for one pair */

static void call_reasons(struct compare_pair *pair, const struct compared_profile *a,
			 const struct compared_profile *b, double elapsed_a, double elapsed_b,
			 const struct compare_options *o)
{
	bool rates = elapsed_a > 0 && elapsed_b > 0;
	struct compare_reason r = {
	    .kind = a->weighted <= 0   ? COMPARE_APPEARED
		    : b->weighted <= 0 ? COMPARE_VANISHED
				       : COMPARE_CALLS,
	    .before = a->weighted / (rates ? elapsed_a / 1e9 : 1),
	    .after = b->weighted / (rates ? elapsed_b / 1e9 : 1),
	};

	if (r.kind == COMPARE_CALLS &&
	    (fabs(pair->metrics.calls) < log2(o->rate_factor) ||
	     fabs(pair->metrics.calls) * M_LN2 < o->sigmas * sqrt(1 / a->seen + 1 / b->seen)))
		return;
	compare_add_reason(pair, r);
}

static bool plainly_alike(const struct compare_metrics *m)
{
	return fabs(m->calls) < 0.15 && fabs(m->latency) < 0.08 && m->emd < 0.02;
}

/* Phase 3: returns true if the profiles differ by more than the limits and by more than noise. */
static bool metrics_differ(const struct compared_profile *a, const struct compared_profile *b,
			   const struct compare_options *o, const struct compare_metrics *m)
{
	/* Kolmogorov-Smirnov bound for the same probability as `sigmas` of a normal variable */
	double noise = 0.57 * o->sigmas * sqrt(1 / a->seen + 1 / b->seen);

	if (fmax(m->slower, m->faster) > fmax(o->min_moved, noise))
		return true;
	return m->emd > fmax(o->min_emd, o->sigmas * m->emd_noise);
}

static void judge(struct compare_pair *pair, const struct compared_profile *a,
		  const struct compared_profile *b, double elapsed_a, double elapsed_b,
		  const struct compare_options *o)
{
	const struct compare_metrics *m = &pair->metrics;

	pair->phase = COMPARE_PREFILTER;
	if (a->seen < o->min_calls && b->seen < o->min_calls) {
		pair->verdict = a->seen > 0 || b->seen > 0 ? COMPARE_TOO_FEW : COMPARE_SAME;
		return;
	}
	call_reasons(pair, a, b, elapsed_a, elapsed_b, o);
	if (a->weighted > 0 && b->weighted > 0 && !plainly_alike(m)) {
		unsigned int nr = pair->nr_reasons;

		compare_peaks(a, b, o, pair);
		pair->phase = COMPARE_PEAKS;
		if (pair->nr_reasons == nr) {
			pair->phase = COMPARE_METRIC;
			if (metrics_differ(a, b, o, m))
				compare_shape(a, b, drift_of(o), pair);
		}
	}
	pair->verdict = pair->nr_reasons ? COMPARE_CHANGED : COMPARE_SAME;
}

static void compare_one(struct compare_pair *pair, const struct compare_item *before,
			const struct compare_item *after, double elapsed_a, double elapsed_b,
			const struct compare_options *o)
{
	static const struct profile none;
	static const struct compare_item absent = {.name = "", .profile = &none, .share_seen = 1};
	struct compared_profile a, b;

	side_init(&a, before ? before : &absent);
	side_init(&b, after ? after : &absent);
	*pair = (struct compare_pair){
	    .name = before ? before->name : after->name,
	    .before = before,
	    .after = after,
	};
	measure(&a, &b, elapsed_a, elapsed_b, o, &pair->metrics);
	judge(pair, &a, &b, elapsed_a, elapsed_b, o);
	pair->score = fmin(pair->metrics.emd, 8) + fmin(fabs(pair->metrics.calls), 8);
}

void compare_profiles(const struct compare_item *before, const struct compare_item *after,
		      uint64_t elapsed_before_ns, uint64_t elapsed_after_ns,
		      const struct compare_options *o, struct compare_pair *out)
{
	struct compare_options standard;

	compare_options_init(&standard);
	compare_one(out, before, after, (double)elapsed_before_ns, (double)elapsed_after_ns,
		    o ? o : &standard);
}

struct set_totals {
	double time, calls;
};

static struct set_totals totals_of(const struct compare_set *s)
{
	struct set_totals t = {0};
	struct compared_profile side;

	for (unsigned int i = 0; i < s->nr; i++) {
		side_init(&side, &s->item[i]);
		t.time += side.time;
		t.calls += side.weighted;
	}
	return t;
}

/* Returns the share that an item has of the latency or of the calls of its set, whichever is
 * larger. Raises *time to its share of the latency. */
static double share_of(const struct compare_item *item, struct set_totals t, double *time)
{
	struct compared_profile side;
	double share;

	if (!item)
		return 0;
	side_init(&side, item);
	share = t.time > 0 ? side.time / t.time : 0;
	*time = fmax(*time, share);
	return fmax(share, t.calls > 0 ? side.weighted / t.calls : 0);
}

static int by_name(const void *a, const void *b)
{
	const struct compare_item *x = *(const struct compare_item *const *)a;
	const struct compare_item *y = *(const struct compare_item *const *)b;

	return strcmp(x->name, y->name);
}

static int by_score(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;
	bool cx = x->verdict == COMPARE_CHANGED, cy = y->verdict == COMPARE_CHANGED;

	return descending(cx, cy) ?: descending(x->score, y->score) ?: strcmp(x->name, y->name);
}

static const struct compare_item **sorted(const struct compare_set *s)
{
	const struct compare_item **item = calloc(s->nr ? s->nr : 1, sizeof(*item));

	if (!item)
		return NULL;
	for (unsigned int i = 0; i < s->nr; i++)
		item[i] = &s->item[i];
	qsort(item, s->nr, sizeof(*item), by_name);
	return item;
}

static void rate(struct compare_pair *pair, struct set_totals before, struct set_totals after,
		 const struct compare_options *o)
{
	double time = 0, share;

	share = share_of(pair->before, before, &time);
	share = fmax(share, share_of(pair->after, after, &time));
	if (share < o->min_share && pair->verdict != COMPARE_TOO_FEW) {
		pair->verdict = COMPARE_NEGLIGIBLE;
		pair->phase = COMPARE_PREFILTER;
		pair->nr_reasons = 0;
	}
	/* weight a difference by the share of time that it concerns */
	pair->score *= time;
}

/* The time that an item covers, 0: unknown. */
static double covered(const struct compare_item *item, const struct compare_set *set)
{
	return (double)(set->elapsed_ns && item && item->elapsed_ns ? item->elapsed_ns
								    : set->elapsed_ns);
}

static void compare_sorted(const struct compare_set *before, const struct compare_item **a,
			   const struct compare_set *after, const struct compare_item **b,
			   const struct compare_options *o, struct compare_result *out)
{
	struct set_totals ta = totals_of(before), tb = totals_of(after);
	const struct compare_item *in_a, *in_b;
	unsigned int i = 0, j = 0;
	struct compare_pair *pair;
	int order;

	while (i < before->nr || j < after->nr) {
		if (i == before->nr || j == after->nr)
			order = i == before->nr ? 1 : -1;
		else
			order = by_name(&a[i], &b[j]);
		pair = &out->pair[out->nr++];
		in_a = order <= 0 ? a[i] : NULL;
		in_b = order >= 0 ? b[j] : NULL;
		compare_one(pair, in_a, in_b, covered(in_a, before), covered(in_b, after), o);
		rate(pair, ta, tb, o);
		out->nr_changed += pair->verdict == COMPARE_CHANGED;
		i += order <= 0;
		j += order >= 0;
	}
	qsort(out->pair, out->nr, sizeof(*out->pair), by_score);
}

int compare_sets(const struct compare_set *before, const struct compare_set *after,
		 const struct compare_options *o, struct compare_result *out)
{
	const struct compare_item **a = sorted(before), **b = sorted(after);
	struct compare_options standard;
	int err = 0;

	compare_options_init(&standard);
	*out = (struct compare_result){.rates = before->elapsed_ns && after->elapsed_ns};
	out->pair = calloc((size_t)before->nr + after->nr + 1, sizeof(*out->pair));
	if (a && b && out->pair) {
		compare_sorted(before, a, after, b, o ? o : &standard, out);
	} else {
		free(out->pair);
		out->pair = NULL;
		err = -ENOMEM;
	}
	free(a);
	free(b);
	return err;
}

void compare_release(struct compare_result *r)
{
	free(r->pair);
	*r = (struct compare_result){0};
}
