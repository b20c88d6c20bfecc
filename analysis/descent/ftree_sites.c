// SPDX-License-Identifier: GPL-2.0-or-later
/* The call sites of the functions of the ftree. */
#include "analysis/base/array.h"
#include "analysis/descent/ftree.h"

static bool sites_make_sense(const struct rec_callees *a)
{
	for (uint32_t i = 0; i < a->nr_sites; i++) {
		if (a->sites[i].kind >= CALLEE_KINDS)
			return false;
		if (i && a->sites[i].offset <= a->sites[i - 1].offset)
			return false;
	}
	return true;
}

int ftree_set_sites(struct ftree *t, uint32_t function, const struct rec_callees *answer)
{
	struct function_sites *f = &t->function[function];

	if (f->state == FUNCTION_KNOWN || f->state == FUNCTION_UNREADABLE)
		return 0;
	if (answer->error) {
		f->state = FUNCTION_UNREADABLE;
		return 0;
	}
	if (!sites_make_sense(answer))
		return -EINVAL;
	if (t->nr_sites + answer->nr_sites > DESCENT_MAX_CALL_SITES) {
		f->state = FUNCTION_UNREADABLE;
		return -ENOSPC;
	}
	if (answer->nr_sites) {
		f->sites = calloc(answer->nr_sites, sizeof(*f->sites));
		if (!f->sites)
			return -ENOMEM;
		memcpy(f->sites, answer->sites, answer->nr_sites * sizeof(*f->sites));
	}
	f->nr_sites = answer->nr_sites;
	f->cut = answer->total > answer->nr_sites;
	f->state = FUNCTION_KNOWN;
	t->nr_sites += answer->nr_sites;
	return 0;
}

/* Makes room for one more call site in the bits of an fnode. Returns 0 or -ENOMEM. */
static int grow_bits(struct fnode *n, uint32_t nr)
{
	uint8_t *bits = realloc(n->tried, (nr + 1) / 8 + 1);

	if (!bits)
		return -ENOMEM;
	n->tried = bits;
	if ((nr + 1) % 8 == 0)
		bits[(nr + 1) / 8] = 0;
	return 0;
}

/* Inserts call site number `at` into the bits of an fnode, for which there is room. */
static void insert_bit(struct fnode *n, uint32_t at, uint32_t nr)
{
	uint8_t *bits = n->tried;

	for (uint32_t i = nr; i > at; i--) {
		bits[i / 8] &= (uint8_t) ~(1 << i % 8);
		bits[i / 8] |= (uint8_t)((bits[(i - 1) / 8] >> (i - 1) % 8 & 1) << i % 8);
	}
	bits[at / 8] &= (uint8_t) ~(1 << at % 8);
}

/* Makes room for one more call site of a function. Returns 0, or -ENOMEM and nothing has changed.
 */
static int grow(struct ftree *t, uint32_t function)
{
	struct function_sites *f = &t->function[function];
	struct rec_call_site *sites = realloc(f->sites, (f->nr_sites + 1) * sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	f->sites = sites;
	for (uint32_t id = 0; id < t->nr_nodes; id++) {
		struct fnode *n = &t->node[id];

		if (n->function == function && n->tried && grow_bits(n, f->nr_sites))
			return -ENOMEM;
	}
	return 0;
}

int ftree_add_site(struct ftree *t, uint32_t function, const struct rec_call_site *site)
{
	struct function_sites *f = &t->function[function];
	uint32_t at = lower_bound(i, f->nr_sites, f->sites[i].offset < site->offset);

	if (t->nr_sites == DESCENT_MAX_CALL_SITES)
		return -ENOSPC;
	if (grow(t, function))
		return -ENOMEM;
	for (uint32_t id = 0; id < t->nr_nodes; id++) {
		struct fnode *n = &t->node[id];

		if (n->function == function && n->tried)
			insert_bit(n, at, f->nr_sites);
		if (n->function == function && n->tried && !(site->flags & CALL_SITE_TIMED)) {
			fnode_set_tried(n, at, true);
			n->unmeasured = true;
		}
		if (id && t->node[n->parent].function == function && n->site != NO_INDEX) {
			n->site += n->site >= at;
			n->last += n->last >= at;
		}
	}
	memmove(&f->sites[at + 1], &f->sites[at], (f->nr_sites - at) * sizeof(*f->sites));
	f->sites[at] = *site;
	f->nr_sites++;
	t->nr_sites++;
	return 0;
}
