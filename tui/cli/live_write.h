/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live screen writes elsewhere. A message on the screen says how it went. */
#ifndef PEAKTOP_LIVE_WRITE_H
#define PEAKTOP_LIVE_WRITE_H

#include <stdbool.h>

#include "tui/engine/front.h"
#include "tui/engine/options.h"

struct screen;

/* The view that is shown, as text. An existing file is not overwritten. */
void live_write_text(struct screen *s, const char *path);
/* The session so far. */
void live_write_snapshot(struct screen *s, struct front *f, const char *path);
/* SIGUSR1: print the state to stderr, unless that is the terminal (`redirected` false). */
void live_write_state(struct screen *s, struct model *m, const struct options *o, bool redirected);

#endif
