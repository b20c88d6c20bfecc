/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live screen writes elsewhere. A message on the screen says how it went. */
#pragma once

#include "tui/engine/front.h"
#include "tui/engine/options.h"

struct screen;
struct screen_action;

/* Write what the action asks for: the view as text, the session so far (an existing file is not
 * overwritten), or settings into the configuration file. */
void live_write(struct screen *s, struct front *f, const struct screen_action *a);
/* SIGUSR1: print the state to stderr, unless that is the terminal (`redirected` false). */
void live_write_state(struct screen *s, struct model *m, const struct options *o, bool redirected);
