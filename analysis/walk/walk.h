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
#pragma once

#include "analysis/descent/causes.h"
#include "analysis/descent/descent.h"
#include "analysis/session/record.h"

enum {
	WALK_MAX_NODES = 1 << 14,
	WALK_MAX_NAMES = 1 << 12, /* names of kernel functions and system calls */
	WALK_MAX_PATHS = 32,
	WALK_MAX_FRAMES = 160, /* frames of one path */
	WALK_KERNEL_DEPTH = 8, /* kernel functions below a system call */
	WALK_PCS = 8,
	WALK_TOPS = 8,
	WALK_GROUPS = 6,
	WALK_NO_MAX_DEPTH = 256,
};

enum walk_class { WALK_WORK = 0, WALK_SLEEP, WALK_IDLE, WALK_CLASSES };

/* Returns the class of the time of a snapshot. */
enum walk_class walk_class_of(const struct rec_thread_snapshot *snapshot);

struct walk;

/* Returns a walk without a question: feed REC_WALK. Returns NULL if out of memory. */
struct walk *walk_new(void);
void walk_free(struct walk *w);

/* Takes REC_WALK, REC_THREAD_SNAPSHOT of a walk, REC_THREAD and REC_TARGET_END; ignores other
 * records. Returns 0, -EINVAL (options out of range), -ENOMEM, or -ENOSPC (the tree is full; the
 * shares of its nodes stay right). */
int walk_feed(struct walk *w, const struct record *rec);

bool walk_asked(const struct walk *w);
/* True if there are enough snapshots and the first path has not changed for a while. */
bool walk_settled(const struct walk *w);
/* True if it has no snapshot yet. */
bool walk_is_empty(const struct walk *w);

enum walk_node_kind {
	WALK_PROCESS = 0, /* the parent of all roots */
	WALK_FUNCTION,
	WALK_UNKNOWN, /* code without a name, or callers that are not known */
	WALK_SYSCALL,
	WALK_KERNEL,
};

struct walk_node {
	uint32_t parent; /* index in `nodes`; the process is its own parent */
	enum walk_node_kind kind;
	/* WALK_FUNCTION; of WALK_UNKNOWN the module, 0 if the code belongs to no file */
	struct rec_code function;
	const char *name; /* WALK_SYSCALL, WALK_KERNEL; else "" */
	struct rec_code
	    site; /* the call site that most often led to this node; module 0: not known */
	double share[WALK_CLASSES]; /* share of all time, inclusive of callees */
	bool followed;		    /* the node lies on a path */
	/* the function only starts a program or a thread: its callees are the roots */
	bool start;
	bool recursive; /* its time includes recursive calls of itself */
	uint32_t pid;	/* the process that spent most time in the node */
};

struct walk_pc {
	struct rec_code place;
	uint64_t ns;
};

struct walk_path {
	enum walk_class class;
	unsigned int rank; /* position of its class in the answer; 0: the class comes first */
	double share;	   /* share of all time; the shares of all paths sum to `explained` */
	double of_class;   /* share of the time of its class */
	struct cause cause;
	enum evidence evidence;
	uint64_t snapshots;
	unsigned int nr_frames;
	const uint32_t *frames; /* indices in `nodes`, root first, without the process */
	bool cut;		/* the maximum depth ended the path */
	bool apart;		/* few threads are there, beside a crowd that is elsewhere */
	bool flat;		/* no path stands out below its last frame: see `tops` */
	bool unsure;		/* idle, or a wait for another thread or a timer inside a request */
	bool inside;		/* idle: only a thread of the same process can end the wait */
	bool scheduler;	     /* of `unsure`: idle in the scheduler of coroutines, its last frame */
	bool perhaps_faults; /* its cause is own code or page faults, perhaps the other one */
	double main_thread;  /* share of its time that the first thread of a process spent */
	unsigned int nr_pcs;
	struct walk_pc pcs[WALK_PCS]; /* code addresses with CPU samples, heaviest first */
};

