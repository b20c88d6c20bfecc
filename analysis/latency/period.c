// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/period.h"

#include <math.h>

enum {
	NEIGHBOURS = 6,	   /* differences up to the 6th follower are candidates */
	PER_DOUBLING = 48, /* bins of the histogram of differences: 1.5% wide */
	BINS = 64 * PER_DOUBLING,
	CANDIDATES = 24,
	MAX_MULTIPLE = 24, /* maximum number of missing events in a row */
};

/* ln of the probability below which an agreement is not taken for chance, for one candidate. */
static const double LOG_CHANCE = -11;

/* Times since the first instant, ascending. */
struct series {
	const double *at;
	size_t n;
	double resolution;
};

struct period_verdict {
	double excess; /* share of the instants that agree, beyond chance, 0..1 */
	double period; /* the refined period */
};

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns ln P(at least k of n) if each has probability p, by Chernoff's bound. */
static double log_tail(double k, double n, double p)
{
	double q = k / n;

	p = fmin(fmax(p, 1e-6), 1 - 1e-9);
	if (q <= p)
		return 0;
	return -n * (q * log(q / p) + (q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0));
}

struct follow {
	/* instants after which a follower could be seen, and those that have one */
	size_t asked, hits;
	/* asked instants at least half a lag apart: a cluster counts once */
	size_t groups;
	double share, mean; /* share: hits / asked; mean: mean lag of the hits */
};

/* Counts the instants that have a follower `lag` later, give or take `width`. */
static struct follow followers(const struct series *s, double lag, double width)
{
	double last = s->at[s->n - 1], sum = 0, group = -INFINITY, target, best;
	struct follow f = {0};
	size_t j = 0;

	for (size_t i = 0; i < s->n; i++) {
		target = s->at[i] + lag;
		if (target > last + width)
			break;
		f.asked++;
		if (s->at[i] >= group + lag / 2) {
			group = s->at[i];
			f.groups++;
		}
		while (j < s->n && s->at[j] < target - width)
			j++;
		best = INFINITY;
		for (size_t k = j; k < s->n && s->at[k] <= target + width && k < j + NEIGHBOURS;
		     k++) {
			if (fabs(s->at[k] - target) < fabs(best))
				best = s->at[k] - target;
		}
		if (best < INFINITY) {
			f.hits++;
			sum += best;
		}
	}
	f.share = f.asked ? (double)f.hits / (double)f.asked : 0;
	f.mean = f.hits ? lag + sum / (double)f.hits : lag;
	return f;
}

/* Tests whether the instants recur after `lag`. The share by chance is that of nearby lags that are
 * no simple fraction of `lag`, so that clusters of instants are not taken for a period. */
static struct period_verdict recurs(const struct series *s, double lag)
{
	static const double widths[] = {0.004, 0.015, 0.05};
	static const double elsewhere[] = {0.58, 0.71, 0.82, 1.18, 1.29, 1.41};
	double last = s->at[s->n - 1], chance, width, excess, n;
	struct period_verdict best = {0};
	struct follow f;

	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		width = fmax(widths[w] * lag, s->resolution / 2);
		f = followers(s, lag, width);
		n = (double)f.groups;
		if (f.groups + 1 < PERIOD_MIN_EVENTS)
			continue;
		chance = 1 - exp(-(2 * width + s->resolution / 2) * (double)s->n / last);
		for (size_t c = 0; c < sizeof(elsewhere) / sizeof(elsewhere[0]); c++)
			chance = fmax(chance, followers(s, lag * elsewhere[c], width).share);
		excess = chance < 1 ? (f.share - chance) / (1 - chance) : 0;
		if (excess > best.excess && log_tail(f.share * n, n, chance) < LOG_CHANCE)
			best = (struct period_verdict){excess, f.mean};
	}
	return best;
}

/* Gaps between instants as whole multiples of `lag`; gaps of more than `most` periods are
 * ignored. */
struct multiples {
	size_t asked, hits, single; /* numbers of gaps: examined, whole multiples, single periods */
	double sum, count;	    /* of the hits: sum of time, and of periods */
};

