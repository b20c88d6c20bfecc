// SPDX-License-Identifier: GPL-2.0-or-later
/* The peak, or the range of calls, that a descent is about. */
#include "analysis/base/format.h"
#include "tui/report/output_descend.h"

/* If a peak and a range share this fraction of the calls of both, the range is reported as the
 * peak. */
#define SAME_PEAK 0.7
/* If another peak has this part of the time of the one that was chosen, the next run may choose
 * it. */
#define NEARLY_AS_MUCH 0.75

/* The calls in two ranges at once. */
static uint64_t calls_in_both(const struct op *op, struct bucket_range a, struct bucket_range b)
{
	struct bucket_range both = {a.low > b.low ? a.low : b.low,
				    a.high < b.high ? a.high : b.high};

	return both.high > both.low ? profile_range_calls(&op->total, both) : 0;
}

/* The peak that now holds most of the calls in the range `asked`; NULL if no peak holds any. */
static const struct peak *peak_with_most(const struct op *op, struct bucket_range asked)
{
	const struct peak *best = NULL;
	uint64_t most = 0;

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		uint64_t calls = calls_in_both(op, op->peaks[i].range, asked);

		if (calls > most) {
			most = calls;
			best = &op->peaks[i];
		}
	}
	return best;
}

/* The latency of the fullest bucket in a range, as its mode. */
static uint64_t mode_in(const struct profile *p, struct bucket_range range)
{
	unsigned int best = range.low;

	for (unsigned int i = range.low; i < range.high; i++) {
		if (p->count[i] > p->count[best])
			best = i;
	}
	return bucket_low_ns(best, PT_RESOLUTION);
}

/* The shares of calls and time that a range of latencies had when the descent began. Since then,
 * probes may have moved calls out of the range. */
static void shares_of(const struct descend_report *r, const struct op *op,
		      struct bucket_range range, double *calls, double *time)
{
	const struct profile *p = descent_start_profile(driver_descent(r->driver));

	if (!profile_range_calls(p, range))
		p = &op->total;
	*calls = report_share(profile_range_calls(p, range), p->calls);
	*time = report_share(profile_range_sum(p, range), p->sum_ns);
}

/* The same for the range that was asked for: of a part, as in the table of the parts. */
static void asked_shares(const struct descend_report *r, const struct op *op,
			 struct bucket_range range, double *calls, double *time)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	const struct rec_part *part =
	    parts ? &parts->parts[driver_asked(r->driver)->part - 1] : NULL;

	if (!part) {
		shares_of(r, op, range, calls, time);
		return;
	}
	*calls = report_share(part->calls, parts->calls);
	*time = report_share(part->time_ns, parts->time_ns);
}

bool report_peak(const struct descend_report *r, const struct op *op, struct peak *out)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct peak *now;
	struct bucket_range asked;

	if (!ask || !op || ask->high_ns == UINT64_MAX)
		return false;
	asked = (struct bucket_range){.low = pt_bucket(ask->low_ns),
				      .high = pt_bucket(ask->high_ns - 1) + 1};
	now = peak_with_most(op, asked);
	if (!now)
		return false;
	*out = *now;
	asked_shares(r, op, asked, &out->share_of_calls, &out->share_of_time);
	if (now->range.low >= asked.low && now->range.high <= asked.high &&
	    profile_range_calls(&op->total, now->range) == profile_range_calls(&op->total, asked))
		return true;
	/* The peak has changed its range since the descent began: the answer is about the range
	 * that was asked for. */
	out->range = asked;
	out->low_ns = ask->low_ns;
	out->high_ns = ask->high_ns;
	if (out->mode_ns < ask->low_ns || out->mode_ns >= ask->high_ns)
		out->mode_ns = mode_in(&op->total, asked);
	out->calls = profile_range_calls(&op->total, asked);
	out->total_ns = profile_range_sum(&op->total, asked);
	out->rate_hz = now->rate_hz * report_share(out->calls, now->calls);
	out->run_queue_share = out->expected_preempted = out->seen_preempted = -1;
	out->nr_values = out->nr_related = 0;
	return true;
}

/* True if the range that was asked for has nearly the same calls as this peak. If it is only a part
 * of a peak, its latencies are reported instead of the peak's number. */
