/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree that looks become. Private to analysis/walk/. */
#ifndef PEAKTOP_WALK_TREE_H
#define PEAKTOP_WALK_TREE_H

#include "analysis/walk/walk.h"

#define NO_NODE UINT32_MAX

/* What was seen in a node itself, not in its callees. */
struct walk_self {
	uint64_t run_ns, wait_ns[WALK_CLASSES];
	uint64_t looks;
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
	uint64_t site_ns; /* weight by which it leads over the other sites */
	uint64_t run_ns, wait_ns[WALK_CLASSES]; /* inclusive */
	uint64_t looks;
	struct walk_self *self; /* NULL: nothing */
	bool recursive;
};

struct walk {
	struct rec_walk ask;
	bool asked, over, target_ended;
	struct tree_node *nodes;
	uint32_t nr_nodes, cap_nodes;
	char **names;
	uint32_t nr_names, cap_names;
	uint64_t wall_ns, cpu_ns, runqueue_ns, run_weight_ns;
	uint64_t looks, work_looks;
	uint32_t threads[1024]; /* a few bits for each tid: how many there were */
	uint32_t nr_threads;
	uint64_t checked; /* looks at the last check of the first path */
	uint64_t signature;
	unsigned int same; /* checks in a row */
};

/* How much longer than sampled the CPU time was: what each sample is to be multiplied by. */
double walk_run_scale(const struct walk *w);

#endif
