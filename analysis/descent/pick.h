/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next set of fnodes to arm, put together under its limits. Internal to
 * analysis/descent/.
 */
#ifndef PEAKTOP_DESCENT_PICK_H
#define PEAKTOP_DESCENT_PICK_H

#include "analysis/descent/descent_impl.h"

struct pick {
	struct descent *d;
	uint32_t nr, node[DESCENT_MAX_ARMED]; /* parents before children */
	uint32_t nr_sites;
	uint32_t site_of[DESCENT_MAX_SITES]; /* a fnode for each site that is taken */
	uint32_t nr_new;		     /* of them never armed before */
	bool asked;			     /* an answer is needed before it is complete */
	int err;			     /* -ENOMEM */
	/* Functions that witnesses say are the end of a path: all of their sites are wanted. */
	uint32_t nr_ends, end[DESCENT_MAX_ARMED];
	uint32_t nr_witnessed, witnessed[DESCENT_MAX_ARMED]; /* fnodes opened along witnesses */
};

/* Take a fnode and its callers. False: no room, or it cannot be armed. */
bool pick_node(struct pick *p, uint32_t node);
bool picked(const struct pick *p, uint32_t node);
/* Sites and fnodes that can still be taken. */
uint32_t pick_room(const struct pick *p);

/* Ask for the call sites of a function: true when they are known. */
bool pick_expand(struct pick *p, uint32_t function);
/* Ask what the site of a fnode calls. */
void pick_learn(struct pick *p, uint32_t node);

/* Take call sites of `node` that were never armed, as many as there is room for up to `max`. */
void pick_untried(struct pick *p, uint32_t node, uint32_t max);
/* Take the chain below `node` that witnesses propose; false: they have nothing to say. */
bool pick_witnessed(struct pick *p, uint32_t node);
/* Select siblings of `node`, to be listed beside it. */
void pick_siblings(struct pick *p, uint32_t node);

#endif
