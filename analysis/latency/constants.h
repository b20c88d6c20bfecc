/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Characteristic times of a host (OSprof, OSDI 2006, section 3.3): well-known times of the kernel
 * and of protocols, and times measured on this host (REC_CONSTANT). A peak whose mode lies at such
 * a time is named after it. */
#pragma once

#include "analysis/session/record.h"

enum { CONSTANTS_MAX = 64, CONSTANTS_MAX_NAME = 64 };

struct constant {
	char name[CONSTANTS_MAX_NAME];
	uint64_t low_ns, high_ns;
	bool measured;
	bool device;	/* a time of a storage device: compared with block requests only */
	bool scheduler; /* a time of the scheduler: names a latency only of calls that wait for a
			   CPU */
};

struct constants {
	unsigned int nr;
	struct constant item[CONSTANTS_MAX];
};

/* Fills *set with the well-known times. */
void constants_init(struct constants *set);
/* Adds a time of this host. A measured time replaces all built-in ones with the same name up to "
 * (": a measured "timer tick" removes the ticks of other HZ. A time with the same full name is
 * replaced. A constant without name or time, or beyond the maximum, is ignored. */
void constants_add(struct constants *set, const struct rec_constant *rec);

/*
 * Returns the name of the time at which a peak [low, high) with this mode lies; "" if none.
 *
 * The mode must lie between 4% below the time (half a bucket of the finest resolution) and 10%
 * above, because a timer ends late and never early; for a measured time or a range, 4% on both
 * sides. A peak wider than two doublings is not caused by one time and gets no name. If several
 * times match, the nearest wins; measured times come first.
 */
const char *constants_near(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
			   uint64_t mode_ns);
/* The time that equals a period to within half a percent, "" if there is none. What recurs by a
 * clock does so exactly; a program that sleeps for 4 ms recurs a little later than each 4 ms. */
const char *constants_period(const struct constants *set, uint64_t period_ns);
/* True if the time of this name is one of the scheduler. */
bool constants_is_scheduler(const struct constants *set, const char *name);
/* As constants_near() for a peak of block requests, which may also match times of storage devices.
 */
const char *constants_near_block(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
				 uint64_t mode_ns);
