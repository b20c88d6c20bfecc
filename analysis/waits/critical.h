/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path in one pass with bounded memory. Machines (tasks, requests, work items) are in
 * states; time in a state counts, or is blocked. Each machine keeps the longest path to now as a
 * shared list of states and its length. An edge from one machine to another gives the second one
 * the longer of both paths; the difference is the loser's slack. Prefixes that all paths share are
 * folded into a table. Independent of where the machines come from. */
#pragma once

/* 0 stands for the default. */
struct critical_config {
	uint32_t max_nodes;    /* of all lists: 128k */
	uint32_t max_machines; /* 64k; then the one that was idle longest makes room */
	uint32_t max_states;   /* 4k; then state 0 stands for the others */
	uint32_t max_log;      /* events for which another weight can be tried: 256k */
};

struct critical;
struct critical *critical_new(const struct critical_config *config);
void critical_free(struct critical *c);

/* Returns the machine of this owner. `machine` is the one that was returned for it before, or 0. If
 * it belongs to another owner by now, a new machine is made, which is blocked and has no path.
 * Returns 0 if there is no memory; all functions accept 0 and do nothing. */
uint32_t critical_machine(struct critical *c, uint32_t machine, uint64_t owner);
/* Returns `machine` if it still belongs to this owner, else 0. */
uint32_t critical_find(const struct critical *c, uint32_t machine, uint64_t owner);
/* It ends; its path is forgotten. */
void critical_drop(struct critical *c, uint32_t machine);
/* From `t` on it is in this state, in which time counts, or blocked. */
void critical_enter(struct critical *c, uint32_t machine, uint64_t t, uint32_t state);
void critical_block(struct critical *c, uint32_t machine, uint64_t t);
/* It was blocked for something that took its time by itself (a timer, a peer): the time since it
 * was blocked counts as this state. */
void critical_external(struct critical *c, uint32_t machine, uint64_t t, uint32_t state);
/* `to` goes on no earlier than `from` at `t`; what it was blocked for before is over. */
void critical_edge(struct critical *c, uint32_t from, uint32_t to, uint64_t t);
/* All machines, and the table of what is folded, begin anew. Counts stay. */
void critical_restart(struct critical *c, uint64_t t);

/* The length of a machine's path at `t`. */
uint64_t critical_length(const struct critical *c, uint32_t machine, uint64_t t);

struct critical_state {
	uint64_t count, ns; /* of all machines */
	uint64_t critical_ns;
	uint64_t slack_ns; /* least by which it lost; UINT64_MAX: it never lost */
};
struct critical_edge_sum {
	uint32_t from, to;		 /* states */
	uint64_t count, ns, critical_ns; /* time in `to` after `from` */
};

struct critical_path {
	uint64_t length_ns;
	uint64_t elapsed_ns; /* since the first event; of a blocked machine until it was blocked */
	uint64_t deficit_ns; /* elapsed - length: what no path explains */
	bool approximate;    /* a part of the path was forgotten for want of memory */
	uint32_t nr_states, nr_edges;
	struct critical_state *states; /* by number */
	struct critical_edge_sum *edges;
	uint64_t under_way_ns; /* of one call: on machines that were at it before the call began */
	/* Edges whose source was far behind their target: from where something is missing. */
	uint64_t behind;
	uint32_t behind_machine;
	uint64_t behind_ns;
	uint32_t silent_state; /* entered for seconds without an edge from it; UINT32_MAX: none */
};
/* The path that ends at `machine`. 0 or -ENOMEM. */
int critical_result(struct critical *c, uint32_t machine, uint64_t t, struct critical_path *out);
void critical_path_release(struct critical_path *p);

/* How long the path to `machine` would be, over the events that are still known, if `state` took
 * no time; UINT32_MAX: as it is. The difference is what making it faster could save at most. */
uint64_t critical_without(const struct critical *c, uint32_t machine, uint64_t t, uint32_t state);

struct critical_memory {
	uint64_t bytes, nodes, most_nodes, forgotten;
};
void critical_memory(const struct critical *c, struct critical_memory *out);
