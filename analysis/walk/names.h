/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises functions and modules by their names alone, for the walk. Pure. */
#ifndef PEAKTOP_WALK_NAMES_H
#define PEAKTOP_WALK_NAMES_H

#include <stdbool.h>

/*
 * Returns true if the function only starts a program or a thread, so that its callees are the
 * roots.
 */
bool walk_name_starts(const char *function);
/*
 * Returns true for functions of C libraries, run-time systems and databases that wait for a lock
 * and for nothing else.
 */
bool walk_name_takes_lock(const char *function);
/* Returns true if the base name of a file is that of a C library. */
bool walk_name_is_libc(const char *module);

#endif
