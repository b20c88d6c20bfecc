// SPDX-License-Identifier: GPL-2.0-or-later
/* The peaks of an operation and their properties. */
#include "analysis/latency/model_impl.h"

#include <math.h>

#include "analysis/latency/period.h"

/* A listed peak is folded only if it is clearly below the limits. */
static const double rare_calls = 0.005, rare_time = 0.01, rare_held = 0.9;

/* All present peaks. */
struct present_peaks {
	unsigned int nr;
	struct peak_span span[MODEL_MAX_PEAKS];
	int id[MODEL_MAX_PEAKS];
	bool listed[MODEL_MAX_PEAKS];
	struct shadow_verdict shadow[MODEL_MAX_PEAKS];
};

/* Splits peaks that disturbed calls join, numbers all peaks, and finds the shadows. */
static void find_shadows(const struct model *m, const struct op_state *op,
			 struct peak_tracker *tracker, struct present_peaks *f)
{
	const struct shadow_host host = {
	    .blur_ns = (double)model_blur_ns(op),
	    .page_fault_ns = (double)model_constant_ns(m, "page fault"),
	};
	struct weighted_calls calls;
	struct profile clean;

	for (unsigned int i = 0; i < MODEL_MAX_PEAKS; i++)
		f->shadow[i] = (struct shadow_verdict){-1, PEAK_LISTED};
	samples_list(&op->samples, &op->pub.total, &calls);
	if (calls.nr) {
		shadows_clean(&op->seen, f->span, f->nr, &calls, &clean);
		f->nr = shadows_split(&op->seen, &clean, f->span, f->nr, MODEL_MAX_PEAKS);
	}
	peaks_tracker_update(tracker, f->span, f->nr, f->id);
	if (calls.nr)
		shadows_find(&op->seen, f->span, f->nr, &calls, &host, f->shadow);
	weighted_calls_release(&calls);
}

static bool was_listed(const struct op_state *op, int id)
{
	for (unsigned int i = 0; i < op->nr_spans; i++)
		if (op->id[i] == id)
			return op->listed[i];
	return false;
}

static bool is_rare(const struct op_state *op, const struct peak_span *span, int id)
{
	const struct profile *total = &op->pub.total;
	double limit = was_listed(op, id) ? rare_held : 1;

	return ratio((double)profile_range_calls(total, span->range), (double)total->calls) <
		   rare_calls * limit &&
	       ratio((double)profile_range_sum(total, span->range), (double)total->sum_ns) <
		   rare_time * limit;
}

/* Finds peaks in the unscaled counts, because noise in scaled-up counts looks like peaks. */
static void find_peaks(const struct model *m, const struct op_state *op,
		       struct peak_tracker *tracker, struct present_peaks *f)
{
	f->nr = peaks_find_held(&op->seen, op->span, op->nr_spans, f->span, MODEL_MAX_PEAKS);
	find_shadows(m, op, tracker, f);
	for (unsigned int i = 0; i < f->nr; i++)
		f->listed[i] = f->shadow[i].of < 0 && !is_rare(op, &f->span[i], f->id[i]);
}

/* Numbers the listed peaks, by latency, if the numbers are fixed already. */
static void number_peaks(struct op_state *op)
{
	for (unsigned int i = 0; op->numbers_fixed && i < op->nr_spans; i++)
		if (op->listed[i])
			peaks_tracker_number(&op->tracker, op->id[i]);
}

void model_fix_numbers(struct op_state *op)
{
	if (op->numbers_fixed)
		return;
	op->numbers_fixed = true;
	number_peaks(op);
}

void model_peaks_tick(const struct model *m, struct op_state *op)
{
	struct present_peaks f;

	if (!op->changed)
		return;
	find_peaks(m, op, &op->tracker, &f);
	op->nr_spans = f.nr;
	memcpy(op->span, f.span, sizeof(op->span));
	memcpy(op->id, f.id, sizeof(op->id));
	memcpy(op->listed, f.listed, sizeof(op->listed));
	memcpy(op->shadow, f.shadow, sizeof(op->shadow));
	number_peaks(op);
	op->changed = false;
	op->version++;
}

/* Returns the time over which the operation was watched, armed or not. */
static uint64_t observed_ns(const struct model *m, const struct op_state *op)
{
	uint64_t since = op->pub.since_ns;

	/* Functions are armed on request; the other layers are watched from the start. */
	if ((op->pub.layer == LAYER_FUNCTION || op->pub.layer == LAYER_KERNEL) && op->slices.nr)
		since = op->slices.slice[0].start_ns;
	return m->elapsed_ns > since ? m->elapsed_ns - since : 0;
}

enum { NEAR_CALLS = 10 };
static const double near_share = 0.5;
/* The share of a peak's time, or of its calls, that must wait for a CPU to say so. */
#define WAITS_FOR_CPU 0.05

