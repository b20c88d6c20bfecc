// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/class.h"

#include <string.h>

/*
 * If the oldest open call is at most this much younger than the session, it was already open when
 * peaktop attached.
 */
enum { ATTACH_NS = 500000000 };

/* ---- the class of a snapshot */

static bool one_of(const char *call, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(call, list[i]))
			return true;
	}
	return false;
}

#define ONE_OF(call, list) one_of(call, list, sizeof(list) / sizeof((list)[0]))

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* What the name of a system call says about the class of a wait in it. */
enum walk_call {
	WALK_CALL_EVENTS, /* waits for events, connections, signals or children: idle */
	WALK_CALL_SLEEP,  /* timed sleep */
	WALK_CALL_FUTEX,  /* a lock: work; a condition: idle */
	WALK_CALL_INPUT,  /* reads: what is read decides */
	WALK_CALL_OTHER,  /* work */
};

static enum walk_call call_class(const char *call)
{
	static const char *const events[] = {
	    "epoll_wait",      "epoll_pwait", "epoll_pwait2", "poll",	    "ppoll",
	    "select",	       "pselect6",    "accept",	      "accept4",    "rt_sigtimedwait",
	    "rt_sigsuspend",   "pause",	      "wait4",	      "waitid",	    "io_uring_enter",
	    "mq_timedreceive", "msgrcv",      "semop",	      "semtimedop", "restart_syscall"};
	static const char *const reads[] = {"read", "readv", "recvfrom", "recvmsg", "recvmmsg"};

	if (ONE_OF(call, events))
		return WALK_CALL_EVENTS;
	if (ONE_OF(call, reads))
		return WALK_CALL_INPUT;
	if (strstr(call, "nanosleep"))
		return WALK_CALL_SLEEP;
	return strcmp(call, "futex") ? WALK_CALL_OTHER : WALK_CALL_FUTEX;
}

/* The class of a read: input from a pipe, a terminal or a client may come at any time. */
static enum walk_class class_of_read(const struct rec_thread_snapshot *snapshot)
{
	static const char *const idle[] = {"/dev/pts/", "/dev/tty", "/dev/console", "anon_inode:"};
	/* the kernel stack shows the wait even if the process has ended */
	static const char *const kernel[] = {"pipe_read", "tty_read", "eventfd_read"};
	const struct rec_sleep *s = &snapshot->sleep;

	if (s->name && starts_with(s->name, "anon_inode:[timerfd"))
		return WALK_SLEEP;
	if (snapshot->serves || s->object == SLEEP_ON_PIPE)
		return WALK_IDLE;
	for (size_t i = 0; s->name && i < sizeof(idle) / sizeof(idle[0]); i++)
		if (starts_with(s->name, idle[i]))
			return WALK_IDLE;
	for (size_t i = 0; snapshot->kernel && i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (strstr(snapshot->kernel, kernel[i]))
			return WALK_IDLE;
	return WALK_WORK;
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
	const struct rec_sleep *s = &snapshot->sleep;
	const char *call = s->call ? s->call : "";

	if (snapshot->kind == WITNESS_RUN)
		return WALK_WORK;
	if (snapshot->state == 'T' || snapshot->state == 't' || !strcmp(call, "pause"))
		return WALK_IDLE;
	/* what the kernel does for the thread is no wait for a request, whatever the call */
	if (s->object >= SLEEP_IN_RECLAIM && s->object <= SLEEP_IN_SPIN)
		return WALK_WORK;
	if (s->object == SLEEP_ON_NOTHING)
		return WALK_SLEEP;
	if (s->object == SLEEP_ON_FUTEX)
		return s->exclusive ? WALK_WORK : WALK_IDLE;
	switch (call_class(call)) {
	case WALK_CALL_EVENTS:
		return waits_for_one_child(snapshot) ? WALK_WORK : WALK_IDLE;
	case WALK_CALL_INPUT:
		return class_of_read(snapshot);
	default:
		return WALK_WORK;
	}
}

/* ---- the class of an operation */

static enum walk_call call_of(const struct op *op)
{
	static const char prefix[] = "syscall:";

	if (op->layer != LAYER_SYSCALL || strncmp(op->name, prefix, strlen(prefix)))
		return WALK_CALL_OTHER;
	return call_class(op->name + strlen(prefix));
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
