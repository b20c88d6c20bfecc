// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/descent_tracing.h"

#include "analysis/descent/path_waits.h"
#include "tui/engine/front.h"
#include "tui/engine/wait_driver.h"

enum {
	ENOUGH_CALLS = 20,
	FEW_CALLS = 5, /* enough after RARE_NS: the calls of the peak are rare */
};
#define RARE_NS 1000000000ull
#define LEAST_SHARE 0.1 /* of the peak's time, that a path waits */
#define LONGEST_NS 3000000000ull
#define ANSWER_NS 1000000000ull /* for the end of the window, and for its stacks */

/* Does the answer of the descent wait for somebody? */
static bool is_wanted(struct front *f)
{
	struct descent_result r;
	bool wanted = false;

	if (front_over(f) || driver_result(front_driver(f), &r))
		return false;
	for (unsigned int i = 0; r.status != DESCENT_TARGET_END && i < r.nr_paths; i++)
		wanted |= r.paths[i].share >= LEAST_SHARE && cause_has_chain(&r.paths[i].cause);
	descent_result_release(&r);
	return wanted;
}

static bool are_enough(uint64_t calls, uint64_t since_ns)
{
	return calls >= ENOUGH_CALLS || (calls >= FEW_CALLS && since_ns >= RARE_NS);
}

/* How many calls of the peak were followed. */
static uint64_t calls_followed(struct front *f)
{
	struct waits *w = wait_driver_of_descent(front_waits(f));
	struct waits_calls calls = {0};

	if (w)
		waits_calls(w, &calls);
	return calls.followed;
}

bool descent_tracing_turn(struct descent_tracing *t, struct front *f, uint64_t now_ns,
			  uint64_t most_ns)
{
	uint64_t since = now_ns - t->since_ns, followed;

	switch (t->stage) {
	case TRACING_NOT_YET:
		t->stage = is_wanted(f) && front_waits_begin(f) ? TRACING_GOES_ON : TRACING_OVER;
		t->since_ns = now_ns;
		break;
	case TRACING_GOES_ON:
		followed = calls_followed(f);
		if (!front_over(f) && !front_waits_ended(f) && !are_enough(followed, since) &&
		    (since < LONGEST_NS || (t->patient && !followed)) && since < most_ns)
			break;
		front_waits_end(f);
		t->stage = TRACING_ENDS;
		t->since_ns = now_ns;
		break;
	case TRACING_ENDS:
		if ((front_waits_ended(f) && !front_traces_pending(f)) || since >= ANSWER_NS)
			t->stage = TRACING_OVER;
		break;
	default:
		break;
	}
	return t->stage != TRACING_OVER;
}

void descent_tracing_stop(struct descent_tracing *t, struct front *f)
{
	if (t->stage == TRACING_GOES_ON)
		front_waits_end(f);
	*t = (struct descent_tracing){.stage = TRACING_OVER};
}