/* Returns the share of a peak's calls within a quarter of a doubling about its mode. */
static double share_about(const struct profile *p, const struct peak_span *span)
{
	struct bucket_range about = {span->mode > 2 ? span->mode - 2 : 0, span->mode + 3};

	if (about.low < span->range.low)
		about.low = span->range.low;
	if (about.high > span->range.high)
		about.high = span->range.high;
	return ratio((double)profile_range_calls(p, about),
		     (double)profile_range_calls(p, span->range));
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
	/* Ignore a match of few calls, or of a wide peak: it may be chance. */
	if (p->near[0] && (p->seen_calls < NEAR_CALLS || share_about(&op->seen, span) < near_share))
		p->near = "";
}

/* Lists the listed peaks first, then the folded ones; both by latency. `tracker` numbers peaks that
 * have no number yet. */
static void list_peaks(const struct model *m, struct op_state *op, const struct present_peaks *f,
		       struct peak_tracker *tracker)
{
	unsigned int n = 0;

	memset(op->peak, 0, sizeof(op->peak));
	for (unsigned int folded = 0; folded < 2; folded++) {
		for (unsigned int i = 0; i < f->nr; i++) {
			bool listed = f->listed[i] || m->all_peaks;
			struct peak *p = &op->peak[n];

			if (listed == (folded != 0))
				continue;
			n++;
			p->rank = listed ? (int)n : 0;
			p->id = f->id[i];
			p->number = listed ? peaks_tracker_number(tracker, p->id) : 0;
			p->seen_calls = f->span[i].calls;
			if (!f->listed[i])
				p->fold = PEAK_RARE;
			if (f->shadow[i].of >= 0) {
				p->fold = f->shadow[i].why;
				p->shadow_of = f->id[f->shadow[i].of];
			}
			fill_peak(m, op, p, &f->span[i]);
		}
		if (!folded)
			op->pub.nr_peaks = n;
	}
	op->pub.peaks = op->peak;
	op->pub.folded = op->peak + op->pub.nr_peaks;
	op->pub.nr_folded = n - op->pub.nr_peaks;
}

/* Between ticks, computes the peaks that a tick at this moment would give. Uses a copy of the
 * tracker, so that asking changes nothing. */
static void set_peaks(const struct model *m, struct op_state *op)
{
	struct peak_tracker tracker = op->tracker;
	struct present_peaks f = {0};

	if (op->changed) {
		find_peaks(m, op, &tracker, &f);
	} else {
		f.nr = op->nr_spans;
		memcpy(f.span, op->span, sizeof(f.span));
		memcpy(f.id, op->id, sizeof(f.id));
		memcpy(f.listed, op->listed, sizeof(f.listed));
		memcpy(f.shadow, op->shadow, sizeof(f.shadow));
	}
	list_peaks(m, op, &f, &tracker);
}

void model_refresh(const struct model *m, struct op_state *op)
{
	if (op->shown_version == op->version && op->shown_revision == m->revision)
		return;
	op->pub.slices = op->slices.slice;
	op->pub.nr_slices = op->slices.nr;
	op->pub.open_calls = op->open ? op->open->call : NULL;
	op->pub.nr_open_calls = op->open ? op->open->nr : 0;
	model_set_figures(m, op);
	set_peaks(m, op);
	op->shown_version = op->version;
	op->shown_revision = m->revision;
}

/* Limit on the slices used to find a period: the latest ones in which the peak occurs. */
enum { PERIOD_SLICES = 256, DRAWS = 20 };
/* ns; shorter periods are not reported for operations that are sampled in bursts. */
static const double BURSTS_PERIOD = 1e9;

static bool in_range(uint64_t ns, struct bucket_range range)
{
	unsigned int b = pt_bucket(ns);

	return b >= range.low && b < range.high;
}

/* Returns true if a period belongs to the calls of this peak alone. Draws as many calls from all
 * samples at random, DRAWS times. If such a draw has a similar period, the period is that of bursts
 * of the program, of our bursts, or of the sampling. */
static bool is_own_period(const struct call_sample *const *call, unsigned int nr_calls,
			  unsigned int nr, double period, uint64_t *at)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL;

	for (unsigned int d = 0; d < DRAWS; d++) {
		unsigned int n = 0;
		double other;

		for (unsigned int i = 0; i < nr_calls && n < nr; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			if (seed % (nr_calls - i) < nr - n)
				at[n++] = call[i]->start_ns;
		}
		other = period_find(at, n, 0);
		if (other > 0 && fabs(log2(other / period)) < 3)
			return false;
	}
	return true;
}

/* Finds the period of the slices that contain the peak. Returns 0 for a peak that is in more than
 * half of them. */
static double period_of_slices(const struct model *m, const struct slices *s,
			       struct bucket_range range, uint64_t *at)
{
	uint64_t interval = m->last_tick.end_ns - m->last_tick.start_ns;
	unsigned int n = 0;

