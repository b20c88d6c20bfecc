// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/shadows_impl.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/*
 * Cost of a disturbance beyond the measured time: two context switches, cold caches, and the
 * interrupt that caused it.
 */
static const double per_preemption_ns = 60e3, per_wait_ns = 30e3, per_fault_ns = 8e3;
/* Interrupts are measured from the start of their handler to its end: entry and exit are added. */
static const double per_interrupts_ns = 25e3;
/*
 * A call that was preempted more often may owe them at most this share of its own time. Otherwise
 * many preemptions would make a long call one of any shorter peak.
 */
static const double most_cost = 0.75;
enum {
	FEW_PREEMPTIONS = 4, /* preemptions of one call whose cost may be all of its own time */
	MAX_FAULTS = 4,	     /* a call with more page faults caused them by its own work */
	/* page faults: the other peak must have this many times the calls */
	MUCH_SMALLER = 12,
	SMALLER = 3,	 /* interrupts: the other peak must have this many times the calls */
	MIN_SAMPLES = 2, /* fewer samples cannot judge a peak */
	/* neighbouring buckets that are used to find the share of disturbed calls */
	CLEAN_REACH = 2,
};
/* A wait for a CPU with a smaller share of the latency does not move a call to another peak. */
static const double min_wait = 0.02;
/*
 * A peak is a shadow if this share of its calls belongs to other peaks. An interrupt alone leaves
 * no trace in a sample. Therefore calls are left out of the sum if they never left the CPU and
 * exceed those of a larger peak by at most the time of an interrupt; `min_share_all` is the least
 * share of all calls.
 */
static const double min_share = 0.5, min_share_all = 0.2, interrupt_ns = 60e3;
/*
 * The rest of a peak, without the calls that belong to others, is a peak of its own if it has these
 * shares of the peak, of the calls and of the time (REST_CALLS, REST_TIME). If it has fewer calls,
 * it needs a share of the time without the waits.
 */
static const double rest_share = 0.05, rest_own_time = 0.1;
/*
 * The speed of a CPU varies (frequency, the other thread of its core): two peaks of computation
 * that differ by less than `speed` are one. Cold caches add microseconds to some calls: a peak of
 * few calls may differ by up to `cold`.
 */
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
};

/* A call that was disturbed by the host does not sleep more often than others. */
static const double more_sleeps = 2, spare_sleeps = 0.5;

/* Sums over the samples of one peak. */
struct tally {
	double weight;
	double interrupted;	     /* weight of calls that may have met an interrupt */
	double lands[PEAKS_TRACKED]; /* weight of calls that belong to each peak */
	/* weight of the calls of other peaks, by the cause of their delay */
	double faults, waits, interrupts;
	double own;		/* weight of its own calls that met no interrupt */
	double own_ns;		/* their time without the waits */
	unsigned int nr_own;	/* number of these samples */
	double oncpu, oncpu_of; /* where known: time on a CPU or waiting for one, and latency */
	/* calls that belong to no peak: sum of log2 of their own time, and weight */
	double log_own, moved;
	unsigned int nr;
};

/* The latency of a call without the disturbance lies between these. */
struct own {
	double low, high;
	bool moved, faults, waits, interrupts;
};

/* Returns the most that preemptions may have added to `own`, the time without the waits. */
static double preemption_cost(unsigned int preemptions, double own)
{
	double few = per_preemption_ns * fmin(preemptions, FEW_PREEMPTIONS);

	return fmax(few, fmin(per_preemption_ns * preemptions, most_cost * own));
}

static struct own own_time(const struct call_sample *c)
{
	double latency = (double)c->latency_ns, wait = 0;
	struct own o = {.high = latency};
	unsigned int preemptions = 0;

	if (c->known & SAMPLE_RUNQUEUE)
		wait = fmin((double)c->runqueue_ns, latency);
	if (c->known & SAMPLE_SWITCHES)
		preemptions = call_preemptions(c);
	o.waits = !preemptions && wait > min_wait * latency;
	o.moved = preemptions || o.waits;
	if (o.moved) {
		o.high -= wait;
		o.low = o.high - preemption_cost(preemptions, o.high) - (o.waits ? per_wait_ns : 0);
		/* the wait of a preempted call is not always known */
		if (preemptions && !(c->known & SAMPLE_RUNQUEUE))
			o.low = 0;
		else if (c->known & SAMPLE_INTERRUPTS)
			o.low -= fmin((double)c->interrupt_ns, latency);
	} else if ((c->known & SAMPLE_INTERRUPTS) && c->interrupt_ns) {
		o.moved = o.interrupts = true;
		o.high -= fmin((double)c->interrupt_ns, latency);
		o.low = o.high - per_interrupts_ns;
	} else if ((c->known & SAMPLE_FAULTS) && c->minor_faults && c->minor_faults <= MAX_FAULTS &&
		   !c->major_faults) {
		o.moved = o.faults = true;
		o.low = latency - per_fault_ns * c->minor_faults;
	}
	o.low = fmax(o.low, 1);
	return o;
}

