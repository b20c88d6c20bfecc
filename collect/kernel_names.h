/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions of the kernel, by address: /proc/kallsyms, read when the first one is asked
 * for. */
#ifndef PEAKTOP_KERNEL_NAMES_H
#define PEAKTOP_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function at this address; NULL if it is not known or the kernel hides it. */
const char *kernel_name(uint64_t address);
struct kernel_place {
	const char *name;
	uint64_t start;
	size_t index; /* below kernel_names_count() */
};
/* The function with its first byte; false: not known. */
bool kernel_place_of(uint64_t address, struct kernel_place *out);
size_t kernel_names_count(void);
/* Start address of the kernel's text; 0 if not known. */
uint64_t kernel_names_base(void);
/* A stack in one line, outermost first, a semicolon between: "do_syscall_64;ksys_read;...". */
void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size);
void kernel_names_release(void);

#endif
