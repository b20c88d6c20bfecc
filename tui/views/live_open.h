/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view of open calls on the live screen: take snapshots of all threads, look up names,
 * show the view. Private to tui/cli/live.c. */
#pragma once

#include "tui/engine/front.h"
#include "tui/screen/screen.h"

struct live_open {
	struct screen *screen;
	struct front *front; /* NULL: a replay */
	uint32_t op;	     /* the operation whose open calls are being collected; 0: none */
	uint32_t round;
	uint64_t asked_ns;
};

void live_open_ask(struct live_open *l, uint32_t op);
/* Call every turn: shows the view when all snapshots and names have arrived. True: something was
 * shown. */
bool live_open_turn(struct live_open *l);
