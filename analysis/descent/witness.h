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
#pragma once

#include "analysis/descent/blocked.h"
#include "analysis/descent/causes.h"
#include "analysis/descent/descent.h"
#include "analysis/descent/stacks.h"

enum {
	WITNESS_MAX_NODES = 4096,
	WITNESS_PENDING = 1024, /* stack samples whose call has not ended yet */
	WITNESS_RECENT = 65536, /* recent in-peak calls, for stack samples that arrive later */
	WITNESS_ENDED = 64, /* recent waits that somebody ended, for those before that timed out */
	WITNESS_SET = 16,
	WITNESS_KERNEL = 256, /* limit on frames that have a tally of kernel stacks */
	/* tag of a CPU sample in a tally of stacks; a sleep has its enum cause_kind */
	WITNESS_RAN = -2,
	WITNESS_WORK = -100, /* WITNESS_WORK - enum cause_kind: tag of a CPU sample while the kernel
				did work with a name */
};

/* Details of the stack samples that ended in one frame; NULL if none did. */
struct witness_own {
	struct cause_tally sleeps;
	/* sleeps with incomplete stacks: in this frame or somewhere below */
	struct cause_tally partial;
	unsigned int nr_pcs;
	struct descent_pc pcs[DESCENT_PCS];
	uint64_t kernel_run_ns; /* time of the samples that were in the kernel */
	/* the part of these samples in which the kernel did work with a name */
	struct cause_tally work;
	struct stack_tally *kernel; /* may be NULL */
};

struct witness_node {
	uint32_t parent, first_child, next; /* NO_INDEX: none */
	/* The system calls that a function of the program makes itself, if functions of the kernel
	 * are probed. Their time is the function's own, too. */
	uint32_t first_syscall;
	struct rec_code function;
	struct rec_code ret;	 /* return address in the caller */
	uint64_t weight_ns;	 /* time of all stacks through this frame */
	uint64_t count;		 /* number of these stacks */
	uint64_t own_run_ns;	 /* CPU samples in the function itself */
	uint64_t own_sleep_ns;	 /* sleeps in the function itself */
	struct witness_own *own; /* may be NULL */
};

struct witnesses;

struct witnesses *witnesses_new(struct rec_code f0);
void witnesses_free(struct witnesses *w);
/* From now on keep the frames below system calls of the program, which are to be probed. */
void witnesses_keep_syscalls(struct witnesses *w);
/* Drops all stack samples, because the descent turns to another peak. */
void witnesses_forget(struct witnesses *w);

/* Adds a stack sample. Its frames lead from f0 down; if f0 has jumped to another function, that
 * function has the first frame. Returns 0, -EINVAL (no frames), -ENOMEM or -ENOSPC. */
int witnesses_add(struct witnesses *w, const struct rec_witness *stack);
/* Counts a stack sample at once, whatever call it was in. Returns 0, -EINVAL (no frames), -ENOMEM
 * or -ENOSPC. */
int witnesses_count_one(struct witnesses *w, const struct rec_witness *stack);
/* Notes an in-peak call that has ended, and counts the stack samples inside it. Returns 0, -ENOMEM
 * or -ENOSPC. */
int witnesses_call(struct witnesses *w, uint32_t tid, uint64_t start_ns, uint64_t end_ns);

/* Number of complete stack samples inside in-peak calls. */
uint64_t witnesses_count(const struct witnesses *w);
/* Number of stack samples inside in-peak calls that have kernel frames or callers of f0. */
uint64_t witnesses_stacks(const struct witnesses *w);
/* Returns the callers of f0, innermost first, by address. NULL if not known. */
const struct stack_tally *witnesses_callers(const struct witnesses *w);
/* Sleeps by the innermost open fnode, including sleeps without a stack. */
const struct blocked *witnesses_blocked(const struct witnesses *w);
uint32_t witnesses_nr_nodes(const struct witnesses *w);
const struct witness_node *witnesses_node(const struct witnesses *w, uint32_t node);
/* Returns true for a signal trampoline. A handler returns to its first instruction; no call has the
 * start of its own function as return address. */
bool witness_is_trampoline(const struct witnesses *w, uint32_t node);

/* The frames of stack samples that belong to one fnode. `at`: frames of its function. `beyond`:
 * frames of other functions directly below its call site, which its function entered by a tail
 * call. */
struct witness_set {
	unsigned int nr_at, nr_beyond;
	uint32_t at[WITNESS_SET], beyond[WITNESS_SET];
};

/* Fills *out with the set of f0. */
void witness_set_root(const struct witnesses *w, struct witness_set *out);
/* Fills *out with the set of a callee that `caller` calls with this return address; ret.offset 0
 * means a tail call. If `callee` has module 0: any callee. */
void witness_set_callee(const struct witnesses *w, const struct witness_set *caller,
			struct rec_code ret, struct rec_code callee, struct witness_set *out);
/* Time of all stacks through the function, and through the functions it jumped to. */
uint64_t witness_set_weight(const struct witnesses *w, const struct witness_set *s);
/* Time of CPU samples (run) or sleeps (sleep) in the function itself. */
uint64_t witness_set_own_run(const struct witnesses *w, const struct witness_set *s);
uint64_t witness_set_own_sleep(const struct witnesses *w, const struct witness_set *s);
/* The part of that time in which the thread slept or ran in the kernel. */
uint64_t witness_set_own_kernel(const struct witnesses *w, const struct witness_set *s);
/* Number of stacks through the function. */
uint64_t witness_set_stacks(const struct witnesses *w, const struct witness_set *s);
