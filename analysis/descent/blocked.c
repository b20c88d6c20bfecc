// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/blocked.h"

const struct blocked_node *blocked_find(const struct blocked *b, uint32_t node)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		if (b->entry[i]->node == node)
			return b->entry[i];
	}
	return NULL;
}

void blocked_add(struct blocked *b, uint32_t node, const struct cause *cause, uint64_t ns,
		 const struct rec_frame *kernel, uint32_t nr_kernel)
{
	struct blocked_node *n = (struct blocked_node *)(uintptr_t)blocked_find(b, node);

	if (!n && b->nr < BLOCKED_NODES) {
		n = calloc(1, sizeof(*n));
		if (n) {
			n->node = node;
			b->entry[b->nr++] = n;
		}
	}
	if (!n)
		return;
	cause_tally_add(&n->causes, cause, ns);
	if (nr_kernel)
		stack_tally_add(&n->kernel, kernel, nr_kernel, (int)cause->kind, ns);
}

void blocked_move(struct blocked *b, uint32_t node, const struct cause *from,
		  const struct cause *to, uint64_t ns)
{
	struct blocked_node *n = (struct blocked_node *)(uintptr_t)blocked_find(b, node);

	if (n)
		cause_tally_move(&n->causes, from, to, ns);
}

void blocked_release(struct blocked *b)
{
	for (unsigned int i = 0; i < b->nr; i++)
		free(b->entry[i]);
	memset(b, 0, sizeof(*b));
}
