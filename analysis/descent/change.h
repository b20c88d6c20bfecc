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
	bool fixed;	       /* sites were armed: `start` does not grow any more */
	unsigned int strikes;  /* windows in a row that differ */
	char words[200];
};

void change_init(struct change *c);
/* Add what was measured in one slice; `enough` = calls of a start profile. */
void change_add(struct change *c, const struct profile *delta, uint64_t enough);
/* What was measured since the last comparison says nothing: probes moved it. */
void change_forget_window(struct change *c);
/* Two windows in a row differ from the start; `words` then says how. */
bool change_seen(const struct change *c);

#endif
