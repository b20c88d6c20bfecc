/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sleeps of threads, by the innermost armed fnode that was open. Stored in addition to
 * stack samples, because a stack cannot always be read or unwound (assembler of a static C
 * library, a jump), but the open fnode is always known. Internal to analysis/descent/.
 * Pure; memory is bounded.
 */
#ifndef PEAKTOP_DESCENT_BLOCKED_H
#define PEAKTOP_DESCENT_BLOCKED_H

#include "analysis/descent/causes.h"
#include "analysis/descent/stacks.h"

enum { BLOCKED_NODES = 48 };

struct blocked_node {
	uint32_t node;
	struct cause_tally causes;
	struct stack_tally kernel; /* tag: kind of the cause */
};

struct blocked {
	unsigned int nr;
	struct blocked_node *entry[BLOCKED_NODES];
};

/* Count one sleep. Nodes beyond the maximum are ignored. */
void blocked_add(struct blocked *b, uint32_t node, const struct cause *cause, uint64_t ns,
		 const struct rec_frame *kernel, uint32_t nr_kernel);
/* NULL: no sleep was counted there. */
const struct blocked_node *blocked_find(const struct blocked *b, uint32_t node);
void blocked_release(struct blocked *b);

#endif
