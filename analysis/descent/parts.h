/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the time of an operation into the parts that are explained one after the other: its
 * peaks, their shadows (the calls that the host made longer), and the calls beyond the peaks.
 * Pure. */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/session/frame.h"

struct descent_parts {
	struct rec_parts all; /* its `parts` is `part` */
	struct rec_part part[FRAME_MAX_PARTS];
};

/* Fills *out with the parts that have a tenth of the time of `op` or more, largest first, or, if
 * there are none, with the largest. They do not overlap. `covered_ns`: in which its calls were
 * counted. Without calls there are no parts. */
void parts_divide(const struct op *op, double covered_ns, struct descent_parts *out);
/* Returns the number of the next part, from 1, that can be explained after part `number` (0: the
 * first); 0: there is none. */
uint32_t parts_next(const struct rec_parts *parts, uint32_t number);
/* Fills the range of *ask for part `number`: that of the part and the empty buckets beside it. */
void parts_ask(const struct op *op, const struct rec_parts *parts, uint32_t number,
	       struct rec_descent *ask);
/* Returns the share of all time (0..1) that no part has. */
double parts_rest(const struct rec_parts *parts);
