/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of kernel functions: -f 'kernel:ext4_*' stands for one OP for each function that fits. */
#pragma once

#include "tui/engine/options.h"

enum { KERNEL_SET_MOST = 32 };

/* True for kernel:NAME with a wildcard (* or ?). */
bool kernel_set_is(const char *text);
/* Add the functions in `symbols`, a file as /proc/kallsyms, that fit. Returns 0, or -EINVAL with
 * the reason. The texts of the OPs stay until the program ends. */
int kernel_set_add(struct options *o, const char *text, const char *symbols, char *error, size_t n);