static unsigned int bucket_of(double ns)
{
	return pt_bucket((uint64_t)fmax(ns, 1));
}

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

/*
 * Returns the peak to which a call of peak `self` belongs. Of the lower peaks that it may come
 * from, this is the one with most time, because it was disturbed most often. Else `self`, if
 * possible; else -1. A call that slept is not moved by the cost of the wait alone.
 */
static int owner_of(const struct peaks_known *k, unsigned int self, const struct call_sample *c,
		    const struct own *o)
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
static bool may_be_interrupted(const struct peak_span *span, unsigned int self,
			       const struct call_sample *c)
{
	double undisturbed = (double)c->latency_ns - interrupt_ns;

	if (!(c->known & SAMPLE_SWITCHES) || c->sleeps || call_preemptions(c))
		return false;
	for (unsigned int i = 0; i < self; i++)
		if (span[i].calls >= SMALLER * span[self].calls &&
		    span[i].range.high > bucket_of(undisturbed))
			return true;
	return false;
}

static void add_own(struct tally *t, double weight, const struct own *o)
{
	t->own += weight;
	t->own_ns += weight * o->high;
	t->nr_own++;
}

static void add(struct tally *t, const struct peaks_known *k, unsigned int self,
		const struct call_sample *c, double weight)
{
	struct own o = own_time(c);
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
		if (may_be_interrupted(k->span, self, c))
			t->interrupted += weight;
		else
			add_own(t, weight, &o);
		return;
	}
	t->faults += o.faults ? weight : 0;
	t->waits += o.waits ? weight : 0;
	t->interrupts += o.interrupts ? weight : 0;
}

static enum peak_fold reason(const struct tally *t, double others)
{
	if (2 * t->faults > others)
		return PEAK_FAULTS;
	if (2 * t->waits > others)
		return PEAK_RUNQUEUE;
	return 2 * t->interrupts > others ? PEAK_INTERRUPTED : PEAK_PREEMPTED;
}

/*
 * Returns true if the own calls of a peak are a peak, although the rest of its calls belongs to
 * others: they are not rare, or they are rare and hold much of the time that is the program's own.
 */
static bool has_own_peak(const struct tally *t, const struct peaks_known *k, unsigned int self)
{
	double calls = 0, time = 0, rest = t->own / t->weight;

	for (unsigned int i = 0; i < k->n; i++) {
		calls += (double)k->span[i].calls;
		time += peak_time(&k->span[i]);
	}
	if (rest < rest_share || rest * peak_time(&k->span[self]) < REST_TIME * time)
		return false;
	return rest * (double)k->span[self].calls >= REST_CALLS * calls ||
	       (t->nr_own >= HIDDEN_CALLS && t->own_ns >= rest_own_time * k->own_ns);
}

static void judge(const struct tally *t, const struct peaks_known *k, unsigned int self,
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
	out->of = -1;
	if (of < 0 || t->nr < MIN_SAMPLES || others <= min_share_all * t->weight ||
	    others <= min_share * (t->weight - t->interrupted))
		return;
	if (has_own_peak(t, k, self))
		return;
	out->of = of;
	out->why = reason(t, others);
}

static void add_sleeps(struct peaks_known *k, const struct call_sample *const *call,
		       const double *weight, unsigned int nr_calls)
{
	double known[PEAKS_TRACKED] = {0};

	for (unsigned int c = 0; c < nr_calls; c++) {
		unsigned int bucket = pt_bucket(call[c]->latency_ns);

		for (unsigned int i = 0; i < k->n && (call[c]->known & SAMPLE_SWITCHES); i++) {
			if (bucket < k->span[i].range.low || bucket >= k->span[i].range.high)
				continue;
			known[i] += weight[c];
			k->sleeps[i] += weight[c] * call[c]->sleeps;
		}
	}
	for (unsigned int i = 0; i < k->n; i++)
		k->sleeps[i] = known[i] > 0 ? k->sleeps[i] / known[i] : 0;
}

