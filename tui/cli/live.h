/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the screen on a terminal: live with a collector, or as a replay of a saved session. */
#pragma once

#include "tui/engine/options.h"

/* Run until the user quits. Returns the exit status. */
int live_run(struct options *o);
