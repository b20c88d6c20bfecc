/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions of the kernel, by address: /proc/kallsyms, read when the first one is asked for. */
#ifndef PEAKTOP_KERNEL_NAMES_H
#define PEAKTOP_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* The function that holds this address, NULL if it is not known (or the kernel does not tell). */
const char *kernel_name(uint64_t address);
/* A stack in one line, outermost first, a semicolon between: "do_syscall_64;ksys_read;...". */
void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size);
void kernel_names_release(void);

#endif
