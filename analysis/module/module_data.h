/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of a module, as far as the placement planner needs it: bytes at an
 * address, pointers to code, restartable sequences, linkage stubs. One of the
 * files of a module (see module.h for what may be assumed of the input). */
#pragma once

#include "analysis/module/module.h"

enum {
	MODULE_MAX_POINTERS = 8 << 20,
	MODULE_MAX_RSEQ = 1 << 16,
};

struct module_range {
	uint64_t start, end; /* half-open */
};

/* `size` bytes that are loaded at `vaddr`, code or data: 0, -ERANGE, or an error of reading. */
int module_read_data(const struct module *m, uint64_t vaddr, void *out, size_t size);

/* All aligned 8-byte values in loaded data that lie in code, ascending, without
 * repeats: pointers, and the addends of relocations that make pointers. `*out`
 * is the caller's to free. Returns the number, -E2BIG or -ENOMEM. */
long module_code_pointers(const struct module *m, uint64_t **out);

/* The critical sections in `__rseq_cs`, in order of start; as above. */
long module_rseq(const struct module *m, struct module_range **out);

/* Range of the i-th section of linkage stubs (.plt, .plt.sec, ...); -ENOENT past the last. */
int module_plt_section(const struct module *m, size_t i, struct module_range *out);

/* True if the module is a library, whose exported functions other modules call, and no program. */
bool module_is_library(const struct module *m);
