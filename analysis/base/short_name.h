/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PEAKTOP_BASE_SHORT_NAME_H
#define PEAKTOP_BASE_SHORT_NAME_H

#include "analysis/base/buf.h"

/* Append a demangled name without parameters and long template arguments. It is not sanitised. */
void short_name(struct buf *out, const char *name);

#endif