static struct multiples count_multiples(const struct series *s, double lag, double width,
					double most)
{
	struct multiples m = {0};
	double gap, multiple;

	for (size_t i = 1; i < s->n; i++) {
		gap = (s->at[i] - s->at[i - 1]) / lag;
		multiple = floor(gap + 0.5);
		if (multiple > most)
			continue;
		m.asked++;
		if (multiple < 1 || fabs(gap - multiple) > width)
			continue;
		m.hits++;
		m.single += multiple == 1;
		m.sum += gap * lag;
		m.count += multiple;
	}
	return m;
}

/* Tests whether the gaps between instants are whole multiples of `lag`. */
static struct period_verdict divides(const struct series *s, double lag)
{
	static const double most[] = {1, 3, 8, MAX_MULTIPLE};
	double width = fmax(0.06, 0.75 * s->resolution / lag), share;
	struct multiples m = {0};

	if (width > 0.15)
		return (struct period_verdict){0};
	/* begin with short gaps, which improve the estimate for longer ones */
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		m = count_multiples(s, lag, width, most[i]);
		if (m.hits)
			lag = m.sum / m.count;
	}
	m = count_multiples(s, lag, width, MAX_MULTIPLE);
	if (m.asked < 6 || m.asked * 2 < s->n || m.single < 2)
		return (struct period_verdict){0};
	share = (double)m.hits / (double)m.asked;
	if (log_tail((double)m.hits, (double)m.asked, 2 * width) > LOG_CHANCE)
		return (struct period_verdict){0};
	return (struct period_verdict){(share - 2 * width) / (1 - 2 * width), m.sum / m.count};
}

static unsigned int bin_of(double difference)
{
	double bin = log2(fmax(difference, 1)) * PER_DOUBLING;

	return bin >= BINS ? BINS - 1 : (unsigned int)bin;
}

struct bin {
	double sum;
	unsigned int count;
};

/* Moves the fullest bins (with their neighbours) to out[nr..most), as lags. With `dense`, the
 * counts are divided by the width of the bin: if many events are missing, most differences are
 * long, and few are as short as the period. */
static unsigned int take_fullest(struct bin *bins, bool dense, double *out, unsigned int nr,
				 unsigned int most)
{
	static const unsigned int apart = 2;
	double count, sum, weight, heaviest, best_count;
	unsigned int i, best;

	while (nr < most) {
		for (i = 1, best = 0, heaviest = 0, best_count = 0; i + 1 < BINS; i++) {
			count = bins[i - 1].count + bins[i].count + bins[i + 1].count;
			weight = dense ? count * exp2(-(double)i / PER_DOUBLING) : count;
			if (count >= 2 && weight > heaviest) {
				heaviest = weight;
				best = i;
				best_count = count;
			}
		}
		if (!best)
			break;
		for (i = best - 1, sum = 0; i <= best + 1; i++)
			sum += bins[i].sum;
		out[nr++] = sum / best_count;
		for (i = best > apart ? best - apart : 0; i <= best + apart && i < BINS; i++)
			bins[i] = (struct bin){0};
	}
	return nr;
}

/* Finds the lags at which many differences between near neighbours lie. Returns their number. */
static unsigned int find_candidates(const struct series *s, double out[CANDIDATES])
{
	struct bin *bins = calloc(BINS, sizeof(*bins)), *b;
	unsigned int nr;
	double d;

	if (!bins)
		return 0;
	for (size_t j = 0; j < s->n; j++) {
		for (size_t k = j + 1; k < s->n && k <= j + NEIGHBOURS; k++) {
			d = s->at[k] - s->at[j];
			if (d <= 0 || d < 1.5 * s->resolution)
				continue;
			b = &bins[bin_of(d)];
			b->sum += d;
			b->count++;
		}
	}
	nr = take_fullest(bins, false, out, 0, CANDIDATES * 2 / 3);
	nr = take_fullest(bins, true, out, nr, CANDIDATES);
	free(bins);
	return nr;
}

