/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands for armed call sites in the descent into one slow call that is over: its stacks. The
 * call sites of a function are those in its frames, and a call took what was seen below it. */
#pragma once

#include "analysis/session/record.h"
#include "tui/engine/descent_driver.h"

/* A function in the stacks, and the calls that it makes in them. */
struct told_function {
	struct rec_code function;
	struct rec_call_site *sites; /* in the order of their offsets */
	uint32_t nr, cap;
};

/* The stacks inside one call. */
struct told_stacks {
	struct rec_witness *list; /* the frames belong to the records of the session */
	size_t nr;
	uint64_t run_ns;		 /* of those that are samples */
	bool covers_cpu;		 /* the samples stand for most of the time on the CPU */
	struct told_function *functions; /* callers before those that they call */
	size_t nr_functions, cap_functions;
};

/* Find the functions of the stacks. 0 or -ENOMEM. */
int told_functions(struct told_stacks *s, const struct rec_call *call);
void told_stacks_release(struct told_stacks *s);
/* Give the descent the call sites of all functions in the stacks. It ignores those that it knows,
 * and those of functions that it has not come to yet. */
void told_callees(struct descent_driver *d, const struct told_stacks *s);
/* Fill in what the armed call sites took, by the stacks. Returns their number. */
uint32_t told_nodes(const struct descent_driver *d, struct rec_code f0, const struct told_stacks *s,
		    struct rec_call_node out[DESCENT_MAX_SITES]);
