// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/descent/descent.h"

/* Returns NULL if out of memory. */
static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	if (to && bytes)
		memcpy(to, from, bytes);
	return to;
}

int descent_result_copy(const struct descent_result *from, struct descent_result *to)
{
	bool whole = true;

	*to = *from;
	to->nodes = copy_of(from->nodes, from->nr_nodes * sizeof(*from->nodes));
	to->paths = copy_of(from->paths, from->nr_paths * sizeof(*from->paths));
	to->nr_paths = to->paths ? from->nr_paths : 0;
	for (unsigned int i = 0; i < to->nr_paths; i++) {
		const struct descent_path *p = &from->paths[i];

		to->paths[i].frames = copy_of(p->frames, p->nr_frames * sizeof(*p->frames));
		whole = whole && to->paths[i].frames;
	}
	if (whole && to->nodes && to->paths)
		return 0;
	descent_result_release(to);
	return -ENOMEM;
}