static bool is_that_peak(const struct descend_report *r, const struct peak *p)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct op *op = model_op_peaks(r->model, r->op);
	struct bucket_range asked = {pt_bucket(ask->low_ns), pt_bucket(ask->high_ns - 1) + 1};
	const struct peak *now = peak_with_most(op, asked);
	double calls;

	if (!now || now->rank != p->rank)
		return false;
	calls = (double)calls_in_both(op, now->range, asked);
	return calls >= SAME_PEAK * (double)profile_range_calls(&op->total, now->range) &&
	       calls >= SAME_PEAK * (double)profile_range_calls(&op->total, asked);
}

/* Begin the sentence of a descent into the slowest calls (no peak). */
static bool slowest_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct op *op = model_op_peaks(r->model, r->op);
	struct bucket_range range;
	double calls, time;

	if (!ask)
		return false;
	range = (struct bucket_range){pt_bucket(ask->low_ns),
				      ask->high_ns == UINT64_MAX ? PT_BUCKETS
								 : pt_bucket(ask->high_ns - 1) + 1};
	if (ask->high_ns == UINT64_MAX)
		buf_printf(out, "calls of %s and more", format_time(ask->low_ns).s);
	else
		buf_printf(out, "calls of %s", format_range(ask->low_ns, ask->high_ns).s);
	if (mean_ns)
		buf_printf(out, ", %s on average", format_time(mean_ns).s);
	if (op && op->total.calls) {
		asked_shares(r, op, range, &calls, &time);
		buf_printf(out, ", %s of calls and %s of time", format_percent(calls).s,
			   format_percent(time).s);
	}
	return true;
}

bool report_peak_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out)
{
	struct peak p;

	if (report_below_measurable(r, mean_ns) ||
	    !report_peak(r, model_op_peaks(r->model, r->op), &p) || !is_that_peak(r, &p))
		return slowest_begin(r, mean_ns, out);
	buf_printf(out, "peak %d, %s, ", peak_name(&p, r->names),
		   format_range(p.low_ns, p.high_ns).s);
	if (mean_ns)
		buf_printf(out, "%s on average, ", format_time(mean_ns).s);
	else
		buf_printf(out, "most at %s, ", format_time(p.mode_ns).s);
	buf_printf(out, "%s of calls and %s of time", format_percent(p.share_of_calls).s,
		   format_percent(p.share_of_time).s);
	return true;
}

bool report_waited(const struct descend_report *r, const char *begin, struct buf *out)
{
	const struct op *op = model_op_peaks(r->model, r->op);
	const struct driver_waited *w = driver_waited(r->driver);
	double calls, time;

	if (!w || !op)
		return false;
	shares_of(r, op, (struct bucket_range){pt_bucket(w->low_ns), PT_BUCKETS}, &calls, &time);
	buf_printf(out,
		   "%scalls of %s and more have %s of the time, and %s of that they waited for a "
		   "CPU: ",
		   begin, format_time(w->low_ns).s, format_percent(time).s,
		   format_percent(w->waited.part).s);
	report_cause(out, &w->waited.most);
	return true;
}

void report_other_peak(const struct descend_report *r, struct buf *out)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct op *op = model_op_peaks(r->model, r->op);
	double calls, time, own = 0, most = 0;
	const struct peak *other = NULL;
	struct bucket_range asked;
	struct text mode;

	if (!ask || !op || ask->choice != DESCENT_MOST_TIME || ask->part)
		return;
	asked = (struct bucket_range){pt_bucket(ask->low_ns),
				      ask->high_ns == UINT64_MAX ? PT_BUCKETS
								 : pt_bucket(ask->high_ns - 1) + 1};
	/* calls that came only later: the peaks that they have left do not come any more */
	if (!profile_range_calls(descent_start_profile(driver_descent(r->driver)), asked))
		return;
	shares_of(r, op, asked, &calls, &own);
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		if (p->range.low < asked.high && p->range.high > asked.low)
			continue;
		shares_of(r, op, p->range, &calls, &time);
		if (time > most) {
			most = time;
			other = p;
		}
	}
	if (!other || most < NEARLY_AS_MUCH * own)
		return;
	buf_printf(out, ". Calls of %s have %s of the time, too: ask for them with --peak ",
		   format_range(other->low_ns, other->high_ns).s, format_percent(most).s);
	mode = format_time(other->mode_ns);
	for (const char *at = mode.s; *at; at++)
		if (*at != ' ')
			buf_putc(out, *at);
}
