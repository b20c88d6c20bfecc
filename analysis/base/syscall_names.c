// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/syscall_names.h"

#include "analysis/base/edit_distance.h"

/* The Makefile generates this list from the system's headers. */
static const char *const names[] = {
#include "syscall_names.inc"
};

const char *syscall_name(unsigned int nr)
{
	return nr < sizeof(names) / sizeof(names[0]) ? names[nr] : NULL;
}

int syscall_number(const char *name)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	}
	return -ENOENT;
}

const char *syscall_nearest(const char *name)
{
	size_t len = strlen(name);
	unsigned int limit = edit_limit(len), best = limit + 1, edits;
	const char *nearest = NULL;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!names[i])
			continue;
		edits = edit_distance(name, len, names[i], strlen(names[i]), limit);
		if (edits < best) {
			best = edits;
			nearest = names[i];
		}
	}
	return nearest;
}
