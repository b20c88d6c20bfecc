// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/scale.h"

#include <math.h>

#include "analysis/latency/armed.h"
#include "bpf/buckets.h"

/* Relative error of the part of the probes' time that is calibrated and not measured. */
static const double probe_error = 0.05;
/* Relative error of the probes' time in one burst, because the speed of the host varies. */
static const double burst_error = 0.04;
/* Two bursts differ if the CPU time of their calls differs by this fraction of the time
 * that the probes took. */
static const double distinct_share = 0.15;
/* Relative error of the target's own work in bursts: attaching empties caches, and the collector
 * runs beside the target. */
static const double work_error = 0.04;
static const double bucket_error = 0.05; /* of a latency, because buckets have a width */
static const double clock_error = 0.03;	 /* lower limit for the error of any clock */
static const double target_error =
    0.15; /* the CPU time of the whole target is not that of its callers */
/* The spread of the rates that is assumed before two bursts are known: by wall clock, by others. */
static const double wall_spread = 0.3, other_spread = 0.2;
static const double cycle_error =
    0.5; /* of the calls between two sleeps: threads that sleep repeat themselves */
static const double guess_error = 0.3;
static const double most_error = 2.5; /* of a logarithm, if nothing is known */
static const double least_ratio =
    0.3; /* least ratio of the cost of probes to the calibrated cost */
static const double useless_error =
    0.5; /* an estimate with this error is not used beside a better one */
static const double least_call_ns = 1;
/* In a target probes may take up to this multiple of their calibrated cost, because the loop of the
 * calibration keeps the caches warm and other work does not. */
static const double most_ratio = 2;
static const double interval_95 = 1.96;
enum {
	MIN_CALLS = 8,
	MIN_CALLERS_KNOWN = 2,
	OTHERS_FEW = 10,
	SPREAD_ASSUMED = 2, /* differences between bursts for which the assumed spread counts */
};

static double square(double x)
{
	return x * x;
}

/* The time of the probes in a burst, the calibrated part of it that was not timed in the target,
 * the least time of a call without them, and how much more the probes may have taken. */
struct took {
	double all, calibrated, least, more;
};

/* Returns the CPU time from call to call without the probes. */
static double net_of_call(const struct scale_pace *p)
{
	return (p->cpu - p->probes) / p->calls;
}

/* Returns the calls per CPU time without the probes: the geometric middle of the range that the
 * error of the probes' cost allows. If the probes took nearly all, the rest lies between the least
 * that the latencies prove and several times that error. */
static double per_cpu(const struct scale_pace *p, double *error)
{
	double unsure =
	    hypot(probe_error * p->calibrated, burst_error * p->probes / sqrt(p->bursts));
	double net = p->cpu - p->probes, least = fmax(p->least, p->calls * least_call_ns);
	double low = fmax(net - p->more - unsure, least), high = net + unsure;

	if (net < 2 * least)
		high = fmax(high, least + 3 * unsure);
	*error = hypot(log(high / low) / 2, work_error);
	return p->calls / sqrt(low * high);
}

/* Returns the sums of this burst alone, or of all bursts so far if the burst does not differ from
 * them: the errors of single bursts average out, and the rate is the inverse of a small
 * difference. */
static struct scale_pace pace_of(struct scale *s, const struct scale_pace *burst)
{
	struct scale_pace *all = &s->pace;

	all->calls += burst->calls;
	all->cpu += burst->cpu;
	all->probes += burst->probes;
	all->calibrated += burst->calibrated;
	all->least += burst->least;
	all->more += burst->more;
	all->bursts++;
	if (fabs(net_of_call(burst) - net_of_call(all)) >
	    distinct_share * burst->probes / burst->calls)
		return *burst;
	return *all;
}

/* Returns the least latency of three quarters of the calls as it was measured, including the part
 * of the probes inside; 0: not known. */
static double measured_latency(const struct rec_profile *r)
{
	double inside = (double)r->correction_ns, calls = 0, ns;

	for (uint32_t i = 0; i < r->nr_buckets && inside > 0; i++) {
		calls += (double)r->count[i];
		if (calls * 4 < (double)r->calls)
			continue;
		/* corrected latencies are at least a quarter of the measured ones
		 * (bpf/measure.h) */
		ns = exp2((r->bucket[i] + 0.5) / PT_RESOLUTION);
		return ns < inside / 3 ? 4 * ns : ns + inside;
	}
	return 0;
}

/* No call can have been measured as shorter than the part of its own probes between the two clock
 * readings. If the cost of the probes was timed on a helper and not in the target, perhaps while
 * the host was busier, scale it down by as much as most calls were shorter. If it was timed in the
 * target, a longer measured latency proves time of the call itself: half of the way of a pair of
 * probes through the kernel lies between the clock readings. But if it is not longer than
 * `most_ratio` times that part, it may be all probe: then the probes cost more than is known. */
