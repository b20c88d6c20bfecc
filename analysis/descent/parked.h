/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A goroutine that waits calls runtime.gopark(), which switches to the scheduler on the stack of
 * the thread. What the thread does from there on, sleeping or running other goroutines, is not what
 * the call waits for: the path ends there. Pure.
 */
#ifndef PEAKTOP_PARKED_H
#define PEAKTOP_PARKED_H

#include "analysis/descent/descent.h"

/* The name of a function; NULL: not known. */
typedef const char *function_name(const void *ctx, struct rec_code function);

/*
 * End the paths of an answer where a goroutine parks itself. Paths that then end in the same call
 * become one.
 */
void parked_cut(struct descent_result *r, function_name *name, const void *ctx);

#endif
