/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal state and functions of a descent; only for the files of analysis/descent/. */
#pragma once

#include "analysis/descent/change.h"
#include "analysis/descent/descent.h"
#include "analysis/descent/ftree.h"
#include "analysis/descent/witness.h"

enum {
	DESCENT_QUEUE = 256,
	DESCENT_MAX_TARGETS = 1024,
	DESCENT_HANDLERS = 8,
	/* The callee of calls that were not timed is named if this many samples are below the
	 * caller; fewer samples are no answer by samples alone. */
	SAMPLED_LEAST = 8,
};

/* If the program has a smaller share of the latency than this, and the host the rest, then the time
 * of the program needs no explanation. */
#define PROGRAM_LEAST 0.25

enum descent_phase { PHASE_IDLE = 0, PHASE_START, PHASE_RUN, PHASE_DONE };

/* The corrected times of one armed fnode in the present call. */
struct vector {
	bool present;
	uint64_t count, max, net, blocked, fault, runqueue, interrupt;
	/* inclusive time, corrected for the probes; run-queue and interrupt time not subtracted */
	uint64_t sum;
	uint64_t probes_ns; /* cost of the probes at this fnode and below it */
	/* subtracted from the fault time of callees, because they did not take that long */
	uint64_t overrated_ns;
};

/* Sums over in-peak calls. */
struct totals {
	uint64_t records, latency_ns;
	double latency_squares; /* sum of squares, for the error of the mean */
	uint64_t preempted_ns, runqueue_ns, interrupt_ns;
	uint64_t fault_ns, minor_faults, major_faults, preemptions;
	bool fault_estimated; /* fault_ns is a count of faults times a constant */
	bool fault_of_root;   /* fault time is known for f0 only, not for each fnode */
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
	uint32_t
	    armed[DESCENT_MAX_ARMED]; /* numbers of the armed fnodes, parents before children */
	struct descent_armed armed_out[DESCENT_MAX_ARMED], learn_out;
	struct totals window; /* calls since a set was last armed */
	struct armed_profile {
		unsigned int slices;
		uint64_t calls, in_peak;
		unsigned int drowned; /* calls of the peak that mostly consisted of probes */
	} seen; /* calls of f0 since a set was last armed, from its profiles */
	struct totals all;
	struct cause_tally preempted_by, queued_by, interrupts;
	bool several_handlers; /* a call met more than one */
	unsigned int nr_handlers;
	struct handler {
		struct rec_code function;
		uint32_t signal;
	} handler[DESCENT_HANDLERS]; /* signal handlers that ran in in-peak calls */

	struct vector *vector; /* indexed by fnode number */
	uint32_t cap_vector;

	/* Actions that descent_next() has not returned yet. */
	uint32_t nr_expand,
	    expand[DESCENT_QUEUE]; /* numbers of functions whose call sites to ask for */
	uint32_t nr_learn, learn[DESCENT_QUEUE]; /* fnodes */
	bool say_arm;
	bool epoch_armed; /* a set was armed since REC_DESCENT, even if it holds f0 alone */
	bool decided;	  /* a decision was taken since the present set was armed */
	bool plan_again;  /* planning waits for an answer of the parser or of a burst */
	bool resuming;	  /* arming a restored tree waits for such an answer */
	bool restarted;	  /* all votes were discarded once, because they led to no path */
	struct {
		bool known;
		enum cause_kind kind;
		uint32_t node;
		/* the program's largest path at the last decision: its cause and its last fnode */
	} last_own;
	/* in-peak calls of which it is known, and not known, when they waited and ran */
	uint64_t scheduling_known, scheduling_unknown;
	uint64_t first_start_ns, last_end_ns; /* span of all calls that voted */
	uint64_t first_call_ns; /* start of the first call that voted since a set was last armed */

	/* fnode number here, indexed by the number in the session; NULL: nothing restored */
	uint32_t *restored;
	struct profile saved_start; /* the start profile of the session; no calls: none */
	bool changed_since_saved;   /* the present calls differ from it */
	uint32_t nr_targets;
	uint32_t target[DESCENT_MAX_TARGETS]; /* pids */
};

/* votes.c: returns true for a call that must not vote, because the scheduler was not watched during
 * all of it: its waits would count as time that it ran. Long calls are more often among these than
 * short ones. If hardly any call is known, these calls are better than none. */
bool descent_half_known(struct descent *d, const struct rec_call *c);
/* votes.c: counts the votes of one in-peak call. Returns 0 or -ENOMEM. */
int descent_vote(struct descent *d, const struct rec_call *call);

/* decide.c: chooses the fnodes to follow by the votes so far. Sets `kept`, `live` and `undecided`
 * of all fnodes. */
void descent_decide(struct descent *d);
/* Returns true if the fnode can get votes: it can be timed, and no finer fnodes replace it. */
bool fnode_alive(const struct fnode *n);
/* Returns true if the function keeps time of its own (code, blocking or faults) and further call
 * sites of it need probes. */
bool fnode_wants_opening(const struct descent *d, uint32_t node);
/* Returns true if no further call site of the function needs probes: each one was measured as far
 * as possible, or the ones that were not can take too little time for a path. */
bool fnode_is_measured(const struct descent *d, uint32_t node);
/* Returns true if every live function has enough votes. */
bool descent_all_decided(const struct descent *d);

/* arm.c: after a decision, asks for call sites, arms the next set, or ends the descent. Returns 0
 * or -ENOMEM. */
