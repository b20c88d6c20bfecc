/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces waits for a few seconds after a descent that ended at a wait for another task or a device,
 * until enough calls of the peak were seen: then the answer says for whom they wait. Live only. */
#pragma once

struct front;

/* All zero before the descent begins. */
struct descent_tracing {
	enum { TRACING_NOT_YET = 0, TRACING_GOES_ON, TRACING_ENDS, TRACING_OVER } stage;
	bool patient;	   /* go on until calls were followed, as long as `most_ns` allows */
	uint64_t since_ns; /* of the stage */
};

/* Call it every turn once the descent is over. `most_ns`: how long it may trace. True: it goes on.
 */
bool descent_tracing_turn(struct descent_tracing *t, struct front *f, uint64_t now_ns,
			  uint64_t most_ns);
/* Stop tracing if it goes on. The struct is used up; the next descent needs a new one. */
void descent_tracing_stop(struct descent_tracing *t, struct front *f);
