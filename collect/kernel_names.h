/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernel functions by address, from /proc/kallsyms, which is read at the first query.
 * Strings are valid until kernel_names_release(). */
#pragma once

struct kernel_side;
/* Call `each` for each function of the kernel, by an iterator, which Linux 6.1 has. Returns 0 or a
 * negative errno. */
int kernel_side_names(const struct kernel_side *k,
		      void (*each)(uint64_t address, const char *name));
/* Take the names from here (kernel_side_names()) if /proc/kallsyms hides their addresses; NULL:
 * from nowhere. */
typedef int (*kernel_names_iterator)(const struct kernel_side *k,
				     void (*each)(uint64_t address, const char *name));
void kernel_names_fall_back(const struct kernel_side *k, kernel_names_iterator iterator);
/* Name of the function at this address; NULL if it is not known or the kernel hides it. */
const char *kernel_name(uint64_t address);
/* Address of the function with this name; 0: not known. Of several the lowest. */
uint64_t kernel_name_address(const char *name);
struct kernel_place {
	const char *name;
	uint64_t start;
	size_t index; /* number of the name, below kernel_names_count() */
};
/* The function at this address and its start. Returns false if it is not known. */
bool kernel_place_of(uint64_t address, struct kernel_place *out);
size_t kernel_names_count(void);
/* True if the name begins with one of this list, which ends with NULL. */
static inline bool kernel_name_begins(const char *name, const char *const *list)
{
	for (; name && *list; list++) {
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	}
	return false;
}

/* Start address of the kernel's text; 0 if not known. */
uint64_t kernel_names_base(void);
/* Write a stack as one line, outermost function first, separated by semicolons:
 * "do_syscall_64;ksys_read;...". */
void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size);
/*
 * How many of these functions, innermost first, belong to the tracing itself: BPF programs, what
 * calls them at a tracepoint, and the scheduler, with which the stacks of all who sleep end. An
 * interrupt may have come inside of the scheduler: then that is the task's work below it.
 */
size_t kernel_names_of_tracing(const char *const *innermost_first, size_t nr);
/* How many of these functions, innermost first, are below the point where BPF programs that trace
 * are called: they are no part of what a thread does. */
size_t kernel_names_of_programs(const char *const *innermost_first, size_t nr);
void kernel_names_release(void);
