/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shortens paths that lead through a waiting goroutine. A goroutine that waits calls
 * runtime.gopark(), which switches to the scheduler on the stack of the thread. The thread then
 * sleeps or runs other goroutines; the call does not wait for these, so the path must end at
 * runtime.gopark(). Pure. */
#pragma once

#include "analysis/descent/descent.h"

/* Returns the name of a function, or NULL if it is not known. */
typedef const char *function_name(const void *ctx, struct rec_code function);

/* Cuts each path of `r` behind runtime.gopark() and merges paths that then end in the same call. */
void parked_cut(struct descent_result *r, function_name *name, const void *ctx);