/* Slices give times only to within one slice: the mean of many gaps is more accurate. */
static double refine(const struct series *s, double period)
{
	struct multiples all;

	if (!period || s->resolution <= 0)
		return period;
	all = count_multiples(s, period, 0.3, 2);
	return all.hits * 5 >= s->n * 4 ? all.sum / all.count : period;
}

static double period_of(const struct series *s)
{
	struct period_verdict by_follower[CANDIDATES], by_gap[CANDIDATES], *v;
	double candidate[CANDIDATES], follower = 0, gap = 0, period = 0;
	unsigned int nr;

	if (s->n < PERIOD_MIN_EVENTS || s->at[s->n - 1] <= 0)
		return 0;
	nr = find_candidates(s, candidate);
	for (unsigned int i = 0; i < nr; i++) {
		by_follower[i] = recurs(s, candidate[i]);
		by_gap[i] = divides(s, candidate[i]);
		follower = fmax(follower, by_follower[i].excess);
		gap = fmax(gap, by_gap[i].excess);
	}
	/* Fractions of the period divide every gap, too: take the largest good candidate ... */
	for (unsigned int i = 0; i < nr && gap >= 0.75; i++) {
		v = &by_gap[i];
		if (v->excess >= 0.85 * gap && v->period > period)
			period = v->period;
	}
	/* ... but multiples of the period recur, too: there take the smallest. */
	for (unsigned int i = 0; i < nr && gap < 0.75 && follower >= 0.5; i++) {
		v = &by_follower[i];
		if (v->excess >= 0.8 * follower && (!period || v->period < period))
			period = v->period;
	}
	return refine(s, period);
}

/* Keeps the first instant of each burst, if gaps are clearly either short or long. Returns the
 * number of bursts; 0 if gaps are not clearly short or long. */
static size_t first_of_bursts(const struct series *s, double *gap, double *out)
{
	size_t nr = 0, at = 0;
	double ratio = 8, limit = 0;

	for (size_t i = 1; i < s->n; i++)
		gap[i - 1] = s->at[i] - s->at[i - 1];
	qsort(gap, s->n - 1, sizeof(*gap), by_time);
	/* ignore the shortest gaps, which are short by chance */
	for (size_t i = 1 + s->n / 4; i + 2 < s->n; i++) {
		if (gap[i] > ratio * fmax(gap[i - 1], 1)) {
			ratio = gap[i] / fmax(gap[i - 1], 1);
			limit = gap[i];
			at = i;
		}
	}
	if (!at)
		return 0;
	out[nr++] = 0;
	for (size_t i = 1; i < s->n; i++) {
		if (s->at[i] - s->at[i - 1] >= limit)
			out[nr++] = s->at[i];
	}
	return nr;
}

double period_find(const uint64_t *at_ns, size_t n, uint64_t resolution_ns)
{
	double *at, *gap, *bursts, period = 0;
	struct series s, b;
	uint64_t first;
	size_t i, from;

	if (n < PERIOD_MIN_EVENTS)
		return 0;
	at = malloc(3 * n * sizeof(*at));
	if (!at)
		return 0;
	gap = at + n;
	bursts = gap + n;
	for (i = 1, first = at_ns[0]; i < n; i++)
		first = at_ns[i] < first ? at_ns[i] : first;
	for (i = 0; i < n; i++)
		at[i] = (double)(at_ns[i] - first);
	qsort(at, n, sizeof(*at), by_time);
	from = n > PERIOD_MAX_EVENTS ? n - PERIOD_MAX_EVENTS : 0;
	for (i = n; i-- > from;)
		at[i] -= at[from];
	s = (struct series){at + from, n - from, (double)resolution_ns};
	b = (struct series){bursts, first_of_bursts(&s, gap, bursts), s.resolution};
	if (b.n >= PERIOD_MIN_EVENTS)
		period = period_of(&b);
	if (!period)
		period = period_of(&s);
	free(at);
	return period;
}
