/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A helper process without rights, which runs as the invoking user. It opens files below a target's
 * root folder, and the processes that look at machine code for the collector come from it.
 *
 * A path below a target's root, its symbolic links and its file systems are the target's and
 * therefore hostile: a look-up may hang (FUSE, NFS), a name may stand for a device or lead out of
 * the root. The helper resolves paths within the root (RESOLVE_IN_ROOT), follows no magic links,
 * and opens what is a regular file, nothing before it knows that it is one. It opens nothing that
 * the invoking user could not open. The collector waits for an answer for OPENER_WAIT_MS at most.
 */
#ifndef PEAKTOP_OPENER_H
#define PEAKTOP_OPENER_H

#include <sys/types.h>

enum { OPENER_WAIT_MS = 1000, OPENER_HOST = 0 };

struct opener;
struct collector_options;

/*
 * Start the helper as the user that the options name; it ends with the calling process. Called
 * before there are descriptors or threads that it could inherit. NULL: it could not be started.
 */
struct opener *opener_start(const struct collector_options *options);

/*
 * Open the regular file `path` (relative) below the root folder of `pid`, or of peaktop itself
 * (OPENER_HOST), read-only. Returns a descriptor; -ETIMEDOUT if the look-up hangs (then every later
 * request for this process fails at once); -EINVAL if it is no regular file; or the error of
 * opening.
 */
int opener_open(struct opener *o, pid_t pid, const char *path);

/*
 * Start a process that answers queries about the machine code in `file` (the options'
 * `code_serve`). It has only that file and a socket. Returns the other end of the socket or
 * a negative errno; closing the socket ends the process.
 */
int opener_code(struct opener *o, int file);

/* Pid of the opener, to account for peaktop's own CPU time; 0 if there is none. */
pid_t opener_pid(const struct opener *o);
/* End the helper. `o` may be NULL. */
void opener_stop(struct opener *o);

#endif
