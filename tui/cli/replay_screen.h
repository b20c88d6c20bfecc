/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A saved session in the screen: what moves through it. */
#ifndef PEAKTOP_REPLAY_SCREEN_H
#define PEAKTOP_REPLAY_SCREEN_H

#include "tui/engine/replay.h"
#include "tui/screen/screen.h"

/* Show the session as it was at this time. Going back makes a new model, and a new descent. */
void replay_screen_show(struct replay *r, struct screen *s, uint64_t at);
/* True if the action moves a replay, or needs a collector (which is said). */
bool replay_screen_action(struct replay *r, struct screen *s, const struct screen_action *a);

#endif
