// SPDX-License-Identifier: GPL-2.0-or-later
/* Peaks of an operation and what is said of them. */
#include "analysis/latency/model_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/period.h"

void model_peaks_tick(struct op_state *op)
{
	if (!op->changed)
		return;
	op->nr_spans = peaks_find(&op->pub.total, op->span, MODEL_MAX_PEAKS);
	peaks_tracker_update(&op->tracker, op->span, op->nr_spans, op->id);
	op->changed = false;
	op->version++;
}

/* Time over which the operation was watched, armed or not. */
static uint64_t observed_ns(const struct model *m, const struct op_state *op)
{
	uint64_t since = 0;

	/* Functions are armed when asked for; the other layers are watched from the start. */
	if ((op->pub.layer == LAYER_FUNCTION || op->pub.layer == LAYER_KERNEL) && op->slices.nr)
		since = op->slices.slice[0].start_ns;
	return m->elapsed_ns > since ? m->elapsed_ns - since : 0;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void fill_peak(const struct model *m, const struct op_state *op, struct peak *p,
		      const struct peak_span *span)
{
	const struct profile *total = &op->pub.total;
	bool block = op->pub.layer == LAYER_BLOCK;

	p->range = span->range;
	p->low_ns = bucket_low_ns(span->range.low, PT_RESOLUTION);
	p->high_ns = bucket_high_ns(span->range.high - 1, PT_RESOLUTION);
	p->mode_ns = (uint64_t)llround(exp2((span->mode + 0.5) / PT_RESOLUTION));
	p->calls = profile_range_calls(total, span->range);
	p->total_ns = profile_range_sum(total, span->range);
	p->share_of_calls = ratio((double)p->calls, (double)total->calls);
	p->share_of_time = ratio((double)p->total_ns, (double)total->sum_ns);
	p->rate_hz = ratio((double)p->calls * 1e9, (double)observed_ns(m, op));
	p->run_queue_share = -1;
	p->expected_preempted = -1;
	p->seen_preempted = -1;
	p->period_near = "";
	p->near = (block ? constants_near_block : constants_near)(&m->constants, p->low_ns,
								  p->high_ns, p->mode_ns);
}

/*
 * Between ticks the peaks are those that a tick at this moment would give: on
 * a copy of the tracker, so that asking changes nothing.
 */
static void set_peaks(const struct model *m, struct op_state *op)
{
	struct peak_span span[MODEL_MAX_PEAKS];
	struct peak_tracker tracker;
	int id[MODEL_MAX_PEAKS];
	unsigned int n = op->nr_spans;

	if (op->changed) {
		tracker = op->tracker;
		n = peaks_find(&op->pub.total, span, MODEL_MAX_PEAKS);
		peaks_tracker_update(&tracker, span, n, id);
	} else {
		memcpy(span, op->span, sizeof(span));
		memcpy(id, op->id, sizeof(id));
	}
	memset(op->peak, 0, sizeof(op->peak));
	for (unsigned int i = 0; i < n; i++) {
		op->peak[i].rank = (int)i + 1;
		op->peak[i].id = id[i];
		fill_peak(m, op, &op->peak[i], &span[i]);
	}
	op->pub.peaks = op->peak;
	op->pub.nr_peaks = n;
}

/* Share of all calls that were timed; of the time, while there are no calls. */
static double share_seen(const struct op_state *op)
{
	double all = (double)op->pub.total.calls + (double)op->pub.unseen;
	double share = all > 0 ? (double)op->pub.seen_calls / all
			       : ratio((double)op->armed_ns, (double)op->slices_ns);

	return share > 1 ? 1 : share;
}

/*
 * The latency floor: where the lowest thousandth of the calls ends, in whole
 * buckets, so that a few outliers (or a clock's) do not make it.
 */
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

void model_refresh(const struct model *m, struct op_state *op)
{
	if (op->shown_version == op->version && op->shown_revision == m->revision)
		return;
	op->pub.slices = op->slices.slice;
	op->pub.nr_slices = op->slices.nr;
	op->pub.open_calls = op->open ? op->open->call : NULL;
	op->pub.nr_open_calls = op->open ? op->open->nr : 0;
	op->pub.share_seen = share_seen(op);
	op->pub.floor_ns = floor_ns(&op->pub.total);
	set_peaks(m, op);
	op->shown_version = op->version;
	op->shown_revision = m->revision;
}

/* Slices in which a period is looked for, at most: the latest in which the peak is. */
enum { PERIOD_SLICES = 256 };

static bool in_range(uint64_t ns, struct bucket_range range)
{
	unsigned int b = pt_bucket(ns);

	return b >= range.low && b < range.high;
}

/*
 * The period of a peak: from when its sampled calls began, or, when that says
 * nothing and the peak is absent from most slices, from the slices that it is in.
 */
static double peak_period(const struct model *m, const struct op_state *op, const struct peak *p,
			  const struct call_sample *const *call, unsigned int nr_calls,
			  uint64_t *at)
{
	const struct slices *s = &op->slices;
	uint64_t interval = m->last_tick.end_ns - m->last_tick.start_ns;
	unsigned int n = 0;
	double period;

	for (unsigned int i = 0; i < nr_calls; i++)
		if (in_range(call[i]->latency_ns, p->range))
			at[n++] = call[i]->start_ns;
	period = period_find(at, n, 0);
	if (period > 0 || !interval)
		return period;
	n = 0;
	for (unsigned int i = s->nr; i-- > 0 && n < PERIOD_SLICES;) {
		const struct slice *slice = &s->slice[i];
		bool there = false;

		/* The one that is not complete yet; then merged ones, which are too coarse. */
		if (slice->end_ns > m->last_tick.end_ns)
			continue;
		if (slice->end_ns - slice->start_ns > interval + interval / 2)
			break;
		for (unsigned int k = 0; k < slice->nr_buckets && !there; k++)
			there =
			    slice->bucket[k] >= p->range.low && slice->bucket[k] < p->range.high;
		if (there)
			at[n++] = slice->start_ns;
	}
	if (!n || n > (m->last_tick.end_ns - at[n - 1]) / interval / 2)
		return 0;
	return period_find(at, n, interval);
}

static void set_period(const struct model *m, struct peak *p, double period)
{
	uint64_t ns = (uint64_t)llround(period);

	p->period_ns = period;
	if (ns)
		p->period_near = constants_near(&m->constants, ns, ns, ns);
}

static int find_values(const struct model *m, struct op_state *op)
{
	unsigned int n = op->samples.nr;
	size_t room = n > PERIOD_SLICES ? n : PERIOD_SLICES;
	const struct call_sample **call = malloc((n + 1) * sizeof(struct call_sample *));
	double *weight = malloc((n + 1) * sizeof(*weight));
	uint64_t *at = malloc(room * sizeof(*at));
	struct value_table *table = NULL;
	int err = -ENOMEM;

	if (!call || !weight || !at)
		goto out;
	samples_list(&op->samples, &op->pub.total, call, weight);
	model_preemption(m, op, call, weight, n);
	for (unsigned int i = 0; i < op->pub.nr_peaks; i++)
		set_period(m, &op->peak[i], peak_period(m, op, &op->peak[i], call, n, at));
	table = value_table_new(call, weight, n, op->pub.layer, op->pub.name);
	if (!table)
		goto out;
	for (unsigned int i = 0; i < op->pub.nr_peaks; i++)
		values_find(table, op->peak[i].range, &op->answer->values[i]);
	err = 0;
out:
	value_table_free(table);
	free(at);
	free(weight);
	free(call);
	return err;
}

int model_answer(struct model *m, struct op_state *op)
{
	unsigned int nr_related[MODEL_MAX_PEAKS] = {0};
	int err;

	model_refresh(m, op);
	if (!op->answer)
		op->answer = calloc(1, sizeof(*op->answer));
	if (!op->answer)
		return -ENOMEM;
	if (op->answer->made && op->answer->version == op->version &&
	    op->answer->revision == m->revision)
		return 0;
	op->answer->made = false;
	for (unsigned int i = 0; i < MODEL_MAX_PEAKS; i++)
		op->answer->values[i].nr = 0;
	err = find_values(m, op);
	if (!err)
		err = model_related(m, op, nr_related);
	for (unsigned int i = 0; i < op->pub.nr_peaks; i++) {
		op->peak[i].nr_values = op->answer->values[i].nr;
		op->peak[i].values = op->answer->values[i].value;
		op->peak[i].nr_related = nr_related[i];
		op->peak[i].related = op->answer->related[i];
	}
	op->answer->version = op->version;
	op->answer->revision = m->revision;
	op->answer->made = !err;
	return err;
}
