/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One descent: from a peak of f0 to the call paths that make the peak (DARC, SIGMETRICS 2008,
 * sections 3 and 4; docs/descent.md is the guide).
 *
 * The descent is a state machine without clock and I/O. Its only inputs are records, in the order
 * of the stream, so that a replay gives the same answer:
 *
 *	REC_DESCENT	the question: f0, the peak, the options. A further one asks about another
 *			peak; the tree, its call sites and known indirect callees are used again
 *	REC_FNODE	an fnode of a saved descent to continue, with the module numbers of this
 *			stream; only right after the first REC_DESCENT, parents first
 *	REC_SAVED_PROFILE	the start profile of that descent, after its fnodes. If the calls
 *			seen now are distributed in another way, the descent ends as changed
 *	REC_PROFILE	of f0, each slice: makes the start profile and shows a change
 *	REC_CALL	one in-peak call of f0 with the times of its armed fnodes
 *	REC_WITNESS	a stack sample inside a call of f0; counted if that call is in the peak,
 *			whichever of the two records comes first
 *	REC_CALLEES	answer to DESCENT_EXPAND
 *	REC_INDIRECT_CALLEES	answer to DESCENT_LEARN
 *	REC_FNODE_LOST	the fuse of an armed fnode has blown, or its call site was refused
 *	REC_TARGET	a target process is watched
 *	REC_TARGET_END	a target process has ended
 *
 * After each record, call descent_next() until it returns DESCENT_WAIT or DESCENT_DONE. Records of
 * other operations and types are ignored.
 *
 * Node numbers are small: 0 is f0, all are below DESCENT_MAX_NODES, and a number is never used for
 * another fnode. An armed set is closed: the parent of an armed node is armed too (or is 0). A call
 * site counts once against max_sites, however many fnodes share it. Time that a call spent outside
 * of its armed callees is `unmeasured callees` until every call site of the function was measured.
 *
 * Times in ns. Memory is bounded: at most DESCENT_MAX_NODES fnodes and DESCENT_MAX_CALL_SITES call
 * sites; calls are kept as sums only.
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/descent/causes.h"
#include "analysis/latency/profile.h"
#include "analysis/session/record.h"

enum {
	DESCENT_MAX_NODES = 4096,
	DESCENT_MAX_SITES = 256, /* upper limit of the option max_sites */
	DESCENT_MAX_ARMED = 256, /* fnodes armed at once; 2 * max_sites is a further limit */
	DESCENT_DEFAULT_DEPTH = 16,
	DESCENT_MAX_DEPTH = 64,		  /* upper limit of the option max_depth */
	DESCENT_MAX_CALL_SITES = 1 << 17, /* call sites of all functions together */
	DESCENT_MAX_WITNESS_FRAMES = 72,
};

struct descent;

/* Sets the defaults of the command line. The caller sets op, function and the peak. */
void descent_options_init(struct rec_descent *options);

/* Returns a descent without a question: feed REC_DESCENT. Returns NULL if out of memory. */
struct descent *descent_new(void);
void descent_free(struct descent *d);

/* Processes one record. Returns 0, -EINVAL (an invalid record: options out of range, unknown node;
 * it has no effect), -ENOMEM, or -ENOSPC (a limit is reached; the descent continues with the part
 * that fits). */
int descent_feed(struct descent *d, const struct record *rec);

/* Ends the descent early, because the time is over or the user stopped it. Decides with the calls
 * that were seen. */
void descent_stop(struct descent *d);

enum descent_status {
	DESCENT_ROOT_CAUSE = 0, /* "root cause found" */
	DESCENT_DEPTH_REACHED,	/* "maximum depth reached" */
	DESCENT_IN_PROGRESS,
	DESCENT_CHANGED,    /* "distribution changed": choose again from the present peaks */
	DESCENT_TOO_FEW,    /* "not enough calls" */
	DESCENT_TARGET_END, /* "target ended" */
	/* "partly explained": causes with a name explain too little of the time. Only in results,
	 * never from descent_status(). */
	DESCENT_PARTLY,
	DESCENT_STATUSES
};