int descent_plan(struct descent *d);
/* Describes an fnode for the front, which arms it. */
void fnode_report(const struct descent *d, uint32_t node, struct descent_armed *out);
/* Replaces the armed set by the empty set: f0 alone is timed. */
void descent_arm_nothing(struct descent *d);
/* resumed.c: after a decision by the saved votes, arms the first set: the saved paths, and what the
 * saved descent would have armed next. Returns 0 or -ENOMEM. */
int descent_go_on(struct descent *d);
/* resumed.c: where a function itself is kept as a cause, lets its callees that were measured in the
 * saved session alone be measured again. */
void descent_distrust_ends(struct descent *d);
/* resumed.c: compares the calls of this run with the saved profile; change.h. Notes a difference,
 * and returns true if the descent must end for it. */
bool descent_compare_saved(struct descent *d,
			   bool (*compare)(struct change *c, const struct profile *saved));
/* Arms the present set again, without fnodes that cannot be armed any more and those below them. */
void descent_arm_rest(struct descent *d);

/* own.c: returns the number of in-peak calls from one decision to the next: --decision-ops, or half
 * of that if such calls are rare. */
uint32_t descent_decision_ops(const struct descent *d);

/* own.c: means per in-peak call, ns. */
struct means {
	double net, blocked, fault, runqueue, interrupt, repeated;
	double net_when_called; /* net time per call of f0 that called the fnode; 0: none did */
};
/* Computes the means of one fnode, inclusive of its callees. Uses the calls since a set was last
 * armed if these are enough, else all calls. */
void fnode_means(const struct descent *d, uint32_t node, struct means *out);
/* The time of a function without the callees on a root cause path, mean ns per in-peak call. self,
 * loop, blocked and fault are disjoint. */
struct own_times {
	double self; /* its own code */
	double loop; /* repeated calls of callees that are not on a root cause path */
	double blocked, fault;
	double loop_blocked; /* the part of `loop` for which these callees were blocked */
	double spread;	     /* all calls of callees that are not on a root cause path */
	double dropped;	     /* the part of `spread` in callees that are no longer armed */
	double undecided;    /* the part of `spread` in callees armed since the last decision */
};
void fnode_own_times(const struct descent *d, uint32_t node, struct own_times *out);
/* Returns the blocked part of `loop`. `loop` is a part of the time `net` of the calls of one
 * callee, which were blocked for `blocked` in total. Assumes that all these calls are alike. */
double loop_blocked_ns(double loop, double blocked, double net);
/* Returns the calls that the means are computed over. */
const struct totals *descent_totals(const struct descent *d);
/* Returns the time that the host took from the calls: waiting for a CPU, and interrupts. */
double descent_host_ns(const struct totals *t);
/* Returns the time of the calls that belongs to the program. Shares of callees and own code are
 * computed against this time, because on a busy host the host may take most of a call. At least
 * PROGRAM_LEAST of the total. */
double descent_program_ns(const struct totals *t);

/* answers.c: take the answers to requests of the descent. Return 0, -EINVAL, -ENOMEM or -ENOSPC. */
int descent_take_callees(struct descent *d, const struct rec_callees *r);
int descent_take_indirect_callees(struct descent *d, const struct rec_indirect_callees *r);
int descent_take_lost(struct descent *d, const struct rec_fnode_lost *r);
/* Drops all armed fnodes, because their probes change the peak itself. */
void descent_lose_armed(struct descent *d);
/* Returns true if the probes inside a call took most of it, so that its times say nothing. After
 * some such calls, stops timing the fnodes that are called most often in it. */
bool descent_drowns(struct descent *d, const struct rec_call *call);

/* verdict.c: called after a decision at `now_ns`. Returns true if enough is explained, this
 * decision and the previous one agree, and calls come so slowly that more of them are not worth the
 * wait. */
bool descent_settled(struct descent *d, uint64_t now_ns);
/* verdict.c: returns true if the answer would be that calls are too short to be timed, or own code
 * that no sample confirms, and more calls will soon bring samples that tell. */
bool descent_wants_samples(const struct descent *d);

/* Returns true if the calls that the user named are longer than those measured so far. */
bool descent_awaits_longer_calls(const struct descent *d);

/* kernel_sites.c: adds the call sites in functions of the kernel that stack samples have shown.
 * Returns 0, -ENOMEM or -ENOSPC. */
int descent_add_kernel_sites(struct descent *d);
/* Returns true if more stacks will soon show where a path goes on in the kernel. */
bool descent_awaits_kernel_sites(const struct descent *d);

/* save.c: adds one fnode of a saved session. Returns 0, -EINVAL, -ENOMEM or -ENOSPC. */
int descent_restore(struct descent *d, const struct rec_fnode *saved);
/* save.c: takes the start profile of the saved session. Returns 0 or -EINVAL. */
int descent_take_saved_profile(struct descent *d, const struct rec_profile *saved);

/* Returns true if stack samples show that nearly all time of the function passes in its own system
 * calls. Such a function is usually a wrapper in the C library, which the whole program calls: its
 * callees are not worth probes. */
bool fnode_is_call_of_kernel(const struct descent *d, uint32_t node);

/* result_sampled.c: returns true if the samples until `now_ns` are enough for an answer by samples
 * alone. */
bool descent_samples_suffice(const struct descent *d, uint64_t now_ns);

/* Fills *out with the frames of the stack samples that belong to an fnode. */
void fnode_witness_set(const struct descent *d, uint32_t node, struct witness_set *out);
