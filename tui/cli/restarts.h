/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorder outlives its target: it says when a process of the target has ended, and measures the
 * one that takes its place. */
#pragma once

#include "tui/engine/front.h"

struct restarts {
	const struct options *asked; /* with the target as on the command line */
	size_t told;		     /* targets of the model whose deaths were told */
	bool waiting;		     /* no process of the target lives */
	uint64_t next_ns;	     /* when processes are looked for again */
};

/* True if the target is named so that another process can take its place: by -n, --unit, --cgroup,
 * --container or a bare name. */
bool restarts_follow(const struct options *asked);
/* To be called in each turn. */
void restarts_turn(struct restarts *r, struct front *f, uint64_t now_ns);
