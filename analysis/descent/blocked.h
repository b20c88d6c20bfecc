/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the sleeps of threads by the innermost armed fnode that was open. A stack cannot always be
 * read or unwound (assembler of a static C library, a jump), but the open fnode is always known.
 * Therefore sleeps are counted here in addition to the stack samples. Internal to
 * analysis/descent/. Pure; memory is bounded. */
#pragma once

#include "analysis/descent/causes.h"
#include "analysis/descent/stacks.h"

enum { BLOCKED_NODES = 48 };

struct blocked_node {
	uint32_t node;
	struct cause_tally causes;
	struct stack_tally kernel; /* each stack is tagged with its enum cause_kind */
};

struct blocked {
	unsigned int nr;
	struct blocked_node *entry[BLOCKED_NODES];
};

/* Counts one sleep of `ns` in fnode `node`. Ignores the sleep if BLOCKED_NODES other fnodes are
 * counted already, or if memory is short. */
void blocked_add(struct blocked *b, uint32_t node, const struct cause *cause, uint64_t ns,
		 const struct rec_frame *kernel, uint32_t nr_kernel);
/* Gives `ns` of the sleeps in fnode `node` another cause, if they are counted. */
void blocked_move(struct blocked *b, uint32_t node, const struct cause *from,
		  const struct cause *to, uint64_t ns);
/* Returns the sleeps of fnode `node`, or NULL if none was counted. */
const struct blocked_node *blocked_find(const struct blocked *b, uint32_t node);
void blocked_release(struct blocked *b);
