/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What shadows.c and shadows_split.c share. */
#ifndef PEAKTOP_SHADOWS_IMPL_H
#define PEAKTOP_SHADOWS_IMPL_H

#include <math.h>

#include "analysis/latency/shadows.h"

/* Calls needed in a peak that is visible only without the disturbed calls. */
enum { HIDDEN_CALLS = 12 };
/* Least shares of all calls, or of all time, in what is left of a peak. */
#define REST_CALLS 0.005
#define REST_TIME 0.03

/* About the time of all its calls. */
static inline double peak_time(const struct peak_span *s)
{
	return (double)s->calls * exp2((double)s->mode / PT_RESOLUTION);
}

#endif
