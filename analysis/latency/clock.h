/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile gives away of the clock that measured it. A clock that
 * advances by 10 to 1000 ns at a time (HPET, ACPI, the counters of many ARM
 * boards) leaves buckets of short latencies empty that no latency can reach.
 */
#ifndef PEAKTOP_CLOCK_H
#define PEAKTOP_CLOCK_H

#include "analysis/latency/profile.h"

/* 1 / (2^(1/8) - 1): beyond as many ticks, every bucket has one. */
enum { CLOCK_TICKS = 11 };

/* The step in ns; 1 if there is no sign of a coarser one. */
double clock_step(const struct profile *p);

/*
 * The bucket of the `k`th tick, k >= 1. A clock that rounds to a ns may put it
 * into either of two: the one with more calls.
 */
unsigned int clock_tick_bucket(const struct profile *p, double step, unsigned int k);

#endif
