/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ftree (DARC section 3.1): fnodes, each one call site in the context of its call
 * path, and the functions with their call sites, which fnodes share. Internal to
 * analysis/descent/.
 *
 * Fnodes and functions are referred to by small numbers; pointers to them are valid
 * until the next one is made.
 */
#ifndef PEAKTOP_FTREE_H
#define PEAKTOP_FTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/descent/descent.h"

#define NO_INDEX UINT32_MAX
#define SITE_IS_HOT (1u << 31) /* in call site flags, beside CALL_SITE_...: a fuse has blown */

enum function_state {
	FUNCTION_NEW = 0,
	FUNCTION_ASKED, /* its call sites were asked for */
	FUNCTION_KNOWN,
	FUNCTION_UNREADABLE
};

struct function {
	struct rec_code key;
	enum function_state state;
	uint32_t nr_sites;
	struct rec_call_site *sites; /* ascending offsets */
	bool cut;		     /* there are more of them */
};

/* What competes with the callees of a function, on the same scale. */
enum candidate {
	CANDIDATE_SELF =
	    0,		   /* its own code and loops; as long as it is not complete, all the rest */
	CANDIDATE_BLOCKED, /* outside of its callees */
	CANDIDATE_FAULT,   /* the same */
	CANDIDATE_PREEMPTED, /* these three: of f0, and anywhere below it */
	CANDIDATE_RUNQUEUE,
	CANDIDATE_INTERRUPT,
	CANDIDATES
};
/* Is it time that the host takes, and not what the program does? */
static inline bool candidate_of_host(enum candidate c)
{
	return c == CANDIDATE_PREEMPTED || c == CANDIDATE_RUNQUEUE || c == CANDIDATE_INTERRUPT;
}
_Static_assert((int)CANDIDATES == (int)FNODE_CANDIDATES, "the votes of a saved fnode");

/* Sums over in-peak calls of f0. */
struct sums {
	uint64_t armed;	  /* calls in which the fnode was armed */
	uint64_t records; /* ... and its caller was called */
	uint64_t called;  /* ... and it was called too */
	uint64_t calls;	  /* of it */
	uint64_t net_ns;  /* without run-queue and interrupt time as far as known */
	uint64_t max_ns;  /* the longest single calls */
	uint64_t blocked_ns;
	uint64_t fault_ns;
	uint64_t runqueue_ns;
	uint64_t interrupt_ns;
	uint64_t loop_ns;     /* beyond the longest call */
	uint64_t repeated_ns; /* of calls that its caller made more than once */
};

/* Means of the callees that are not armed any more, per call of f0 that calls the function. */
struct dropped {
	double max, net, blocked, fault, loop, repeated;
};

struct fnode {
	uint32_t id, parent, depth;
	uint32_t function; /* number, or NO_INDEX: the callee is not known */
	uint32_t site;	   /* index in the caller's sites; NO_INDEX: not bound (restored), or f0 */
	uint32_t last;	   /* the same, of a block's last site; else == site */
	struct rec_code site_key;
	uint64_t last_key, ret, last_ret;
	enum callee_kind kind;
	enum descent_node_state state;
	uint64_t inside_ns, total_ns;
	bool in_loop;
	bool only_callee; /* one of several callees of its site */
	bool pending;	  /* a learnt callee that is to be armed */
	bool replaced;	  /* a block that was opened, a site whose callees were learnt */
	bool learn_asked, discovered;

	uint32_t first_child, last_child, next; /* NO_INDEX: none */
	uint8_t *tried;	     /* a bit for each site of the function, once it was opened */
	uint32_t nr_tried;   /* sites with the bit, or that need no arming */
	unsigned int chunks; /* times that sites of it were armed */
	unsigned int second_looks;

	bool unmeasured;  /* something in it cannot be measured: own code is never said of it */
	bool hot_loop;	  /* ... but a hot site in a loop */
	bool closed;	  /* not to be opened (further) */
	bool depth_limit; /* because of the maximum depth */
	bool by_witness;  /* opened along witnesses, which need not have been all there is */

	bool kept, live; /* by the last decision */
	bool self_kept[CANDIDATES];
	bool undecided;
	bool opened;	     /* callees were armed after the last decision */
	unsigned int spread; /* callees that would be followed if more of the calls executed them */
	uint64_t maxcount, votes, own[CANDIDATES];
	unsigned int decisions;
	uint64_t own_ns, loop_ns; /* of its own votes: code against loops */
	struct sums all, window;
	uint64_t longest_ns;
	struct dropped dropped;
};

struct ftree {
	struct fnode *node;
	uint32_t nr_nodes, cap_nodes;
	struct function *function;
	uint32_t nr_functions, cap_functions;
	uint32_t *slot;	 /* hash of functions */
	size_t nr_sites; /* of all functions */
	size_t tried_bytes;
};

enum { FTREE_MAX_FUNCTIONS = 4096, FTREE_MAX_TRIED = 16 << 20 };

/* A tree of f0 alone. 0 or -ENOMEM; release in both cases. */
int ftree_init(struct ftree *t, struct rec_code f0);
void ftree_release(struct ftree *t);

/* The number of a function, made if need be; NO_INDEX: not known (module 0), or no room. */
uint32_t ftree_function(struct ftree *t, struct rec_code key);
/* Without making it. */
uint32_t ftree_find_function(const struct ftree *t, struct rec_code key);
/* Take the parser's answer. -EINVAL: not sorted, or blocks that are none; -ENOMEM, -ENOSPC. */
int ftree_set_sites(struct ftree *t, uint32_t function, const struct rec_callees *answer);

/*
 * The fnode of a site under `parent` with this callee (module 0: whatever it
 * calls), made if need be; `last` != `site`: a block. Its number, or a negative errno.
 */
int ftree_node(struct ftree *t, uint32_t parent, uint32_t site, uint32_t last,
	       struct rec_code callee);
/* One from a session: known by its keys, bound to its site when its caller's are known. */
int ftree_restore(struct ftree *t, const struct rec_fnode *saved, uint32_t parent);

/* Were the callees of this site of `parent` learnt, and are they more than one? */
bool ftree_site_discovered(const struct ftree *t, uint32_t parent, uint32_t site);

/* The callee of an fnode; NULL if not known. */
struct function *fnode_function(const struct ftree *t, uint32_t node);
/* Make the bits of its sites, with those that never need arming set. 0, -ENOMEM, -ENOSPC. */
int ftree_open(struct ftree *t, uint32_t node);
bool fnode_tried(const struct fnode *n, uint32_t site);
void fnode_set_tried(struct fnode *n, uint32_t site, bool tried);
/* Are all its callees armed or measured, as far as they ever can be? */
bool fnode_complete(const struct ftree *t, uint32_t node);
/* Forget the votes taken under it, when what they are taken between has changed. */
void fnode_reset_votes(struct ftree *t, uint32_t node);
/* Compute `dropped` from the children that are not armed. */
void fnode_sum_dropped(struct ftree *t, uint32_t node);

#endif
