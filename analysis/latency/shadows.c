// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/array.h"
#include "analysis/latency/shadows_impl.h"

#include <math.h>

enum {
	MUCH_SMALLER = 12, /* page faults: the other peak must have this many times the calls */
	SMALLER = 3,	   /* interrupts: the other peak must have this many times the calls */
	MIN_SAMPLES = 2,   /* fewer samples cannot judge a peak */
	/* neighbouring buckets that are used to find the share of disturbed calls */
	CLEAN_REACH = 2,
};
/* A peak is a shadow if this share of its calls belongs to other peaks. An interrupt alone leaves
 * no trace in a sample. Therefore calls are left out of the sum if they never left the CPU and
 * exceed those of a larger peak by at most the time of an interrupt; `min_share_all` is the least
 * share of all calls. */
static const double min_share = 0.5, min_share_all = 0.2;
/* The calls of a peak may all have been delayed without a trace if at most this share of them, and
 * of their time in calls that slept, cannot be explained so. A few calls that ran for milliseconds
 * do not count by their time: the hypervisor may have kept the CPU. */
static const double untraced_rest = 0.2;
/* The rest of a peak, without the calls that belong to others, is a peak of its own if it has these
 * shares of the peak, of the calls and of the time (REST_CALLS, REST_TIME). If it has fewer calls,
 * it needs a share of the time without the waits. */
static const double rest_share = 0.05, rest_own_time = 0.1;
/* The speed of a CPU varies (frequency, the other thread of its core): two peaks of computation
 * that differ by less than `speed` are one. Cold caches add microseconds to some calls: a peak of
 * few calls may differ by up to `cold`. */
static const double speed = 1.6, computes = 0.9, cold = 2.2, cold_ns = 3e3, cold_calls = 0.2;
/* Two peaks whose calls differ by less than this factor without their waits are one. */
static const double same_own = 1.3;

/* The core of a peak: the buckets with at least this share of the density at its mode. */
static const double core_density = 0.1;

/* Properties of all peaks. */
struct peaks_known {
	const struct peak_span *span;
	unsigned int n;
	struct bucket_range core[PEAKS_TRACKED]; /* ranges without the tails, in which calls of
						    other peaks may lie */
	double sleeps[PEAKS_TRACKED];		 /* mean number of sleeps of a call */
	double own_ns; /* time of all sampled calls without the waits, weighted */
	const struct shadow_verdict *verdict;
	const struct weighted_calls *calls;
	double page_fault_ns;
};

/* A call that was disturbed by the host does not sleep more often than others. */
static const double more_sleeps = 2, spare_sleeps = 0.5;

/* Sums over the samples of one peak. */
struct shadow_tally {
	double weight;
	/* weight and time of calls that may have met an interrupt */
	double interrupted, interrupted_ns;
	double lands[PEAKS_TRACKED]; /* weight of calls that belong to each peak */
	/* weight of the calls of other peaks, by the cause of their delay */
	double faults, waits, interrupts;
	double own;		/* weight of its own calls that met no interrupt */
	double own_ns;		/* their time without the waits */
	double slept_ns;	/* time of its own calls that slept */
	unsigned int nr_own;	/* number of these samples */
	double oncpu, oncpu_of; /* where known: time on a CPU or waiting for one, and latency */
	/* calls that belong to no peak: sum of log2 of their own time, and weight */
	double log_own, moved;
	unsigned int nr;
};

/* Returns the mean count about bucket `i` of a peak. */
static double around(const struct profile *p, const struct peak_span *s, unsigned int i)
{
	unsigned int low = i > s->range.low ? i - 1 : i,
		     high = i + 2 < s->range.high ? i + 2 : s->range.high;

	return (double)profile_range_calls(p, (struct bucket_range){low, high}) / (high - low);
}

static struct bucket_range core_of(const struct profile *p, const struct peak_span *s)
{
	struct bucket_range core = {s->mode, s->mode + 1};
	double least = core_density * around(p, s, s->mode);

	while (core.low > s->range.low && around(p, s, core.low - 1) >= least)
		core.low--;
	while (core.high < s->range.high && around(p, s, core.high) >= least)
		core.high++;
	return core;
}

/* Returns the peak to which a call of peak `self` belongs. Of the lower peaks that it may come
 * from, this is the one with most time, because it was disturbed most often. Else `self`, if
 * possible; else -1. A call that slept is not moved by the cost of the wait alone. */
