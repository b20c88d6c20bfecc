/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a struct module knows, in the form that the placement planner takes. */
#pragma once

#include "analysis/code/source.h"
#include "analysis/module/module.h"

/* Reads the code and the bounds of functions of `m`, which must outlive it. Make
 * a new one after module_add_debug(). NULL: out of memory. */
struct module_source *module_source_new(struct module *m);
void module_source_free(struct module_source *s);
/* Belongs to `s`. */
const struct code_source *module_source(const struct module_source *s);
