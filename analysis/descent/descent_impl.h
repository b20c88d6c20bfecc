/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The insides of a descent, for the files of analysis/descent/ only. */
#ifndef PEAKTOP_DESCENT_IMPL_H
#define PEAKTOP_DESCENT_IMPL_H

#include "analysis/descent/change.h"
#include "analysis/descent/descent.h"
#include "analysis/descent/ftree.h"
#include "analysis/descent/witness.h"

enum {
	DESCENT_QUEUE = 256,
	DESCENT_MAX_TARGETS = 1024,
	DESCENT_HANDLERS = 8,
};

/*
 * If the program's own share of the calls' time is smaller than this, beside the host's
 * share, it needs no explanation.
 */
#define PROGRAM_LEAST 0.25

enum descent_phase { PHASE_IDLE = 0, PHASE_START, PHASE_RUN, PHASE_DONE };

/* The corrected times of one armed fnode in the present call. */
struct vector {
	bool present;
	uint64_t count, max, net, blocked, fault, runqueue, interrupt;
	uint64_t sum;	    /* gross, corrected */
	uint64_t probes_ns; /* what the probes at and below it cost */
};

/* Over in-peak calls. */
struct totals {
	uint64_t records, latency_ns;
	double latency_squares; /* sum, for the error of the mean */
	uint64_t preempted_ns, runqueue_ns, interrupt_ns;
	uint64_t fault_ns, minor_faults, major_faults, preemptions;
	bool fault_estimated; /* a count times a constant */
	bool fault_of_root;   /* in which fnode is not known */
	bool blocked_unknown;
};

struct descent {
	struct rec_descent ask;
	enum descent_phase phase;
	enum descent_status status;
	struct ftree tree;
	struct change change;
	struct witnesses *witnesses;

	uint32_t epoch;
	unsigned int rounds, decisions;
	uint64_t calls_used;
	uint32_t nr_armed;
	uint32_t armed[DESCENT_MAX_ARMED]; /* fnodes, parents before children */
	struct descent_armed armed_out[DESCENT_MAX_ARMED], learn_out;
	struct totals window; /* since the last arming */
	struct armed_profile {
		unsigned int slices;
		uint64_t calls, in_peak;
	} seen; /* of f0 since then, by its profile */
	struct totals all;
	struct cause_tally preempted_by, queued_by, interrupts;
	unsigned int nr_handlers;
	struct handler {
		struct rec_code function;
		uint32_t signal;
	} handler[DESCENT_HANDLERS]; /* of signals, that were seen in in-peak calls */

	struct vector *vector; /* by fnode */
	uint32_t cap_vector;

	/* Actions that are still to be said. */
	uint32_t nr_expand, expand[DESCENT_QUEUE]; /* functions */
	uint32_t nr_learn, learn[DESCENT_QUEUE];   /* fnodes */
	bool say_arm;
	bool epoch_armed; /* something was armed, if f0 alone, since this was asked */
	bool decided;	  /* a decision was taken that planning can rest on */
	bool plan_again;  /* the planning waits for an answer */
	bool resuming;	  /* so does the arming of a restored tree */
	bool restarted;	  /* votes were thrown away because they led nowhere */
	struct {
		bool known;
		enum cause_kind kind;
		uint32_t node;
	} last_own; /* the program's largest path at the last decision: its cause and its last fnode
		     */
	uint64_t first_start_ns, last_end_ns; /* of all calls that voted */
	uint64_t first_call_ns; /* begin of the first call that voted since the last arming */

	uint32_t *restored; /* fnode by its number in the session; NULL: none restored */
	uint32_t nr_targets;
	uint32_t target[DESCENT_MAX_TARGETS]; /* pids */
};

/* votes.c: take one in-peak call. 0 or -ENOMEM. */
int descent_vote(struct descent *d, const struct rec_call *call);

/*
 * decide.c: choose the fnodes to follow by the votes so far; sets `kept`, `live`,
 * `undecided`.
 */