/* Returns the name of the status in the JSON output. */
const char *descent_status_text(enum descent_status s);
enum descent_status descent_status(const struct descent *d);

/* One fnode to arm. On the kernel side an fnode is found by its open parent and its call site. */
struct descent_armed {
	uint32_t node;
	uint32_t parent;      /* the caller, which is armed, too; 0: f0 */
	struct rec_code site; /* address of the call instruction */
	/* offset of the return address; 0: a tail call, which ends with the parent */
	uint64_t ret;
	/* a basic block: its last call site and return address, where timing ends; else 0 */
	uint64_t last_site, last_ret;
	struct rec_code callee; /* module 0: any function that the site calls */
	uint32_t kind;		/* enum callee_kind */
	/* The site has several callees and the fnode stands for this one only: time it from the
	 * entry of the callee, with the return address as filter. */
	bool only_callee;
	bool in_loop;
};

enum descent_action_kind {
	DESCENT_WAIT = 0, /* nothing to do: wait for records */
	DESCENT_EXPAND,	  /* ask for the call sites of `function`: feed REC_CALLEES */
	/* ask what the call site of `node` calls, by watching it for a short burst: feed
	 * REC_INDIRECT_CALLEES */
	DESCENT_LEARN,
	/* `armed` replaces the armed set; calls that begin with the new set carry `epoch` */
	DESCENT_ARM,
	DESCENT_DONE /* the descent is over: disarm everything */
};

/* The arrays belong to the descent and are valid until the next descent_feed(). */
struct descent_action {
	enum descent_action_kind kind;
	struct rec_code function;
	uint32_t node;
	uint32_t epoch;
	uint32_t nr_armed; /* 0: time f0 alone */
	const struct descent_armed
	    *armed; /* DESCENT_LEARN: one entry, with the call site to watch */
};

/* Returns the next action. Each action is returned once, except DESCENT_WAIT and DESCENT_DONE. */
void descent_next(struct descent *d, struct descent_action *action);

/* Returns the profile of f0 before any callee was timed. Valid until the next descent_feed(). */
const struct profile *descent_start_profile(const struct descent *d);

/* Progress of a descent, for the screen. Cheap to compute. */
struct descent_progress {
	enum descent_status status;
	unsigned int rounds;	   /* number of times that a new set was armed */
	uint64_t calls_used;	   /* in-peak calls that were counted */
	unsigned int armed;	   /* armed fnodes now */
	unsigned int decisions;	   /* decisions taken so far */
	unsigned int until_next;   /* in-peak calls until the next decision */
	uint64_t start_calls;	   /* calls in the start profile */
	uint64_t witnesses;	   /* stack samples inside in-peak calls */
	unsigned int contradicted; /* functions whose saved votes new calls contradicted */
};
void descent_progress(const struct descent *d, struct descent_progress *out);

enum evidence {
	EVIDENCE_MEASURED = 0, /* times from probes in in-peak calls */
	EVIDENCE_WITNESSED,    /* stack samples at sleeps */
	EVIDENCE_SAMPLED,      /* stack samples on the CPU */
	/* a calibrated constant times a count, or a mean over other calls */
	EVIDENCE_ESTIMATED,
	EVIDENCE_KINDS
};
const char *evidence_text(enum evidence e);

enum descent_node_state {
	FNODE_UNTRIED = 0, /* the fnode is known and was never armed */
	FNODE_ARMED,
	FNODE_MEASURED, /* armed earlier, not any more */
	FNODE_HOT,	/* its fuse has blown */
	FNODE_UNTIMED	/* its call site cannot be timed */
};

