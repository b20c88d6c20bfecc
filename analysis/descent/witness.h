/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stack samples of in-peak calls, taken at sleeps and on the CPU, as a tree of frames
 * weighted in ns. They propose call sites to arm and name the cause of a sleep; they never
 * vote. A sleep without a stack proposes nothing, and names a cause only if no other sleep
 * does. Internal to analysis/descent/.
 *
 * A stack sample and its call are matched by thread and time. They arrive in either order,
 * so rings keep the recent ones of both.
 */
#ifndef PEAKTOP_DESCENT_WITNESS_H
#define PEAKTOP_DESCENT_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/descent/blocked.h"
#include "analysis/descent/causes.h"
#include "analysis/descent/descent.h"
#include "analysis/descent/stacks.h"

enum {
	WITNESS_MAX_NODES = 4096,
	WITNESS_PENDING = 1024, /* stacks that wait for their call */
	WITNESS_RECENT = 65536, /* in-peak calls that wait for their stacks */
	WITNESS_SET = 16,
	WITNESS_KERNEL = 256, /* frames with kernel stacks of their own */
	WITNESS_RAN = -2,     /* tag of a sample in a tally of stacks; of a sleep: its kind */
	WITNESS_WORK =
	    -100, /* minus the kind of cause: tag of a sample while the kernel did such work */
};

/* Details of the stack samples that ended in one frame; NULL if none did. */
struct witness_own {
	struct cause_tally sleeps;
	struct cause_tally partial; /* sleeps in it, or somewhere below */
	unsigned int nr_pcs;
	struct descent_pc pcs[DESCENT_PCS];
	uint64_t kernel_run_ns;	    /* of the samples: in the kernel */
	struct cause_tally work;    /* the part of these samples whose work has a name */
	struct stack_tally *kernel; /* may be NULL */
};

struct witness_node {
	uint32_t parent, first_child, next; /* NO_INDEX: none */
	struct rec_code function;
	struct rec_code ret;	 /* return address in the caller */
	uint64_t weight_ns;	 /* of all stacks through this frame */
	uint64_t count;		 /* of them */
	uint64_t own_run_ns;	 /* samples in the function itself */
	uint64_t own_sleep_ns;	 /* sleeps in it */
	struct witness_own *own; /* may be NULL */
};

struct witnesses;

struct witnesses *witnesses_new(struct rec_code f0);
void witnesses_free(struct witnesses *w);
/* Start over for another peak. */
void witnesses_forget(struct witnesses *w);

/*
 * A stack, from f0 down, or from what f0 has jumped to: that has its frame then. 0, -EINVAL (no
 * frames), -ENOMEM, -ENOSPC.
 */
int witnesses_add(struct witnesses *w, const struct rec_witness *stack);
/* An in-peak call has ended. 0, -ENOMEM, -ENOSPC. */
int witnesses_call(struct witnesses *w, uint32_t tid, uint64_t start_ns, uint64_t end_ns);

uint64_t witnesses_count(const struct witnesses *w); /* whole ones, inside in-peak calls */
uint64_t witnesses_stacks(
    const struct witnesses *w); /* all stack samples, including those in the kernel or above f0 */
/* The callers of f0, innermost first, by place. NULL if not known. */
const struct stack_tally *witnesses_callers(const struct witnesses *w);
/* Sleeps by the innermost open fnode, including sleeps without a stack. */
const struct blocked *witnesses_blocked(const struct witnesses *w);
const struct witness_node *witnesses_node(const struct witnesses *w, uint32_t node);

/*
 * The frames of stack samples that belong to one fnode. `at`: frames of its function.
 * `beyond`: frames below its site in another function that a tail call entered.
 */
struct witness_set {
	unsigned int nr_at, nr_beyond;
	uint32_t at[WITNESS_SET], beyond[WITNESS_SET];
};

/* Of f0. */
void witness_set_root(const struct witnesses *w, struct witness_set *out);
/*
 * The set of a callee: called from `caller` with this return address; ret.offset 0: by a
 * tail call. `callee` with module 0: any callee.
 */
void witness_set_callee(const struct witnesses *w, const struct witness_set *caller,
			struct rec_code ret, struct rec_code callee, struct witness_set *out);
/* Time of the frames of the function, and of what they led to. */
uint64_t witness_set_weight(const struct witnesses *w, const struct witness_set *s);
/* Time in the function itself. */
uint64_t witness_set_own_run(const struct witnesses *w, const struct witness_set *s);
uint64_t witness_set_own_sleep(const struct witnesses *w, const struct witness_set *s);
/* ... as far as the kernel was at work or asleep for it */
uint64_t witness_set_own_kernel(const struct witnesses *w, const struct witness_set *s);
/* Stacks through the function. */
uint64_t witness_set_stacks(const struct witnesses *w, const struct witness_set *s);

#endif
