// SPDX-License-Identifier: GPL-2.0-or-later
/* A model of a part of the time. The slices of each operation are added up again; everything else
 * is copied, or left out where the past is not known. */
#include "analysis/latency/model_impl.h"

#include "analysis/base/array.h"
#include "analysis/session/record_copy.h"

struct span {
	uint64_t start_ns, end_ns;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Returns the end of a slice that is nearest to a time, if it is known. */
static uint64_t nearest_end(const struct model *m, uint64_t at)
{
	uint64_t n = m->nr_slices < MODEL_TICK_ENDS ? m->nr_slices : MODEL_TICK_ENDS;
	uint64_t best = at, far = model_interval_ns(m) / 2;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t end = m->tick_end[(m->nr_slices - 1 - i) % MODEL_TICK_ENDS];

		if (distance(end, at) <= far) {
			far = distance(end, at);
			best = end;
		}
	}
	return best;
}

/* Returns how much of the slice lies in the span. */
static uint64_t common(const struct span *span, const struct slice *one)
{
	uint64_t from = one->start_ns > span->start_ns ? one->start_ns : span->start_ns,
		 to = one->end_ns < span->end_ns ? one->end_ns : span->end_ns;

	return to > from ? to - from : 0;
}

/* Makes the span longer by the merged slices of which it covers a part. */
static void widen(const struct slices *s, uint64_t interval, struct span *span)
{
	struct span wide = *span;

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct slice *one = &s->slice[i];
		uint64_t length = one->end_ns - one->start_ns, part = common(span, one);

		if (length <= interval + interval / 2)
			continue;
		if (2 * part <= length && 2 * part <= span->end_ns - span->start_ns)
			continue;
		if (one->start_ns < wide.start_ns)
			wide.start_ns = one->start_ns;
		if (one->end_ns > wide.end_ns)
			wide.end_ns = one->end_ns;
	}
	*span = wide;
}

static struct span known_span(const struct model *m, uint64_t start_ns, uint64_t end_ns)
{
	struct span span = {start_ns ? nearest_end(m, start_ns) : 0, nearest_end(m, end_ns)};

	if (span.start_ns < m->since_ns)
		span.start_ns = m->since_ns;
	if (span.end_ns < span.start_ns)
		span.end_ns = span.start_ns;
	for (size_t i = 0; i < m->nr_ops; i++)
		widen(&m->op[i]->slices, model_interval_ns(m), &span);
	return span;
}

static bool is_within(const struct span *span, const struct slice *one)
{
	uint64_t middle = one->start_ns + (one->end_ns - one->start_ns) / 2;

	return middle >= span->start_ns && middle < span->end_ns;
}

/* Returns the latencies of the fastest and the slowest call as far as buckets tell. */
static void extremes(const struct profile *all, const struct slice *one, uint64_t *min_ns,
		     uint64_t *max_ns)
{
	*min_ns = *max_ns = 0;
	if (!one->nr_buckets)
		return;
	*min_ns = bucket_low_ns(one->bucket[0], PT_RESOLUTION);
	*max_ns = bucket_high_ns(one->bucket[one->nr_buckets - 1], PT_RESOLUTION);
	if (*min_ns < all->min_ns)
		*min_ns = all->min_ns;
	if (*max_ns > all->max_ns)
		*max_ns = all->max_ns;
}

/* Counts of the calls that were seen: those that were scaled up, in proportion. */
static void set_seen(struct op_state *op)
{
	const struct profile *total = &op->pub.total;
	double share = ratio((double)op->pub.seen_calls, (double)total->calls);

	for (unsigned int i = 0; i < PT_BUCKETS && total->calls; i++) {
		op->seen.count[i] = (uint64_t)((double)total->count[i] * share + 0.5);
		op->seen.calls += op->seen.count[i];
	}
}

/* The errors of the estimate in this part of the time: what the probes cost is wrong in the same
 * way everywhere, what is chance has a larger part in a shorter time. */
static void set_scale(struct op_state *op, const struct scale *all)
{
	double gap = (double)op->pub.total.calls - (double)op->pub.seen_calls, part;

	op->scale = *all;
	op->scale.seen = (double)op->pub.seen_calls;
	op->scale.gap = gap > 0.5 ? gap : 0;
	part = ratio(op->scale.gap, all->gap);
	op->scale.error = all->error * part;
	op->scale.variance = all->variance * part;
	op->scale.bursts = all->bursts * part;
	op->scale.busy_ns = all->busy_ns * part;
}

/* Copies the samples of the calls that ended in the span. */
static int copy_samples(struct samples *to, const struct samples *from, const struct span *span)
{
	for (unsigned int d = 0; d < PT_DOUBLINGS; d++) {
		for (unsigned int i = 0; i < from->stratum[d].nr; i++) {
			const struct call_sample *c = &from->stratum[d].call[i];
			uint64_t end = c->start_ns + c->latency_ns;

			if (end <= span->start_ns || end > span->end_ns)
				continue;
			if (array_append(to->stratum[d].call, to->stratum[d].nr, to->stratum[d].cap,
					 SAMPLES_PER_DOUBLING, *c))
				return -1;
			to->stratum[d].received++;
			to->nr++;
		}
	}
	return 0;
}

