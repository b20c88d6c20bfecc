/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of record.h: what a descent needs to go on later, in another run (peaktop resume). Numbers
 * of modules belong to a session; path, size and build id tell which modules of two sessions are
 * the same file. */
#pragma once

#include "analysis/session/record_code.h"

struct rec_build_id {
	uint32_t module;      /* REC_MODULE */
	const char *build_id; /* hex, as the linker wrote it into the file */
};

/* The options of `peaktop descend -f`: a descent that had too few calls to begin begins later. */
struct rec_question {
	uint32_t op; /* f0 */
	uint32_t peak;
	uint64_t peak_low_ns, peak_high_ns;
	uint64_t slowest_ppm; /* of all calls */
	uint32_t start_ops, start_ops_given;
	uint32_t decision_ops, maxcount_ppm, max_depth, max_sites, level_by_level;
};

enum { FNODE_CANDIDATES = 6 };

struct rec_fnode {
	uint32_t op; /* of the descent */
	uint32_t node, parent;
	struct rec_code site, callee;
	uint64_t last_site; /* offset; of a basic block, else 0 */
	uint32_t state;	    /* enum descent_node_state */
	uint64_t maxcount;  /* votes that it got */
	uint64_t votes;	    /* calls in which its callees and itself could get votes */
	/* Of these, for itself: own code, blocked, page faults, preemption, run queue, interrupts.
	 */
	uint64_t own[FNODE_CANDIDATES];
	uint64_t decisions;
	uint64_t armed;	  /* in-peak calls of f0 in which it was armed */
	uint64_t records; /* ... and its caller was called */
	uint64_t called;  /* ... and it was called too */
	uint64_t sum_ns, max_sum_ns, max_ns, blocked_ns, fault_ns, loop_ns, repeated_ns;
};

enum fnode_lost { FNODE_BLOWN = 0, FNODE_REFUSED };

struct rec_fnode_lost {
	uint32_t epoch;
	uint32_t node;
	uint32_t reason; /* enum fnode_lost */
};