static struct took probes_took(const struct rec_profile *r)
{
	double inside = (double)r->correction_ns, measured = measured_latency(r), half;
	struct took took = {.calibrated = (double)r->probe_ns - (double)r->program_ns};

	if (measured > 0 && !r->program_ns)
		took.calibrated *= fmin(fmax(measured / inside, least_ratio), 1);
	took.all = took.calibrated + (double)r->program_ns;
	half = r->calls ? took.calibrated / (double)r->calls / 2 : 0;
	if (r->program_ns && measured > inside && measured < inside * most_ratio)
		took.more = took.calibrated * (most_ratio - 1);
	/* not if the entry is single-stepped, nor if the calls sleep */
	else if (r->program_ns && half > inside * 0.8 && half < inside * 2 &&
		 r->switch_calls * 10 < r->run_calls)
		took.least = measured * (1 - bucket_error) - half * (1 + probe_error);
	return took;
}

/* Computes the call rates of one burst. */
static struct scale_rates rates_of(struct scale *s, const struct rec_profile *r, double calls)
{
	double paced = (double)r->run_calls + (double)r->switch_calls;
	const struct took took = probes_took(r);
	double probes = took.all;
	double armed = (double)r->armed_ns, slower;
	struct scale_rates rates = {0};

	if (paced >= MIN_CALLS) {
		const double share = paced / fmax(calls, paced);
		struct scale_pace pace = {.calls = paced,
					  .cpu = (double)r->run_ns + (double)r->switch_cpu_ns,
					  .probes = took.all * share,
					  .calibrated = took.calibrated * share,
					  .least = took.least * paced,
					  .more = took.more * share,
					  .bursts = 1};

		rates.cpu_known = true;
		pace = pace_of(s, &pace);
		rates.per_cpu = per_cpu(&pace, &rates.cpu_error);
	}
	if (r->cycles && r->cycle_calls) {
		rates.cycle_known = true;
		rates.per_cycle = (double)r->cycle_calls / (double)r->cycles;
		/* a thread that keeps a schedule skips sleeps when probes slow it down */
		rates.cycle_error = cycle_error / sqrt((double)r->cycles) + fmin(probes / armed, 1);
	}
	if (r->armed_cpu_ns) {
		const struct scale_pace all = {.calls = calls,
					       .cpu = (double)r->armed_cpu_ns,
					       .probes = took.all,
					       .calibrated = took.calibrated,
					       .more = took.more,
					       .bursts = 1};

		rates.all_known = true;
		rates.per_all_cpu = per_cpu(&all, &rates.all_cpu_error);
	}
	/* The slowdown of the target lies between none, if it slept long enough, and all the time
	 * of the probes: the middle may be wrong by more than half of it, because one of the ends
	 * is likelier than the middle. */
	slower = -log(1 - fmin(probes / armed, 0.98));
	/* threads that sleep make up for the delay */
	rates.per_wall = calls / armed * (rates.cycle_known ? 1 : exp(slower / 2));
	rates.wall_error = slower * 2 / 3;
	rates.most_share = (double)r->armed_cpu_ns / armed;
	rates.least_share = fmax((double)r->armed_cpu_ns - (1 + probe_error) * probes, 0) / armed;
	return rates;
}

/* Adds the rate that is used for one more burst: its own, or that of all bursts if they do not
 * differ (pace_of()). Returns the spread of these rates. */
static double spread_add(struct scale_spread *s, double rate, double assumed)
{
	double now = log(rate);

	if (s->bursts++)
		s->squares += square(now - s->last);
	s->last = now;
	return sqrt((SPREAD_ASSUMED * square(assumed) + s->squares / 2) /
		    (SPREAD_ASSUMED + s->bursts - 1));
}

static void spread_rates(struct scale *s, struct scale_rates *r)
{
	if (r->cpu_known)
		r->spread[SCALE_CPU] = spread_add(&s->spread[SCALE_CPU], r->per_cpu, other_spread);
	if (r->cycle_known)
		r->spread[SCALE_CYCLE] =
		    spread_add(&s->spread[SCALE_CYCLE], r->per_cycle, other_spread);
	if (r->all_known)
		r->spread[SCALE_ALL_CPU] =
		    spread_add(&s->spread[SCALE_ALL_CPU], r->per_all_cpu, other_spread);
	r->spread[SCALE_WALL] = spread_add(&s->spread[SCALE_WALL], r->per_wall, wall_spread);
}

/* A weighted mean of estimates in logarithms. Each has an error of chance and one that is the same
 * in all bursts. */
struct estimate {
	double log_sum, weight, log_error_sum;
	double best_log, best_weight; /* the one with the smallest error */
};

