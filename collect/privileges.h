/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops privileges of the privileged processes, permanently. The capabilities and their
 * uses are listed in analysis/base/capability_set.h.
 */
#ifndef PEAKTOP_PRIVILEGES_H
#define PEAKTOP_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The helper that opens files: become uid:gid for good, with no capability, no_new_privs, and a
 * filter of system calls: no program, no socket, nothing of other processes. Called before there
 * are threads. 0 or a negative errno.
 */
int privileges_limit_opener(uid_t uid, gid_t gid);

/*
 * The collector, once its BPF programs are loaded and the command is started: keep only the
 * capabilities that the session still needs, and install a filter of system calls for all threads.
 * From then on the process starts no program, loads nothing into the kernel, opens files for
 * reading only, and uses no network. Attaching goes on as before. Called before there are other
 * threads, which would keep their capabilities. 0 or a negative errno.
 */
int privileges_limit_collector(bool command);

#endif
