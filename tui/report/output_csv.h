/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the result of `peaktop watch` as comma-separated values (RFC 4180, but lines end with LF):
 * a line of column names, then a row for each operation, followed by a row for each of its peaks.
 * The column `peak` is empty in the row of an operation. Columns have the names and units of the
 * fields in JSON; a value that does not apply is empty. */
#pragma once

#include "tui/report/output.h"

/* Returns 0, -ENOMEM, or the negative errno of a failed write. */
int output_watch_csv(struct model *m, const struct output_options *o, FILE *f);
