/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of calls that is built from thread snapshots. Private to analysis/walk/. */
#ifndef PEAKTOP_WALK_TREE_H
#define PEAKTOP_WALK_TREE_H

#include "analysis/walk/walk.h"

#define NO_NODE UINT32_MAX

/* What was seen in a node itself, not in its callees. */
struct walk_self {
	uint64_t run_ns, wait_ns[WALK_CLASSES];
	uint64_t snapshots;
	struct cause_tally causes[WALK_CLASSES];
	unsigned int nr_pcs;
	struct walk_pc pcs[WALK_PCS];
};

struct tree_node {
	uint32_t parent, first, next;
	enum walk_node_kind kind;
	struct rec_code function;
	uint32_t name; /* index in names */
	struct rec_code site;
	uint64_t site_ns;			/* weight by which it leads over the other sites */
	uint64_t run_ns, wait_ns[WALK_CLASSES]; /* inclusive */
	uint64_t snapshots;
	uint64_t main_ns;	/* of all its time, spent by the first thread of a process */
	uint32_t pid;		/* the process that leads by weight */
	uint64_t pid_ns;	/* its lead over the others */
	struct walk_self *self; /* NULL: nothing */
	bool recursive;
};

enum { WALK_JUDGED = 256, WALK_LEAVES = 24 };

/* Where a thread ran and where it was idle, or blocked by another thread. */
struct walk_thread {
	uint32_t tid, runs /* snapshots of this thread on a CPU */, nr;
	struct walk_leaf {
		uint32_t node;
		bool for_thread; /* the wait may be for a lock that another thread has */
		uint64_t all_ns, run_ns, idle_ns;
	} leaf[WALK_LEAVES];
};

struct walk {
	struct rec_walk ask;
	bool asked, over, target_ended;
	struct tree_node *nodes;
	uint32_t nr_nodes, cap_nodes;
	char **names;
	uint32_t nr_names, cap_names;
	uint64_t wall_ns, cpu_ns, runqueue_ns, run_weight_ns;
	uint64_t first_ns, last_ns; /* since the start: the span that threads gave account of */
	uint64_t snapshots, work_snapshots;
	uint32_t threads[1024]; /* a few bits for each tid: how many there were */
	uint32_t nr_threads;
	uint64_t checked,
	    checked_ns; /* number of snapshots and `last_ns` when the first path was last checked */
	uint64_t signature;
	unsigned int same;	    /* checks in a row */
	bool idle;		    /* at the last check: no work leads */
	struct walk_thread *judged; /* the first threads that were seen; NULL: none yet */
	uint32_t nr_judged;
	struct cause_tally stops; /* why stacks ended early: reasons as names of causes */
};

/* The result while it is made. */
struct walk_making {
	const struct walk *w;
	struct walk_result *r;
	walk_starts_fn starts, locks;
	void *ctx;
	uint64_t *blocked, *blocked_own; /* per node: time of waits that look idle but are part of a
					    request, with and without callees */
	double scale, total;
	enum walk_class class;
	double class_ns;
	uint32_t chain[WALK_MAX_FRAMES];
	bool failed;
};

/* Time of a class in a node, with its callees and without them, ns. */
double walk_inclusive(const struct walk_making *m, const struct tree_node *n,
		      enum walk_class class);
double walk_own(const struct walk_making *m, const struct tree_node *n, enum walk_class class);
/*
 * walk_blocked.c: add one snapshot; find the waits that are part of a request. 0, or -1 if
 * out of memory.
 */
void walk_note_thread(struct walk *w, const struct rec_thread_snapshot *snapshot,
		      enum walk_class class, uint32_t node);
int walk_judge_waits(struct walk_making *m);
/* Is this below a function that takes a lock? */
bool walk_is_in_lock(const struct walk_making *m, uint32_t node);
void walk_judge_end(struct walk_making *m);
/* A path to m->chain[0..depth). NULL: no room, or no memory (m->failed). */
struct walk_path *walk_path_new(struct walk_making *m, unsigned int depth);
bool walk_is_start(const struct walk_making *m, const struct tree_node *n, unsigned int depth);
/*
 * If none of the paths of the work from `from` on holds a noteworthy part of it, replace
 * them by one: the way to the last function that holds the bulk, and the functions with
 * most time of their own. walk_flat.c.
 */
void walk_flatten(struct walk_making *m, unsigned int from);

/* How much longer than sampled the CPU time was: what each sample is to be multiplied by. */
double walk_run_scale(const struct walk *w);

#endif
