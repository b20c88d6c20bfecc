/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Earth Mover's Distance between two latency profiles (OSprof, OSDI 2006, section 5.3; Rubner
 * et al., IJCV 2000): the least work that turns one histogram, seen as heaps of earth, into the
 * other. Work is mass times distance.
 *
 * Both histograms are normalised to a mass of 1, and distance is measured on the logarithmic axis.
 * The result is the number of doublings of latency by which a mean call was moved. In one dimension
 * the minimum has a closed form, the area between the two cumulative distributions, so the result
 * is exact. Pure.
 */
#pragma once

#include "analysis/latency/profile.h"

/* Returns the distance of two histograms with n bins, in bins. Masses are not negative. 0 if both
 * are empty, INFINITY if one is. */
double emd_histograms(const double *a, const double *b, size_t n);

/* Returns the distance of two profiles, in doublings. 0 if both are empty, INFINITY if one is. */
double emd_profiles(const struct profile *a, const struct profile *b);

/* Returns the mean distance, in doublings, that sampling alone causes: the expected emd_profiles()
 * of two samples of one distribution, with `na` and `nb` calls that were really seen. 0 if either
 * is empty. */
double emd_noise(const struct profile *a, const struct profile *b, double na, double nb);
