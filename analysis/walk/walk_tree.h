/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of calls that is built from thread snapshots. Private to analysis/walk/. */
#pragma once

#include "analysis/walk/walk.h"

#define NO_NODE UINT32_MAX

/* Time of a node itself, without its callees. */
struct walk_self {
	uint64_t run_ns, wait_ns[WALK_CLASSES];
	uint64_t snapshots;
	struct cause_tally causes[WALK_CLASSES];
	unsigned int nr_pcs;
	struct walk_pc pcs[WALK_PCS];
};

struct walk_tree_node {
	uint32_t parent, first, next;
	enum walk_node_kind kind;
	struct rec_code function;
	uint32_t name; /* index in `names` */
	struct rec_code site;
	uint64_t site_ns; /* lead of `site` over the other call sites, ns (majority vote) */
	uint64_t run_ns, wait_ns[WALK_CLASSES]; /* inclusive of callees */
	uint64_t snapshots;
	uint64_t main_ns;	/* the part of its time that the first thread of a process spent */
	uint32_t pid;		/* the process that spent most time in the node (majority vote) */
	uint64_t pid_ns;	/* lead of `pid` over the other processes, ns */
	struct walk_self *self; /* NULL: the node itself has no time */
	bool recursive;
};

enum { WALK_JUDGED = 256, WALK_LEAVES = 24, WALK_THREADS = 1 << 22 /* the kernel's limit */ };

/* The nodes in which a thread ran, was idle, or was blocked by another thread. */
struct walk_thread {
	uint32_t tid, runs /* snapshots on a CPU */, nr;
	uint64_t cpu_ns;	       /* by REC_THREAD; 0: it never left its sleep */
	uint64_t wall_ns, runqueue_ns; /* by REC_THREAD */
	uint64_t sleep_ns;	       /* timed sleep */
	uint64_t faults;	       /* page faults, by REC_THREAD */
	struct walk_leaf {
		uint32_t node;
		bool for_thread;  /* the thread may wait for a lock of another thread */
		bool awaits_own;  /* no client can end the wait (AWAITS_OWN) */
		bool awaits_pair; /* perhaps a peer blocks it (AWAITS_PAIR) */
		bool doubtful;	  /* for children that may do its work, a FIFO to be opened, an
				     io_uring, or a semaphore */
		bool serves;	  /* a client may end the wait */
		bool inside;	  /* only a thread of the same process can end the wait */
		bool for_clients; /* for connections or events that are not its own */
		uint32_t runs;	  /* snapshots of running code */
		uint64_t all_ns, run_ns, idle_ns;
		uint64_t owed_ns;  /* of `idle_ns`: while a client is perhaps not answered */
		uint64_t sleep_ns; /* asleep on purpose */
	} leaf[WALK_LEAVES];
};

struct walk {
	struct rec_walk ask;
	bool asked, over, target_ended;
	struct walk_tree_node *nodes;
	uint32_t nr_nodes, cap_nodes;
	char **names;
	uint32_t nr_names, cap_names;
	uint64_t wall_ns, cpu_ns, runqueue_ns, quota_ns, run_weight_ns;
	uint64_t faults, fault_low_ns, fault_high_ns; /* page faults, and what one takes */
	struct cause_tally quotas;		      /* that were used up */
	uint64_t first_ns, last_ns;		      /* the span that REC_THREAD records cover */
	uint64_t snapshots, work_snapshots;
	uint32_t threads[WALK_THREADS / 32]; /* a bit for each thread id, to count the threads */
	uint32_t nr_threads;
	uint32_t left_out;		 /* threads that were not looked at, at most at a time */
	uint64_t left_out_ns, joined_ns; /* as in REC_THREAD */
	uint64_t checked,
	    checked_ns; /* snapshots and `last_ns` when the first path was last checked */
	uint64_t signature;
	unsigned int same; /* checks in a row with the same first path */
	/* result of the last check: the first path is not work, or one wait is nearly all of it */
	bool few_suffice;
	struct walk_thread
	    *judged; /* the first WALK_JUDGED threads that were seen; NULL: none yet */
	uint32_t nr_judged;
	struct cause_tally stops; /* why stacks ended early; each reason is the name of a cause */
};

/* State while walk_result() builds a result. */
struct walk_making {
	const struct walk *w;
	struct walk_result *r;
	const struct walk_functions *functions;
	/* For each node, with and without callees: time of waits that look idle but are part of a
	 * request. */
	uint64_t *blocked, *blocked_own;
	uint64_t unsure_ns; /* of waits that may be part of a request */
	double scale, total;
	double apart_ns; /* time from which a path is reported beside any crowd */
	enum walk_class class;
	double class_ns;
	uint32_t chain[WALK_MAX_FRAMES];
	bool failed;
};

