/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and kinds of the arguments of common system calls, by the name of the call (the numbers
 * differ between architectures, the arguments do not). Also of the values that the samples of the
 * other layers have in place of arguments. */
#pragma once

#include "analysis/session/record.h"

enum arg_kind {
	ARG_UNKNOWN = 0, /* the call is not in the table */
	/* the call has no such argument: the register holds an arbitrary value */
	ARG_NONE,
	ARG_POINTER, /* points to a buffer of the caller: its value is meaningless */
	ARG_ADDRESS, /* identifies an object (a futex): only equality is meaningful */
	ARG_FD,
	ARG_SIZE, /* bytes, offsets, counts, times */
	ARG_FLAGS,
	ARG_INT, /* a small signed number: commands, signals, timeouts in ms */
	ARG_FUTEX_OPERATION,
	ARG_BLOCK_OPERATION, /* block request: enum req_op of the kernel */
	/* lock wait: LCB_F_* of the lock tracepoints of the kernel, or a futex operation */
	ARG_LOCK_KIND,
	ARG_QUEUED,	  /* run-queue delay: 1 after a preemption, 0 after a wake-up */
	ARG_SOCKET_STATE, /* of a stream socket: TCP_ESTABLISHED and so on */
	ARG_FILE_FLAGS,	  /* of open() */
	ARG_BLOCK_FLAGS,  /* of a block request: enum pt_request_flag */
	ARG_NAME,	  /* a text in words */
};

struct syscall_arg {
	const char *name; /* "" for ARG_UNKNOWN and ARG_NONE */
	enum arg_kind kind;
};

/* Returns argument 0..5 of the system call of this name ("read"). */
struct syscall_arg syscall_arg(const char *syscall, unsigned int argument);

/* Returns the argument of a block request, lock wait or run-queue delay; ARG_UNKNOWN for other
 * layers. */
struct syscall_arg layer_arg(enum layer layer, unsigned int argument);

/* Returns the value number 0..SAMPLE_MEMBERS of a call of this layer, in the order of
 * rec_sample.members and then rec_sample.text; ARG_NONE: there is none. */
struct syscall_arg layer_member(enum layer layer, unsigned int member);

/* Which argument of the system call is the descriptor of the file that it works on;
 * SYSCALL_RESULT: its result is; -1: none, or not any more when the call returns. */
enum { SYSCALL_RESULT = 6 };
int syscall_file(const char *syscall);

/* Writes the words for a value of a kind from ARG_FUTEX_OPERATION on. Returns false if it has none.
 */
bool arg_words(enum arg_kind kind, int64_t value, char *to, size_t size);
