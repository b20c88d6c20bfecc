/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walk knows of functions by their names alone. Pure. */
#ifndef PEAKTOP_WALK_NAMES_H
#define PEAKTOP_WALK_NAMES_H

#include <stdbool.h>

/* Does it only start a program or a thread, so that its callees are the roots? */
bool walk_name_starts(const char *function);
/* Is it a function of a C library, a run-time system or a database that waits for nothing but a
 * lock? */
bool walk_name_takes_lock(const char *function);
/* Is this base name of a file one of the C library? */
bool walk_name_is_libc(const char *module);

#endif
