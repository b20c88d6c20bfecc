/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several functions of one name is meant. Pure. */
#ifndef PEAKTOP_FUNCTIONS_H
#define PEAKTOP_FUNCTIONS_H

#include "analysis/parser/protocol.h"

/*
 * The only function that is found, or the only one that is no old version of its symbol (with one
 * @): old versions are meant only when there is nothing else. NULL: none or several.
 */
const struct parsed_function *functions_only(const struct parsed_functions *a);

#endif