/* A function with much time of its own, whatever path led to it. */
struct walk_top {
	uint32_t node;	/* one of the nodes of the function */
	double of_work; /* share of the work, without waiting for a CPU */
	uint64_t snapshots;
};

/* Threads of the same role: most of their time is below the same function. */
struct walk_group {
	uint32_t root; /* node of that function; 0: not known, or the last group joins all others */
	uint32_t threads;
	uint64_t wall_ns, cpu_ns, runqueue_ns, sleep_ns; /* the rest of wall_ns they waited */
};

struct walk_result {
	uint64_t total_ns; /* time of all threads */
	/* mean number of threads at work; 0.1: one thread works a tenth of the time */
	double busy;
	enum walk_class lead; /* the class whose paths come first */
	bool flat;	      /* no single path has a noteworthy share of the work */
	unsigned int nr_tops;
	struct walk_top
	    tops[WALK_TOPS]; /* if flat: the functions with most time of their own, largest first */
	uint64_t snapshots;
	uint32_t threads;	    /* with those that were left out */
	uint32_t left_out;	    /* threads that were not looked at */
	double span_ns;		    /* for which the threads were watched */
	double share[WALK_CLASSES]; /* shares of total_ns */
	/* shares of the time: of threads at the same places as many others, whose stacks tell it;
	 * of threads that were left out */
	double joined, not_seen;
	/* share of total_ns spent waiting for a CPU; included in the work */
	double runqueue;
	/* by CPU time and waiting for a CPU, most first; 0: no more than one, or not known */
	unsigned int nr_groups;
	struct walk_group groups[WALK_GROUPS];
	double unknown_callers;	      /* share of the time whose callers are not known */
	char unknown_why[CAUSE_TEXT]; /* why most of these callers are not known */
	double unsure; /* share of the time in idle waits that may be part of a request */
	/* share of the CPU time that page faults take: at least, at most */
	double faults_low, faults_high;
	/* share of the time in code that belongs to no file */
	double unnamed;
	double explained;
	bool settled, target_ended, depth_reached;
	unsigned int nr_paths;
	/* First the paths of class `lead`, then those of the other classes, each by share. A wait
	 * for a CPU comes behind all other paths of the work, because the host causes it and not
	 * the program. */
	struct walk_path *paths;
	unsigned int nr_nodes;
	struct walk_node *nodes; /* parents before children; [0] is the process */
};

/* What names tell about functions. */
struct walk_functions {
	/* True for functions that only start a program or a thread. They are not roots: the walk
	 * skips them at the top of the tree. */
	bool (*starts)(void *ctx, struct rec_code function);
	/* True for functions that take a lock when they call `callee` (module 0: the system call
	 * itself). A wait there is work and not idle, whatever the system call. */
	bool (*locks)(void *ctx, struct rec_code function, struct rec_code callee);
	/* True for functions that look for a coroutine to run. A thread that waits there says
	 * nothing about what the coroutines wait for. */
	bool (*schedules)(void *ctx, struct rec_code function);
	void *ctx;
};
/* `functions` may be NULL. Returns 0 or -ENOMEM. */
int walk_result(const struct walk *w, const struct walk_functions *functions,
		struct walk_result *out);
/* True if `p` and `without` are of the same system call with the same kind of cause, and only the
 * callers of `p` are known. */
bool walk_is_same_call(const struct walk_result *r, const struct walk_path *p,
		       const struct walk_path *without);
/* The path with most of the timed sleep, if the answer begins with something else although most
 * of all time, or of the time of a process's first thread, is timed sleep; else NULL. */
const struct walk_path *walk_main_sleep(const struct walk_result *r);
/* Returns true if the answer is "idle", but half of a thread's time or more is in waits that may be
 * part of a request. */
bool walk_unsure(const struct walk_result *r);
/* The path with most of such waits, if the answer begins with a wait that is surely idle; else
 * NULL. */
const struct walk_path *walk_main_unsure(const struct walk_result *r);
void walk_result_release(struct walk_result *r);
