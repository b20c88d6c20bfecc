/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The period of a series of instants: when calls of one peak began, or the
 * starts of the slices in which the peak appeared. Pure.
 *
 * An answer is given only when the instants recur by far more often than the
 * same number of random or merely clustered ones would: either most instants
 * have a follower one period later (extra events do no harm), or most gaps are
 * whole multiples of the period (missing events do no harm). Each instant may
 * wander by a twentieth of the period; the clock of the events may drift.
 */
#ifndef PEAKTOP_PERIOD_H
#define PEAKTOP_PERIOD_H

#include <stddef.h>
#include <stdint.h>

enum {
	PERIOD_MIN_EVENTS = 4,	  /* fewer never say anything */
	PERIOD_MAX_EVENTS = 4096, /* of more, only the latest are looked at */
};

/*
 * The period in ns of n instants in any order, 0 when there is none. Each is
 * known up to `resolution_ns` (0 for time stamps, the interval for slices: then
 * a period is at least two slices). Also 0 when there is no memory.
 */
double period_find(const uint64_t *at_ns, size_t n, uint64_t resolution_ns);

#endif