static int owner_of(const struct peaks_known *k, unsigned int self, const struct call_sample *c,
		    const struct own_time *o)
{
	unsigned int low = bucket_of(o->low), high = bucket_of(o->high);
	const struct peak_span *span = k->span;
	int best = -1;

	if (!o->moved || (o->waits && high >= span[self].range.low))
		return (int)self;
	for (unsigned int i = 0; i < self; i++) {
		if (k->verdict[i].of >= 0 || k->core[i].high <= low || k->core[i].low > high)
			continue;
		if ((c->known & SAMPLE_SWITCHES) &&
		    c->sleeps > more_sleeps * k->sleeps[i] + spare_sleeps)
			continue;
		if (o->faults && span[i].calls < MUCH_SMALLER * span[self].calls)
			continue;
		if (best < 0 || peak_time(&span[i]) > peak_time(&span[best]))
			best = (int)i;
	}
	if (best < 0 && (o->faults || high >= span[self].range.low))
		return (int)self;
	return best;
}

/* Returns true if an interrupt may have moved this call to peak `self` from a larger peak. */
static bool may_be_interrupted(const struct peaks_known *k, unsigned int self,
			       const struct call_sample *c)
{
	const struct peak_span *span = k->span;
	double undisturbed = (double)c->latency_ns -
			     (k->page_fault_ns >= SLOW_FAULT_NS ? UNTRACED_PAGES_NS : UNTRACED_NS);

	if (!(c->known & SAMPLE_SWITCHES) || c->sleeps || call_preemptions(c))
		return false;
	return any_of(i, self,
		      span[i].calls >= SMALLER * span[self].calls &&
			  span[i].range.high > bucket_of(undisturbed));
}

static void add_own(struct shadow_tally *t, double weight, const struct call_sample *c,
		    const struct own_time *o)
{
	if (c->known & SAMPLE_SWITCHES && c->sleeps)
		t->slept_ns += weight * o->high;
	t->own += weight;
	t->own_ns += weight * o->high;
	t->nr_own++;
}

static void add(struct shadow_tally *t, const struct peaks_known *k, unsigned int self,
		const struct call_sample *c, double weight)
{
	struct own_time o = call_own_time(c);
	int owner;

	if (c->known & SAMPLE_ONCPU) {
		t->oncpu += weight * (double)(c->oncpu_ns + c->runqueue_ns);
		t->oncpu_of += weight * (double)c->latency_ns;
	}
	/* Ignore a call whose undisturbed latency may be anything. */
	if (o.moved && o.low <= 1 && o.high >= (double)c->latency_ns)
		return;
	owner = owner_of(k, self, c, &o);
	t->nr++;
	t->weight += weight;
	if (owner < 0) {
		t->moved += weight;
		t->log_own += weight * log2(fmax(o.high, 1));
		return;
	}
	t->lands[owner] += weight;
	if (owner == (int)self) {
		if (!may_be_interrupted(k, self, c)) {
			add_own(t, weight, c, &o);
			return;
		}
		t->interrupted += weight;
		t->interrupted_ns += weight * o.high;
		return;
	}
	t->faults += o.faults ? weight : 0;
	t->waits += o.waits ? weight : 0;
	t->interrupts += o.interrupts ? weight : 0;
}

static enum peak_fold reason(const struct shadow_tally *t, double others)
{
	if (2 * t->faults > others)
		return PEAK_FAULTS;
	if (2 * t->waits > others)
		return PEAK_RUNQUEUE;
	return 2 * t->interrupts > others ? PEAK_INTERRUPTED : PEAK_PREEMPTED;
}

static double all_time(const struct peaks_known *k)
{
	double time = 0;

	for (unsigned int i = 0; i < k->n; i++)
		time += peak_time(&k->span[i]);
	return time;
}

/* Returns true if nearly all calls of a peak may have been delayed without a trace. */
static bool may_be_untraced(const struct shadow_tally *t)
{
	return t->nr >= MIN_SAMPLES && t->own + t->moved <= untraced_rest * t->weight &&
	       2 * t->interrupted >= t->weight &&
	       t->slept_ns <= untraced_rest * (t->slept_ns + t->interrupted_ns);
}

static void judge_untraced(const struct shadow_tally *t, const struct peaks_known *k,
			   unsigned int self, struct shadow_verdict *out)
{
	const struct untraced_peak p = {.span = k->span,
					.verdict = k->verdict,
					.self = self,
					.share_of_time = peak_time(&k->span[self]) / all_time(k)};
	int of = may_be_untraced(t) ? untraced_owner(&p, k->calls, k->page_fault_ns) : -1;

	*out = (struct shadow_verdict){of, PEAK_UNTRACED};
}

/* Returns true if the own calls of a peak are a peak, although the rest of its calls belongs to
 * others: they are not rare, or they are rare and hold much of the time that is the program's
 * own. */
