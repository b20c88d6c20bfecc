/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a script (tui/cli/script.h) on the screens of `peaktop -r FILE`, without a terminal. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/engine/options.h"
#include "tui/engine/replay.h"

/* Returns as script_run(). */
int script_session(struct replay *r, const struct options *o, const char *text, size_t n,
		   struct buf *out);
