/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Characteristic times of a host (DESIGN section 4; OSprof, OSDI 2006, section
 * 3.3): well-known ones of the kernel and the protocols, and those measured on
 * this host (REC_CONSTANT). A peak that sits on one is named after it.
 */
#ifndef PEAKTOP_CONSTANTS_H
#define PEAKTOP_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

enum { CONSTANTS_MAX = 64, CONSTANTS_MAX_NAME = 64 };

struct constant {
	char name[CONSTANTS_MAX_NAME];
	uint64_t low_ns, high_ns;
	bool measured;
	bool device; /* of storage: says something about block requests only */
};

struct constants {
	unsigned int nr;
	struct constant item[CONSTANTS_MAX];
};

/* The well-known ones. */
void constants_init(struct constants *set);
/*
 * Add a constant of this host. A measured constant replaces all built-in ones with the same
 * name (up to " ("): a measured "timer tick" removes the ticks of other HZ. A constant with
 * the same name is updated. Empty constants and those beyond the maximum are ignored.
 */
void constants_add(struct constants *set, const struct rec_constant *rec);

/*
 * The name of the time on which a peak [low, high) with this mode sits, "" if
 * none. The mode must be at the time: from 4% below (half a bucket of the
 * finest resolution) to 10% above, since a timer ends late and never early, and
 * 4% about the range of a measured one. A peak wider than two doublings is not made by one
 * time, and is not named. Of several the nearest wins, a measured one first.
 * Also names a period: constants_near(set, p, p, p).
 */
const char *constants_near(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
			   uint64_t mode_ns);
/* The same for a peak of block requests, where times of devices count too. */
const char *constants_near_block(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
				 uint64_t mode_ns);

#endif
