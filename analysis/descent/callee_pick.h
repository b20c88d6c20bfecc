/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the next set of fnodes to arm, within the limits on fnodes and call sites. Internal to
 * analysis/descent/. */
#pragma once

#include "analysis/descent/descent_impl.h"

struct pick {
	struct descent *d;
	uint32_t nr, node[DESCENT_MAX_ARMED]; /* parents before children */
	uint32_t nr_sites;
	uint32_t site_of[DESCENT_MAX_SITES]; /* one fnode for each call site in the set */
	uint32_t nr_kernel;		     /* ... those in functions of the kernel */
	uint32_t nr_new;		     /* fnodes in the set that were never armed before */
	bool asked; /* an answer of the parser is needed before the set is complete */
	int err;    /* -ENOMEM */
	/* Fnodes in which paths end according to stack samples: all of their call sites are
	 * wanted. */
	uint32_t nr_ends, end[DESCENT_MAX_ARMED];
	uint32_t nr_witnessed,
	    witnessed[DESCENT_MAX_ARMED]; /* fnodes whose callees were chosen by stack samples */
};

/* Adds an fnode and its callers to the set. Returns false if there is no room or one of them cannot
 * be armed. */
bool pick_node(struct pick *p, uint32_t node);
bool picked(const struct pick *p, uint32_t node);
/* Returns how many more fnodes with a call site of their own fit into the set. */
uint32_t pick_room(const struct pick *p);

/* Asks for the call sites of a function if they are not known. Returns true if they are known. */
bool pick_expand(struct pick *p, uint32_t function);
/* Asks which functions the call site of an fnode calls. */
void pick_learn(struct pick *p, uint32_t node);

/* Adds up to `max` call sites of `node` that were never armed, as many as there is room for. */
void pick_untried(struct pick *p, uint32_t node, uint32_t max);
/* Adds the chain of callees below `node` that the stack samples propose. Returns false if the
 * samples propose nothing. */
bool pick_witnessed(struct pick *p, uint32_t node);
/* Adds call sites next to that of `node`, so that the answer can list their latencies beside it. */
void pick_siblings(struct pick *p, uint32_t node);

/* arm.c. Asks for the call sites of live nodes with restored callees, because they identify these
 * callees again. */
void pick_bind_live(struct pick *p);
/* Adds the live nodes, in the order of their numbers. */
void pick_live(struct pick *p);
/* Lists the functions whose callees are to be armed next. `list` has room for all fnodes. Returns
 * their number. */
uint32_t pick_candidates(struct pick *p, uint32_t *list);
/* Adds callees of these functions. */
void pick_open(struct pick *p, const uint32_t *list, uint32_t nr);
/* Counts the set for each function of which it arms call sites for the first time. */
void pick_count_chunks(struct descent *d, const struct pick *p);
/* Arms the set. */
void pick_commit(struct descent *d, const struct pick *p);
