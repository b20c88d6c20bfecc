// SPDX-License-Identifier: GPL-2.0-or-later
/* The allocation of the site table, and queries about mapped code. */

#include "collect/sites.h"
#include "analysis/base/array.h"
#include "collect/state.h"

/* Search behind the entry taken last, so that an entry is not reused soon: its probes are
 * detached some time after the site was dropped. */
int site_index_take(struct collector *c)
{
	for (uint32_t n = 0; n < PT_SITES - 1; n++) {
		uint32_t i = 1 + (c->sites.last + n) % (PT_SITES - 1);

		if (c->sites.used[i / 32] & 1u << i % 32)
			continue;
		c->sites.used[i / 32] |= 1u << i % 32;
		c->sites.last = i;
		memset(&kernel_side_sites(c->kernel)[i], 0, sizeof(struct pt_site));
		return (int)i;
	}
	return -ENOSPC;
}

void site_index_drop(struct collector *c, uint32_t i)
{
	/* clear the entry, so that a late hit has no effect and blows no fuse */
	kernel_side_sites(c->kernel)[i] = (struct pt_site){.fuse = UINT64_MAX};
	c->sites.used[i / 32] &= ~(1u << i % 32);
}

bool site_is_mapped(const struct collector *c, const struct rec_site *s)
{
	return any_of(i, c->files.nr_mappings,
		      mapping_address(&c->files.mappings[i], s->module, s->offset));
}

bool target_maps(const struct collector *c, pid_t pid, uint32_t module)
{
	return any_of(i, c->files.nr_mappings,
		      c->files.mappings[i].pid == pid && c->files.mappings[i].module == module);
}
