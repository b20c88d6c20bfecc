/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line (docs/peaktop.1): parsed whole before anything is started. */
#ifndef PEAKTOP_COMMAND_LINE_H
#define PEAKTOP_COMMAND_LINE_H

#include "tui/engine/options.h"

/*
 * Parse; on failure -EINVAL with one line in `error` that says what is wrong
 * and what to do. Strings point into argv.
 */
int options_parse(struct options *o, int argc, char **argv, char *error, size_t error_size);
/* One OP. */
int op_spec_parse(struct op_spec *op, const char *text, char *error, size_t error_size);
const char *options_usage(void);

#endif
