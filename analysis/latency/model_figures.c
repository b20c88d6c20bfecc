// SPDX-License-Identifier: GPL-2.0-or-later
/* The figures of an operation beside its peaks, and their errors. */
#include <math.h>

#include "analysis/latency/model_impl.h"

#define INTERVAL_95 1.96
enum { CALLER_LEAST = 3 };

/* Returns the share of the calls that were timed; without calls, the share of the time that was
 * armed. */
static double share_seen(const struct op_state *op)
{
	double all = (double)op->pub.total.calls + (double)op->pub.unseen;
	double share = all > 0 ? (double)op->pub.seen_calls / all
			       : ratio((double)op->armed_ns, (double)op->slices_ns);

	return share > 1 ? 1 : share;
}

/* Returns the latency floor: the lower end of the bucket in which the fastest 0.1% of the calls
 * end, so that a few outliers do not determine it. */
static uint64_t floor_ns(const struct profile *p)
{
	uint64_t sum = 0, low;
	unsigned int i;

	if (!p->calls)
		return 0;
	for (i = 0; i < PT_BUCKETS - 1; i++) {
		sum += p->count[i];
		if (sum && sum >= p->calls / 1000)
			break;
	}
	low = bucket_low_ns(i, PT_RESOLUTION);
	return low > p->min_ns ? low : p->min_ns;
}

static uint64_t whole_number(double x)
{
	return x < 0x1p62 ? (uint64_t)llround(x) : 1ull << 62;
}

/* Returns the relative error of the mean latency if `seen` calls were seen. */
static double mean_error(const struct profile *p, double seen)
{
	double mean = ratio((double)p->sum_ns, (double)p->calls), variance = 0;

	if (seen < 1 || mean <= 0)
		return 0;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		double difference = exp2((i + 0.5) / PT_RESOLUTION) - mean;

		variance += (double)p->count[i] * difference * difference;
	}
	return INTERVAL_95 * sqrt(variance / (double)p->calls / seen) / mean;
}

/* Latencies below a third of the correction are only a quarter of what was measured
 * (bpf/measure.h); latencies that differ by less than their error may as well be equal. */
uint64_t model_blur_ns(const struct op_state *op)
{
	uint64_t third = op->correction_ns / 3;

	if (!op->pub.error_ns)
		return 0;
	return third > op->pub.error_ns ? third : op->pub.error_ns;
}

/* Latencies below three quarters of the correction may as well be 0: in programs, whose caches are
 * colder than those of the calibration, probes take up to 1.75 times as long. */
static uint64_t measurable_ns(const struct op_state *op)
{
	uint64_t blur = model_blur_ns(op), most = op->correction_ns * 3 / 4;

	return blur && blur < most ? most : blur;
}

static void set_measurable(const struct model *m, struct op_state *op)
{
	const struct profile *p = &op->pub.total;

	op->pub.measurable_ns = measurable_ns(op);
	op->pub.correction_ns = op->correction_ns;
	op->pub.ticks = op->ticks;
	op->pub.sampled_share = op->ticks ? (double)op->ticks_in / (double)op->ticks : -1;
	op->pub.below_measurable =
	    op->pub.measurable_ns && p->calls && profile_quantile(p, 0.5) < op->pub.measurable_ns;
	op->pub.time_ns = p->sum_ns;
	if (op->pub.below_measurable && op->ticks)
		op->pub.time_ns = whole_number(op->pub.sampled_share *
					       (double)(m->cost.target_cpu_ns - m->since_cpu_ns));
}

