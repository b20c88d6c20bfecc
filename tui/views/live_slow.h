/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects the list of slow calls with the stream, live or saved: says why each call was slow, and
 * opens its story in the view of descents. */
#pragma once

#include "tui/engine/front.h"
#include "tui/engine/replay.h"
#include "tui/screen/screen.h"
#include "tui/views/views.h"

struct live_slow {
	struct screen *screen;
	struct front *front;   /* NULL: a replay */
	struct replay *replay; /* NULL: live */

	/* private; zero at the begin */
	struct screen_slow_question question; /* of the calls that are shown */
	size_t shown;	/* calls of the stream when it was filled last, plus 1; 0: not filled */
	uint64_t at_ns; /* of the session, then */
	bool settled;	/* the causes of all calls that are shown are */
	struct live_slow_why *why; /* of the calls that are shown */
	uint64_t fills;
};

/* SCREEN_SLOW_CALLS, SCREEN_SLOW_CALL, SCREEN_WHY. True: the view of descents now has the story of
 * a call. */
bool live_slow_action(struct live_slow *l, const struct screen_action *a);
/* Call it every turn. True: the screen may have changed. */
bool live_slow_turn(struct live_slow *l);
void live_slow_release(struct live_slow *l);
