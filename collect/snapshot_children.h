/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the children of a thread, and whether it waits for them. A child that runs another
 * executable than its parent is a command that was started to be awaited. One that runs the same is
 * probably a worker of a server, whose first process waits for signals while it has nothing to do.
 * A child that listens is a server, which need not do anything for its parent.
 */
#pragma once

#include "analysis/session/record.h"

/* No more children of a thread are looked at: the first ones stand for the others. */
enum { CHILDREN_MAX = 16 };

struct children {
	uint32_t pids[CHILDREN_MAX], nr;
	bool more;
};

/* The children of a thread, of our pid namespace. */
void children_find(uint32_t pid, uint32_t tid, struct children *out);
/*
 * Whether the thread waits for its children, by the links /proc/PID/exe. These are names that the
 * kernel has in memory: to read them waits for no file system. Children that have ended are
 * removed. `for_signal`: the thread waits for a signal, and not in wait4() or waitid() for any
 * child.
 */
enum awaits children_awaits(uint32_t pid, struct children *children, bool for_signal);
/*
 * Whether a process that polls its descriptor `fd` waits for one of these children: it is a pipe,
 * and the standard output or the standard error of the child. The other children are removed then.
 */
enum awaits children_write(uint32_t pid, uint32_t fd, struct children *children);
/* True if the process has threads beside its first one. */
bool has_threads(uint32_t pid);
