/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The armed set of a descent: private to descend.c, descend_fuses.c and descend_records.c. */
#pragma once

#include "collect/host_waits.h"
#include "collect/state.h"

enum {
	MAX_NODE_SITES = 2 * PT_FNODES,
	MAX_ASLEEP = 256,
	SAMPLE_HZ = 997,
	DESCEND_FUSE_HITS =
	    15000, /* hits of one site in DESCEND_FUSE_NS: about a fifth of one CPU */
	DESCEND_FUSE_NS = 40000000,
};

/* One probed address. Several fnodes may begin and end there. */
struct node_site {
	uint32_t module;
	uint64_t offset;
	uint32_t class;
	uint32_t index;	     /* index in the site table */
	uint32_t seen;	     /* hits at the last check of the site */
	uint32_t renewed;    /* ... at the last check of the whole set */
	uint64_t outside_ns; /* cost of the hits that opened no fnode */
	uint32_t link;	     /* of the kernel: number + 1 in kernel_links; 0: not attached */
	bool dead;
	bool shared; /* the site is a start of f0: it uses f0's entry in the table, its link and its
			fuse */
};

struct descent_arming {
	struct function *function; /* NULL: f0 is of the kernel */
	bool is_syscall;	   /* else a function, of the program or of the kernel */
	uint32_t op, slot;	   /* the front's number of f0, and its slot */
	uint32_t epoch;
	uint64_t low_ns, high_ns;
	bool sampled; /* calls of f0 are not timed: samples are taken wherever the targets run */
	struct req_fnode nodes[PT_FNODES];
	uint32_t nr_nodes;
	uint32_t parent[PT_FNODES]; /* index + 1 of each node's parent; 0: f0 */
	struct node_site sites[MAX_NODE_SITES];
	uint32_t nr_sites;
	struct attachments links, kernel_links; /* of sites in the program, and in the kernel */
	uint64_t spent_ns;			/* cost of hits since the last profile */
	uint64_t renewed_ns;			/* time of the last check of the whole set */
	uint64_t renewed_cpu_ns;		/* CPU time of the targets at that check */
	uint64_t renewed_begun;			/* calls of f0 at that check */
	uint64_t window_ns;			/* cost of hits since that check */
	bool tries;				/* calls that fail are watched, too */
	bool attach_again; /* the set must be attached again, without dead sites */
	struct clocks clocks;
	bool clocks_run;
	bool has_calls;			/* system calls in f0 are timed */
	bool has_kernel;		/* ... or callees in the kernel: */
	bool kernel_on;			/* ... all their call sites are attached */
	bool kernel_counts;		/* ... and f0 was on at the last check */
	struct attach_batch *attaching; /* ... while they are being attached; else NULL */
	int64_t kernel_ns;		/* ... the credit of the host for them */
	uint64_t kernel_looked_ns,	/* ... when it was last updated */
	    kernel_since_ns,		/* ... when they were last detached */
	    kernel_f0_ns;		/* ... when f0 was last measured */
	struct pt_record_stack
	    *asleep[MAX_ASLEEP]; /* stacks of threads that fell asleep, by thread id */
};

static inline uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* What a record of a call, and one of a sleep, point to until they are sent. */
struct call_strings {
	struct host_waits waits;
	char irq[96];
};
struct sleep_strings {
	char name[256], waker[PT_COMM + 1], owner[64], irq[96], doing[96], about[64];
};
/* Fill in what the BPF programs tell of a call, but for its operation and its fnodes, and of a
 * sleep. */
void call_fill(struct collector *c, const struct pt_record_call *r, struct rec_call *call,
	       struct call_strings *text);
/* Send a stack; the other fields of `out` are those that the caller has filled in. */
void stack_send(struct collector *c, const struct pt_record_stack *r, struct rec_stack *out);
void sleep_fill(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		struct sleep_strings *text);

/* The number + 1 of the system call that `op` stands for; 0: not a system call. */
uint32_t descend_call_of(const struct collector *c, uint32_t op);
/* The slot of f0, if it is of the kernel; 0: it is not watched. */
uint32_t descend_slot_in_kernel(const struct collector *c, uint32_t op);
void descend_links_release(struct descent_arming *d);

/* descend_kernel.c: the call sites in functions of the kernel. */
/* Why this fnode cannot be armed, in words; NULL: it can. */
const char *descend_kernel_check(const struct collector *c, const struct req_fnode *n);
/* A set of such sites is armed from now on. */
void descend_kernel_begin(struct descent_arming *d);
/* Detach the sites. descend_kernel_govern() attaches them, without those that are dead. */
void descend_kernel_detach(struct collector *c);
/* Give up a site that was refused or whose fuse has blown, and the other end of its calls, which
 * costs as much and times nothing alone. */
void descend_kernel_give_up(struct descent_arming *d, const struct node_site *s);
/* Write a system call in f0, which has no site of its own, into the BPF maps. Returns 0 or a
 * negative errno. */
int descend_kernel_call(struct collector *c, struct descent_arming *d, uint32_t i);
/* descend_fuses.c: the cost of the hits of the set since the last call, ns: of its sites in the
 * kernel, or of those in the program. */
uint64_t descend_sites_spending(struct collector *c, bool of_kernel);

/* Tell the front that the fnodes at this site are not timed any more. `reason`: enum
 * fnode_lost. */
void descend_node_lost(struct collector *c, const struct descent_arming *d,
		       const struct node_site *s, uint32_t reason);
/* Give up a site, whose code in memory differs from its file. */
void descend_site_changed(struct collector *c, const struct descent_arming *d, struct node_site *s);
