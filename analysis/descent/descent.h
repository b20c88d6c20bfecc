/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One descent: from a peak of f0 to the call paths that make it (DARC, SIGMETRICS
 * 2008, sections 3 and 4; DESIGN section 5; docs/descent.md is the guide).
 *
 * A state machine without clock and I/O. Its only inputs are records, in the
 * order of the stream, so that a replay gives the same answer:
 *
 *	REC_DESCENT	what is asked: f0, the peak, the options. Again: another peak
 *			(the tree, its call sites and learnt callees are used again)
 *	REC_FNODE	(only right after the first REC_DESCENT, parents first) an fnode of a saved
 *			descent to go on with; its modules renumbered to those of this stream
 *	REC_PROFILE	of f0, each slice: the start profile and its change
 *	REC_CALL	one in-peak call of f0 with its vector
 *	REC_WITNESS	a stack inside a call of f0; kept when that call is in the peak,
 *			whichever of the two comes first
 *	REC_CALLEES	answer to DESCENT_EXPAND
 *	REC_INDIRECT_CALLEES	answer to DESCENT_LEARN
 *	REC_FNODE_LOST	an armed fnode's fuse has blown, or its site was refused
 *	REC_TARGET_END	the target has ended
 *
 * After each one, descent_next() is to be called until it says DESCENT_WAIT or
 * DESCENT_DONE. Records of other operations and types are ignored.
 *
 * Node numbers are small: 0 is f0, those of a descent are below DESCENT_MAX_NODES
 * and never used for another fnode. An armed set is closed: the parent of an armed
 * node is armed too (or is 0). Sites are counted against max_sites once, however
 * many fnodes share them. What a call took outside of its armed callees belongs to
 * `unmeasured callees` until every call site of the function was measured.
 *
 * Times in ns. Memory is bounded: at most DESCENT_MAX_NODES fnodes and
 * DESCENT_MAX_CALL_SITES call sites, calls only as aggregates.
 */
#ifndef PEAKTOP_DESCENT_H
#define PEAKTOP_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/base/buf.h"
#include "analysis/descent/causes.h"
#include "analysis/latency/profile.h"
#include "analysis/session/record.h"

enum {
	DESCENT_MAX_NODES = 4096,
	DESCENT_MAX_SITES = 256, /* max_sites is at most this */
	DESCENT_MAX_ARMED = 256, /* fnodes at once: at most this, and twice max_sites */
	DESCENT_DEFAULT_DEPTH = 16,
	DESCENT_MAX_DEPTH = 64,		  /* and max_depth this */
	DESCENT_MAX_CALL_SITES = 1 << 17, /* of all functions together */
	DESCENT_MAX_WITNESS_FRAMES = 72,
};

struct descent;

/* The defaults of the command line; op, function and the peak are to be set by the caller. */
void descent_options_init(struct rec_descent *options);

/* NULL: out of memory. Nothing is asked yet: feed REC_DESCENT. */
struct descent *descent_new(void);
void descent_free(struct descent *d);

/*
 * Process one record. Returns 0, -EINVAL (invalid record: options out of range, unknown
 * node; it has no effect), -ENOMEM, or -ENOSPC (a limit is reached; the descent continues
 * with what it has).
 */
int descent_feed(struct descent *d, const struct record *rec);

/* Why the front gives up: the time is over, or a person stopped it. */
void descent_stop(struct descent *d);

enum descent_status {
	DESCENT_ROOT_CAUSE = 0, /* "root cause found" */
	DESCENT_DEPTH_REACHED,	/* "maximum depth reached" */
	DESCENT_IN_PROGRESS,
	DESCENT_CHANGED,    /* "distribution changed": start again from the peaks as they are now */
	DESCENT_TOO_FEW,    /* "not enough calls" */
	DESCENT_TARGET_END, /* "target ended" */
	DESCENT_PARTLY,	    /* "partly explained": too little of the time has a cause that is named;
			       only in results */
	DESCENT_STATUSES
};

/* The words of the JSON. */
const char *descent_status_text(enum descent_status s);
enum descent_status descent_status(const struct descent *d);

