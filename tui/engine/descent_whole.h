/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the descents into the parts of an operation one after the other, within one time limit. A
 * descent into one peak is the case without parts. */
#pragma once

#include "analysis/descent/choose.h"
#include "tui/engine/descent_driver.h"

struct descent_whole {
	struct descent_parts parts; /* of all time; none if the user named calls */
	uint64_t end_ns;	    /* of the time of all descents */
	uint64_t until_ns;	    /* of the time of the present one */
};

/* The descents that follow part `part` (0: one without parts), and this one, share what is left of
 * the time limit. */
void descent_whole_divide(struct descent_whole *w, uint32_t part, uint64_t now_ns);
/* Begins the first descent of w->parts, or the only one. Returns as driver_begin(). */
int descent_whole_begin(struct descent_whole *w, struct descent_driver *d,
			const struct rec_descent *ask, uint64_t now_ns);
/* The present descent is over: begins the one into the next part. False: there is none, or no time
 * for it. */
bool descent_whole_next(struct descent_whole *w, struct descent_driver *d, struct model *m,
			uint64_t now_ns);
/* True if another part follows the present descent. */
bool descent_whole_goes_on(const struct descent_whole *w, const struct descent_driver *d);
