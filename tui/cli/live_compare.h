/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what the screen shows with a saved session, which is read a piece at a time. */
#pragma once

#include "tui/engine/replay.h"
#include "tui/screen/screen.h"

struct live_compare {
	struct replay *other; /* NULL: nothing is being read */
	char name[512];	      /* of its file */
};

/* Answers SCREEN_COMPARE: open the file. `m` is the model of the screen. */
void live_compare_begin(struct live_compare *c, struct screen *s, const char *path);
/* Read on, for a tenth of a second; at the end show the comparison. Returns true if there was
 * something to do. */
bool live_compare_turn(struct live_compare *c, struct screen *s, const struct model *m);
void live_compare_release(struct live_compare *c);
