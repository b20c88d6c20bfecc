/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analysis/base/buf.h"

/* Append a demangled name without parameters, long template arguments, and long
 * parameters of enclosing functions. It is not sanitised. */
void short_name(struct buf *out, const char *name);
