/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arguments of common system calls are: name and kind, by the name of
 * the call (the numbers differ between architectures, the arguments do not);
 * and what stands in their place in the samples of the other layers.
 */
#ifndef PEAKTOP_SYSCALL_ARGS_H
#define PEAKTOP_SYSCALL_ARGS_H

#include "analysis/session/record.h"

enum arg_kind {
	ARG_UNKNOWN = 0, /* the call is not in the table */
	ARG_NONE,	 /* the call has no such argument: whatever was in the register */
	ARG_POINTER,	 /* to a buffer of the caller: says nothing */
	ARG_ADDRESS,	 /* identifies an object (a futex): only equality says something */
	ARG_FD,
	ARG_SIZE, /* bytes, offsets, counts, times */
	ARG_FLAGS,
	ARG_INT, /* a small signed number: commands, signals, timeouts in ms */
	ARG_FUTEX_OPERATION,
	ARG_BLOCK_OPERATION, /* of a block request: enum req_op of the kernel */
	ARG_LOCK_KIND,	     /* of a lock wait: LCB_F_* of the kernel's lock tracepoints, or a futex
				operation */
	ARG_QUEUED,	     /* of a run-queue delay: 1 after a preemption, 0 after a wake-up */
};

struct syscall_arg {
	const char *name; /* "" for ARG_UNKNOWN and ARG_NONE */
	enum arg_kind kind;
};

/* Argument 0..5 of the call of this name ("read"). */
struct syscall_arg syscall_arg(const char *syscall, unsigned int argument);

/* Of a block request, lock wait or run-queue delay; ARG_UNKNOWN for other layers. */
struct syscall_arg layer_arg(enum layer layer, unsigned int argument);

/* The word for a value of one of the last four kinds, NULL if there is none. */
const char *arg_word(enum arg_kind kind, int64_t value);

#endif