/* One fnode that was ever armed or is on a path. */
struct descent_fnode {
	uint32_t node, parent;
	struct rec_code function; /* module 0: the callee is not known */
	struct rec_code site;	  /* module 0: f0 */
	uint64_t ret;		  /* offset of the return address */
	uint64_t last_site;	  /* a basic block: its last call site; else 0 */
	uint32_t depth;
	enum descent_node_state state;
	bool root_cause; /* the fnode is on a root cause path */
	bool in_loop;
	double share; /* share of the time of the in-peak calls, inclusive of callees */
	/* mean time, inclusive of callees, over the in-peak calls of f0 that called this fnode */
	uint64_t latency_ns;
	uint64_t max_ns;
	uint64_t maxcount; /* votes for this fnode; for f0: the number of in-peak calls */
	uint64_t votes;	   /* calls in which this fnode could have got a vote */
	unsigned int decisions;
	uint64_t records; /* in-peak calls of f0 in which this fnode was armed */
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
	double share; /* share of the peak's time */
	bool own;     /* the function is the path's last frame itself */
};

struct descent_path {
	/* share of the peak's time; the shares of all paths sum to `explained` */
	double share;
	struct cause cause;
	enum evidence evidence; /* how the cause is known */
	uint64_t latency_ns;	/* time of the cause, mean per in-peak call */
	uint64_t maxcount;	/* votes for the cause in its function */
	/* Preemption, run queue, interrupt: the deepest armed fnode in which nearly all of this
	 * time passed, as an index in `nodes`. 0: no callee has nearly all of it. */
	uint32_t place;
	unsigned int nr_frames;
	const uint32_t *frames; /* indices in `nodes`, f0 first */
	unsigned int nr_siblings;
	uint32_t siblings[DESCENT_SIBLINGS]; /* siblings of the last frame: indices in `nodes`,
						largest latency first */
	/* Places of on-CPU samples in the last frame's own code. If the cause is a loop or calls
	 * that were not measured, also the call sites of these, with the samples below them. */
	unsigned int nr_pcs;
	struct descent_pc pcs[DESCENT_PCS]; /* heaviest first */
	/* Functions in which samples ended, for calls that were not timed individually, such as
	 * the callees of the last frame's loop. */
	unsigned int nr_below;
	struct descent_below below[DESCENT_BELOW]; /* heaviest first */
	/* If the cause is a loop: the callee that takes most of the time, measured if its calls are
	 * long enough for that, else sampled. `share` is 0 if there is none. `own`: samples place
	 * most of the time in the function's own code. */
	struct descent_looped {
		struct rec_code function;
		double calls;	  /* mean number of calls in an in-peak call; 0: sampled */
		double share;	  /* of the peak's time */
		uint64_t mean_ns; /* 0: sampled */
		double kernel;	  /* share of the peak's time in system calls of these calls */
		bool own;
	} looped;
	/* Kernel frames below the last frame: from the system call or the page fault down. Behind
	 * the first nr_kernel, down to nr_deep, come those on which the heaviest part of this time
	 * goes on. kernel_part: the part of this path's time in or below each frame. */
	unsigned int nr_kernel, nr_deep;
	struct rec_frame kernel[DESCENT_KERNEL];
	double kernel_part[DESCENT_KERNEL];
	enum evidence
	    kernel_evidence; /* evidence of the kernel frames: stack samples or CPU samples */
	/* CAUSE_KERNEL: number + 1 of the frame in `kernel` through which most of the time goes.
	 * The function of that frame names the cause. */
	unsigned int kernel_trunk;
	/* the share of the path's time in or below that function; 0: not known */
	double kernel_named;
};

/* A call path to a system call, if f0 is one; innermost caller first. */
struct descent_callers {
	double share; /* share of the time of the in-peak calls whose callers are known */
	unsigned int nr_frames;
	struct rec_frame frame[DESCENT_KERNEL];
};

