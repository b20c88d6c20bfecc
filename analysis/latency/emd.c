// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/emd.h"

#include <math.h>

double emd_histograms(const double *a, const double *b, size_t n)
{
	double total_a = 0, total_b = 0, sum_a = 0, sum_b = 0, work = 0;

	for (size_t i = 0; i < n; i++) {
		total_a += a[i];
		total_b += b[i];
	}
	if (total_a <= 0 || total_b <= 0)
		return total_a > 0 || total_b > 0 ? INFINITY : 0;
	for (size_t i = 0; i + 1 < n; i++) {
		sum_a += a[i];
		sum_b += b[i];
		/* this share of the mass has to cross from bin i to bin i + 1, or back */
		work += fabs(sum_a / total_a - sum_b / total_b);
	}
	return work;
}

double emd_profiles(const struct profile *a, const struct profile *b)
{
	double x[PT_BUCKETS], y[PT_BUCKETS];

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		x[i] = (double)a->count[i];
		y[i] = (double)b->count[i];
	}
	return emd_histograms(x, y, PT_BUCKETS) / PT_RESOLUTION;
}

double emd_noise(const struct profile *a, const struct profile *b, double na, double nb)
{
	double total_a = 0, total_b = 0, f = 0, noise = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		total_a += (double)a->count[i];
		total_b += (double)b->count[i];
	}
	if (total_a <= 0 || total_b <= 0 || na <= 0 || nb <= 0)
		return 0;
	/* |Fa - Fb| at one point is half-normal; sum up its mean */
	for (unsigned int i = 0; i + 1 < PT_BUCKETS; i++) {
		f += ((double)a->count[i] / total_a * na + (double)b->count[i] / total_b * nb) /
		     (na + nb);
		noise += sqrt(M_2_PI * fmax(f * (1 - f), 0) * (1 / na + 1 / nb));
	}
	return noise / PT_RESOLUTION;
}
