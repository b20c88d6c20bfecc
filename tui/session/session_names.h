/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of session files: which file may be replaced, and by what. All return a negative errno
 * if they fail. */
#pragma once

#include <limits.h>

/* Open an existing file that may be replaced, and lock it. `flags`: more flags of open(). Returns
 * the descriptor. O_NONBLOCK: do not block on a pipe of that name before it is refused. */
int session_open_target(const char *path, int flags);
/* Create a file and lock it. Returns the descriptor. */
int session_open_new(const char *path);
/* 1 if the file of this name may be replaced and no other writer uses it; 0 if there is none.
 * `flags`: more flags of open(). */
int session_check_target(const char *path, int flags);
/* Rename an older session to `name`; NULL: remove it. Returns 1, or 0 if there is none. */
int session_put_away(const char *path, const char *name);
/* Create a temporary file in the folder of `path`, locked as one of that name; it can be renamed to
 * `path`. Returns the descriptor. */
int session_temporary_beside(const char *path, char name[PATH_MAX]);
/* Sync the folder of a path: only then its new name is on the disk. */
int session_sync_folder(const char *path);
