// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds call sites to a function of the ftree whose sites were known before. */
#include "analysis/base/array.h"
#include "analysis/descent/ftree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more call site, number `at`, in the bits of an fnode. Returns 0 or -ENOMEM. */
static int insert_bit(struct fnode *n, uint32_t at, uint32_t nr)
{
	uint8_t *bits = realloc(n->tried, (nr + 1) / 8 + 1);

	if (!bits)
		return -ENOMEM;
	n->tried = bits;
	if ((nr + 1) % 8 == 0)
		bits[(nr + 1) / 8] = 0;
	for (uint32_t i = nr; i > at; i--) {
		bits[i / 8] &= (uint8_t) ~(1 << i % 8);
		bits[i / 8] |= (uint8_t)((bits[(i - 1) / 8] >> (i - 1) % 8 & 1) << i % 8);
	}
	bits[at / 8] &= (uint8_t) ~(1 << at % 8);
	return 0;
}

int ftree_add_site(struct ftree *t, uint32_t function, const struct rec_call_site *site)
{
	struct function_sites *f = &t->function[function];
	uint32_t at = lower_bound(i, f->nr_sites, f->sites[i].offset < site->offset);
	struct rec_call_site *sites;

	if (t->nr_sites == DESCENT_MAX_CALL_SITES)
		return -ENOSPC;
	sites = realloc(f->sites, (f->nr_sites + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	f->sites = sites;
	for (uint32_t id = 0; id < t->nr_nodes; id++) {
		struct fnode *n = &t->node[id];

		if (n->function == function && n->tried && insert_bit(n, at, f->nr_sites))
			return -ENOMEM;
		if (n->function == function && n->tried && !(site->flags & CALL_SITE_TIMED)) {
			fnode_set_tried(n, at, true);
			n->unmeasured = true;
		}
		if (id && t->node[n->parent].function == function && n->site != NO_INDEX) {
			n->site += n->site >= at;
			n->last += n->last >= at;
		}
	}
	memmove(&sites[at + 1], &sites[at], (f->nr_sites - at) * sizeof(*sites));
	sites[at] = *site;
	f->nr_sites++;
	t->nr_sites++;
	return 0;
}
