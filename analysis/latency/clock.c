// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/clock.h"

#include <math.h>

enum {
	STEPS_TRIED = 16, /* steps to try for each bucket and number of ticks */
	MAX_STEP_NS = 1100,
};

unsigned int clock_tick_bucket(const struct profile *p, double step, unsigned int k)
{
	double ns = k * step;
	unsigned int low = pt_bucket((uint64_t)(ns - 0.1)), high = pt_bucket((uint64_t)(ns + 0.9));

	return p->count[high] > p->count[low] ? high : low;
}

/* Returns how many gaps of the histogram a clock with this step explains. A gap is a run of empty
 * buckets between two adjacent ticks that both have calls. Returns 0 if there are calls between two
 * ticks. */
static unsigned int gaps_explained(const struct profile *p, double step, unsigned int first)
{
	unsigned int gaps = 0, at = clock_tick_bucket(p, step, first), next;
	uint64_t fewer;

	for (unsigned int k = first; k <= CLOCK_TICKS; k++, at = next) {
		next = clock_tick_bucket(p, step, k + 1);
		for (unsigned int i = at + 1; i < next; i++)
			if (p->count[i])
				return 0;
		fewer = p->count[next] < p->count[at] ? p->count[next] : p->count[at];
		/* With counts like those of their neighbours, the empty buckets would hold six
		 * calls. */
		if (next > at + 1 && fewer >= 6 / (next - at - 1))
			gaps += fewer > 0;
	}
	return gaps;
}

/* Returns true if there are two gaps between the lowest bucket with calls and the latency above
 * which a coarse clock leaves no gaps. */
static bool has_gaps(const struct profile *p, unsigned int lowest)
{
	unsigned int gaps = 0, end = lowest + 4 * PT_RESOLUTION, last = lowest;

	if (bucket_low_ns(lowest, PT_RESOLUTION) > (uint64_t)CLOCK_TICKS * MAX_STEP_NS)
		return false;
	for (unsigned int i = lowest; i < end && i < PT_BUCKETS; i++) {
		if (!p->count[i])
			continue;
		gaps += i > last + 1;
		last = i;
	}
	return gaps >= 2;
}

double clock_step(const struct profile *p)
{
	double sum = 1, step;
	unsigned int most = 1, n = 1, lowest = 1, gaps;

	/* Skip bucket 0, which has the calls that saw no tick. */
	while (lowest < PT_BUCKETS - 1 && !p->count[lowest])
		lowest++;
	if (!has_gaps(p, lowest))
		return 1;
	for (unsigned int first = 1; first < CLOCK_TICKS; first++) {
		for (int i = -2; i < STEPS_TRIED + 2; i++) {
			step = exp2((lowest + (i + 0.5) / STEPS_TRIED) / PT_RESOLUTION) / first;
			if (step < 2 || step > MAX_STEP_NS)
				continue;
			gaps = gaps_explained(p, step, first);
			if (gaps > most) {
				most = gaps;
				sum = step;
				n = 1;
			} else if (gaps == most && sum / n < 1.1 * step && step < 1.1 * sum / n) {
				/* Steps close to each other explain the same gaps: use their
				 * mean. */
				sum += step;
				n++;
			}
		}
	}
	return sum / n;
}
