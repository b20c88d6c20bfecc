/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of time: work, timed sleep or idle. A walk classifies thread snapshots
 * (walk_class_of()); an operation has no snapshots, so the name of its system call decides and, for
 * futex, what its calls waited for. Pure. */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/walk/walk.h"

/* Returns the class of most of the time of the operation. */
enum walk_class op_class(const struct op *op);

/* True if the oldest open call of the operation lasts much longer than is normal: it is no idle
 * wait and no timed sleep, at least OP_STUCK_NS old and older than every finished call. False for
 * calls that may wait for input, and for an operation of which no call was seen to begin or to
 * end. */
#define OP_STUCK_NS 10000000000ULL
bool op_is_stuck(const struct op *op, uint64_t elapsed_ns);
/* True if no call has finished and the oldest open call began before the measurement. */
bool op_began_before(const struct op *op, uint64_t elapsed_ns);

/* Returns how much of one CPU the targets use outside of system calls, by their CPU time and the
 * time in calls that are neither idle nor asleep: 1 is one CPU. 0 if it is not known because some
 * calls or threads are not measured. */
double own_code_share(struct model *m);
