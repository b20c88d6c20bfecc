/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops the privileges of the unprivileged processes before they process untrusted input.
 *
 * These functions change the calling process permanently. Call them once, before starting
 * threads. All return 0 or a negative errno; after an error the process must exit, because
 * it is only partly confined.
 */
#pragma once

enum sandbox_kind {
	/*
	 * The parser worker: computes on descriptors that it holds or receives. It opens
	 * nothing, starts nothing, uses at most 2 GiB of memory and ends with its parent.
	 */
	SANDBOX_PARSER,
	/*
	 * The front: uses the terminal and session files, and forks the parser worker. It
	 * starts no program, opens no socket but socket pairs, traces nothing and uses no BPF.
	 * It also must not write below the folders of the system.
	 */
	SANDBOX_FRONT,
};

/*
 * Drop every capability (bounding set and securebits included) and set no_new_privs, not
 * dumpable, no core file, resource limits, Landlock if the kernel has it, and a seccomp filter.
 * -ENOSYS: the kernel has no seccomp.
 */
int sandbox_enter(enum sandbox_kind kind);

/* True if Landlock is enabled in the kernel. */
bool sandbox_has_landlock(void);

/*
 * Parse the invoking user of a root process from SUDO_UID and SUDO_GID. Returns false if they
 * are NULL, malformed or root's.
 */
bool privileges_invoker(const char *sudo_uid, const char *sudo_gid, uid_t *uid, gid_t *gid);

/* Become this user with all groups that the user has, to run a program of the user's. */
int privileges_user(uid_t uid, gid_t gid);

/*
 * Become uid:gid permanently, with no supplementary group but gid and no capability. With uid 0
 * the process stays root in name, but has no capability and cannot get one.
 */
int privileges_drop(uid_t uid, gid_t gid);
