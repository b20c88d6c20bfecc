/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an answer is put together; for result*.c only. */
#ifndef PEAKTOP_DESCENT_RESULT_IMPL_H
#define PEAKTOP_DESCENT_RESULT_IMPL_H

#include "analysis/descent/descent_impl.h"

static inline double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

struct builder {
	const struct descent *d;
	struct descent_result *r;
	uint32_t *index; /* of a fnode in the result's nodes, or NO_INDEX */
	double latency;	 /* mean of an in-peak call */
	int err;
	/* The present function: samples in page faults, and their heaviest stack. */
	struct {
		double ns, heaviest_ns;
		uint32_t nr;
		struct rec_frame frame[STACK_DEPTH];
	} faults;
};

/* A new path that ends in `node`, with `ns` of an in-peak call's time. NULL: no room, or b->err. */
struct descent_path *result_add_path(struct builder *b, uint32_t node, double ns,
				     const struct cause *cause, uint64_t maxcount);
/* The on-CPU samples that lie in the function of `node` itself. */
void result_add_pcs(struct builder *b, struct descent_path *path, uint32_t node);
/* result_below.c: in which functions the samples in and below `node` ended. */
void result_add_below(struct builder *b, struct descent_path *path, uint32_t node);
/* result_below.c: which callee a loop mostly calls. */
void result_add_looped(const struct builder *b, struct descent_path *path, uint32_t node);
/* result_kernel.c: the kernel stack of sleeps of this kind (enum cause_kind) below the path's last
 * frame. */
void result_add_kernel(struct builder *b, struct descent_path *path, uint32_t node, int tag);
/*
 * Split the kernel's part off a path's own code into separate paths, according to the
 * samples. Page faults go to b->faults.
 */
void result_split_kernel(struct builder *b, struct descent_path *path, uint32_t node);
/*
 * result_handlers.c: what of a path's own code was a handler of signals, which the program does not
 * call, becomes a path of its own.
 */
void result_split_handlers(struct builder *b, struct descent_path *path, uint32_t node);
/* Set the kernel frames of a path from samples. */
void result_set_kernel(const struct builder *b, struct descent_path *path, uint32_t node,
		       const struct rec_frame *frame, uint32_t nr, enum evidence evidence);
/* If f0 is a system call: add the functions that call it. */
void result_add_callers(struct builder *b);
/* result_sleeps.c: takes one witnessed frame; true once it has found something, in this or an
 * earlier one. */
typedef bool (*sleep_visitor)(void *ctx, const struct witness_node *n);
/*
 * The frames where a function's sleeps are: its own, with all of the calls of its loops, or, where
 * `visit` finds nothing in these, anywhere below it.
 */
void result_visit_sleeps(const struct descent *d, uint32_t node, sleep_visitor visit, void *ctx);
/*
 * The object of the sleeps that happened while this fnode was the innermost open one, for
 * frames without a stack; NULL if not known. If the fnode was not armed yet, use the sleeps
 * of its caller, provided that all had the same object.
 */
const struct blocked_node *result_blocked_at(const struct descent *d, uint32_t node);
/* All root cause candidates, as they are now. */
void result_add_paths(struct builder *b);
/*
 * verdict.c: find what is missing, check the figures, and set the status. The paths are
 * sorted.
 */
void result_judge(struct builder *b);

#endif
