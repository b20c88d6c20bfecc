/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For critical.c, critical_list.c and critical_result.c. */
#pragma once

#include "analysis/waits/critical.h"

enum { NO_NODE = 0, NO_EDGE = UINT32_MAX };

/* A stay in a state. Lists share their beginnings. */
struct path_node {
	uint64_t ns;
	uint32_t parent;
	uint32_t refs;	    /* machines that end here, and children */
	uint32_t children;  /* bit 31: nothing is known of what was before */
	uint32_t child_sum; /* of their numbers: with one child, that one */
	uint32_t state, edge;
};
#define PATH_DETACHED (1u << 31)

struct machine {
	uint64_t owner, since, length;
	uint64_t edge_out_ns; /* when an edge left it last */
	uint32_t node;	      /* NO_NODE: only the length is known */
	uint32_t state;
	uint32_t older, newer; /* of those that hold a path, by their last change */
	bool counts, used;
};

enum log_op { LOG_ENTER, LOG_BLOCK, LOG_EXTERNAL, LOG_EDGE, LOG_NEW, LOG_RESTART };
struct log_entry {
	uint64_t t;
	uint32_t a, b; /* machines, or machine and state */
	uint32_t op;
};

struct critical {
	struct critical_config config;
	struct path_node *nodes;
	uint32_t nr_nodes, cap_nodes, free_node, root, used_nodes, most_nodes;
	struct machine *machines;
	uint32_t nr_machines, cap_machines, free_machine;
	uint32_t oldest, newest;
	struct critical_state *states; /* critical_ns: of what is folded */
	struct critical_edge_sum *edges;
	uint32_t nr_states, nr_edges, max_edges, *edge_bucket, edge_mask;
	uint64_t first_ns, forgotten;
	bool began, approximate;
	uint64_t behind, behind_ns;
	uint32_t behind_machine, silent_state;
	struct log_entry *log; /* a ring */
	uint64_t nr_log;
};

/* ---- critical_list.c */
int lists_init(struct critical *c);
/* Append a stay to the machine's list. */
void list_append(struct critical *c, struct machine *m, uint32_t state, uint64_t ns);
void list_share(struct critical *c, struct machine *to, const struct machine *from);
void list_release(struct critical *c, struct machine *m);
/* m's place among those that hold a path. */
void list_touch(struct critical *c, struct machine *m);