static bool has_own_peak(const struct shadow_tally *t, const struct peaks_known *k,
			 unsigned int self)
{
	double calls = 0, time = all_time(k), rest = t->own / t->weight;

	for (unsigned int i = 0; i < k->n; i++)
		calls += (double)k->span[i].calls;
	if (rest < rest_share || rest * peak_time(&k->span[self]) < REST_TIME * time)
		return false;
	return rest * (double)k->span[self].calls >= REST_CALLS * calls ||
	       (t->nr_own >= HIDDEN_CALLS && t->own_ns >= rest_own_time * k->own_ns);
}

static void judge(const struct shadow_tally *t, const struct peaks_known *k, unsigned int self,
		  struct shadow_verdict *out)
{
	double others = 0, best = 0;
	int of = -1;

	for (unsigned int i = 0; i < self; i++) {
		others += t->lands[i];
		if (t->lands[i] > best) {
			best = t->lands[i];
			of = (int)i;
		}
	}
	if (of < 0 || t->nr < MIN_SAMPLES || others <= min_share_all * t->weight ||
	    others <= min_share * (t->weight - t->interrupted))
		judge_untraced(t, k, self, out);
	else if (has_own_peak(t, k, self))
		out->of = -1;
	else
		*out = (struct shadow_verdict){of, reason(t, others)};
}

static void add_sleeps(struct peaks_known *k, const struct weighted_calls *calls)
{
	double known[PEAKS_TRACKED] = {0};

	for (unsigned int c = 0; c < calls->nr; c++) {
		const struct call_sample *call = calls->call[c];
		unsigned int bucket = pt_bucket(call->latency_ns);

		for (unsigned int i = 0; i < k->n && (call->known & SAMPLE_SWITCHES); i++) {
			if (bucket < k->span[i].range.low || bucket >= k->span[i].range.high)
				continue;
			known[i] += calls->weight[c];
			k->sleeps[i] += calls->weight[c] * call->sleeps;
		}
	}
	for (unsigned int i = 0; i < k->n; i++)
		k->sleeps[i] = known[i] > 0 ? k->sleeps[i] / known[i] : 0;
}

static double oncpu_share(const struct shadow_tally *t)
{
	return t->oncpu_of > 0 ? t->oncpu / t->oncpu_of : 0;
}

static bool is_another_speed(const struct peak_span *a, const struct peak_span *b, double blur_ns)
{
	double factor = mode_ns(b) / mode_ns(a), more = mode_ns(b) - mode_ns(a);

	if (factor <= speed || more <= blur_ns)
		return true;
	return factor <= cold && more <= cold_ns &&
	       (double)b->calls <= cold_calls * (double)a->calls;
}

/* Joins neighbouring peaks that compute and are nearly as long, or differ by less than what can be
 * measured: the smaller is the larger at another CPU speed. */
static void join_speeds(const struct peak_span *span, const struct shadow_tally *tally,
			unsigned int n, double blur_ns, struct shadow_verdict *out)
{
	for (unsigned int i = 0; i + 1 < n; i++) {
		unsigned int smaller = span[i].calls < span[i + 1].calls ? i : i + 1;

		if (out[i].of >= 0 || out[i + 1].of >= 0 ||
		    !is_another_speed(&span[i], &span[i + 1], blur_ns) ||
		    oncpu_share(&tally[i]) < computes || oncpu_share(&tally[i + 1]) < computes)
			continue;
		out[smaller].of = (int)(2 * i + 1 - smaller);
		out[smaller].why = PEAK_SPEED;
	}
}

/* Joins peaks whose calls were nearly all disturbed, belong to no peak, and have the same time of
 * their own. */
static void join_orphans(const struct shadow_tally *tally, unsigned int n,
			 struct shadow_verdict *out)
{
	for (unsigned int i = 1; i < n; i++) {
		if (out[i].of >= 0 || tally[i].nr < MIN_SAMPLES ||
		    tally[i].moved <= min_share * tally[i].weight)
			continue;
		for (unsigned int k = 0; k < i; k++) {
			const struct shadow_tally *a = &tally[k], *b = &tally[i];

			if (a->moved <= min_share * a->weight || a->nr < MIN_SAMPLES)
				continue;
			if (fabs(a->log_own / a->moved - b->log_own / b->moved) > log2(same_own))
				continue;
			out[i] = (struct shadow_verdict){out[k].of >= 0 ? out[k].of : (int)k,
							 PEAK_PREEMPTED};
			break;
		}
	}
}