static void estimate_add(struct estimate *e, double value, double same, double chance)
{
	double weight = 1 / (square(same) + square(chance) + square(clock_error));

	e->log_sum += weight * log(fmax(value, 0.01));
	e->log_error_sum += weight * same;
	e->weight += weight;
	if (weight > e->best_weight) {
		e->best_weight = weight;
		e->best_log = log(fmax(value, 0.01));
	}
}

/* Returns the mean of the estimates. Adds to *same their mean error, and the distance of the mean
 * from the best estimate. */
static double estimate_take(const struct estimate *e, double *same)
{
	double mean = e->log_sum / e->weight, value = exp(mean);

	*same += value * (e->log_error_sum / e->weight + fabs(mean - e->best_log));
	return value;
}

/* Returns true if most threads that called in the burst were known from the previous burst. */
static bool callers_known(const struct rec_profile *r, double calls)
{
	double paced = (double)r->run_calls + (double)r->switch_calls;
	/* the first call of a thread in a burst ends no interval of the burst */
	double first = fmax(calls - paced, (double)r->gaps);

	return r->gaps && first <= MIN_CALLERS_KNOWN * (double)r->gaps;
}

/* Returns the error of the wall clock for a gap of `ns` in which the target had `cpu` of CPU time.
 * If the target does the same as before, its share of a CPU lies between that of a burst without
 * the probes and with them; beyond that, the error grows. */
static double wall_misleads(const struct scale_rates *rates, double ns, double cpu)
{
	double share = fmax(cpu / fmax(ns, 1), 1e-4);

	if (!rates->all_known)
		return rates->wall_error;
	if (share > rates->most_share)
		return rates->wall_error + log(share / fmax(rates->most_share, 1e-4));
	if (share < rates->least_share)
		return rates->wall_error + log(rates->least_share / share);
	return rates->wall_error;
}

/* Estimates the calls by the wall clock and the CPU time of the target. `by_cpu` is an estimate by
 * the clocks of the threads with a large error; negative: none. */
static double gap_by_wall(const struct scale_rates *rates, const struct rec_profile *r,
			  double by_cpu, double *same)
{
	double gap = (double)(r->end_ns - r->start_ns - r->armed_ns), cpu;
	struct estimate e = {0};

	*same = 0;
	cpu = r->cpu_ns > r->armed_cpu_ns ? (double)(r->cpu_ns - r->armed_cpu_ns) : 0;
	estimate_add(&e, gap * rates->per_wall, wall_misleads(rates, gap, cpu),
		     rates->spread[SCALE_WALL]);
	if (by_cpu >= 0)
		estimate_add(&e, by_cpu, rates->cpu_error, rates->spread[SCALE_CPU]);
	else if (rates->all_known)
		estimate_add(&e, cpu * rates->per_all_cpu, rates->all_cpu_error,
			     hypot(target_error, rates->spread[SCALE_ALL_CPU]));
	return estimate_take(&e, same);
}

/* Estimates the calls of threads that sleep, by their CPU time and by their sleeps. The two differ
 * if the threads slept more or less often per call than in the burst, as when they make up for a
 * delay: then neither is exact. */
static void sleepers_calls(const struct scale_rates *rates, const struct rec_profile *r, double cpu,
			   struct estimate *e)
{
	double by_cpu = cpu * rates->per_cpu, by_cycle = (double)r->gap_sleeps * rates->per_cycle,
	       apart = 0;

	if (rates->cycle_known && by_cpu > 0)
		apart = fmax(fabs(log(by_cycle / by_cpu)) - rates->cpu_error, 0);
	if (!rates->cycle_known || rates->cpu_error < useless_error)
		estimate_add(e, by_cpu, rates->cpu_error, hypot(apart, rates->spread[SCALE_CPU]));
	if (rates->cycle_known)
		estimate_add(e, by_cycle, 0,
			     hypot(hypot(rates->cycle_error, apart), rates->spread[SCALE_CYCLE]));
}

/* Returns the calls of the gap by the rates of one burst; *same is the error that is shared with
 * other bursts. */
