/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the processes of the target that the command line names, in /proc. */
#pragma once

#include "tui/engine/options.h"

/*
 * Find the processes that -n, --unit, --cgroup, --container or a bare NAME means, and add them to
 * o->pids. Does nothing if none of these is given. Must run before the front drops its privileges,
 * because the names of containers are in files of root.
 *
 * If several processes match a bare name and `may_pick`, adds none and leaves the name in
 * o->bare for the process picker. Otherwise o->bare is NULL afterwards.
 *
 * Returns 0, or an exit status with one line in `error`.
 */
int target_resolve(struct options *o, bool may_pick, char *error, size_t n);
