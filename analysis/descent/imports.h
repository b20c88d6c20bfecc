/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which definition a call of an imported function reaches. Pure. */
#ifndef PEAKTOP_IMPORTS_H
#define PEAKTOP_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

/* A function of the name that is imported, in some module of the target. */
struct import_definition {
	struct rec_code code;
	const char *module; /* base name of the file */
	bool exported, ifunc;
};

/*
 * The definition that the dynamic loader takes: the first one that is exported, where one of the
 * loader itself comes last. Module 0: there is none, or it is an IFUNC, whose function only the
 * target knows.
 */
struct rec_code import_resolve(const struct import_definition *list, uint32_t nr);

#endif
