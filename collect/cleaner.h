/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A helper process that removes the breakpoints which a killed collector leaves in its targets.
 *
 * When a process dies, the kernel closes its links and removes their uprobes. But a thread with a
 * pending SIGKILL that is just attaching or removing a uprobe cannot write to the target's memory:
 * the kernel gives up ("failed to unregister, leaking uprobe", uprobe_unregister_nosync() of
 * kernel/events/uprobes.c), and the breakpoint stays, without a program. It is removed when a
 * uprobe is placed at the same offset of the same file and removed again, by whomever.
 *
 * The helper does this, for every site that the collector noted, once the collector is dead
 * without having called cleaner_dismiss(). It does nothing before.
 */
#pragma once

struct attach_point;

/*
 * Fork the helper. `front` is the socket of the front: the helper keeps it open, so the front
 * reads end of file no earlier than the breakpoints are gone. Call this before there are links or
 * threads, and with the privileges that attaching needs. If it fails, nothing is noted.
 */
void cleaner_start(int front);

/*
 * Note sites that are about to get a uprobe, by their offsets in the file open at `file_fd`. Sites
 * beyond an upper limit, and of too many files, are not noted. Only one thread may call this.
 */
void cleaner_note(int file_fd, const struct attach_point *points, size_t n);

/*
 * Let the helper hold a lease on a file (file_lease.h), too: the kernel does not release it when
 * the collector is killed, but when the helper has cleaned. Otherwise the file could be overwritten
 * while probes are in it. It can still be released with F_UNLCK.
 */
void cleaner_hold(int lease);

/* All probes are removed: the helper ends. Waits for that, but not for long. */
void cleaner_dismiss(void);
