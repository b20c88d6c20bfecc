/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the definition that a call of an imported function reaches. Pure. */
#pragma once

#include "analysis/session/record.h"

/* A function with the imported name, in some module of the target. */
struct import_definition {
	struct rec_code code;
	const char *module; /* base name of the file */
	bool exported, ifunc;
};

/* Returns the definition that the dynamic loader binds to: the first exported one of the list,
 * where definitions in the loader itself (ld-*) come last. Returns module 0 if none is exported, or
 * if it is an IFUNC, because only the target knows which function an IFUNC resolves to. */
struct rec_code import_resolve(const struct import_definition *list, uint32_t nr);
