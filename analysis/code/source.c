// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/source.h"

const struct code_bytes *code_bytes_at(const struct code_source *src, uint64_t vaddr,
				       const uint8_t **bytes, size_t *len)
{
	size_t lo = 0, hi = src->nr_bytes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct code_bytes *b = &src->bytes[mid];

		if (vaddr < b->vaddr) {
			hi = mid;
		} else if (vaddr - b->vaddr >= b->size) {
			lo = mid + 1;
		} else {
			if (bytes)
				*bytes = b->bytes + (vaddr - b->vaddr);
			if (len)
				*len = b->size - (size_t)(vaddr - b->vaddr);
			return b;
		}
	}
	return NULL;
}

const struct code_part *code_part_at(const struct code_source *src, uint64_t vaddr)
{
	size_t lo = 0, hi = src->nr_parts;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct code_part *p = &src->parts[mid];

		if (vaddr < p->start)
			hi = mid;
		else if (vaddr >= p->end)
			lo = mid + 1;
		else
			return p;
	}
	return NULL;
}

uint64_t code_offset(const struct code_source *src, uint64_t vaddr)
{
	const struct code_bytes *b = code_bytes_at(src, vaddr, NULL, NULL);

	return b ? b->offset + (vaddr - b->vaddr) : UINT64_MAX;
}
