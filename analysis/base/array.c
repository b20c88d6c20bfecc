// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/array.h"

enum { FIRST_ROOM = 16 };

int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return ascending(x, y);
}

int array_reserve(void **array, size_t nr, size_t *cap, size_t size, size_t max)
{
	size_t room = *cap ? *cap : FIRST_ROOM;
	void *grown;

	if (nr <= *cap)
		return 0;
	if (nr > max)
		return -E2BIG;
	while (room < nr)
		room = room > max / 2 ? max : 2 * room;
	if (room > max)
		room = max;
	if (room > SIZE_MAX / size)
		return -ENOMEM;
	grown = reallocarray(*array, room, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = room;
	return 0;
}