static double gap_by(const struct scale_rates *rates, const struct rec_profile *r, double calls,
		     double *same)
{
	double paced = (double)r->run_calls + (double)r->switch_calls, gap_calls = 0, missing = 1;
	double sleepers = (double)r->gap_sleeper_cpu_ns, others = (double)r->gap_cpu_ns - sleepers;
	double gap = (double)(r->end_ns - r->start_ns - r->armed_ns);
	struct estimate e = {0};

	*same = 0;
	if (rates->cpu_known && callers_known(r, calls)) {
		missing = fmax(calls - paced, (double)r->gaps) / (double)r->gaps;
		gap_calls = fmax(others, 0) * rates->per_cpu;
		*same = gap_calls * rates->cpu_error;
		if (!r->gap_sleeps && rates->cpu_error < useless_error)
			return missing * (gap_calls + sleepers * rates->per_cpu);
		if (!r->gap_sleeps)
			return gap_by_wall(rates, r,
					   missing * (gap_calls + sleepers * rates->per_cpu), same);
		sleepers_calls(rates, r, sleepers, &e);
		/* threads with a schedule also keep it in a burst */
		if (others * OTHERS_FEW < sleepers)
			estimate_add(&e, gap * rates->per_wall / missing,
				     wall_misleads(rates, gap, (double)r->gap_cpu_ns),
				     rates->spread[SCALE_WALL]);
		return missing * (gap_calls + estimate_take(&e, same));
	}
	return gap_by_wall(rates, r, -1, same);
}

/* Returns the calls of the gap by the CPU time of a call with its probes in it. Probes only slow a
 * target down: there were at least as many calls. */
static double least_of_gap(const struct rec_profile *r, double calls)
{
	double paced = (double)r->run_calls + (double)r->switch_calls;
	double cpu = (double)r->run_ns + (double)r->switch_cpu_ns;

	if (paced >= MIN_CALLS && cpu > 0 && callers_known(r, calls))
		return (double)r->gap_cpu_ns * paced / cpu;
	return 0;
}

double scale_gap(struct scale *s, const struct rec_profile *rec, uint64_t seen)
{
	double calls = (double)seen, now, before, same, same_before, chance;
	struct scale_rates rates;

	s->seen += calls;
	if (!seen || rec->armed_ns < ARMED_MIN_NS)
		return 0;
	rates = rates_of(s, rec, calls);
	spread_rates(s, &rates);
	if (rec->end_ns - rec->start_ns <= rec->armed_ns) {
		s->last = rates;
		s->has_last = true;
		return 0;
	}
	now = before = gap_by(&rates, rec, calls, &same);
	if (s->has_last && s->last.cpu_known == rates.cpu_known) {
		before = gap_by(&s->last, rec, calls, &same_before);
		same = (same + same_before) / 2;
	}
	s->last = rates;
	s->has_last = true;
	/* a difference between two neighbouring bursts is chance, or a change of the target */
	chance = fmin(fabs(log(fmax(now, 0.01) / fmax(before, 0.01))), 2 * most_error) / 2;
	now = (now + before) / 2;
	s->bursts++;
	s->busy_ns += (double)(rec->end_ns - rec->start_ns);
	s->gap += now;
	s->least += fmin(least_of_gap(rec, calls), now);
	s->error += same;
	s->variance += square(now) * (square(chance) + 1 / calls + square(clock_error));
	return now;
}

double scale_tail(struct scale *s, uint64_t ns, uint64_t cpu_ns)
{
	const struct scale_rates *rates = &s->last;
	struct estimate e = {0};
	double same = 0, calls;

	if (!s->has_last)
		return -1;
	estimate_add(&e, (double)ns * rates->per_wall,
		     wall_misleads(rates, (double)ns, (double)cpu_ns), rates->spread[SCALE_WALL]);
	if (rates->cpu_known && !rates->cycle_known)
		estimate_add(&e, (double)cpu_ns * rates->per_cpu, rates->cpu_error,
			     hypot(target_error, rates->spread[SCALE_CPU]));
	else if (rates->all_known)
		estimate_add(&e, (double)cpu_ns * rates->per_all_cpu, rates->all_cpu_error,
			     hypot(target_error, rates->spread[SCALE_ALL_CPU]));
	calls = estimate_take(&e, &same);
	s->gap += calls;
	s->error += same;
	s->variance += square(calls * guess_error);
	return calls;
}

void scale_guess(struct scale *s, uint64_t calls)
{
	s->gap += (double)calls;
	s->variance += square((double)calls * guess_error);
}

void scale_unknown(struct scale *s, uint64_t ns)
{
	s->unknown_ns += (double)ns;
}

void scale_interval(const struct scale *s, double *low, double *high)
{
	double share, chance, rare = 0;

	*low = *high = s->seen;
	*high += s->unknown_ns / least_call_ns;
	if (s->gap <= 0)
		return;
	/* the number of bursts that see calls which come all at once is a matter of chance */
	if (s->watched_ns > s->busy_ns && s->bursts > 0)
		rare = interval_95 * sqrt((1 - s->busy_ns / s->watched_ns) / s->bursts);
	share = fmin(interval_95 * sqrt(square(s->error) + s->variance) / s->gap,
		     interval_95 * 2 * most_error);
	chance = interval_95 * sqrt(s->variance) / s->gap;
	*low += fmax(s->gap * exp(-share), s->least * exp(-chance)) * fmax(1 - rare, 0);
	*high += s->gap * exp(share) * (1 + rare);
}
