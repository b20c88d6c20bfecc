/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the frames that the parser has unwound to frames of records. */
#pragma once

#include "analysis/parser/protocol.h"

/* Copy the frames, innermost first, with a frame of CALLERS_UNKNOWN at the end if the stack is
 * incomplete. Returns their number, at most `max`. */
uint32_t frames_callers(const struct parsed_frames *a, struct rec_frame *out, uint32_t max);
/* Split the kernel's part of a stack, outermost first, at the outermost frame of f0, which is of
 * the kernel. Returns the number of frames before it, which are written to `callers`, innermost
 * first; `nr` if f0 is not in the stack. Of a system call all frames are its own. */
uint32_t frames_kernel_callers(const struct rec_frame *kernel, uint32_t nr, struct rec_code f0,
			       struct rec_frame *callers);
/* Copy the frames, outermost first. Returns their number; 0 if there are more than `max`. */
uint32_t frames_outermost_first(const struct parsed_frames *a, struct rec_frame *out, uint32_t max);
/* Copy the outermost frame of this function and all frames inside it, outermost first. Returns
 * their number; 0 if the function has no frame, or there are more than `max`. */
uint32_t frames_from_function(const struct parsed_frames *a, struct rec_code function,
			      struct rec_frame *out, uint32_t max);
/* Copy the frame with this canonical frame address and all frames inside it, outermost first.
 * Returns their number; 0 if no frame has this address, or there are more than `max`. */
uint32_t frames_from_cfa(const struct parsed_frames *a, uint64_t cfa, struct rec_frame *out,
			 uint32_t max);
