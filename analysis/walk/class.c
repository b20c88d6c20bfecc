// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/class.h"

#include <string.h>

#include "analysis/waits/kinds.h"

/*
 * If the oldest open call is at most this much younger than the session, it was already open when
 * peaktop attached.
 */
enum { ATTACH_NS = 500000000 };

static enum walk_class class_of_kind(enum wait_kind kind)
{
	static const enum walk_class classes[] = {[WAIT_TIME_WORK] = WALK_WORK,
						  [WAIT_TIME_SLEEP] = WALK_SLEEP,
						  [WAIT_TIME_IDLE] = WALK_IDLE};

	return classes[wait_kind_info(kind)->time];
}

/*
 * Returns true if the thread waits for one given child: the work that it has started must end. A
 * parent that waits for any child has nothing to do.
 */
static bool waits_for_one_child(const struct rec_thread_snapshot *snapshot)
{
	enum { BY_PID = 1, BY_DESCRIPTOR = 3 }; /* P_PID, P_PIDFD of waitid() */
	const char *call = snapshot->sleep.call ? snapshot->sleep.call : "";

	if (!strcmp(call, "wait4"))
		return (int32_t)snapshot->args[0] > 0;
	return !strcmp(call, "waitid") &&
	       (snapshot->args[0] == BY_PID || snapshot->args[0] == BY_DESCRIPTOR);
}

enum walk_class walk_class_of(const struct rec_thread_snapshot *snapshot)
{
	enum wait_kind kind;

	if (snapshot->kind == WITNESS_RUN)
		return WALK_WORK;
	if (snapshot->state == 'T' || snapshot->state == 't')
		return WALK_IDLE;
	kind = wait_kind_of_sleep(&snapshot->sleep, snapshot->kernel, snapshot->serves);
	/* to read what only a child writes, as a shell does for $(COMMAND), is to wait for that */
	if (snapshot->awaits == AWAITS_CHILD ||
	    (kind == WAIT_CHILD && waits_for_one_child(snapshot)))
		return WALK_WORK;
	return class_of_kind(kind);
}

/* The waits of the calls of an operation, as far as its name tells. */
static struct rec_sleep sleep_of(const struct op *op)
{
	static const char prefix[] = "syscall:";
	bool is_call = op->layer == LAYER_SYSCALL && !strncmp(op->name, prefix, strlen(prefix));

	return (struct rec_sleep){.syscall = -1,
				  .call = is_call ? op->name + strlen(prefix) : "",
				  .object = SLEEP_ON_OTHER,
				  .exclusive = op->lock_share >= 0.5};
}

enum walk_class op_class(const struct op *op)
{
	struct rec_sleep sleep = sleep_of(op);

	return class_of_kind(wait_kind_of_sleep(&sleep, NULL, false));
}

bool op_began_before(const struct op *op, uint64_t elapsed_ns)
{
	return !op->total.calls && op->oldest_open_ns + ATTACH_NS >= elapsed_ns;
}

bool op_is_stuck(const struct op *op, uint64_t elapsed_ns)
{
	struct rec_sleep sleep;

	if (!op->open || op->oldest_open_ns < OP_STUCK_NS ||
	    op->oldest_open_ns <= op->total.max_ns || op_began_before(op, elapsed_ns))
		return false;
	sleep = sleep_of(op);
	return !wait_reads(wait_syscall(&sleep)) && op_class(op) == WALK_WORK;
}
