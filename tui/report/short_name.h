/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analysis/base/buf.h"

/* Append a demangled name without parameters and long template arguments, sanitised. */
void report_short_name(struct buf *out, const char *name);