static double oncpu_share(const struct tally *t)
{
	return t->oncpu_of > 0 ? t->oncpu / t->oncpu_of : 0;
}

static double mode_ns(const struct peak_span *s)
{
	return exp2((s->mode + 0.5) / PT_RESOLUTION);
}

static bool is_another_speed(const struct peak_span *a, const struct peak_span *b)
{
	double factor = mode_ns(b) / mode_ns(a);

	if (factor <= speed)
		return true;
	return factor <= cold && mode_ns(b) - mode_ns(a) <= cold_ns &&
	       (double)b->calls <= cold_calls * (double)a->calls;
}

/*
 * Joins neighbouring peaks that compute and are nearly as long: the smaller is the larger at
 * another CPU speed.
 */
static void join_speeds(const struct peak_span *span, const struct tally *tally, unsigned int n,
			struct shadow_verdict *out)
{
	for (unsigned int i = 0; i + 1 < n; i++) {
		unsigned int smaller = span[i].calls < span[i + 1].calls ? i : i + 1;

		if (out[i].of >= 0 || out[i + 1].of >= 0 ||
		    !is_another_speed(&span[i], &span[i + 1]) ||
		    oncpu_share(&tally[i]) < computes || oncpu_share(&tally[i + 1]) < computes)
			continue;
		out[smaller].of = (int)(2 * i + 1 - smaller);
		out[smaller].why = PEAK_SPEED;
	}
}

/*
 * Joins peaks whose calls were nearly all disturbed, belong to no peak, and have the same time of
 * their own.
 */
static void join_orphans(const struct tally *tally, unsigned int n, struct shadow_verdict *out)
{
	for (unsigned int i = 1; i < n; i++) {
		if (out[i].of >= 0 || tally[i].nr < MIN_SAMPLES ||
		    tally[i].moved <= min_share * tally[i].weight)
			continue;
		for (unsigned int k = 0; k < i; k++) {
			const struct tally *a = &tally[k], *b = &tally[i];

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
		  const struct call_sample *const *call, const double *weight,
		  unsigned int nr_calls, struct shadow_verdict *out)
{
	struct tally tally[PEAKS_TRACKED];
	struct peaks_known known = {.span = span, .verdict = out};
	unsigned int bucket;

	if (n > PEAKS_TRACKED)
		n = PEAKS_TRACKED;
	memset(tally, 0, sizeof(tally));
	known.n = n;
	for (unsigned int i = 0; i < n; i++) {
		known.core[i] = core_of(seen, &span[i]);
		out[i] = (struct shadow_verdict){-1, PEAK_LISTED};
	}
	add_sleeps(&known, call, weight, nr_calls);
	for (unsigned int c = 0; c < nr_calls; c++)
		known.own_ns += weight[c] * own_time(call[c]).high;
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int c = 0; c < nr_calls; c++) {
			bucket = pt_bucket(call[c]->latency_ns);
			if (bucket >= span[i].range.low && bucket < span[i].range.high)
				add(&tally[i], &known, i, call[c], weight[c]);
		}
		judge(&tally[i], &known, i, &out[i]);
	}
	join_orphans(tally, n, out);
	choose_leaders(span, n, out);
	join_speeds(span, tally, n, out);
	for (unsigned int i = 0; i < n; i++)
		while (out[i].of >= 0 && out[out[i].of].of >= 0)
			out[i].of = out[out[i].of].of;
}

/*
 * Returns true if the host moved this call of peak `self` out of the core of that peak or of a
 * lower one.
 */
static bool is_displaced(const struct peaks_known *k, unsigned int self,
			 const struct call_sample *c)
{
	struct own o = own_time(c);
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
		   const struct call_sample *const *call, const double *weight,
		   unsigned int nr_calls, struct profile *clean)
{
	double all[PT_BUCKETS + 1] = {0}, gone[PT_BUCKETS + 1] = {0};
	struct peaks_known known = {.span = span, .n = n < PEAKS_TRACKED ? n : PEAKS_TRACKED};
	unsigned int bucket, low, high;

	for (unsigned int i = 0; i < known.n; i++)
		known.core[i] = core_of(seen, &span[i]);
	add_sleeps(&known, call, weight, nr_calls);
	for (unsigned int c = 0; c < nr_calls; c++) {
		bucket = pt_bucket(call[c]->latency_ns);
		all[bucket] += weight[c];
		for (unsigned int i = 0; i < known.n; i++)
			if (bucket >= span[i].range.low && bucket < span[i].range.high &&
			    is_displaced(&known, i, call[c]))
				gone[bucket] += weight[c];
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
