/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses between several functions with the same name. */
#pragma once

#include "analysis/parser/protocol.h"

/* The only function in the answer, or the only one that is not an old version of a symbol (its name
 * has a single @). NULL: there is none, or the name is ambiguous. */
const struct parsed_function *functions_only(const struct parsed_functions *a);