	if (!interval)
		return 0;
	for (unsigned int i = s->nr; i-- > 0 && n < PERIOD_SLICES;) {
		const struct slice *slice = &s->slice[i];
		bool there = false;

		/* Skip the incomplete slice; stop at merged slices, which are too coarse. */
		if (slice->end_ns > m->last_tick.end_ns)
			continue;
		if (slice->end_ns - slice->start_ns > interval + interval / 2)
			break;
		for (unsigned int k = 0; k < slice->nr_buckets && !there; k++)
			there = slice->bucket[k] >= range.low && slice->bucket[k] < range.high;
		if (there)
			at[n++] = slice->start_ns;
	}
	if (!n || n > (m->last_tick.end_ns - at[n - 1]) / interval / 2)
		return 0;
	return period_find(at, n, interval);
}

/* Finds the period of a peak from the start times of its sampled calls. If they have none, and the
 * peak is absent from most slices, uses the slices that contain it. */
static double peak_period(const struct model *m, const struct op_state *op, const struct peak *p,
			  const struct call_sample *const *call, unsigned int nr_calls,
			  uint64_t *at)
{
	/* Bursts occur several times a second and cause periods of their own. */
	bool bursts = op->pub.share_seen < ALL_SEEN;
	unsigned int n = 0;
	double period;

	for (unsigned int i = 0; i < nr_calls; i++)
		if (in_range(call[i]->latency_ns, p->range))
			at[n++] = call[i]->start_ns;
	period = period_find(at, n, 0);
	if (bursts && (period < BURSTS_PERIOD || n == nr_calls))
		return 0;
	if (period > 0 && n < nr_calls && !is_own_period(call, nr_calls, n, period, at))
		return 0;
	return period > 0 || bursts ? period : period_of_slices(m, &op->slices, p->range, at);
}

/* Returns true if the calls compute: then no timer causes their latency. */
static bool computes(const struct op_state *op, const struct peak *p,
		     const struct weighted_calls *calls)
{
	double oncpu = 0, all = 0;

	for (unsigned int i = 0; i < calls->nr; i++) {
		const struct call_sample *c = calls->call[i];

		if (!(c->known & SAMPLE_ONCPU) || !in_range(c->latency_ns, p->range))
			continue;
		oncpu += calls->weight[i] * (double)(c->oncpu_ns + c->runqueue_ns);
		all += calls->weight[i] * (double)c->latency_ns;
	}
	return op->pub.layer != LAYER_BLOCK && all > 0 && oncpu > 0.8 * all;
}

/* A period of so much of the latency or less says nothing more than the latency. */
#define BACK_TO_BACK 1.25

/* True if the program says how long the call takes: then no constant of the system does. */
static bool is_asked_for(const struct op *op)
{
	return !strcmp(op->name, "syscall:nanosleep") ||
	       !strcmp(op->name, "syscall:clock_nanosleep");
}

/* True if a time of the scheduler cannot be the reason for the latency: no call waits for a CPU. */
static bool lacks_scheduler(const struct model *m, const struct peak *p)
{
	return constants_is_scheduler(&m->constants, p->near) &&
	       p->run_queue_share < WAITS_FOR_CPU &&
	       p->seen_preempted < WAITS_FOR_CPU * (double)p->calls;
}

static void set_period(const struct model *m, struct peak *p, double period)
{
	uint64_t ns = (uint64_t)llround(period);

	/* calls that follow one another at once recur as soon as they are over */
	if (period < BACK_TO_BACK * (double)p->mode_ns)
		ns = 0;
	p->period_ns = ns ? period : 0;
	if (ns)
		p->period_near = constants_period(&m->constants, ns);
}

static int find_values(const struct model *m, struct op_state *op)
{
	unsigned int n = op->samples.nr;
	size_t room = n > PERIOD_SLICES ? n : PERIOD_SLICES;
	uint64_t *at = malloc(room * sizeof(*at));
	struct value_table *table = NULL;
	struct weighted_calls calls;
	int err = samples_list(&op->samples, &op->pub.total, &calls);

	if (!at)
		err = -ENOMEM;
	if (err)
		goto out;
	model_preemption(m, op, &calls);
	for (unsigned int i = 0; i < op->pub.nr_peaks; i++) {
		set_period(m, &op->peak[i], peak_period(m, op, &op->peak[i], calls.call, n, at));
		if (computes(op, &op->peak[i], &calls) || is_asked_for(&op->pub) ||
		    lacks_scheduler(m, &op->peak[i]))
			op->peak[i].near = "";
	}
	table = value_table_new(calls.call, calls.weight, n, &op->pub);
	err = table ? 0 : -ENOMEM;
	for (unsigned int i = 0; !err && i < op->pub.nr_peaks; i++)
		values_find(table, op->peak[i].range, &op->answer->values[i]);
out:
	value_table_free(table);
	free(at);
	weighted_calls_release(&calls);
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