/* One fnode to be armed. Kernel side: a table with these, found by (parent that is open, site). */
struct descent_armed {
	uint32_t node;
	uint32_t parent;      /* armed too; 0 = f0 */
	struct rec_code site; /* of the call instruction */
	uint64_t ret;	      /* offset of its return address, 0: tail call, ends with the parent */
	uint64_t last_site,
	    last_ret;		/* a basic block: timed from `site` to the end of this one; 0 */
	struct rec_code callee; /* module 0: whatever the site calls */
	uint32_t kind;		/* enum callee_kind */
	/*
	 * The site has several callees and only this one counts: time it from the
	 * entry of the callee, with the return address as filter.
	 */
	bool only_callee;
	bool in_loop;
};

enum descent_action_kind {
	DESCENT_WAIT = 0, /* for records */
	DESCENT_EXPAND,	  /* wants REC_CALLEES of `function` */
	DESCENT_LEARN,	  /* wants REC_INDIRECT_CALLEES of `node`: watch what its site calls, in a
			     short burst */
	DESCENT_ARM,	  /* these replace the armed set; calls that begin with it carry `epoch` */
	DESCENT_DONE	  /* nothing is to be armed any more */
};

/* Arrays belong to the descent and are valid until it is fed again. */
struct descent_action {
	enum descent_action_kind kind;
	struct rec_code function;
	uint32_t node;
	uint32_t epoch;
	uint32_t nr_armed;		   /* 0 is possible: f0 alone is timed */
	const struct descent_armed *armed; /* DESCENT_LEARN: the one, to know its site */
};

/* The next action. Each action is returned once, except DESCENT_WAIT and DESCENT_DONE. */
void descent_next(struct descent *d, struct descent_action *action);

/* The profile of f0 before any callee was timed. Valid until the descent is fed. */
const struct profile *descent_start_profile(const struct descent *d);

/* For the screen; cheap. */
struct descent_progress {
	enum descent_status status;
	unsigned int rounds;	 /* times that sites were armed */
	uint64_t calls_used;	 /* in-peak calls that were counted */
	unsigned int armed;	 /* fnodes */
	unsigned int decisions;	 /* taken so far */
	unsigned int until_next; /* in-peak calls until the next decision */
	uint64_t start_calls;	 /* calls in the start profile */
	uint64_t witnesses;	 /* inside in-peak calls */
};
void descent_progress(const struct descent *d, struct descent_progress *out);

enum evidence {
	EVIDENCE_MEASURED = 0, /* in-peak probe records */
	EVIDENCE_WITNESSED,    /* stacks at sleeps */
	EVIDENCE_SAMPLED,      /* on-CPU samples */
	EVIDENCE_ESTIMATED,    /* a calibrated constant times a count, or a mean of other calls */
	EVIDENCE_KINDS
};
const char *evidence_text(enum evidence e);

enum descent_node_state {
	FNODE_UNTRIED = 0, /* known, never armed */
	FNODE_ARMED,
	FNODE_MEASURED, /* was armed, is not any more */
	FNODE_HOT,	/* its fuse has blown */
	FNODE_UNTIMED	/* cannot be timed */
};

/* One fnode that was ever armed or is on a path. */
struct descent_fnode {
	uint32_t node, parent;
	struct rec_code function; /* module 0: callee not known */
	struct rec_code site;	  /* module 0: f0 */
	uint64_t ret;		  /* offset of the return address */
	uint64_t last_site;	  /* a basic block of F's up to this site; 0 */
	uint32_t depth;
	enum descent_node_state state;
	bool root_cause; /* on a root cause path */
	bool in_loop;
	double share;	     /* of the time of the in-peak calls, inclusive */
	uint64_t latency_ns; /* mean inclusive, of the in-peak calls of f0 that called it */
	uint64_t max_ns;
	uint64_t maxcount; /* votes; of f0: in-peak calls */
	uint64_t votes;	   /* calls in which it could have got one */
	unsigned int decisions;
	uint64_t records; /* in-peak calls of f0 in which it was armed: the `measured` number */
};

struct descent_pc {
	struct rec_code place;
	uint64_t ns;
};
enum {
	DESCENT_PCS = 32,
	DESCENT_SIBLINGS = 16,
	DESCENT_KERNEL = 24,
	DESCENT_CALLERS = 8,
	DESCENT_BELOW = 5
};

/* A function in which samples of a path ended. */
struct descent_below {
	struct rec_code function;
	double share; /* of the peak's time */
	bool own;     /* it is the path's last frame itself */
};

