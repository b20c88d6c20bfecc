/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the whole command line (docs/peaktop.1) before anything is started. */
#ifndef PEAKTOP_COMMAND_LINE_H
#define PEAKTOP_COMMAND_LINE_H

#include "tui/engine/options.h"

/*
 * Parse the command line into `o`, whose strings point into argv. Returns 0, or -EINVAL with one
 * line in `error` that says what is wrong and what to do.
 */
int options_parse(struct options *o, int argc, char **argv, char *error, size_t error_size);
/* Parse one OP (-f). Returns as options_parse(). */
int op_spec_parse(struct op_spec *op, const char *text, char *error, size_t error_size);
const char *options_usage(void);

#endif
