/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen on a terminal: live over a collector, or over a saved session. */
#ifndef PEAKTOP_LIVE_H
#define PEAKTOP_LIVE_H

#include "tui/engine/options.h"

/* Run until the person quits; returns the exit status. */
int live_run(struct options *o);

#endif