/* Makes the peak with most calls, among a peak and its shadows, the main one. */
static void choose_leaders(const struct peak_span *span, unsigned int n, struct shadow_verdict *out)
{
	for (unsigned int i = 0; i < n; i++)
		while (out[i].of >= 0 && out[out[i].of].of >= 0)
			out[i].of = out[out[i].of].of;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int leader = i;

		if (out[i].of >= 0)
			continue;
		for (unsigned int k = i + 1; k < n; k++)
			if (out[k].of == (int)i && span[k].calls > 2 * span[leader].calls)
				leader = k;
		if (leader == i)
			continue;
		for (unsigned int k = 0; k < n; k++)
			if (out[k].of == (int)i)
				out[k].of = (int)leader;
		out[i] = (struct shadow_verdict){(int)leader, out[leader].why};
		out[leader].of = -1;
	}
}

void shadows_find(const struct profile *seen, const struct peak_span *span, unsigned int n,
		  const struct weighted_calls *calls, const struct shadow_host *host,
		  struct shadow_verdict *out)
{
	struct shadow_tally tally[PEAKS_TRACKED];
	struct peaks_known known = {
	    .span = span, .verdict = out, .calls = calls, .page_fault_ns = host->page_fault_ns};
	unsigned int bucket;

	if (n > PEAKS_TRACKED)
		n = PEAKS_TRACKED;
	memset(tally, 0, sizeof(tally));
	known.n = n;
	for (unsigned int i = 0; i < n; i++) {
		known.core[i] = core_of(seen, &span[i]);
		out[i] = (struct shadow_verdict){-1, PEAK_LISTED};
	}
	add_sleeps(&known, calls);
	for (unsigned int c = 0; c < calls->nr; c++)
		known.own_ns += calls->weight[c] * call_own_time(calls->call[c]).high;
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int c = 0; c < calls->nr; c++) {
			bucket = pt_bucket(calls->call[c]->latency_ns);
			if (bucket >= span[i].range.low && bucket < span[i].range.high)
				add(&tally[i], &known, i, calls->call[c], calls->weight[c]);
		}
		judge(&tally[i], &known, i, &out[i]);
	}
	join_orphans(tally, n, out);
	choose_leaders(span, n, out);
	join_speeds(span, tally, n, host->blur_ns, out);
	for (unsigned int i = 0; i < n; i++)
		while (out[i].of >= 0 && out[out[i].of].of >= 0)
			out[i].of = out[out[i].of].of;
}

/* Returns true if the host moved this call of peak `self` out of the core of that peak or of a
 * lower one. */
static bool is_displaced(const struct peaks_known *k, unsigned int self,
			 const struct call_sample *c)
{
	struct own_time o = call_own_time(c);
	unsigned int bucket = pt_bucket(c->latency_ns), low = bucket_of(o.low),
		     high = bucket_of(o.high);

	if (!o.moved || o.faults)
		return false;
	for (unsigned int i = 0; i <= self; i++)
		if (bucket >= k->core[i].high && k->core[i].high > low && k->core[i].low <= high &&
		    (!(c->known & SAMPLE_SWITCHES) ||
		     c->sleeps <= more_sleeps * k->sleeps[i] + spare_sleeps))
			return true;
	return false;
}

void shadows_clean(const struct profile *seen, const struct peak_span *span, unsigned int n,
		   const struct weighted_calls *calls, struct profile *clean)
{
	double all[PT_BUCKETS + 1] = {0}, gone[PT_BUCKETS + 1] = {0};
	struct peaks_known known = {.span = span, .n = n < PEAKS_TRACKED ? n : PEAKS_TRACKED};
	unsigned int bucket, low, high;

	for (unsigned int i = 0; i < known.n; i++)
		known.core[i] = core_of(seen, &span[i]);
	add_sleeps(&known, calls);
	for (unsigned int c = 0; c < calls->nr; c++) {
		bucket = pt_bucket(calls->call[c]->latency_ns);
		all[bucket] += calls->weight[c];
		for (unsigned int i = 0; i < known.n; i++)
			if (bucket >= span[i].range.low && bucket < span[i].range.high &&
			    is_displaced(&known, i, calls->call[c]))
				gone[bucket] += calls->weight[c];
	}
	profile_init(clean);
	for (unsigned int b = 0; b < PT_BUCKETS; b++) {
		double of = 0, less = 0;

		low = b > CLEAN_REACH ? b - CLEAN_REACH : 0;
		high = b + CLEAN_REACH < PT_BUCKETS ? b + CLEAN_REACH : PT_BUCKETS - 1;
		for (unsigned int i = low; i <= high && seen->count[b]; i++) {
			of += all[i];
			less += gone[i];
		}
		clean->count[b] =
		    (uint64_t)llround((double)seen->count[b] * (of > 0 ? 1 - less / of : 1));
		clean->calls += clean->count[b];
	}
}
