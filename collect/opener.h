/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A helper process without privileges, which runs as the invoking user. It opens files below a
 * target's root folder and forks the code readers of the collector.
 *
 * The target controls the paths, symbolic links and file systems below its root, so all of them
 * are hostile: a lookup may hang (FUSE, NFS), and a name may lead to a device or out of the
 * root. The helper resolves paths within the root (RESOLVE_IN_ROOT), follows no magic links,
 * and opens a file only after checking that it is a regular file. It cannot open files that the
 * invoking user could not open. The collector waits at most OPENER_WAIT_MS for an answer.
 */
#pragma once

enum { OPENER_WAIT_MS = 1000, OPENER_CODE_WAIT_MS = 5000, OPENER_HOST = 0 };

struct opener;
struct collector_options;

/*
 * Start the helper as the user that the options name. It ends with the calling process. Call
 * this before there are descriptors or threads that it would inherit. Returns NULL if it cannot
 * be started.
 */
struct opener *opener_start(const struct collector_options *options);

/*
 * Open the regular file `path` (relative) read-only, below the root folder of `pid` or of
 * peaktop itself (OPENER_HOST). Returns a descriptor, which the caller closes; -ETIMEDOUT if
 * the lookup hangs (later requests for this process then fail at once); -EINVAL if it is not a
 * regular file; or the errno of opening.
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
