/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises functions and modules by their names alone, for the walk. Pure. */
#pragma once

/* Returns true if the function only starts a program or a thread, so that its callees are the
 * roots. */
bool walk_name_starts(const char *function);
/* Returns true for functions of C libraries, run-time systems and databases that wait for a lock
 * and for nothing else. */
bool walk_name_takes_lock(const char *function);
/* Returns true for functions of the C library that wait for a condition. */
bool walk_name_waits_for_condition(const char *function);
/* Returns true for functions that look for a coroutine to run. */
bool walk_name_schedules(const char *function);
/* Returns true if the base name of a file is that of the Python interpreter. It waits for
 * conditions only to take its global lock or to hand it over; its other locks are semaphores. */
bool walk_name_is_python(const char *module);
/* Returns true if the base name of a file is that of a C library. */
bool walk_name_is_libc(const char *module);
