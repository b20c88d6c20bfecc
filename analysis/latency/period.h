/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the period of a series of instants: the starts of the calls of one peak, or the starts of
 * the slices in which the peak appeared. Pure.
 *
 * A period is reported only if the instants recur far more often than the same number of random or
 * clustered instants would. Either most instants have a follower one period later (additional
 * events do no harm), or most gaps are whole multiples of the period (missing events do no harm).
 * Each instant may deviate by a twentieth of the period; the clock of the events may drift.
 */
#pragma once

enum {
	PERIOD_MIN_EVENTS = 4,	  /* fewer events have no period */
	PERIOD_MAX_EVENTS = 4096, /* of more events, only the latest are used */
};

/* Returns the period in ns of n instants in any order; 0 if there is none or no memory. Each
 * instant is known to within `resolution_ns`: 0 for time stamps; the interval for slices, whose
 * period is at least two slices. */
double period_find(const uint64_t *at_ns, size_t n, uint64_t resolution_ns);
