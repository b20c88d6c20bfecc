/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ftree (DARC, SIGMETRICS 2008, section 3.1). An fnode is one call site in the context of its
 * call path. Fnodes share the functions, which hold the lists of call sites. Internal to
 * analysis/descent/.
 *
 * Fnodes and functions are referred to by small numbers. A pointer to one is valid until the next
 * one is created.
 */
#pragma once

#include "analysis/descent/descent.h"

#define NO_INDEX UINT32_MAX
/* A flag of a call site, beside CALL_SITE_...: its fuse has blown. */
#define SITE_IS_HOT (1u << 31)

enum function_state {
	FUNCTION_NEW = 0,
	FUNCTION_ASKED, /* the parser was asked for its call sites */
	FUNCTION_KNOWN,
	FUNCTION_UNREADABLE
};

/* A function and its call sites. */
struct function_sites {
	struct rec_code key;
	enum function_state state;
	uint32_t nr_sites;
	struct rec_call_site *sites; /* ascending offsets */
	bool cut;		     /* the function has more call sites than the parser sent */
};

/* What competes for votes with the callees of a function, on the same scale. */
enum candidate {
	CANDIDATE_SELF = 0, /* Its own code and loops. As long as not all of its callees are timed,
			       all time outside of the timed callees. */
	CANDIDATE_BLOCKED,  /* blocked outside of its callees */
	CANDIDATE_FAULT,    /* page faults outside of its callees */
	/* preempted, anywhere in f0 or below; this and the next two count in f0 only */
	CANDIDATE_PREEMPTED,
	CANDIDATE_RUNQUEUE,
	CANDIDATE_INTERRUPT,
	CANDIDATES
};
/* Returns true for time that the host takes and the program does not cause. */
static inline bool candidate_of_host(enum candidate c)
{
	return c == CANDIDATE_PREEMPTED || c == CANDIDATE_RUNQUEUE || c == CANDIDATE_INTERRUPT;
}
_Static_assert((int)CANDIDATES == (int)FNODE_CANDIDATES, "the votes of a saved fnode");

/* Sums over in-peak calls of f0. */
struct sums {
	uint64_t armed;	  /* calls of f0 in which the fnode was armed */
	uint64_t records; /* ... in which its caller was called, too */
	uint64_t called;  /* ... in which the fnode itself was called, too */
	uint64_t calls;	  /* calls of the fnode itself */
	/* without run-queue and interrupt time, as far as these are known */
	uint64_t net_ns;
	uint64_t max_ns; /* sum of the longest call of the fnode in each call of f0 */
	uint64_t blocked_ns;
	uint64_t fault_ns;
	uint64_t runqueue_ns;
	uint64_t interrupt_ns;
	uint64_t loop_ns; /* net time beyond the longest call: the loop of the caller */
	/* net time in calls of f0 in which the caller called the fnode more than once */
	uint64_t repeated_ns;
};

/* Sums over the callees that are no longer armed: of each its mean per call of f0 that calls the
 * function. */
struct dropped {
	double max, net, blocked, fault, loop, repeated;
};

struct fnode {
	uint32_t id, parent, depth;
	uint32_t function; /* number of the callee, or NO_INDEX: the callee is not known */
	/* index of the call site in the caller's list; NO_INDEX: f0, or restored and not bound
	 * yet */
	uint32_t site;
	uint32_t last; /* a basic block: index of its last call site; else == site */
	struct rec_code site_key;
	uint64_t last_key, ret, last_ret;
	enum callee_kind kind;
	enum descent_node_state state;
	uint64_t inside_ns, total_ns;
	bool in_loop;
	bool only_callee; /* the fnode stands for one of several callees of its site */
	bool pending;	  /* a callee that was learnt from a burst and is to be armed */
	/* finer fnodes took its place: a block was opened, or the callees of the site were
	 * learnt */
	bool replaced;
	bool learn_asked, discovered;

	uint32_t first_child, last_child, next; /* NO_INDEX: none */
	/* one bit for each call site of the function; NULL until its callees are opened */
	uint8_t *tried;
	/* number of set bits: sites that were armed, or that need no arming */
	uint32_t nr_tried;
	/* number of sets that armed call sites of this function for the first time */
	unsigned int chunks;
	unsigned int second_looks;

	/* some time in it cannot be measured: never report its rest as own code */
	bool unmeasured;
	bool hot_loop;	  /* a site in a loop has blown its fuse */
	bool closed;	  /* do not arm further callees */
	bool depth_limit; /* closed because of the maximum depth */
	/* the callees to arm were chosen by stack samples, which may have missed some */
	bool by_witness;

