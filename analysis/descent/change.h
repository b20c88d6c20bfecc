/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has the distribution of f0 changed since the start of the descent? (DESIGN 5: said,
 * not averaged.) Internal to analysis/descent/.
 */
#ifndef PEAKTOP_DESCENT_CHANGE_H
#define PEAKTOP_DESCENT_CHANGE_H

#include <stdbool.h>

#include "analysis/latency/profile.h"

struct change {
	struct profile start;  /* until the first sites were armed */
	struct profile window; /* since the last comparison */
	uint64_t probes_ns;    /* the most time that probes took from one call */
	bool fixed;	       /* sites were armed: `start` does not grow any more */
	unsigned int strikes;  /* windows in a row that differ */
	unsigned int
	    skip; /* number of profiles to skip, because they still contain calls from before */
	char words[200];
};

void change_init(struct change *c);
/*
 * Add what was measured in one slice; `enough` = calls of a start profile, `probes_ns`
 * what was subtracted from each latency for the probes.
 */
void change_add(struct change *c, const struct profile *delta, uint64_t enough, uint64_t probes_ns);
/* From one call, too, this much was subtracted. */
void change_probes(struct change *c, uint64_t probes_ns);
/*
 * Ignore what was measured since the last comparison, the present slice and the next one,
 * because attaching or removing probes changed it.
 */
void change_forget_window(struct change *c);
/* Two windows in a row differ from the start; `words` then says how. */
bool change_seen(const struct change *c);

#endif
