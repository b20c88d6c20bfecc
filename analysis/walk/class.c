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

enum walk_call walk_call_of(const char *call)
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

enum walk_class walk_class_of(const struct rec_thread_snapshot *snapshot)
{
	const struct rec_sleep *s = &snapshot->sleep;
	const char *call = s->call ? s->call : "", *name = s->name ? s->name : "",
		   *kernel = snapshot->kernel ? snapshot->kernel : "";

	if (snapshot->kind == WITNESS_RUN)
		return WALK_WORK;
	if (snapshot->state == 'T' || snapshot->state == 't')
		return WALK_IDLE;
	if (!strcmp(call, "pause"))
		return WALK_IDLE;
	if (s->object == SLEEP_ON_NOTHING)
		return WALK_SLEEP;
	if (s->object == SLEEP_ON_FUTEX)
		return s->exclusive ? WALK_WORK : WALK_IDLE;
	if (walk_call_of(call) == WALK_CALL_EVENTS)
		return WALK_IDLE;
	if (walk_call_of(call) != WALK_CALL_INPUT)
		return WALK_WORK;
	if (starts_with(name, "anon_inode:[timerfd"))
		return WALK_SLEEP;
	/* input from a pipe, a terminal or a client may come at any time */
	if (snapshot->serves || s->object == SLEEP_ON_PIPE || starts_with(name, "/dev/pts/") ||
	    starts_with(name, "/dev/tty") || starts_with(name, "/dev/console") ||
	    starts_with(name, "anon_inode:"))
		return WALK_IDLE;
	/* the kernel stack shows the wait even if the process has ended */
	if (strstr(kernel, "pipe_read") || strstr(kernel, "tty_read") ||
	    strstr(kernel, "eventfd_read"))
		return WALK_IDLE;
	return WALK_WORK;
}

/* ---- the class of an operation */

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