struct descent_path {
	double share; /* of the peak's time; all of them sum to `explained` */
	struct cause cause;
	enum evidence evidence; /* of the cause */
	uint64_t latency_ns;	/* of the cause, mean per in-peak call */
	uint64_t maxcount;	/* votes of the cause in its function */
	uint32_t place; /* of preemption, run queue, interrupts: where it mostly stood; index in
			   `nodes`, as far down as was armed; 0: nowhere in particular */
	unsigned int nr_frames;
	const uint32_t *frames; /* indices in `nodes`, f0 first */
	unsigned int nr_siblings;
	uint32_t
	    siblings[DESCENT_SIBLINGS]; /* of the last frame; indices in `nodes`, largest first */
	unsigned int nr_pcs;		/* on-CPU samples in the last frame's own code */
	struct descent_pc pcs[DESCENT_PCS]; /* heaviest first */
	/*
	 * Functions in which samples ended, for calls that were not timed individually, such as
	 * the callees of the last frame's loop.
	 */
	unsigned int nr_below;
	struct descent_below below[DESCENT_BELOW]; /* heaviest first */
	/* A loop: the callee that most of its time goes into, if its calls are long enough to
	 * matter; calls 0: there is none. */
	struct descent_looped {
		struct rec_code function;
		double calls; /* mean number in an in-peak call */
		double share; /* of the peak's time */
		uint64_t mean_ns;
	} looped;
	/* Below the last frame, in the kernel: from the system call, or page fault, down. */
	unsigned int nr_kernel;
	struct rec_frame kernel[DESCENT_KERNEL];
	enum evidence
	    kernel_evidence; /* evidence of the kernel frames: stack samples or CPU samples */
	/* CAUSE_KERNEL: the frame of `kernel` that most of it goes through, number + 1; its
	 * function names the cause. */
	unsigned int kernel_trunk;
};

/* A path by which a system call is called; innermost caller first. */
struct descent_callers {
	double share; /* of the time of the in-peak calls whose callers are known */
	unsigned int nr_frames;
	struct rec_frame frame[DESCENT_KERNEL];
};

/* 95% of such samples have the true value between these. */
struct descent_interval {
	double low, high;
};

/* Shares of the peak's time without a cause that has a name. */
struct descent_missing {
	double unmeasured; /* in callees that were not measured */
	double unknown;	   /* cause not known */
	double host;	   /* waiting for a CPU or in interrupts, in no path */
	double other;	   /* in callees and code that are not on a path */
	uint32_t largest;  /* the largest of those callees, an index in `nodes`; 0: none is much
			      larger than the others */
	double largest_share;
};

/* Everything of the JSON document but names. All arrays belong to the result. */
struct descent_result {
	enum descent_status status;
	unsigned int rounds;
	uint64_t calls_used;
	uint64_t latency_ns;			  /* mean of the in-peak calls */
	double explained;			  /* 0..1 */
	double named;				  /* that part of it whose cause is named */
	bool enough;				  /* for a root cause */
	struct descent_interval latency_interval; /* of latency_ns */
	struct descent_interval explained_interval;
	struct descent_missing missing;
	char refused[160]; /* why there are no paths: the figures contradict each other; else "" */
	unsigned int nr_paths;
	struct descent_path *paths; /* largest share first */
	unsigned int nr_nodes;
	struct descent_fnode *nodes;			 /* parents before children; [0] is f0 */
	char change[200];				 /* DESCENT_CHANGED: in words; else "" */
	unsigned int nr_callers;			 /* f0 a system call */
	struct descent_callers callers[DESCENT_CALLERS]; /* heaviest first */
};

/* The state at any time, also before the end. 0 or -ENOMEM. */
int descent_result(const struct descent *d, struct descent_result *out);
void descent_result_release(struct descent_result *r);

/* Is this time that the host takes, and not what the program does? */
bool cause_of_host(enum cause_kind kind);

/*
 * Do the figures of a result contradict each other or the question? True: `why` says which. Calls
 * that were measured lie in `wall_ns`; 0: not known.
 */
bool descent_contradicts(const struct descent_result *r, const struct rec_descent *ask,
			 uint64_t wall_ns, char *why, size_t size);

/* Do two answers have the same first path, by keys? Then the difference is below software. */
bool descent_same_path(const struct descent_result *a, const struct descent_result *b);

/*
 * Hand out the tree as REC_FNODE records, parents first, to be saved. `emit`
 * returns 0 or a negative errno, which ends it and is returned.
 */
int descent_save(const struct descent *d, int (*emit)(void *ctx, const struct record *rec),
		 void *ctx);

#endif
