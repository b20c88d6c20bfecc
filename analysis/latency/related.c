// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/related.h"

#include <math.h>

static const double min_calls = 20;
/* Counts that differ by this share of the larger one are not the same. */
static const double count_reach = 0.05;
/* Counts of so many calls that differ by so little are evidence by themselves. */
static const double count_exact = 0.002, count_exact_calls = 200;
/* Shapes this many doublings apart on average are not the same. */
static const double shape_reach = 0.5;
/* Slices: how many are needed, the least correlation, and its least t statistic. */
enum { MIN_SLICES = 12, MAX_SLICES = 256, DROPPED = 2 };
static const double min_correlation = 0.7, min_t = 4.5;
/* The same for calls relative to the others of their operation, where few calls make much noise. */
static const double min_relative_t = 3;

static double count_score(double a, double b)
{
	double apart = fabs(a - b) / fmax(a, b);

	if (fmin(a, b) < min_calls || apart >= count_reach)
		return 0;
	return 1 - apart / count_reach;
}

/* Returns the Earth Mover's Distance of the two normalised histograms, in doublings: in one
 * dimension, the area between their cumulative distributions. */
static double shape_distance(const struct related_side *a, double calls_a,
			     const struct related_side *b, double calls_b)
{
	double area = 0, sum_a = 0, sum_b = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		if (i >= a->range.low && i < a->range.high)
			sum_a += (double)a->profile->count[i] / calls_a;
		if (i >= b->range.low && i < b->range.high)
			sum_b += (double)b->profile->count[i] / calls_b;
		area += fabs(sum_a - sum_b);
	}
	return area / PT_RESOLUTION;
}

static double shape_score(const struct related_side *a, double calls_a,
			  const struct related_side *b, double calls_b)
{
	double apart;

	if (fmin(calls_a, calls_b) < min_calls)
		return 0;
	apart = shape_distance(a, calls_a, b, calls_b);
	return apart < shape_reach ? 1 - apart / shape_reach : 0;
}

/* Returns Pearson's correlation of x and y without the entries marked in `skip`; 0 if one of them
 * is constant. */
static double pearson(const double *x, const double *y, const bool *skip, unsigned int n,
		      double *mean_x, double *mean_y)
{
	double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0, used = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (skip[i])
			continue;
		sx += x[i];
		sy += y[i];
		used++;
	}
	*mean_x = sx / used;
	*mean_y = sy / used;
	for (unsigned int i = 0; i < n; i++) {
		double dx = x[i] - *mean_x, dy = y[i] - *mean_y;

		if (skip[i])
			continue;
		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	/* A constant series has only rounding errors. */
	if (xx < 1e-9 * used || yy < 1e-9 * used)
		return 0;
	return xy / sqrt(xx * yy);
}

/* Returns the correlation without the DROPPED entries that contribute most to it, because one or
 * two slices that both peaks happen to be in (the start of the program) are not enough. */
static double robust_correlation(const double *x, const double *y, unsigned int n)
{
	bool skip[MAX_SLICES] = {false};
	double mean_x, mean_y, r = pearson(x, y, skip, n, &mean_x, &mean_y);

	for (unsigned int d = 0; d < DROPPED && r >= min_correlation; d++) {
		unsigned int top = n;
		double most = 0, left;

		for (unsigned int i = 0; i < n; i++) {
			double product = (x[i] - mean_x) * (y[i] - mean_y);

			if (!skip[i] && product > most) {
				most = product;
				top = i;
			}
		}
		if (top == n)
			break;
		skip[top] = true;
		left = pearson(x, y, skip, n, &mean_x, &mean_y);
		if (left < r)
			r = left;
	}
	return r;
}

/* True if independent series of n entries hardly ever correlate so much: `least` is the t
 * statistic. */
static bool beyond_chance(double r, unsigned int n, double least)
{
	double used = (double)n - DROPPED;

	return r * r >= 1 || r * sqrt((used - 2) / (1 - r * r)) >= least;
}

/* Logarithms, because ratios matter and not differences: a burst is a burst at any rate. */
void related_prepare(double *series, unsigned int slices)
{
	for (unsigned int i = 0; i < slices; i++)
		series[i] = log1p(series[i]);
}

/* Correlates two series, and their changes from slice to slice. Peaks that merely grow and fall
 * with the load of a day agree in the first only. */
