/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views of chains and of the critical path, live or in a replay: begin and end the tracing,
 * look up names, compute the text once a second. Private to tui/cli. */
#pragma once

#include "analysis/waits/timeline.h"
#include "tui/engine/front.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"
#include "tui/screen/screen.h"

struct live_waits {
	struct screen *screen;
	struct front *front; /* NULL: a replay */
	struct model *model;
	const struct descent_driver *names;
	struct wait_driver *waits;
	struct walker *walker;
	unsigned int open;		     /* number of views that show waits */
	unsigned int snapshots;		     /* number of views that need snapshots of threads */
	unsigned int views[NR_SCREEN_WAITS]; /* number of views, by what they show */
	uint64_t next_ns;
	uint64_t span_ns,
	    back_ns; /* of the timeline, as in waits_span(); 0: a second; the newest */
	bool per_process;
	struct waits_lane root; /* of SCREEN_WAITS_ROOT */
};

/* Set where the waits come from: a front, or, if it is NULL, a replay, which makes new objects when
 * it goes back. */
void live_waits_source(struct live_waits *l, struct screen *s, struct front *f, struct replay *r);
/* Answer SCREEN_WAITS, SCREEN_WAITS_STOP and SCREEN_WAITS_CHANGE. False: another action. */
bool live_waits_action(struct live_waits *l, const struct screen_action *a);
/* A view begins or ceases to need snapshots of all threads (SCREEN_THREADS). */
void live_snapshots_begin(struct live_waits *l);
void live_snapshots_end(struct live_waits *l);
/* Call every turn. True: there is new text. */
bool live_waits_turn(struct live_waits *l, uint64_t now_ns);
