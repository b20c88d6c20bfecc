/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a process's program, for the completion of the shells. */
#pragma once

/* Call `take` with the linkage name of each function of the program of `pid` that begins with
 * `prefix`, at most COMPLETE_MAX_FUNCTIONS. The parser's own process reads the file, as everywhere.
 * Gives up without a word after a second, or if this user may not read the program. */
enum { COMPLETE_MAX_FUNCTIONS = 500 };
void complete_functions(pid_t pid, const char *prefix, void (*take)(void *ctx, const char *name),
			void *ctx);
