// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/parts.h"

#include <math.h>

#include "analysis/base/array.h"
#include "analysis/descent/choose_impl.h"

enum {
	/* a peak may be split, and there may be calls before it; and beyond all peaks */
	MAX_SEGMENTS = 3 * MODEL_MAX_PEAKS + 1,
	FEW_CALLS = 5, /* a descent needs more calls to begin */
};

/* A part with less of all time is not explained. */
#define LEAST 0.1

/* A run of buckets with calls of one kind. */
struct segment {
	enum part_kind kind;
	struct bucket_range range;
	uint64_t time_ns;
};

struct segments {
	const struct op *op;
	unsigned int nr;
	struct segment list[MAX_SEGMENTS]; /* ascending */
};

static bool is_small(const struct segments *s, const struct segment *x)
{
	return (double)x->time_ns < LEAST * (double)s->op->total.sum_ns;
}

/* Returns true if two neighbours are one answer: calls of the same kind, but not of two peaks, or
 * calls beyond a peak of which either is too small for an answer of its own. */
static bool belong_together(const struct segments *s, const struct segment *a,
			    const struct segment *b)
{
	if (a->kind == PART_PEAK || b->kind == PART_PEAK)
		return false;
	return a->kind == b->kind || is_small(s, a) || is_small(s, b);
}

static void add(struct segments *s, enum part_kind kind, unsigned int low, unsigned int high)
{
	struct segment x = {kind, {low, high}, 0};
	struct segment *last = s->nr ? &s->list[s->nr - 1] : NULL;

	if (low >= high || !profile_range_calls(&s->op->total, x.range))
		return;
	x.time_ns = profile_range_sum(&s->op->total, x.range);
	if (!last || !belong_together(s, last, &x)) {
		if (s->nr < MAX_SEGMENTS)
			s->list[s->nr++] = x;
		return;
	}
	if (x.time_ns > last->time_ns)
		last->kind = kind;
	last->range.high = high;
	last->time_ns += x.time_ns;
}

static int by_latency(const void *a, const void *b)
{
	const struct peak *const *x = a, *const *y = b;

	return ascending((*x)->range.low, (*y)->range.low);
}

static void find_segments(const struct op *op, struct segments *s)
{
	const struct peak *peaks[2 * MODEL_MAX_PEAKS];
	unsigned int nr = 0, at = 0;

	for (unsigned int i = 0; i < op->nr_peaks && nr < MODEL_MAX_PEAKS; i++)
		peaks[nr++] = &op->peaks[i];
	for (unsigned int i = 0; i < op->nr_folded && nr < 2 * MODEL_MAX_PEAKS; i++)
		peaks[nr++] = &op->folded[i];
	qsort(peaks, nr, sizeof(*peaks), by_latency);
	*s = (struct segments){.op = op};
	for (unsigned int i = 0; i < nr; i++) {
		const struct peak *p = peaks[i];
		bool shadow = p->fold != PEAK_LISTED;
		unsigned int end =
		    !shadow && peak_is_mixed(op, p) ? peak_tail_begin(p) : p->range.high;

		/* what is too rare to be a peak is told with the other calls beside peaks */
		if (p->fold == PEAK_RARE)
			continue;
		add(s, PART_TAIL, at, p->range.low);
		add(s, shadow ? PART_SHADOW : PART_PEAK, p->range.low, end);
		add(s, PART_TAIL, end, p->range.high);
		at = p->range.high;
	}
	add(s, PART_TAIL, at, PT_BUCKETS);
}

/* Returns the number of calls of a range that were seen. */
static double seen_calls(const struct op *op, struct bucket_range range)
{
	double seen = op->share_seen > 0 && op->share_seen < 1 ? op->share_seen : 1;

	return (double)profile_range_calls(&op->total, range) * seen;
}

/* Returns the calls of a segment that are explained. Beyond all peaks, they are those with most of
 * the time, or those of another kind if these are worth an answer of their own. */
static struct bucket_range explained_range(const struct op *op, const struct segment *x)
{
	struct bucket_range range = x->kind == PART_TAIL ? calls_heaviest(op, x->range) : x->range,
			    other;

	if (x->kind == PART_PEAK)
		return range;
	other = calls_another_kind(op, range);
	return seen_calls(op, other) >= FEW_CALLS && (double)profile_range_sum(&op->total, other) >=
							 LEAST * (double)op->total.sum_ns
		   ? other
		   : range;
}

static struct rec_part part_of(const struct op *op, const struct segment *x, bool last)
{
	struct bucket_range range = explained_range(op, x);
	uint64_t calls = profile_range_calls(&op->total, range);
	bool open = last && x->kind != PART_PEAK;

	return (struct rec_part){.kind = x->kind,
				 .few = seen_calls(op, range) < FEW_CALLS,
				 .low_ns = bucket_low_ns(range.low, PT_RESOLUTION),
				 .high_ns =
				     open ? UINT64_MAX : bucket_low_ns(range.high, PT_RESOLUTION),
				 .calls = calls,
				 .time_ns = profile_range_sum(&op->total, range)};
}

static int by_time(const void *a, const void *b)
{
	const struct rec_part *x = a, *y = b;

	return descending(x->time_ns, y->time_ns) ?: ascending(x->low_ns, y->low_ns);
}

void parts_divide(const struct op *op, double covered_ns, struct descent_parts *out)
{
	struct rec_part all[MAX_SEGMENTS];
	struct segments s;

	find_segments(op, &s);
	for (unsigned int i = 0; i < s.nr; i++)
		all[i] = part_of(op, &s.list[i], i + 1 == s.nr);
	qsort(all, s.nr, sizeof(*all), by_time);
	out->all = (struct rec_parts){.op = op->op,
				      .calls = op->total.calls,
				      .time_ns = op->total.sum_ns,
				      .covered_ns = covered_ns > 0 ? (uint64_t)covered_ns : 0,
				      .parts = out->part};
	for (unsigned int i = 0; i < s.nr && out->all.nr_parts < FRAME_MAX_PARTS; i++) {
		if (i && (double)all[i].time_ns < LEAST * (double)op->total.sum_ns)
			break;
		out->part[out->all.nr_parts++] = all[i];
	}
}

uint32_t parts_next(const struct rec_parts *parts, uint32_t number)
{
	for (uint32_t i = number; i < parts->nr_parts; i++)
		if (!parts->parts[i].few)
			return i + 1;
	return !number && parts->nr_parts ? 1 : 0;
}

void parts_ask(const struct op *op, const struct rec_parts *parts, uint32_t number,
	       struct rec_descent *ask)
{
	const struct rec_part *p = &parts->parts[number - 1];

	ask->part = number;
	ask->low_ns = p->low_ns;
	ask->high_ns = p->high_ns;
	ask->mean_ns = calls_mean_ns(op, ask->low_ns, ask->high_ns);
	if (p->high_ns != UINT64_MAX)
		calls_add_room(op, &ask->low_ns, &ask->high_ns);
}

double parts_rest(const struct rec_parts *parts)
{
	double known = 0;

	for (uint32_t i = 0; i < parts->nr_parts; i++)
		known += (double)parts->parts[i].time_ns;
	return parts->time_ns ? fmax(0, 1 - known / (double)parts->time_ns) : 0;
}
