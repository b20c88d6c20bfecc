// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/source.h"
#include "analysis/base/array.h"

const struct code_bytes *code_bytes_at(const struct code_source *src, uint64_t vaddr,
				       const uint8_t **bytes, size_t *len)
{
	size_t at = lower_bound(i, src->nr_bytes, src->bytes[i].vaddr <= vaddr);
	const struct code_bytes *b;

	if (!at || vaddr - src->bytes[at - 1].vaddr >= src->bytes[at - 1].size)
		return NULL;
	b = &src->bytes[at - 1];
	if (bytes)
		*bytes = b->bytes + (vaddr - b->vaddr);
	if (len)
		*len = b->size - (size_t)(vaddr - b->vaddr);
	return b;
}

const struct code_part *code_part_at(const struct code_source *src, uint64_t vaddr)
{
	size_t at = lower_bound(i, src->nr_parts, src->parts[i].end <= vaddr);

	return at < src->nr_parts && src->parts[at].start <= vaddr ? &src->parts[at] : NULL;
}

uint64_t code_offset(const struct code_source *src, uint64_t vaddr)
{
	const struct code_bytes *b = code_bytes_at(src, vaddr, NULL, NULL);

	return b ? b->offset + (vaddr - b->vaddr) : UINT64_MAX;
}
