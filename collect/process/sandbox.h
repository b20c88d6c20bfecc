/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops the privileges of the unprivileged processes before they process untrusted input.
 *
 * These functions change the calling process permanently. Call them once, before starting
 * threads. All return 0 or a negative errno; after an error the process must exit, because
 * it is only partly confined.
 */
#ifndef PEAKTOP_SANDBOX_H
#define PEAKTOP_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

enum sandbox_kind {
	/*
	 * The parser worker: computes on descriptors that it holds or receives.
	 * Opens nothing, starts nothing, at most 2 GiB of memory, dies with
	 * its parent.
	 */
	SANDBOX_PARSER,
	/*
	 * The front: the terminal, session files, forking the parser worker.
	 * No new programs, no sockets but socket pairs, no tracing, no BPF.
	 * It also must not write below the folders of the system.
	 */
	SANDBOX_FRONT,
};

/*
 * Drop every capability (bounding set and securebits included), set
 * no_new_privs, not dumpable, no core file, resource limits, Landlock where
 * the kernel has it, a seccomp filter. -ENOSYS: the kernel has no seccomp.
 */
int sandbox_enter(enum sandbox_kind kind);

/* The kernel has Landlock switched on. */
bool sandbox_has_landlock(void);

/*
 * The user on whose behalf a root process runs: SUDO_UID and SUDO_GID as
 * given. False when they are NULL, malformed or root's.
 */
bool privileges_invoker(const char *sudo_uid, const char *sudo_gid, uid_t *uid, gid_t *gid);

/*
 * Become uid:gid for good, with no supplementary groups but gid and with no
 * capability. uid 0 stays root in name only: no capability, and none to be had.
 */
int privileges_drop(uid_t uid, gid_t gid);

#endif
