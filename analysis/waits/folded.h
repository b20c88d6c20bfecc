/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains as folded stacks: one line a chain, its layers and their frames, then nanoseconds. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/waits/traces.h"
#include "analysis/waits/waits.h"

/* The name of a frame of user code; NULL: it is written as [module+offset]. */
typedef const char *(*waits_frame_name)(void *ctx, const struct rec_frame *frame);

/* Layers are "[comm tid state]" or "[state what]", before the frames of their user stack and the
 * functions of their kernel stack. In names, semicolons and control characters become '_'. 0 or
 * the error of `out`. */
int waits_folded(const struct waits_chains *chains, waits_frame_name name, void *ctx,
		 struct buf *out);
