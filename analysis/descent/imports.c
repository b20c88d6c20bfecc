// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/imports.h"

static bool is_loader(const struct import_definition *d)
{
	return !strncmp(d->module, "ld-", 3);
}

struct rec_code import_resolve(const struct import_definition *list, uint32_t nr)
{
	const struct import_definition *best = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		const struct import_definition *d = &list[i];

		if (d->exported && (!best || (is_loader(best) && !is_loader(d))))
			best = d;
	}
	return best && !best->ifunc ? best->code : (struct rec_code){0};
}
