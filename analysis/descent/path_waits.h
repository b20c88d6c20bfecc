/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins a descent to the chains of waits: for whom the calls of a path wait, and what those did.
 * Pure. */
#pragma once

#include "analysis/descent/descent.h"
#include "analysis/waits/waits.h"

/* True if a stack, outermost frame first, goes through the functions of path `p` in their order. */
bool path_goes_through(const struct rec_frame *frames, uint32_t nr, const struct descent_result *r,
		       const struct descent_path *p);

/* True for causes that end with something that another task or a device does. */
bool cause_has_chain(const struct cause *c);

/* Fills *out with those of the chains `all` (of the in-peak calls) that begin on path `p`: their
 * outermost layer is a sleep of a kind that fits the cause of `p`, with a stack through the
 * functions of `p` in their order. If its stack is not known, the sleep counts only if no other
 * path of `r` has such a cause. Returns 0 or -ENOMEM; release *out with waits_chains_release(). */
int path_waits_find(const struct waits_chains *all, const struct descent_result *r,
		    const struct descent_path *p, struct waits_chains *out);

/* Who had the locks for which the calls of a path wait: of several threads, whoever released a lock
 * last need not have had it for most of the time. */
struct lock_turns {
	uint32_t holders;    /* threads that had it */
	uint32_t alike;	     /* of these: with the name of the one that had it longest */
	uint32_t longest;    /* a node of the thread that had it longest; holders == 0: none */
	uint64_t longest_ns; /* how long that was */
	uint64_t total_ns;   /* of all turns */
	struct lock_waits locks;
};

/* `found`: as from path_waits_find(). Returns 0 or -ENOMEM. */
int path_waits_turns(const struct waits_chains *found, struct lock_turns *out);
/* Names in the cause of a wait for a lock who had it longest, if several threads had it, and enough
 * waits were seen. Of several locks it does not say that they were one. */
void path_waits_name(const struct waits_chains *found, const struct lock_turns *turns,
		     struct cause *cause);

/* The largest chain that goes beyond the sleep itself; chains->nr: there is none. */
uint32_t path_waits_largest(const struct waits_chains *chains);

/* The node of the last task on the chain that ends at `node`; c->nr if no task comes after the one
 * that waits. */
uint32_t path_waits_innermost(const struct waits_chains *c, uint32_t node);
/* The same if that task did something: c->nr if it only waited for a CPU, which says nothing about
 * its work, if it is a thread of the kernel without work, or if the first task that was waited for
 * is not called `first` (NULL: any). */
uint32_t path_waits_awaited(const struct waits_chains *c, uint32_t node, const char *first);
/* The function in which a task was; {0} if its stack is not known. */
struct rec_code path_waits_function(const struct waits_layer *l);
/* True if two tasks did the same, whatever their numbers are. */
bool path_waits_alike(const struct waits_layer *a, const struct waits_layer *b);

/* What tasks did. */
struct path_doing {
	uint32_t node; /* one of the nodes; nr: there is none */
	uint64_t ns;
};

/* What the awaited tasks did for more than half of the time in which they, or a device, worked, in
 * chains whose first awaited task is called `first` (NULL: in all). Its node is nr if there is no
 * such thing, as when a device worked for most of it. */
struct path_doing path_waits_most(const struct waits_chains *c, const char *first);