static void set_intervals(const struct model *m, struct op_state *op)
{
	const struct profile *p = &op->pub.total;
	double low = 0, high = 0, of_mean, of_low, of_high;

	op->pub.calls_low = op->pub.calls_high = p->calls;
	op->pub.mean_ns = op->pub.mean_low_ns = op->pub.mean_high_ns =
	    ratio((double)p->sum_ns, (double)p->calls);
	op->pub.total_low_ns = op->pub.total_high_ns = (double)p->sum_ns;
	if (op->scale.gap + op->scale.unknown_ns <= 0 || !p->calls)
		return;
	/* a function may have been armed late; the others are measured from the start */
	op->scale.watched_ns =
	    (double)(op->pub.layer == LAYER_FUNCTION ? op->slices_ns
						     : m->last_tick.end_ns - op->pub.since_ns);
	scale_interval(&op->scale, &low, &high);
	if (whole_number(low) < p->calls)
		op->pub.calls_low = whole_number(low);
	if (whole_number(high) > p->calls)
		op->pub.calls_high = whole_number(high);
	/* the calls that were seen have no sampling error */
	of_mean = mean_error(p, op->scale.seen) * op->scale.gap / (op->scale.gap + op->scale.seen);
	op->pub.mean_low_ns = op->pub.mean_ns * (of_mean < 1 ? 1 - of_mean : 0);
	if (op->pub.mean_low_ns < (double)p->min_ns)
		op->pub.mean_low_ns = (double)p->min_ns;
	op->pub.mean_high_ns = op->pub.mean_ns * (1 + of_mean);
	of_low = hypot(1 - (double)op->pub.calls_low / (double)p->calls, of_mean);
	of_high = hypot((double)op->pub.calls_high / (double)p->calls - 1, of_mean);
	op->pub.total_low_ns = (double)p->sum_ns * (of_low < 1 ? 1 - of_low : 0);
	op->pub.total_high_ns = (double)p->sum_ns * (1 + of_high);
}

/* A thread that is in one call at a time spends no more than the wall time in them. Few long calls
 * in bursts can be scaled up to several times that. */
static void limit_time(const struct model *m, struct op_state *op)
{
	const struct slice *last =
	    op->pub.nr_slices ? &op->pub.slices[op->pub.nr_slices - 1] : NULL;
	double callers = (double)op->callers,
	       most = callers * model_covered_ns(&op->pub, (double)m->elapsed_ns);

	op->pub.most_callers = 0;
	/* if a caller was seen less often, there may be others that were not seen at all */
	if (op->scale.gap <= 0 || !op->callers || op->scale.seen < CALLER_LEAST * callers)
		return;
	if (((double)op->pub.time_ns > most ||
	     (last && (double)last->sum_ns > callers * (double)(last->end_ns - last->start_ns))) &&
	    samples_overlap(&op->samples))
		return;
	op->pub.most_callers = op->callers;
	op->pub.time_ns = whole_number(fmin((double)op->pub.time_ns, most));
	op->pub.total_low_ns = fmin(op->pub.total_low_ns, most);
	op->pub.total_high_ns = fmin(op->pub.total_high_ns, most);
}

void model_set_figures(const struct model *m, struct op_state *op)
{
	op->pub.share_seen = share_seen(op);
	op->pub.floor_ns = floor_ns(&op->pub.total);
	set_intervals(m, op);
	set_measurable(m, op);
	limit_time(m, op);
	op->pub.lock_share = model_lock_share(op);
}

double model_covered_ns(const struct op *op, double elapsed_ns)
{
	double since = (double)op->since_ns;
	const struct slice *last = op->nr_slices ? &op->slices[op->nr_slices - 1] : NULL;

	elapsed_ns = elapsed_ns > since ? elapsed_ns - since : 0;
	if (!last || last->end_ns <= op->slices[0].start_ns)
		return elapsed_ns;
	if (op->share_seen < 1)
		return (double)(last->end_ns - op->slices[0].start_ns);
	if ((op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL) &&
	    (double)op->slices[0].start_ns - since < elapsed_ns)
		return elapsed_ns + since - (double)op->slices[0].start_ns;
	return elapsed_ns;
}

uint64_t model_total_ns(const struct op *op)
{
	double high = op->total_high_ns;

	return op->most_callers && (double)op->total.sum_ns > high ? whole_number(high)
								   : op->total.sum_ns;
}