/* What samples tell of one function in f0. */
struct descent_share {
	struct rec_code function;
	double own, inclusive; /* shares of the time of f0: without and with its callees */
};
enum { DESCENT_SAMPLED = 11 }; /* f0 and ten functions that it calls */
/* The answer of a descent by samples alone (rec_descent.sampled), about all calls of f0: its own
 * code and the heaviest functions below it. `rest` is the time of all others, without callees. */
struct descent_sampled {
	uint64_t samples; /* 0: calls were measured */
	unsigned int nr, nr_rest;
	struct descent_share function[DESCENT_SAMPLED]; /* f0, then the heaviest first */
	double rest;
};

/* A 95% confidence interval. */
struct descent_interval {
	double low, high;
};

/* Shares of the peak's time that have no named cause. */
struct descent_missing {
	double unmeasured; /* time in callees that were not measured */
	double unsampled;  /* own code that ran for long and that no stack sample confirms */
	double unknown;	   /* the cause is not known */
	double host;	   /* waiting for a CPU or in interrupts, and in no path */
	double other;	   /* in callees and code that are on no path */
	/* The largest of the callees that are on no path, as an index in `nodes`. 0: none is large
	 * enough to be named. */
	uint32_t largest;
	double largest_share;
};

/* The answer of a descent: everything in the JSON document except names. All arrays belong to the
 * result. */
struct descent_result {
	enum descent_status status;
	unsigned int rounds;
	uint64_t calls_used;
	uint64_t latency_ns; /* mean latency of the in-peak calls */
	double explained;    /* 0..1 */
	double named;	     /* the part of `explained` whose cause has a name */
	bool enough;	     /* the named causes explain enough to be called a root cause */
	struct descent_interval latency_interval; /* 95% interval of latency_ns */
	struct descent_interval explained_interval;
	/* Their mean before probes were armed inside them, if the measured calls are not like them
	 * (`latency_interval` is far from it); else 0. Then `enough` is false. */
	uint64_t expected_ns;
	struct descent_missing missing;
	char refused[160]; /* why there are no paths: the figures contradict each other; else "" */
	unsigned int nr_paths;
	struct descent_path *paths; /* largest share first */
	unsigned int nr_nodes;
	struct descent_fnode *nodes; /* parents before children; [0] is f0 */
	/* A description of the change: if the status is DESCENT_CHANGED, or if the descent goes on
	 * with a saved one although the latencies have changed; else "". */
	char change[200];
	bool since_saved; /* the change is one since the saved session */
	struct descent_sampled sampled;
	unsigned int nr_callers;			 /* only if f0 is a system call */
	struct descent_callers callers[DESCENT_CALLERS]; /* heaviest first */
};

/* Computes the answer from the present state; allowed before the end of the descent. Returns 0 or
 * -ENOMEM. Release *out with descent_result_release(). */
int descent_result(const struct descent *d, struct descent_result *out);
void descent_result_release(struct descent_result *r);
/* Copies `from` into the unused `to`. Returns 0 or -ENOMEM; then `to` is all zero. */
int descent_result_copy(const struct descent_result *from, struct descent_result *to);

/* Returns true if the host takes this time and the program does not cause it: preemption, run queue
 * and interrupts. */
bool cause_of_host(enum cause_kind kind);

/* Checks the figures of a result against each other and against the question. Returns true if they
 * contradict; `why` then says how. `wall_ns` is the time from the first measured call to the end of
 * the last one; 0: not known. */
bool descent_contradicts(const struct descent_result *r, const struct rec_descent *ask,
			 uint64_t wall_ns, char *why, size_t size);

/* Returns true if the first paths of two answers have the same cause and the same functions and
 * call sites. If both runs differ in latency nevertheless, the difference is below the software. */
bool descent_same_path(const struct descent_result *a, const struct descent_result *b);

/* Passes the tree to `emit` as REC_FNODE records, parents first, to save it. If `emit` returns a
 * negative errno, the function stops and returns this errno. */
int descent_save(const struct descent *d, int (*emit)(void *ctx, const struct record *rec),
		 void *ctx);
