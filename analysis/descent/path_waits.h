/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joins a descent to the chains of waits: for whom the calls of a path wait, and what those did.
 * Pure.
 */
#pragma once

#include "analysis/descent/descent.h"
#include "analysis/waits/waits.h"

/* True if a stack, outermost frame first, goes through the functions of path `p` in their order. */
bool path_goes_through(const struct rec_frame *frames, uint32_t nr, const struct descent_result *r,
		       const struct descent_path *p);

/* True for causes that end with something that another task or a device does. */
bool cause_has_chain(const struct cause *c);

/*
 * Fills *out with those of the chains `all` (of the in-peak calls) that begin on path `p`: their
 * outermost layer is a sleep of a kind that fits the cause of `p`, with a stack through the
 * functions of `p` in their order. If its stack is not known, the sleep counts only if no other
 * path of `r` has such a cause. Returns 0 or -ENOMEM; release *out with waits_chains_release().
 */
int path_waits_find(const struct waits_chains *all, const struct descent_result *r,
		    const struct descent_path *p, struct waits_chains *out);

/* The largest chain that goes beyond the sleep itself; chains->nr: there is none. */
uint32_t path_waits_largest(const struct waits_chains *chains);
