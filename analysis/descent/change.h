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
	uint64_t probes_ns;    /* what probes took of a call in it, at most */
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
 * What was measured since the last comparison says nothing: probes moved it. Nor do the slice that
 * is going on and the next one, in which these may still be on their way out.
 */
void change_forget_window(struct change *c);
/* Two windows in a row differ from the start; `words` then says how. */
bool change_seen(const struct change *c);

#endif
