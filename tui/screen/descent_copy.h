/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sanitised, reference-counted copy of a struct screen_descent. Not thread-safe. */
#pragma once

#include "analysis/session/codec.h"
#include "tui/screen/screen_descent.h"

struct descent_copy {
	unsigned int holders;
	struct screen_descent d; /* all pointers are into this copy */
	struct screen_descent_node *nodes;
	struct screen_descent_path *paths;
	struct screen_descent_part parts[SCREEN_DESCENT_MAX_PARTS];
	struct arena text;
};

/* Create a copy with one reference. NULL with *err: -EINVAL (not in preorder) or -ENOMEM. */
struct descent_copy *descent_copy_new(const struct screen_descent *d, int *err);
struct descent_copy *descent_copy_hold(struct descent_copy *c);
/* Drop a reference; the last one frees the copy. `c` may be NULL. */
void descent_copy_drop(struct descent_copy *c);
