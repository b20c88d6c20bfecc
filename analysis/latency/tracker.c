// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/array.h"
#include "analysis/latency/peaks.h"

#include <math.h>

/* Peaks keep their order while they drift. Therefore the remembered peaks and the peaks of a slice
 * are aligned like two texts: the cheapest pairing without crossings. Costs are in buckets of
 * drift. */
enum {
	FAR = 2 * PT_RESOLUTION, /* a peak that drifts further in one slice is another peak */
};

/* cost of a new id, or of a peak that is gone since the last slice */
#define COST_NEW 9.0
#define COST_ABSENT 2.0 /* added for each slice of absence, because it may be another peak */
#define IMPOSSIBLE INFINITY

void peaks_tracker_init(struct peak_tracker *t)
{
	memset(t, 0, sizeof(*t));
	t->next_id = 1;
}

/* Returns the cost of taking `is` for the remembered peak `k`. */
static double cost_of(const struct peak_tracker *t, unsigned int k, const struct peak_span *is)
{
	const struct peak_span *was = &t->peak[k].span;
	double drift = fabs((double)was->mode - (double)is->mode), growth, cost;

	if (drift > FAR)
		return IMPOSSIBLE;
	/* Drift within its own range is less unusual. */
	if (is->mode >= was->range.low && is->mode < was->range.high)
		drift /= 2;
	growth = fabs(log2((is->calls + 1.0) / (was->calls + 1.0)));
	cost = drift + fmin(growth, 4) / 2;
	if (t->peak[k].absent)
		cost += fmin(COST_ABSENT * t->peak[k].absent, COST_NEW / 2);
	return cost;
}

/* Returns the cost of leaving remembered peak `k` without a partner. */
static double cost_gone(const struct peak_tracker *t, unsigned int k)
{
	return t->peak[k].absent ? 0 : COST_NEW;
}

/* Sets partner[i] to the remembered peak that spans[i] is, or -1. */
static void align(const struct peak_tracker *t, const struct peak_span *spans, unsigned int n,
		  int *partner)
{
	static const double slack = 1e-9;
	double cost[PEAKS_TRACKED + 1][PEAKS_TRACKED + 1];
	unsigned int k, i;

	cost[0][0] = 0;
	for (k = 0; k <= t->nr; k++) {
		for (i = 0; i <= n; i++) {
			double best = k || i ? INFINITY : 0;

			if (k && i)
				best = cost[k - 1][i - 1] + cost_of(t, k - 1, &spans[i - 1]);
			if (k)
				best = fmin(best, cost[k - 1][i] + cost_gone(t, k - 1));
			if (i)
				best = fmin(best, cost[k][i - 1] + COST_NEW);
			cost[k][i] = best;
		}
	}
	for (k = t->nr, i = n; i;) {
		if (k &&
		    cost[k - 1][i - 1] + cost_of(t, k - 1, &spans[i - 1]) <= cost[k][i] + slack) {
			partner[--i] = (int)--k;
		} else if (k && cost[k - 1][i] + cost_gone(t, k - 1) <= cost[k][i] + slack) {
			k--;
		} else {
			partner[--i] = -1;
		}
	}
}

static void forget(struct peak_tracker *t, unsigned int k)
{
	memmove(&t->peak[k], &t->peak[k + 1], (t->nr - k - 1) * sizeof(t->peak[0]));
	t->nr--;
}

/* Forgets peaks that were absent too long, and more until there is room for `room` new ones. */
static void make_room(struct peak_tracker *t, unsigned int room)
{
	unsigned int oldest;

	for (unsigned int k = t->nr; k-- > 0;)
		if (t->peak[k].absent >= PEAKS_FORGET)
			forget(t, k);
	while (t->nr + room > PEAKS_TRACKED) {
		oldest = 0;
		for (unsigned int k = 1; k < t->nr; k++)
			if (t->peak[k].absent > t->peak[oldest].absent)
				oldest = k;
		forget(t, oldest);
	}
}

/* Adds a new peak, in ascending order of modes. Returns its id. */
static int remember(struct peak_tracker *t, const struct peak_span *span)
{
	unsigned int k = t->nr++;

	for (; k > 0 && t->peak[k - 1].span.mode > span->mode; k--)
		t->peak[k] = t->peak[k - 1];
	t->peak[k].id = t->next_id++;
	t->peak[k].number = 0;
	t->peak[k].absent = 0;
	t->peak[k].span = *span;
	return t->peak[k].id;
}

/* Restores the order, because a peak may have overtaken an absent one (few, nearly sorted). */
static void sort(struct peak_tracker *t)
{
	struct peak_tracked moved;
	unsigned int k;

	for (unsigned int i = 1; i < t->nr; i++) {
		moved = t->peak[i];
		for (k = i; k > 0 && t->peak[k - 1].span.mode > moved.span.mode; k--)
			t->peak[k] = t->peak[k - 1];
		t->peak[k] = moved;
	}
}

void peaks_tracker_update(struct peak_tracker *t, const struct peak_span *spans, unsigned int n,
			  int *ids)
{
	int partner[PEAKS_TRACKED];
	unsigned int fresh = 0;

	for (unsigned int i = PEAKS_TRACKED; i < n; i++)
		ids[i] = 0;
	if (n > PEAKS_TRACKED)
		n = PEAKS_TRACKED;
	align(t, spans, n, partner);
	for (unsigned int k = 0; k < t->nr; k++)
		t->peak[k].absent++;
	for (unsigned int i = 0; i < n; i++) {
		ids[i] = 0;
		if (partner[i] < 0) {
			fresh++;
			continue;
		}
		ids[i] = t->peak[partner[i]].id;
		t->peak[partner[i]].absent = 0;
		t->peak[partner[i]].span = spans[i];
	}
	make_room(t, fresh);
	sort(t);
	for (unsigned int i = 0; i < n; i++)
		if (!ids[i])
			ids[i] = remember(t, &spans[i]);
}

static bool has_number(const struct peak_tracker *t, int number)
{
	return any_of(k, t->nr, t->peak[k].number == number);
}

int peaks_tracker_number(struct peak_tracker *t, int id)
{
	for (unsigned int k = 0; k < t->nr; k++) {
		int number = t->peak[k].number;

		if (t->peak[k].id != id)
			continue;
		if (!number)
			for (number = 1; has_number(t, number); number++)
				;
		t->peak[k].number = number;
		return number;
	}
	return 0;
}