void descent_decide(struct descent *d);
/* Is `node` one of its caller's (alive) callees that can get votes? */
bool fnode_alive(const struct fnode *n);
/* Has the function time of its own that is to be looked into? */
bool fnode_wants_opening(const struct descent *d, uint32_t node);
/*
 * Is all that matters of the function's time known? Each call site was measured as far as it can
 * be, or what those that were not can take is too little for a path.
 */
bool fnode_is_measured(const struct descent *d, uint32_t node);
/* Is every live function decided? */
bool descent_all_decided(const struct descent *d);

/* arm.c: find the next set after a decision; asks, arms, or ends the descent. 0, -ENOMEM. */
int descent_plan(struct descent *d);
/* Tell the front to arm or drop this fnode. */
void fnode_report(const struct descent *d, uint32_t node, struct descent_armed *out);
/* Time f0 alone. */
void descent_arm_nothing(struct descent *d);
/* The live fnodes of a tree that was restored. 0 or -ENOMEM. */
int descent_arm_live(struct descent *d);
/* The armed set without what cannot be armed any more, and without what is below that. */
void descent_arm_rest(struct descent *d);

/* own.c: in-peak calls from one decision to the next: --decision-ops, or half of it where they are
 * rare. */
uint32_t descent_decision_ops(const struct descent *d);

/* own.c: means per in-peak call, ns. */
struct means {
	double net, blocked, fault, runqueue, interrupt, repeated;
	double net_when_called; /* of the calls that called it; 0: none did */
};
/*
 * The inclusive means of one fnode, from the calls since the last arming if these are
 * enough.
 */
void fnode_means(const struct descent *d, uint32_t node, struct means *out);
/* The time of a function without its callees, in disjoint parts. */
struct own_times {
	double self; /* its code; in `loop` too */
	double loop; /* callees called again and again, of those that are no root cause */
	double blocked, fault;
	double loop_blocked; /* the part of `loop` in which these callees were blocked */
	double spread;	     /* its callees that are no root cause */
	double dropped;	     /* callees that are no longer armed */
	double undecided;    /* ... and those that are armed since the last decision */
};
void fnode_own_times(const struct descent *d, uint32_t node, struct own_times *out);
/*
 * The blocked part of `loop`, which is a part of the time `net` of one callee's calls,
 * assuming that all calls are alike.
 */
double loop_blocked_ns(double loop, double blocked, double net);
/* The calls that the means are taken over. */
const struct totals *descent_totals(const struct descent *d);
/* The host's part of the calls' time: waiting for a CPU and interrupts. */
double descent_host_ns(const struct totals *t);
/*
 * The program's part of the calls' time, with which its parts are compared. On a busy host
 * the host's part may be most of a call. At least PROGRAM_LEAST of all.
 */
double descent_program_ns(const struct totals *t);

/* answers.c: the descent's own records. 0, -EINVAL, -ENOMEM, -ENOSPC. */
int descent_take_callees(struct descent *d, const struct rec_callees *r);
int descent_take_indirect_callees(struct descent *d, const struct rec_indirect_callees *r);
int descent_take_lost(struct descent *d, const struct rec_fnode_lost *r);
/* Drop all armed fnodes, because their probes change the peak itself. */
void descent_lose_armed(struct descent *d);

/*
 * verdict.c: after a decision at `now_ns`: is enough explained, do this decision and the one before
 * agree, and do calls come so slowly that more of them are not worth the wait?
 */
bool descent_settled(struct descent *d, uint64_t now_ns);

/* save.c: take one fnode of a session. 0, -EINVAL, -ENOMEM, -ENOSPC. */
int descent_restore(struct descent *d, const struct rec_fnode *saved);

/*
 * Is its function one that calls the kernel, by its stacks? What it calls itself is not worth
 * probes: the functions of a C library that do are called by the whole program.
 */
bool fnode_is_call_of_kernel(const struct descent *d, uint32_t node);

/* The frames of stack samples that belong to an fnode. */
void fnode_witness_set(const struct descent *d, uint32_t node, struct witness_set *out);

#endif
