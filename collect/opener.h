/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below a target's root folder, opened by a helper process. The path, its
 * symbolic links and the file system are the target's and therefore hostile: a
 * look-up may hang (FUSE, NFS), a name may stand for a device or lead to a file
 * that the target itself may not read. The helper
 *   - resolves paths within the target's root (RESOLVE_IN_ROOT) and follows no
 *     magic links;
 *   - opens what is a regular file, and nothing before it knows that it is one;
 *   - runs as the invoking user and without any capability, so that it opens
 *     nothing which that user could not open.
 * The collector waits for an answer for OPENER_WAIT_MS at most.
 */
#ifndef PEAKTOP_OPENER_H
#define PEAKTOP_OPENER_H

#include <sys/types.h>

enum { OPENER_WAIT_MS = 1000, OPENER_HOST = 0 };

struct opener;

/*
 * Start the helper as this user; it ends with the calling process. Called before there are descriptors or threads that
 * it could inherit. NULL: it could not be started.
 */
struct opener *opener_start(uid_t uid, gid_t gid);

/*
 * Open the regular file `path` (relative) below the root folder of `pid`, or of peaktop itself (OPENER_HOST), read-only.
 * Returns a descriptor; -ETIMEDOUT if the look-up hangs (then every later request for this process fails at once); -EINVAL if it is no regular file;
 * or the error of opening.
 */
int opener_open(struct opener *o, pid_t pid, const char *path);

/* End the helper. `o` may be NULL. */
void opener_stop(struct opener *o);

#endif
