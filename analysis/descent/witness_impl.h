/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that keep the stack samples of a descent. */
#pragma once

#include "analysis/base/array.h"
#include "analysis/descent/ftree.h"
#include "analysis/descent/witness.h"

/* A stack sample without its texts: what the thread slept on is classified at once and stored as a
 * cause. */
struct stack {
	bool used, partial;
	bool timed_out; /* another sleep for the same may follow */
	bool counted;	/* already, at the witness node `at` */
	bool futex;
	uint32_t at;
	uint32_t tid, nr_frames, node;
	int32_t syscall;
	uint64_t arg; /* the first one of the system call */
	uint64_t at_ns, weight_ns;
	enum witness_kind kind;
	/* a CPU sample while the kernel did work with a name: see `cause` */
	bool work;
	struct cause cause;
	uint32_t nr_kernel, nr_callers;
	struct rec_frame frame[DESCENT_MAX_WITNESS_FRAMES];
	struct rec_frame kernel[STACK_DEPTH], caller[STACK_DEPTH];
};

/* A wait at a futex that somebody ended, from the first of the timeouts that belong to it on. */
struct ended_wait {
	uint32_t tid;
	uint64_t arg, begin_ns, end_ns;
	struct cause cause;
};

struct recent_call {
	uint32_t tid;
	uint64_t start_ns, end_ns;
};

struct witnesses {
	struct rec_code f0;
	uint64_t count, stacks;
	bool keeps_syscalls;
	struct stack_tally *callers;
	struct blocked blocked;
	uint32_t nr_kernel; /* number of tallies of kernel stacks */
	uint32_t nr_nodes, cap_nodes;
	struct witness_node *node; /* [0] is f0 */
	unsigned int next_pending, next_recent;
	unsigned int nr_timed_out; /* in `pending` */
	unsigned int next_ended;
	struct ended_wait ended[WITNESS_ENDED]; /* recent waits that did not time out */
	struct stack *pending[WITNESS_PENDING]; /* allocated at first use */
	struct recent_call recent[WITNESS_RECENT];
};

/* ---- witness_timeouts.c */

/* Makes room in a slot of `pending`. */
void witness_release(struct witnesses *w, struct stack *s);
/* Gives the sleeps before `s` that timed out, in the same call and for the same, the cause of `s`:
 * who ends the last one of such waits is who was waited for all the time. `c`: their call, NULL if
 * it has not ended yet. */
void witness_join_timeouts(struct witnesses *w, const struct stack *s, const struct recent_call *c);
/* Gives `s`, if it timed out, the cause of the next such wait, which was seen before: a sleep whose
 * stack is read arrives later. */
void witness_join_ended(const struct witnesses *w, struct stack *s, const struct recent_call *c);
