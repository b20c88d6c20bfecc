// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/array.h"
#include "analysis/unwind/unwind.h"

struct unwind_map {
	size_t nr;
	struct unwind_mapping list[]; /* by start */
};

/* Of equal starts the longest is last: it is the one that is found. */
static int mapping_order(const void *a, const void *b)
{
	const struct unwind_mapping *x = a, *y = b;

	return ascending(x->start, y->start) ?: ascending(x->end, y->end);
}

struct unwind_map *unwind_map_new(const struct unwind_mapping *list, size_t n)
{
	struct unwind_map *map;

	if (n > UNWIND_MAX_MAPPINGS)
		return NULL;
	map = malloc(sizeof(*map) + n * sizeof(map->list[0]));
	if (!map)
		return NULL;
	map->nr = 0;
	for (size_t i = 0; i < n; i++)
		if (list[i].start < list[i].end)
			map->list[map->nr++] = list[i];
	if (map->nr)
		qsort(map->list, map->nr, sizeof(map->list[0]), mapping_order);
	return map;
}

void unwind_map_free(struct unwind_map *map)
{
	free(map);
}

size_t unwind_map_size(const struct unwind_map *map)
{
	return map->nr;
}

const struct unwind_mapping *unwind_map_at(const struct unwind_map *map, uint64_t address)
{
	size_t low = lower_bound(i, map ? map->nr : 0, map->list[i].start <= address);

	return low && address < map->list[low - 1].end ? &map->list[low - 1] : NULL;
}