static int copy_slice(struct model *part, struct op_state *op, const struct op_state *from,
		      const struct slice *one)
{
	size_t before = op->slices.bytes;
	uint64_t min_ns, max_ns;

	if (slices_add(&op->slices, one, 0))
		return -1;
	part->slice_bytes += op->slices.bytes - before;
	extremes(&from->pub.total, one, &min_ns, &max_ns);
	model_add_slice(&op->pub.total, one, min_ns, max_ns);
	profile_init(&op->pub.recent);
	model_add_slice(&op->pub.recent, one, min_ns, max_ns);
	op->pub.seen_calls += one->seen;
	op->slices_ns += one->end_ns - one->start_ns;
	op->armed_ns += one->armed_ns;
	return 0;
}

/* The slices whose middle is in the span. Those of an operation that is sampled in bursts have ends
 * of their own: if there is none, take the one that covers most of the span. */
static int copy_slices(struct model *part, struct op_state *op, const struct op_state *from,
		       const struct span *span)
{
	const struct slice *most = NULL;

	for (unsigned int i = 0; i < from->slices.nr; i++) {
		const struct slice *one = &from->slices.slice[i];

		if (is_within(span, one) && copy_slice(part, op, from, one))
			return -1;
		if (common(span, one) && (!most || common(span, one) > common(span, most)))
			most = one;
	}
	if (op->slices.nr || !most || from->scale.gap <= 0)
		return 0;
	return copy_slice(part, op, from, most);
}

static int copy_op(struct model *part, const struct op_state *from, const struct span *span)
{
	struct op_state *op = model_op_like(part, from);

	if (!op || copy_slices(part, op, from, span) ||
	    copy_samples(&op->samples, &from->samples, span))
		return -1;
	part->nr_samples += op->samples.nr;
	op->pub.unseen = (uint64_t)((double)from->pub.unseen * ratio((double)op->pub.seen_calls,
								     (double)from->pub.seen_calls));
	op->pub.adds_up = from->pub.adds_up;
	op->pub.error_ns = from->pub.error_ns;
	op->correction_ns = from->correction_ns;
	op->callers = from->callers;
	set_seen(op);
	set_scale(op, &from->scale);
	op->tracker = from->tracker;
	op->numbers_fixed = from->numbers_fixed;
	op->changed = op->pub.total.calls != 0;
	return 0;
}

/* Ends of slices at equal distances: a reader of the slices allows for small deviations. */
static void set_ticks(struct model *part, const struct span *span)
{
	uint64_t interval = model_interval_ns(part), n = (span->end_ns - span->start_ns) / interval;

	n = n ? n : 1;
	part->nr_slices = n;
	for (uint64_t i = n > MODEL_TICKS ? n - MODEL_TICKS : 0; i < n; i++)
		part->tick_end[i % MODEL_TICK_ENDS] =
		    span->end_ns - (n - 1 - i) * interval + interval / 8;
}

static int copy_host(struct model *part, const struct model *m, const struct span *span)
{
	if ((m->meta && !(part->meta = record_copy(m->meta))) ||
	    (m->phases && !(part->phases = record_copy(m->phases))) ||
	    (m->nr_targets && array_fit(part->target, m->nr_targets, part->cap_targets, SIZE_MAX)))
		return -1;
	for (size_t i = 0; i < m->nr_targets; i++) {
		part->target[i] = m->target[i];
		part->target[i].rec = record_copy(m->target[i].rec);
		if (!part->target[i].rec)
			return -1;
		part->nr_targets++;
	}
	part->constants = m->constants;
	for (size_t i = 0; i < m->nr_constants; i++) {
		part->constant[i] = record_copy(m->constant[i]);
		if (!part->constant[i])
			return -1;
		part->nr_constants++;
	}
	memcpy(part->off, m->off, sizeof(part->off));
	part->all_peaks = m->all_peaks;
	part->since_ns = span->start_ns;
	part->elapsed_ns = span->end_ns;
	part->ticked = true;
	part->last_tick = m->last_tick;
	part->last_tick.end_ns = span->end_ns;
	part->last_tick.start_ns =
	    span->end_ns > model_interval_ns(m) ? span->end_ns - model_interval_ns(m) : 0;
	set_ticks(part, span);
	return event_log_copy(&part->events.log, &m->events.log, span->start_ns, span->end_ns);
}

struct model *model_span(const struct model *m, uint64_t start_ns, uint64_t end_ns)
{
	const struct span span = known_span(m, start_ns, end_ns);
	struct model *part = model_new();
	int err = part ? copy_host(part, m, &span) : -1;

	for (size_t i = 0; !err && i < m->nr_ops; i++)
		err = copy_op(part, m->op[i], &span);
	if (err) {
		model_free(part);
		return NULL;
	}
	for (size_t i = 0; i < part->nr_ops; i++)
		model_peaks_tick(part, part->op[i]);
	part->revision++;
	return part;
}
