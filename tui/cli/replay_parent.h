/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of a saved session. It runs in a child without privileges; the process that started it
 * keeps them for R, with which the saved descent goes on in a running process. */
#pragma once

#include "tui/engine/options.h"

/* Run until the user quits, also after R. Returns the exit status. */
int replay_run(struct options *o);