/* Returns the time of a class in a node, ns: with its callees (inclusive), or without them
 * (own). */
double walk_inclusive(const struct walk_making *m, const struct walk_tree_node *n,
		      enum walk_class class);
double walk_own(const struct walk_making *m, const struct walk_tree_node *n, enum walk_class class);
/* walk_threads.c: walk_note_thread() adds one snapshot, walk_note_times() the times of a thread
 * that has snapshots. */
void walk_note_thread(struct walk *w, const struct rec_thread_snapshot *snapshot,
		      enum walk_class class, uint32_t node);
void walk_note_times(struct walk *w, const struct rec_thread *thread);
/* walk_blocked.c: walk_judge_waits() finds the waits that are part of a request; it returns 0, or
 * -1 if out of memory. walk_judge_end() releases its arrays. */
int walk_judge_waits(struct walk_making *m);
/* Returns true if a wait that looks idle may be part of a request: no client can end it, and it
 * lies so deep below the start of the thread that it need not be the thread's own loop. */
bool walk_is_unsure(const struct walk_making *m, uint32_t node);
/* Returns true if only a thread of the same process can end the waits there. */
bool walk_is_inside(const struct walk_making *m, uint32_t node);
/* Returns the time, ns, of sleeps inside the requests of clients. */
double walk_sleep_in_requests(const struct walk *w);
/* Returns true if the node is below a function that takes a lock. */
bool walk_is_in_lock(const struct walk_making *m, uint32_t node);
/* Returns true if the node is the scheduler of coroutines. */
bool walk_is_scheduler(const struct walk_making *m, uint32_t node);
void walk_judge_end(struct walk_making *m);
/* walk_groups.c: joins threads of the same role, and fills in what they did. */
void walk_group_threads(struct walk_making *m);
/* walk_faults.c: walk_count_faults() fills in the part of the CPU time that page faults take.
 * walk_judge_faults() makes them the cause of the path of a node whose own code ran, or puts that
 * path in doubt, if they take most of its time. */
void walk_count_faults(struct walk_making *m);
void walk_judge_faults(const struct walk_making *m, uint32_t node, struct walk_path *p);
/* walk_lead.c: decides which class of time the answer begins with (m->r->lead), and the order of
 * the others. `span`: the time of one thread, ns. */
void walk_rank_classes(struct walk_making *m, double span, unsigned int rank[WALK_CLASSES]);
/* Adds a path with the frames m->chain[0..depth). Returns NULL if there is no room, or no memory
 * (m->failed). */
struct walk_path *walk_path_new(struct walk_making *m, unsigned int depth);
/* The same for the time `ns` that ends at the node `index`, with the cause of that node; `cut`: it
 * goes on below, beyond the maximum depth. */
struct walk_path *walk_path_end(struct walk_making *m, uint32_t index, unsigned int depth,
				double ns, bool cut);
/* Returns the causes of the time of a node itself, or the heaviest of them. */
const struct cause_tally *walk_own_causes(const struct walk_making *m,
					  const struct walk_tree_node *n);
const struct cause *walk_own_cause(const struct walk_making *m, const struct walk_tree_node *n);
enum { WALK_MIN_SNAPSHOTS = 2 /* a single snapshot may be chance */ };
/* walk_kernel.c: if the node `root` is a system call or another entry into the kernel, adds the
 * paths that end below it, after m->chain[0..depth). Returns false if it is none, or there is no
 * room. */
bool walk_follow_kernel(struct walk_making *m, uint32_t root, unsigned int depth);
/* If the first path is a system call whose callers are not known, puts another path of the same
 * call and cause before it whose callers are known: the snapshots of short sleeps often lack them.
 * The same with any path that is large enough, if the first one's cause is not known either. */
void walk_prefer_callers(struct walk_result *r);
bool walk_is_start(const struct walk_making *m, const struct walk_tree_node *n, unsigned int depth);
/* walk_flat.c: if no path of the work from index `from` on has a noteworthy share, replaces these
 * paths by one. It ends in the last function with the bulk of the work. Also lists the functions
 * with most time of their own. */
void walk_flatten(struct walk_making *m, unsigned int from);

/* Returns the factor by which the measured CPU time exceeds the weight of the CPU samples. Multiply
 * the weight of CPU samples by it. */
double walk_run_scale(const struct walk *w);
