/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames that the parser has unwound, as records have them. Pure. */
#ifndef PEAKTOP_FRAMES_H
#define PEAKTOP_FRAMES_H

#include "analysis/parser/protocol.h"

/* Innermost first. Returns how many, at most `max`. */
uint32_t frames_innermost_first(const struct parsed_frames *a, struct rec_frame *out, uint32_t max);
/* Outermost first; 0 if there are more than `max`. */
uint32_t frames_outermost_first(const struct parsed_frames *a, struct rec_frame *out, uint32_t max);
/* From the frame with this canonical frame address inwards, it first; 0 if there is none, or more
 * than `max`. */
uint32_t frames_from_cfa(const struct parsed_frames *a, uint64_t cfa, struct rec_frame *out,
			 uint32_t max);

#endif
