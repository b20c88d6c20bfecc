/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record --when: when the condition comes true, keep the minute before, find the cause, and say it
 * to the user, the journal and the command of --exec. */
#pragma once

#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"

struct when {
	const struct options *options; /* the others are zero at the begin */
	struct condition_state state;
	enum when_stage {
		WHEN_WAITS = 0, /* until it comes true */
		WHEN_DESCENDS,	/* into the operation */
		WHEN_LOOKS,	/* at the calls that are open */
		WHEN_WALKS,	/* through all threads */
		WHEN_TRACES,	/* for whom the target waits */
		WHEN_STOPS,	/* ... until all of that has arrived */
		WHEN_NAMES,	/* until all names are known */
	} stage;
	enum when_stage found_by; /* the stage that found the answer: DESCENDS, LOOKS or WALKS */
	uint64_t since_ns;	  /* of the stage */
	uint64_t next_ns;	  /* the condition cannot trigger before; 0: at once */
	bool tried_range, began;  /* of the descent: into the calls beyond the limit; at all */
	uint32_t op, round;
	uint64_t times;	 /* how often it came true */
	char head[1200]; /* what came true */
	char path[4096]; /* of the session of its own; "": none */
};

/* To be called in each turn. `ticks`: slices that ended in it. */
void when_turn(struct when *w, struct front *f, int ticks, uint64_t now_ns);
/* The stream is over: give the answer that is being looked for, as far as it is known, wait for the
 * command, and say whether the condition was never true, or always. */
void when_end(struct when *w, struct front *f);
