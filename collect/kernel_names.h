/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernel functions by address, from /proc/kallsyms, which is read at the first query.
 * Strings are valid until kernel_names_release(). */
#ifndef PEAKTOP_KERNEL_NAMES_H
#define PEAKTOP_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Name of the function at this address; NULL if it is not known or the kernel hides it. */
const char *kernel_name(uint64_t address);
struct kernel_place {
	const char *name;
	uint64_t start;
	size_t index; /* number of the name, below kernel_names_count() */
};
/* The function at this address and its start. Returns false if it is not known. */
bool kernel_place_of(uint64_t address, struct kernel_place *out);
size_t kernel_names_count(void);
/* Start address of the kernel's text; 0 if not known. */
uint64_t kernel_names_base(void);
/* Write a stack as one line, outermost function first, separated by semicolons:
 * "do_syscall_64;ksys_read;...". */
void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size);
void kernel_names_release(void);

#endif