static double series_score(const double *u, const double *v, unsigned int n)
{
	double x[MAX_SLICES], y[MAX_SLICES], level, change;

	level = robust_correlation(u, v, n);
	if (level < min_correlation || !beyond_chance(level, n, min_t))
		return 0;
	for (unsigned int i = 0; i + 1 < n; i++) {
		x[i] = u[i + 1] - u[i];
		y[i] = v[i + 1] - v[i];
	}
	change = robust_correlation(x, y, n - 1);
	if (change < min_correlation || !beyond_chance(change, n - 1, min_t))
		return 0;
	return fmin(level, change);
}

/* True if most calls of the operation are in this peak: what it usually does, for each request. */
static bool is_usual(const struct related_side *side)
{
	return 2 * profile_range_calls(side->profile, side->range) > side->profile->calls;
}

/* Takes the load out of a series: the calls of the peak relative to the other calls of its
 * operation, as logarithms. The usual peak is the operation itself, and stays as it is. */
static void relative(const struct related_side *side, unsigned int from, unsigned int n,
		     double *out)
{
	double sum = 0, used = 0;

	for (unsigned int i = 0; i < n; i++) {
		double calls = side->series[from + i], all = side->all[from + i];

		out[i] = is_usual(side) ? calls : calls - log1p(fmax(all - expm1(calls), 0));
		sum += all > 0 ? out[i] : 0;
		used += all > 0;
	}
	/* without calls nothing is known */
	for (unsigned int i = 0; i < n && !is_usual(side); i++)
		if (side->all[from + i] <= 0)
			out[i] = sum / fmax(used, 1);
}

/* Correlates the logarithms of the calls per slice; then these relative to the other calls of the
 * operation, because all that a server does for a request grows and falls with its requests. */
static double slices_score(const struct related_side *a, const struct related_side *b,
			   unsigned int slices)
{
	unsigned int from = a->known_from > b->known_from ? a->known_from : b->known_from, n;
	double x[MAX_SLICES], y[MAX_SLICES], score;

	if (!a->series || !b->series || from >= slices)
		return 0;
	if (slices - from > MAX_SLICES)
		from = slices - MAX_SLICES;
	n = slices - from;
	if (n < MIN_SLICES)
		return 0;
	score = series_score(a->series + from, b->series + from, n);
	if (score <= 0 || !a->all || !b->all)
		return score;
	relative(a, from, n, x);
	relative(b, from, n, y);
	return beyond_chance(robust_correlation(x, y, n), n, min_relative_t) ? score : 0;
}

static const char *name_of(bool count, bool shape, bool slices)
{
	static const char *const names[] = {
	    "",	      "count",	       "shape",		"count, shape",
	    "slices", "count, slices", "shape, slices", "count, shape, slices",
	};

	return names[(count ? 1 : 0) + (shape ? 2 : 0) + (slices ? 4 : 0)];
}

/* Do not relate peaks by shape alone, because most peaks of short calls look alike. Nor by count
 * alone, unless both counts are exact and differ by a few parts in a thousand, and neither peak is
 * what its operation usually does: a server reads once and writes once for each request. */
bool related_score(const struct related_side *self, const struct related_side *other,
		   unsigned int slices, struct peak_related *out)
{
	double ours = (double)profile_range_calls(self->profile, self->range);
	double theirs = (double)profile_range_calls(other->profile, other->range);
	double count, shape, together;
	bool exact;

	/* Peaks of one operation always share its load. */
	if (self->op == other->op)
		return false;
	if (ours < 1 || theirs < 1 || (is_usual(self) && is_usual(other)))
		return false;
	count = count_score(ours, theirs);
	shape = shape_score(self, ours, other, theirs);
	together = slices_score(self, other, slices);
	exact = !self->scaled && !other->scaled &&
		fabs(ours - theirs) <= count_exact * fmax(ours, theirs) &&
		fmin(ours, theirs) >= count_exact_calls &&
		(shape > 0 || (!is_usual(self) && !is_usual(other)));
	if (together <= 0 && !exact)
		return false;
	out->op = other->op;
	out->peak_id = other->peak_id;
	out->by = name_of(count > 0, shape > 0, together > 0);
	out->score = (count + shape + together) / 3;
	return true;
}

static bool before(const struct peak_related *a, const struct peak_related *b)
{
	if (a->score > b->score || a->score < b->score)
		return a->score > b->score;
	return a->op != b->op ? a->op < b->op : a->peak_id < b->peak_id;
}

void related_insert(struct peak_related *list, unsigned int *nr, const struct peak_related *one)
{
	unsigned int at;

	if (*nr == RELATED_MAX) {
		if (!before(one, &list[RELATED_MAX - 1]))
			return;
		(*nr)--;
	}
	for (at = (*nr)++; at > 0 && before(one, &list[at - 1]); at--)
		list[at] = list[at - 1];
	list[at] = *one;
}
