// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/op_class.h"

#include <string.h>

/*
 * If the oldest open call is at most this much younger than the session, it was already open when
 * peaktop attached.
 */
enum { ATTACH_NS = 500000000 };

static enum walk_call call_of(const struct op *op)
{
	static const char prefix[] = "syscall:";

	if (op->layer != LAYER_SYSCALL || strncmp(op->name, prefix, strlen(prefix)))
		return WALK_CALL_OTHER;
	return walk_call_of(op->name + strlen(prefix));
}

enum walk_class op_class(const struct op *op)
{
	switch (call_of(op)) {
	case WALK_CALL_EVENTS:
		return WALK_IDLE;
	case WALK_CALL_SLEEP:
		return WALK_SLEEP;
	case WALK_CALL_FUTEX:
		return op->lock_share >= 0.5 ? WALK_WORK : WALK_IDLE;
	case WALK_CALL_INPUT:
	case WALK_CALL_OTHER:
		break;
	}
	return WALK_WORK;
}

bool op_began_before(const struct op *op, uint64_t elapsed_ns)
{
	return !op->total.calls && op->oldest_open_ns + ATTACH_NS >= elapsed_ns;
}

bool op_is_stuck(const struct op *op, uint64_t elapsed_ns)
{
	if (!op->open || op->oldest_open_ns < OP_STUCK_NS ||
	    op->oldest_open_ns <= op->total.max_ns || op_began_before(op, elapsed_ns))
		return false;
	return call_of(op) != WALK_CALL_INPUT && op_class(op) == WALK_WORK;
}
