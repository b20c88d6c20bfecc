/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of a set of armed call sites. Pure. */
#ifndef PEAKTOP_ARMED_SET_H
#define PEAKTOP_ARMED_SET_H

#include "analysis/descent/descent.h"

/*
 * The frames that the open fnodes themselves show, from `f0` down to the callee of `node`. Returns
 * how many; 0 if the node is not one of the armed set.
 */
uint32_t armed_set_frames(const struct descent_armed *armed, uint32_t nr_armed, struct rec_code f0,
			  uint32_t node, struct rec_frame frames[DESCENT_MAX_DEPTH + 1]);

/*
 * Are the calls in the peak of `ask` too short to be timed at this place? What the kernel takes to
 * step over an instruction is known to some tens of percent: a call that is not longer than two
 * such steps would be shown with the error of the step as its latency.
 */
bool armed_set_too_short(const struct rec_descent *ask, const struct req_fnode *n);

#endif
