/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Basic blocks of the function whose flow is loaded, and which of them lie in a
 * loop: in a strongly connected component of the flow graph (Tarjan, SIAM J.
 * Computing 1972). Jumps through tables go to every address that only tables name.
 * Inside of the placement planner and its server. */
#pragma once

#include "analysis/code/placer.h"

struct block {
	uint64_t start, end;  /* vaddr, half-open */
	uint64_t target;      /* of the jump at its end; 0: none */
	bool falls, indirect; /* goes on to `end`; goes to what tables name */
	bool jumped_to;	      /* by a direct jump */
	bool loop;
	uint32_t index, low; /* of the search; 0: not visited */
	bool on_stack;
};

struct blocks {
	struct block *block; /* ascending; number of a block: its index + 1 */
	size_t nr;
	/* Jumps with unknown targets: any instruction may be the start of a block. */
	bool unresolved;
};

/* Of p->flow. 0 or -ENOMEM. */
int blocks_find(struct placer *p, struct blocks *b);
void blocks_release(struct blocks *b);
/* The block with this address, or NULL. */
const struct block *blocks_at(const struct blocks *b, uint64_t vaddr);
