// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/profile.h"

#include <math.h>

static const uint64_t fraction[PT_RESOLUTION] = {
    1ULL << 63, PT_FRAC_1, PT_FRAC_2, PT_FRAC_3, PT_FRAC_4, PT_FRAC_5, PT_FRAC_6, PT_FRAC_7,
};

static bool is_resolution(unsigned int r)
{
	return r == 1 || r == 2 || r == 4 || r == 8;
}

void profile_init(struct profile *p)
{
	memset(p, 0, sizeof(*p));
}

void profile_merge(struct profile *p, const struct profile *from)
{
	if (!from->calls)
		return;
	if (!p->calls || from->min_ns < p->min_ns)
		p->min_ns = from->min_ns;
	if (!p->calls || from->max_ns > p->max_ns)
		p->max_ns = from->max_ns;
	p->calls = add_saturating(p->calls, from->calls);
	p->sum_ns = add_saturating(p->sum_ns, from->sum_ns);
	for (unsigned int i = 0; i < PT_BUCKETS; i++)
		p->count[i] = add_saturating(p->count[i], from->count[i]);
}

uint64_t profile_calls_gained(uint64_t calls, uint64_t buckets_before, uint64_t buckets_now)
{
	/* calls that may be counted at the same time, each on its own CPU */
	const uint64_t being_counted = 64;
	uint64_t gained = buckets_now - buckets_before;

	if (calls <= buckets_now && buckets_before <= add_saturating(calls, being_counted))
		return gained;
	/* report the calls that the kernel counted since the last record */
	calls = calls > buckets_before ? calls - buckets_before : 0;
	return calls != gained ? calls : gained + 1;
}

unsigned int bucket_total(unsigned int resolution)
{
	return is_resolution(resolution) ? PT_DOUBLINGS * resolution : 0;
}

/* Returns the smallest integer not below 2^(i/8); 0 for i = 0, whose bucket also holds latency
 * 0. */
static uint64_t bound_ns(unsigned int i)
{
	unsigned int shift;
	uint64_t f;

	if (i == 0)
		return 0;
	if (i > PT_BUCKETS)
		i = PT_BUCKETS;
	f = fraction[i % PT_RESOLUTION];
	shift = 63 - i / PT_RESOLUTION;
	return (f >> shift) + ((f & ((1ULL << shift) - 1)) != 0);
}

uint64_t bucket_low_ns(unsigned int bucket, unsigned int resolution)
{
	if (!is_resolution(resolution))
		return 0;
	if (bucket > bucket_total(resolution))
		bucket = bucket_total(resolution);
	return bound_ns(bucket * (PT_RESOLUTION / resolution));
}

/* The last bucket also takes all longer latencies; for it, this returns the nominal end
 * 2^PT_DOUBLINGS. */
uint64_t bucket_high_ns(unsigned int bucket, unsigned int resolution)
{
	if (bucket >= bucket_total(resolution))
		return bucket_low_ns(bucket, resolution);
	return bucket_low_ns(bucket + 1, resolution);
}

uint64_t profile_count(const struct profile *p, unsigned int i, unsigned int resolution)
{
	unsigned int n;
	uint64_t sum = 0;

	if (i >= bucket_total(resolution))
		return 0;
	n = PT_RESOLUTION / resolution;
	for (unsigned int k = i * n; k < (i + 1) * n; k++)
		sum = add_saturating(sum, p->count[k]);
	return sum;
}

static struct bucket_range clamp_range(struct bucket_range range)
{
	if (range.high > PT_BUCKETS)
		range.high = PT_BUCKETS;
	if (range.low > range.high)
		range.low = range.high;
	return range;
}

/* Returns the geometric mean of the first and the last integer that bucket `i` of `p` can hold. */
static double bucket_mean(const struct profile *p, unsigned int i)
{
	uint64_t low = bound_ns(i), last = bound_ns(i + 1);

	last -= last > 0;
	if (i == PT_BUCKETS - 1 && p->max_ns > last)
		last = p->max_ns;
	if (low < p->min_ns && p->min_ns <= last)
		low = p->min_ns;
	if (last > p->max_ns && p->max_ns >= low)
		last = p->max_ns;
	return sqrt((double)(low ? low : 1) * (double)(last ? last : 1));
}

/* The sums up to both ends of the range are rounded, so that adjoining ranges add up to sum_ns
 * exactly. */
uint64_t profile_range_sum(const struct profile *p, struct bucket_range range)
{
	long double before = 0, upto = 0, all = 0, low, high;

	range = clamp_range(range);
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		if (i == range.low)
			before = all;
		if (i == range.high)
			upto = all;
		if (p->count[i])
			all += (long double)p->count[i] * (long double)bucket_mean(p, i);
	}
	if (range.low >= range.high || all <= 0)
		return 0;
	if (range.high == PT_BUCKETS)
		upto = all;
	low = floorl((long double)p->sum_ns * (before / all) + 0.5L);
	high = upto >= all ? (long double)p->sum_ns
			   : floorl((long double)p->sum_ns * (upto / all) + 0.5L);
	return high > low ? (uint64_t)high - (uint64_t)low : 0;
}

uint64_t profile_range_calls(const struct profile *p, struct bucket_range range)
{
	uint64_t sum = 0;

	range = clamp_range(range);
	for (unsigned int i = range.low; i < range.high; i++)
		sum = add_saturating(sum, p->count[i]);
	return sum;
}

uint64_t profile_range_quantile(const struct profile *p, struct bucket_range range, double q)
{
	double rank = q * (double)profile_range_calls(p, range), below = 0, ns = 0, n;
	uint64_t out;

	for (unsigned int i = range.low; i < range.high && i < PT_BUCKETS; i++) {
		n = (double)p->count[i];
		if (n > 0)
			ns = exp2((i + (below + n < rank ? 1.0 : (rank - below) / n)) /
				  PT_RESOLUTION);
		if (n > 0 && below + n >= rank)
			break;
		below += n;
	}
	out = (uint64_t)ns;
	if (ns > 0 && out < p->min_ns)
		return p->min_ns;
	return out > p->max_ns ? p->max_ns : out;
}

uint64_t profile_quantile(const struct profile *p, double q)
{
	const struct bucket_range all = {0, PT_BUCKETS};

	if (!profile_range_calls(p, all))
		return 0;
	if (!(q > 0))
		return p->min_ns;
	return q >= 1 ? p->max_ns : profile_range_quantile(p, all, q);
}
