/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers questions about a set of armed call sites. Pure: no I/O, no clock. */
#pragma once

#include "analysis/descent/descent.h"

/* Fills `frames` with the stack that the open fnodes prove: from `f0` down to the callee of `node`,
 * outermost first. Returns the number of frames; 0 if `node` or one of its callers is not in the
 * armed set. */
uint32_t armed_set_frames(const struct descent_armed *armed, uint32_t nr_armed, struct rec_code f0,
			  uint32_t node, struct rec_frame frames[DESCENT_MAX_DEPTH + 1]);

/* Returns true if the site `n` is probed by single-stepping an instruction and the calls in the
 * peak of `ask` are shorter than two such steps. The cost of a step is known to some tens of
 * percent only, so the latency of such a call would mostly be the error of that cost. */
bool armed_set_too_short(const struct rec_descent *ask, const struct req_fnode *n);
/* Returns true if functions of the kernel below f0 are probed. They are not if
 * the kernel has no kprobes, or if the calls are so short that probes in them would mostly measure
 * themselves. */
bool armed_set_goes_into_kernel(const struct rec_descent *ask);
