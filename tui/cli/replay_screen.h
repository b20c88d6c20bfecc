/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves the screen through a saved session. */
#pragma once

#include "tui/engine/replay.h"
#include "tui/screen/screen.h"

/* Show the session as it was at `at` (ns since its start). Going back creates a new model and a new
 * descent. */
void replay_screen_show(struct replay *r, struct screen *s, uint64_t at);
/* Carry out an action that moves the replay; report one that needs a collector as not possible.
 * False: another action, which the caller must carry out. */
bool replay_screen_action(struct replay *r, struct screen *s, const struct screen_action *a);
