// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds out which tracepoints the kernel has, and which layers can be measured with them. */

#include "collect/kernel_side_impl.h"

uint32_t kernel_side_available(const struct kernel_side *k)
{
	uint32_t missing = 0, all = 0;

	for (unsigned int i = 0; i < k->nr_links; i++) {
		const struct layer_link *l = &k->links[i];
		bool optional = l->prog == k->skel->progs.on_block_start ||
				l->prog == k->skel->progs.on_block_insert ||
				l->prog == k->skel->progs.on_uring_submit ||
				l->prog == k->skel->progs.on_uring_submit_sqe ||
				l->prog == k->skel->progs.on_contention_begin ||
				l->prog == k->skel->progs.on_contention_end ||
				(l->layers & KERNEL_SIDE_DESCENT);

		if (l->layers == UINT32_MAX)
			continue;
		all |= l->layers;
		if (!l->exists && !optional)
			missing |= l->layers & ~KERNEL_SIDE_WAITS;
	}
	if (kernel_side_has_uprobes(k))
		all |= 1u << LAYER_FUNCTION;
	return all & ~missing & ~KERNEL_SIDE_WAITS;
}

const char *kernel_side_missing(const struct kernel_side *k, char *out, size_t n)
{
	size_t used = 0;

	out[0] = '\0';
	for (const struct layer_link *l = k->links; l < k->links + k->nr_links && used < n; l++) {
		const char *name = strchr(bpf_program__section_name(l->prog), '/');

		if (l->layers & KERNEL_SIDE_DESCENT && l->layers != UINT32_MAX && !l->exists &&
		    name)
			used += (size_t)snprintf(out + used, n - used, "%s%s", used ? ", " : "",
						 name + 1);
	}
	return out;
}

bool kernel_side_own_locks(const struct kernel_side *k)
{
	for (unsigned int i = 0; i < k->nr_links; i++) {
		if (k->links[i].prog == k->skel->progs.on_contention_begin)
			return k->links[i].exists;
	}
	return false;
}
