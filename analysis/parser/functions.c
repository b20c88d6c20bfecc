// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/parser/functions.h"

static bool has_old_version(const char *name)
{
	const char *at = strchr(name, '@');

	return at && at[1] != '@';
}

/* A symbol table of debug information may have the name without its version. */
static bool is_old_version(const struct parsed_function *f)
{
	return has_old_version(f->symbol) || has_old_version(f->function);
}

const struct parsed_function *functions_only(const struct parsed_functions *a)
{
	const struct parsed_function *one = NULL;

	if (a->total > a->nr)
		return NULL;
	if (a->nr == 1)
		return a->functions;
	for (uint32_t i = 0; i < a->nr; i++) {
		if (is_old_version(&a->functions[i]))
			continue;
		if (one)
			return NULL;
		one = &a->functions[i];
	}
	return one;
}
