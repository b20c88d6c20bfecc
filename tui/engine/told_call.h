/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The story of one slow call of a saved session: a descent into this call alone, with what was
 * recorded of it in place of armed call sites and samples. */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/latency/ordinary.h"
#include "analysis/latency/slow_list.h"
#include "analysis/session/record.h"
#include "tui/engine/descent_driver.h"

/* The records of a session by which code is named (modules, symbols), and the stacks inside slow
 * calls. */
struct told_names;

/* How many stacks were recorded inside a call. */
struct told_seen {
	uint32_t sleeps;  /* where it slept */
	uint32_t samples; /* where it ran */
	bool forgotten; /* there may have been more: the oldest stacks of a long stream are dropped
			 */
};
void told_seen(const struct told_names *n, const struct rec_slow_call *slow, struct told_seen *out);

/* By what a call differs from ordinary ones (analysis/latency/ordinary.h). */
void told_differences(const struct told_names *n, const struct op *op,
		      const struct rec_slow_call *slow, struct values *out);

/* The slow calls of a stream, with what names their code. */
struct told_calls {
	struct slow_list *list;
	struct told_names *names;
};

int told_calls_init(struct told_calls *t);
void told_calls_release(struct told_calls *t);
/* Take any record of the stream. 0 or -ENOMEM. */
int told_calls_take(struct told_calls *t, const struct record *rec);

/* A driver whose descent into this call is over: its result is the answer. NULL: out of memory.
 * Free it with driver_free(). */
struct descent_driver *told_call(const struct told_names *n, const struct model *m,
				 const struct rec_op *op, const struct rec_slow_call *call);
