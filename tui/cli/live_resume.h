/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes on with a saved descent on the live screen. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/cli/live.h"
#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/engine/saved_descent.h"
#include "tui/views/live_descent.h"

/* Zero: there is no saved descent. */
struct live_resume {
	struct saved_descent *saved;
	uint64_t ready_ns; /* since then its function is watched */
	bool over;	   /* it goes on, or cannot */
	bool said;	   /* that latencies have changed */
};

/* Tell the front, before its first turn. `bytes` must outlive it. Returns 0 or a negative errno. */
int live_resume_begin(struct live_resume *r, struct front *f, struct options *o,
		      const struct buf *bytes);
void live_resume_release(struct live_resume *r);
/* On the screen of a saved session: hand its descent over to the parent, which goes on with it in
 * process `pid` once this process has ended. False: it does not; the screen says why. */
bool live_resume_in(const struct live_options *to, struct replay *r, struct screen *s,
		    uint32_t pid);
/* Call every turn: begins the descent once enough calls were seen, and shows it. */
void live_resume_turn(struct live_resume *r, struct live_descent *l, const struct options *o,
		      uint64_t now_ns);
/* SCREEN_RESUME: go on although latencies have changed. */
void live_resume_anyway(struct live_resume *r, struct live_descent *l, struct options *o);
