/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The armed set of a descent, as descend.c and its fuses know it. */
#ifndef PEAKTOP_COLLECT_DESCEND_STATE_H
#define PEAKTOP_COLLECT_DESCEND_STATE_H

#include "collect/state.h"

enum {
	MAX_NODE_SITES = 2 * PT_FNODES,
	MAX_CLOCKS = 256, /* CPUs that are sampled */
	MAX_ASLEEP = 256,
	SAMPLE_HZ = 997,
	DESCEND_FUSE_HITS = 15000, /* of one site in DESCEND_FUSE_NS: some fifth of one CPU */
	DESCEND_FUSE_NS = 40000000,
};

/* One address, with all that begins and ends there. */
struct node_site {
	uint32_t module;
	uint64_t offset;
	uint32_t class;
	uint32_t index;	     /* in the site table */
	uint32_t seen;	     /* hits as of the last look */
	uint32_t renewed;    /* ... at the last look at all of the set */
	uint64_t outside_ns; /* what hits cost that began no fnode */
	bool dead;
	bool shared; /* the site is f0's entry: it shares f0's entry in the table, its link and its
			fuse */
};

struct descent_arming {
	struct function *function; /* NULL: f0 is a system call */
	uint32_t op, slot;	   /* of f0 */
	uint32_t epoch;
	uint64_t low_ns, high_ns;
	struct req_fnode nodes[PT_FNODES];
	uint32_t nr_nodes;
	uint32_t parent[PT_FNODES]; /* index + 1 */
	struct node_site sites[MAX_NODE_SITES];
	uint32_t nr_sites;
	struct attachment *links;
	uint32_t nr_links;
	uint64_t spent_ns;	 /* by the hits of its sites, since the last profile */
	uint64_t renewed_ns;	 /* when all of the set was looked at last */
	uint64_t renewed_cpu_ns; /* what the targets had run by then */
	uint64_t renewed_begun;	 /* calls of f0 by then */
	uint64_t window_ns;	 /* spent since then */
	bool attach_again;	 /* without the sites whose fuses have blown */
	struct attachment clocks[MAX_CLOCKS];
	uint32_t nr_clocks;
	struct pt_record_stack *asleep[MAX_ASLEEP]; /* stacks of threads that went to sleep */
};

void descend_links_release(struct descent_arming *d);

/* Tell the front that what is timed at this site is not timed any more; `reason`: enum fnode_lost.
 */
void descend_node_lost(struct collector *c, const struct descent_arming *d,
		       const struct node_site *s, uint32_t reason);

#endif
