/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Earth Mover's Distance between two latency profiles (OSprof, OSDI 2006,
 * section 5.3; Rubner et al., IJCV 2000): the least work that turns one histogram,
 * seen as heaps of earth, into the other, where work is mass times distance.
 *
 * Both are normalised to a mass of 1, and distance is measured on the
 * logarithmic axis: the answer is by how many doublings of the latency an
 * average call was moved. In one dimension the minimum has a closed form, the
 * area between the two cumulative distributions, which is what is computed:
 * exact, not an approximation. Pure.
 */
#ifndef PEAKTOP_EMD_H
#define PEAKTOP_EMD_H

#include <stddef.h>

#include "analysis/latency/profile.h"

/*
 * Of two histograms with n bins, in bins. Masses are not negative. 0 when both
 * are empty, INFINITY when one is.
 */
double emd_histograms(const double *a, const double *b, size_t n);

/* Of two profiles, in doublings. 0 when both are empty, INFINITY when one is. */
double emd_profiles(const struct profile *a, const struct profile *b);

/*
 * What emd_profiles() gives on average, in doublings, when a and b are two
 * samples of one distribution with `na` and `nb` calls that were really seen: the
 * distance that sampling alone makes. 0 when either is empty.
 */
double emd_noise(const struct profile *a, const struct profile *b, double na, double nb);

#endif
