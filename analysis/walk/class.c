// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/class.h"

#include "analysis/base/syscall_names.h"
#include "analysis/latency/threads.h"
#include "analysis/waits/kinds.h"

/* If the oldest open call is at most this much younger than the session, it was already open when
 * peaktop attached. */
enum { ATTACH_NS = 500000000 };

static enum walk_class class_of_kind(enum wait_kind kind)
{
	static const enum walk_class classes[] = {[WAIT_TIME_WORK] = WALK_WORK,
						  [WAIT_TIME_SLEEP] = WALK_SLEEP,
						  [WAIT_TIME_IDLE] = WALK_IDLE};

	return classes[wait_kind_info(kind)->time];
}

/* Returns true if the thread waits for one given child: the work that it has started must end. A
 * parent that waits for any of several may have nothing to do, or they do its work. */
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
	kind = wait_kind_of_snapshot(snapshot);
	/* to read what only a child writes, as a shell does for $(COMMAND), is to wait for that; so
	 * is to wait for the end of commands that it has started */
	if (((snapshot->awaits == AWAITS_CHILD || snapshot->awaits == AWAITS_PEER) &&
	     !wait_is_stop(kind)) ||
	    (kind == WAIT_CHILD && waits_for_one_child(snapshot)))
		return WALK_WORK;
	return class_of_kind(kind);
}

/* The system call of an operation; -1: it is none. */
static int32_t syscall_of(const struct op *op)
{
	static const char prefix[] = "syscall:";

	return op->layer == LAYER_SYSCALL && !strncmp(op->name, prefix, strlen(prefix))
		   ? syscall_number(op->name + strlen(prefix))
		   : -1;
}

enum walk_class op_class(const struct op *op)
{
	/* the arguments of its calls differ: most have descriptors to wait for */
	const struct wait_facts f = {
	    .syscall = syscall_of(op), .args = {1, 1}, .exclusive = op->lock_share >= 0.5};

	return class_of_kind(wait_kind_of(&f));
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
	return !wait_reads(syscall_of(op)) && op_class(op) == WALK_WORK;
}

double own_code_share(struct model *m)
{
	/* An idle call sleeps, but begins and ends on a CPU. */
	const double idle_call_ns = 5000;
	const struct rec_cost *cost = model_cost(m);
	double elapsed = (double)(cost->wall_ns ? cost->wall_ns : cost->at_ns),
	       own = (double)cost->target_cpu_ns;

	if (elapsed <= 0 || !(model_layers(m) & 1U << LAYER_SYSCALL) || model_choice(m)->nr ||
	    model_layer_off(m, LAYER_SYSCALL)->nr)
		return 0;
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (op->layer != LAYER_SYSCALL)
			continue;
		if (op->requested[0])
			return 0;
		/* an open call may have run all the time */
		own -= op_class(op) == WALK_WORK
			   ? (double)op->time_ns + (double)(op->open ? op->oldest_open_ns : 0)
			   : (double)op->total.calls * idle_call_ns;
	}
	return own > 0 ? own / elapsed : 0;
}