	bool kept, live; /* results of the last decision */
	bool self_kept[CANDIDATES];
	bool undecided;
	bool opened; /* callees were armed after the last decision */
	/* callees that were not followed because too few of the calls execute them */
	unsigned int spread;
	uint64_t maxcount, votes, own[CANDIDATES];
	/* the part of these votes that a saved session brought */
	struct {
		uint64_t maxcount, votes, own[CANDIDATES];
	} saved;
	bool restored; /* from a saved session */
	/* of the saved session: in-peak calls with its caller, and the sum of its longest calls */
	uint64_t saved_records, saved_max_ns;
	/* The saved session measured that this callee takes next to nothing, and this run has not
	 * armed it: its call sites count as tried. */
	bool trusted;
	unsigned int decisions;
	/* own code and loops, summed over the calls in which CANDIDATE_SELF got a vote */
	uint64_t own_ns, loop_ns;
	uint64_t own_longest_ns; /* own code in one call, at most, since a set was last armed */
	struct sums all, window;
	uint64_t longest_ns;
	struct dropped dropped;
};

struct ftree {
	struct fnode *node;
	uint32_t nr_nodes, cap_nodes;
	struct function_sites *function;
	uint32_t nr_functions, cap_functions;
	uint32_t *slot;		   /* hash table: function numbers by key */
	size_t nr_sites;	   /* call sites of all functions */
	unsigned int contradicted; /* functions whose saved votes were dropped */
	size_t tried_bytes;
};

enum {
	FTREE_MAX_FUNCTIONS = 4096,
	FTREE_MAX_TRIED = 16 << 20,
	/* votes in a saved function from which on its round was decided, as for a descent that ends
	 */
	SAVED_LEAST = 5,
};

/* Creates a tree with f0 alone. Returns 0 or -ENOMEM; release the tree in both cases. */
int ftree_init(struct ftree *t, struct rec_code f0);
void ftree_release(struct ftree *t);

/* Returns the number of a function and creates the function if needed. Returns NO_INDEX if it is
 * not known (module 0) or there is no room. */
uint32_t ftree_function(struct ftree *t, struct rec_code key);
/* Returns the number of a function, or NO_INDEX if the tree does not have it. */
uint32_t ftree_find_function(const struct ftree *t, struct rec_code key);
/* Stores the call sites that the parser found. Returns 0; -EINVAL if they are not sorted or have an
 * unknown kind; -ENOMEM; -ENOSPC. */
int ftree_set_sites(struct ftree *t, uint32_t function, const struct rec_callees *answer);

/* Adds a call site to a function whose sites are known. Returns 0, -ENOMEM or -ENOSPC. */
int ftree_add_site(struct ftree *t, uint32_t function, const struct rec_call_site *site);

/* Returns the number of the fnode of a call site under `parent` with this callee (module 0: any
 * callee), and creates the fnode if needed. If `last` != `site` the fnode is a basic block. Returns
 * a negative errno on failure. */
int ftree_node(struct ftree *t, uint32_t parent, uint32_t site, uint32_t last,
	       struct rec_code callee);
/* Adds an fnode from a session with its votes. No time of the session stands for one of this run,
 * and it counts as never armed: the calls of this run may take another path. The fnode is known by
 * its keys until the call sites of its caller are known and it is bound to one of them. Returns its
 * number or a negative errno. */
int ftree_restore(struct ftree *t, const struct rec_fnode *saved, uint32_t parent);

/* Returns true if the callees of this call site of `parent` were learnt from a burst and finer
 * fnodes replace the one for all callees. */
bool ftree_site_discovered(const struct ftree *t, uint32_t parent, uint32_t site);

/* Returns the callee of an fnode, or NULL if it is not known. */
struct function_sites *fnode_function(const struct ftree *t, uint32_t node);
/* Creates the bits of the call sites of an fnode and sets those of sites that never need arming.
 * Returns 0, -ENOMEM or -ENOSPC. */
int ftree_open(struct ftree *t, uint32_t node);
bool fnode_tried(const struct fnode *n, uint32_t site);
void fnode_set_tried(struct fnode *n, uint32_t site, bool tried);
/* Returns true if all callees are armed or measured, as far as possible. */
bool fnode_complete(const struct ftree *t, uint32_t node);
/* After the state of a bound fnode has become FNODE_HOT or FNODE_UNTIMED: its call site is not
 * armed on other paths either, and the caller is not measured in full. */
void fnode_give_up(struct ftree *t, uint32_t node);
/* Resets the votes of a function and its callees. Needed when the set of candidates has changed,
 * because earlier votes compared other candidates. */
void fnode_reset_votes(struct ftree *t, uint32_t node);
/* Forgets the votes of a saved session about the callees of this function, if they contradict those
 * of the calls of this run: these calls take another path. */
void fnode_drop_saved_votes(struct ftree *t, uint32_t node);
/* Lets the callees of this function that were measured in a saved session alone be armed again.
 * Returns true if there are such callees. */
bool fnode_distrust(struct ftree *t, uint32_t node);
/* Computes `dropped` from the callees that were measured and are no longer armed. */
void fnode_sum_dropped(struct ftree *t, uint32_t node);
