/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an answer is built; only for result*.c and verdict.c. */
#pragma once

#include "analysis/descent/descent_impl.h"

static inline double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

enum {
	KERNEL_MAJORITY = 2, /* follow the next kernel frame while 1/2 of the stacks agree */
	KERNEL_BRANCH = 4,   /* ... or with 1/4 of their time */
	/* the kernel function that names a part has this percentage of its system call's time */
	KERNEL_TRUNK = 60,
	KERNEL_DEEP = 10, /* ... and the last one that is shown below it this one */
};

/* The heaviest frames of some kernel stacks: the first `nr` name these stacks, those down to
 * `nr_deep` tell where their time goes on. `part`: the part of the time of the first frame that is
 * in or below each. */
struct kernel_frames {
	uint32_t nr, nr_deep;
	struct rec_frame frame[STACK_DEPTH];
	double part[STACK_DEPTH];
};

struct builder {
	const struct descent *d;
	struct descent_result *r;
	uint32_t *index; /* index of an fnode in the result's nodes, or NO_INDEX */
	double latency;	 /* mean latency of an in-peak call, ns */
	int err;
	/* share of the time in which a task that the thread waits for had its CPU */
	double awaited;
	/* Samples in page faults of the function at hand, their heaviest stack, and the functions
	 * below it that met them, if all of its own time is in faults. */
	struct {
		double ns, heaviest_ns;
		struct kernel_frames kernel;
		unsigned int nr_below;
		struct descent_below below[DESCENT_BELOW];
	} faults;
};

/* Adds a path that ends in `node`, with `ns` of the time of an in-peak call. Returns NULL if there
 * is no room, or no memory (b->err). */
struct descent_path *result_add_path(struct builder *b, uint32_t node, double ns,
				     const struct cause *cause, uint64_t maxcount);
/* Sorts the places of a path, heaviest first. */
void result_sort_pcs(struct descent_path *path);
/* result_sampled.c: the nodes and paths of a descent by samples alone, and its table of functions.
 * Returns 0 or -ENOMEM. */
int result_by_samples(struct builder *b);
/* Returns true if this fnode is of the kernel: its own code is the kernel's. */
static inline bool result_is_kernel(const struct descent *d, uint32_t node)
{
	const struct function_sites *f = fnode_function(&d->tree, node);

	return f && f->key.module == REC_KERNEL_MODULE;
}
/* Returns true if a path of own time also contains the time of callees that were not timed. */
static inline bool result_has_callees(const struct descent_path *path)
{
	return path->cause.kind == CAUSE_LOOP || path->cause.kind == CAUSE_UNMEASURED;
}

/* Adds the places of the on-CPU samples in the function of `node` itself. If `callees`, also the
 * places of its calls, with the samples in and below the called functions: for paths that contain
 * the time of callees that were not timed. */
void result_add_pcs(struct builder *b, struct descent_path *path, uint32_t node, bool callees);
/* result_below.c: adds the functions in which the samples in and below `node` ended. */
void result_add_below(struct builder *b, struct descent_path *path, uint32_t node);
/* result_below.c: sets the callee that takes most of the time of a loop. */
void result_add_looped(const struct builder *b, struct descent_path *path, uint32_t node);
/* result_stacks.c: sets the kernel frames below the last frame of the path, from sleeps. `tag` is
 * the kind of the sleeps (enum cause_kind). */
void result_add_kernel(struct builder *b, struct descent_path *path, uint32_t node, int tag);
/* result_kernel.c: moves the time that samples saw in the kernel from the own code of a path to
 * paths of its own. Adds page faults to b->faults. */
void result_split_kernel(struct builder *b, struct descent_path *path, uint32_t node);
/* result_handlers.c: moves the time in signal handlers from the own code of a path to paths of
 * their own. The program does not call a handler, so no fnode stands for it. */
void result_split_handlers(struct builder *b, struct descent_path *path, uint32_t node);
/* The frames of callees that are timed and have paths of their own (result_kernel.c). */
struct live_callees {
	unsigned int nr;
	uint32_t at[WITNESS_SET * 8];
};
void result_live_callees(const struct descent *d, uint32_t node, struct live_callees *out);
bool result_is_live(const struct live_callees *live, uint32_t witness);
/* Time of the on-CPU samples in this frame and below it. Recursion is limited: a stack has at most
 * DESCENT_MAX_WITNESS_FRAMES frames. */
uint64_t result_run_below(const struct witnesses *w, uint32_t witness);
/* result_stacks.c: collects the kernel stacks with one tag; `ctx`: struct gathered. */
struct gathered {
	struct stack_tally *tally;
	int tag;
};
void result_gather(void *ctx, const struct witness_node *n);
/* result_stacks.c: finds the frames as stack_tally_path() does; all of them name the stacks.
 * Returns the time of the stacks through the last one. */
uint64_t result_kernel_frames(const struct stack_tally *t, uint32_t part, uint32_t least,
			      struct kernel_frames *out);
/* result_stacks.c: returns how many leading frames have at least `percent` of the time. */
uint32_t result_kernel_trunk(const struct kernel_frames *f, uint32_t percent);
/* result_stacks.c: lets only the first `nr` frames name the stacks. */
void result_name_by(struct kernel_frames *f, uint32_t nr);
/* result_stacks.c: sets the kernel frames of a path, which have this share of its time. */
void result_set_kernel(const struct builder *b, struct descent_path *path, uint32_t node,
		       const struct kernel_frames *f, double share, enum evidence evidence);
/* result_stacks.c: if f0 is a system call, adds the functions that call it. */
void result_add_callers(struct builder *b);
/* result_sleeps.c: called with one frame of the stack samples. Returns true once it has found
 * something, in this frame or an earlier one. */
typedef bool (*sleep_visitor)(void *ctx, const struct witness_node *n);
/* Visits the frames in which a function sleeps: its own frame, and all frames below the callees of
 * its loops. If `visit` finds nothing there, visits all frames below the function. */
void result_visit_sleeps(const struct descent *d, uint32_t node, sleep_visitor visit, void *ctx);
/* Returns the sleeps that happened while this fnode was the innermost open one, for time without
 * stack samples. If there are none, uses those of the nearest caller that has some, but only if
 * these sleeps all have one kind. Returns NULL if not known. */
const struct blocked_node *result_blocked_at(const struct descent *d, uint32_t node);
/* Adds the paths of all root cause candidates, as they are now. */
void result_add_paths(struct builder *b);
/* Adds the paths of a callee that is no root cause candidate, such as one that few of the calls
 * make. They end in this callee, which was not measured further. Returns false if there are
 * none. */
bool result_add_unfollowed(struct builder *b, uint32_t node);
/* result.c: sorts the paths, drops those that are too small, and adds up their shares. */
void result_add_up(struct builder *b);
/* verdict.c: computes the missing shares, checks the figures, and sets the status. Call this after
 * sorting the paths. */
void result_judge(struct builder *b);
