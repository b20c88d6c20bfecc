/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target with several kinds of slow calls: NAME SECONDS KIND [FILE]. serve() is fast in three of
 * four calls and does what the kind is about in the fourth one.
 */
#ifndef TESTS_CULPRIT_KINDS_H
#define TESTS_CULPRIT_KINDS_H

#include "culprit.h"

static const struct kind {
	const char *name;
	/* `begin` runs once; `before` runs before each slow call, outside of serve(). */
	void (*begin)(void), (*before)(void), (*serve)(uint64_t);
} * kind;

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		kind->serve(i);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (i == 0 && kind->begin)
		kind->begin();
	if (i % 4 == 0 && kind->before)
		kind->before();
	serve(i);
}

/* Let `kind` point to the one that the command line names; `path` becomes FILE if there is one. */
static inline int kind_choose(int *argc, char ***argv, const struct kind *kinds, size_t nr,
			      const char **path)
{
	size_t k;

	target_begin(argc, argv);
	for (k = 0; k < nr; k++)
		if (*argc > 2 && !strcmp((*argv)[2], kinds[k].name))
			kind = &kinds[k];
	if (*argc > 3)
		*path = (*argv)[3];
	if (kind)
		return 0;
	fprintf(stderr, "usage: %s SECONDS KIND [FILE]\n", (*argv)[0]);
	return 2;
}

#endif
