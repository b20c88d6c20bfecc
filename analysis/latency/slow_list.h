/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slow calls of a session, and which of them a question is about. Pure. */
#pragma once

#include "analysis/session/record.h"

enum { SLOW_LIST_MAX = 1 << 20 };

struct slow_list_call {
	const struct rec_slow_call *call;
	const struct rec_op *op;
	uint64_t realtime_ns; /* wall clock at its begin; 0: not known */
	/* Share of the time in which calls of its operation were measured, 0 to 1, of what was read
	 * when slow_list_pick() returned it; else 1. */
	double seen;
	/* a call by which threads wait until there is something to do, unless it was seen to wait
	 * for an answer */
	bool waits_for_work;
};

/* Collects the calls of a stream. */
struct slow_list;

struct slow_list *slow_list_new(void);
void slow_list_free(struct slow_list *l);
/* Take any record of the stream. 0 or -ENOMEM. */
int slow_list_take(struct slow_list *l, const struct record *rec);
size_t slow_list_nr(const struct slow_list *l);
/* The call at this position, from 0, in the order of the stream. Valid until the next
 * slow_list_take(). */
const struct slow_list_call *slow_list_at(const struct slow_list *l, size_t i);
/* The wall clock at an instant of the session, as it was set last; 0: not known. */
uint64_t slow_list_realtime_ns(const struct slow_list *l, uint64_t at_ns);

/* Which calls are asked for. */
struct slow_question {
	const char *op;		 /* NULL: of all operations */
	uint64_t from_ns, to_ns; /* wall clock: calls that were open then; both 0: of any time */
	size_t most;		 /* of these, so many */
};

/* Calls that a question does not mean, but its answer may name. */
struct slow_beside {
	/* if there is none at the time in question, the call of this operation nearest to it */
	const struct slow_list_call *nearest;
	/* the slowest one that waits for work and is slower than one that the question means */
	const struct slow_list_call *left_out;
};

/* The calls that the question means, the slowest first. Calls that wait for work come last. *nr:
 * their number. Valid until the next slow_list_take(). NULL: out of memory. The caller frees the
 * array. */
const struct slow_list_call **slow_list_pick(struct slow_list *l, const struct slow_question *q,
					     size_t *nr, struct slow_beside *beside);
/* True if the list has an operation of this name. */
bool slow_list_has_op(const struct slow_list *l, const char *name);
