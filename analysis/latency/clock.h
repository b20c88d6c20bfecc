/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the step of the clock that measured a profile. A clock that advances by 10 to 1000 ns at a
 * time (HPET, ACPI, the counters of many ARM boards) leaves buckets of short latencies empty,
 * because no latency can fall into them. */
#pragma once

#include "analysis/latency/profile.h"

/* 1 / (2^(1/8) - 1): from this number of ticks on, every bucket contains a tick. */
enum { CLOCK_TICKS = 11 };

/* Returns the step in ns; 1 if there is no sign of a coarser one. */
double clock_step(const struct profile *p);

/* Returns the bucket of the `k`th tick, k >= 1. If the clock rounds to whole ns and the tick may
 * lie in either of two buckets, returns the one with more calls. */
unsigned int clock_tick_bucket(const struct profile *p, double step, unsigned int k);
