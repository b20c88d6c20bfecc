// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/syscall_names.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Made by the Makefile from the system's own list. */
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

/* Edits that turn one word into the other (Levenshtein), for words of at most 63 bytes. */
static unsigned int edits(const char *a, const char *b)
{
	unsigned int row[64], la = (unsigned int)strlen(a), lb = (unsigned int)strlen(b);

	if (la > 63 || lb > 63)
		return 64;
	for (unsigned int j = 0; j <= lb; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (unsigned int j = 1; j <= lb; j++) {
			unsigned int above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[lb];
}

const char *syscall_nearest(const char *name)
{
	unsigned int best = 65;
	const char *nearest = "";

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned int d = names[i] ? edits(name, names[i]) : 65;

		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}
