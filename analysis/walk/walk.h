/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk by share of wall time (CrossWalk, ParCo 2003). It starts at the roots of a
 * program (main and the start functions of its threads) and follows functions and system
 * calls into the kernel, along the largest share of the time of all threads.
 *
 * Thread snapshots (REC_THREAD_SNAPSHOT) are added to a tree of calls. A node is a function
 * (module and offset), with recursion folded onto the outermost call; below the functions
 * are the system call and the kernel functions. REC_THREAD gives the total time of each
 * thread. At each node the walk follows the children whose time is at least
 * maxcount_percentage of the largest; the node's own time competes too.
 *
 * A server waits for requests most of the time. Therefore time has three classes with paths
 * of their own: work (on a CPU, waiting for one, or blocked by I/O, locks, the network or
 * pages), timed sleep, and idle (waiting for events, connections, signals, children or
 * other threads).
 *
 * Pure: records in, answers out. Memory is bounded.
 */
#ifndef PEAKTOP_WALK_H
#define PEAKTOP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/descent/causes.h"
#include "analysis/descent/descent.h"
#include "analysis/session/record.h"

enum {
	WALK_MAX_NODES = 1 << 14,
	WALK_MAX_NAMES = 1 << 12, /* of functions of the kernel and system calls */
	WALK_MAX_PATHS = 32,
	WALK_MAX_FRAMES = 160, /* on a path */
	WALK_KERNEL_DEPTH = 8, /* functions of the kernel below a system call */
	WALK_PCS = 8,
	WALK_TOPS = 8,
	WALK_NO_MAX_DEPTH = 256,
};

enum walk_class { WALK_WORK = 0, WALK_SLEEP, WALK_IDLE, WALK_CLASSES };

/* The class of the time of a snapshot. */
enum walk_class walk_class_of(const struct rec_thread_snapshot *snapshot);

struct walk;

/* Nothing is asked yet: feed REC_WALK. NULL: no memory. */
struct walk *walk_new(void);
void walk_free(struct walk *w);

/*
 * Takes REC_WALK, REC_THREAD_SNAPSHOT of a walk, REC_THREAD, REC_TARGET_END; others are ignored. 0,
 * -EINVAL (options out of range), -ENOMEM, -ENOSPC (the tree is full; shares stay right).
 */
int walk_feed(struct walk *w, const struct record *rec);

bool walk_asked(const struct walk *w);
/* True if there are enough snapshots and the first path has not changed for a while. */
bool walk_settled(const struct walk *w);

enum walk_node_kind {
	WALK_PROCESS = 0, /* all roots together */
	WALK_FUNCTION,
	WALK_UNKNOWN, /* generated code, or unknown callers */
	WALK_SYSCALL,
	WALK_KERNEL,
};

struct walk_node {
	uint32_t parent; /* index; the process: itself */
	enum walk_node_kind kind;
	struct rec_code function; /* WALK_FUNCTION */
	const char *name;	  /* WALK_SYSCALL, WALK_KERNEL; else "" */
	struct rec_code
	    site; /* a place in the call that most often led here; module 0: not known */
	double share[WALK_CLASSES]; /* of all time, inclusive */
	bool followed;		    /* lies on a path */
	bool start;	/* only starts a program or a thread: its callees are the roots */
	bool recursive; /* its time holds calls of itself */
	uint32_t pid;	/* of the process that spent most time in it */
};

struct walk_pc {
	struct rec_code place;
	uint64_t ns;
};

struct walk_path {
	enum walk_class class;
	unsigned int rank; /* of its class in the answer; 0: leads */
	double share;	   /* of all time; those of all paths sum to `explained` */
	double of_class;   /* of the time of its class */
	struct cause cause;
	enum evidence evidence;
	uint64_t snapshots;
	unsigned int nr_frames;
	const uint32_t *frames; /* indices in `nodes`, root first, without the process */
	bool cut;		/* the maximum depth ended it */
	bool flat;		/* below its last frame no path stands out: see `tops` */
	double main_thread; /* share of its time that was spent by the first thread of a process */
	unsigned int nr_pcs;
	struct walk_pc pcs[WALK_PCS]; /* where it ran, heaviest first */
};

/* A function with much time of its own, on whatever path. */
struct walk_top {
	uint32_t node;	/* one of the nodes that stand for it */
	double of_work; /* part of the work without the wait for a CPU */
	uint64_t snapshots;
};

struct walk_result {
	uint64_t total_ns; /* time of all threads */
	double busy; /* threads that were at work on average; 0.1 is a tenth of one thread's time */
	enum walk_class lead; /* whose paths come first */
	bool flat;	      /* no path holds a noteworthy part of the work */
	unsigned int nr_tops;
	struct walk_top
	    tops[WALK_TOPS]; /* if flat: the functions with most time of their own, largest first */
	uint64_t snapshots;
	uint32_t threads;
	double share[WALK_CLASSES];   /* of total_ns */
	double runqueue;	      /* of it, and part of work */
	double unknown_callers;	      /* share of the time whose callers are not known */
	char unknown_why[CAUSE_TEXT]; /* the reason for most of it */
	double unnamed; /* share that ran in code of no file, itself or in what it called there */
	double explained;
	bool settled, target_ended, depth_reached;
	unsigned int nr_paths;
	/*
	 * First those of `lead`, then of the other kinds, each by share. A wait for a CPU
	 * comes behind the other paths of the work: it is the host's, not the program's.
	 */
	struct walk_path *paths;
	unsigned int nr_nodes;
	struct walk_node *nodes; /* parents before children; [0] is the process */
};

/*
 * `starts` returns true for functions that only start a program or a thread (may be NULL).
 * They are not roots: the walk skips them at the top of the tree.
 */
typedef bool (*walk_starts_fn)(void *ctx, struct rec_code function);
/*
 * `locks` returns true for functions that take a lock (may be NULL). A wait below such a
 * function is not idle, whatever the system call.
 */
int walk_result(const struct walk *w, walk_starts_fn starts, walk_starts_fn locks, void *ctx,
		struct walk_result *out);
void walk_result_release(struct walk_result *r);

#endif
