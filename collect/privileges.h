/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops privileges of the privileged processes, permanently. The capabilities and their
 * uses are listed in analysis/base/capability_set.h.
 */
#pragma once

/* What a session does after privileges_limit_collector(), beside what every session does. */
struct privileges_use {
	bool command;	    /* it may end a command that it started */
	bool uprobe_events; /* it attaches uprobes by perf events, one for each site */
};

/*
 * For the opener: become uid:gid permanently, with no capability, no_new_privs and a seccomp
 * filter that allows no program, no new socket and no access to other processes. Call this
 * before there are threads. Returns 0 or a negative errno.
 */
int privileges_limit_opener(uid_t uid, gid_t gid);

/*
 * For the collector, after its BPF programs are loaded and the command is started: keep only
 * the capabilities that the session still needs, and install a seccomp filter for all threads.
 * From then on the process starts no program, loads nothing into the kernel, opens files for
 * reading only, and uses no network; probes can still be attached. Call this before there are
 * other threads, because they would keep their capabilities. Returns 0 or a negative errno.
 */
int privileges_limit_collector(const struct privileges_use *use);
