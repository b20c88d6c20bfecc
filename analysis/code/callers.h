/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who calls a function of a module: direct calls found by a scan for their
 * displacement and verified by decoding the function that they are in, and the
 * signs that it is also reached in other ways. "Only called directly" stays a
 * hypothesis (dlopen, computed addresses): the collector tests it at the entry. */
#pragma once

#include "analysis/code/placement.h"

enum caller_flags {
	CALLERS_ADDRESS_TAKEN = 1 << 0, /* code or data holds the address of the function */
	CALLERS_EXPORTED = 1 << 1,	/* other modules can bind to it */
	CALLERS_TAIL_JUMPS = 1 << 2, /* a function jumps to it: it returns to that one's caller */
	CALLERS_FALLS_IN = 1 << 3,   /* the code before it may run on into it */
	CALLERS_IFUNC = 1 << 4,	     /* a resolver: called by the loader */
	CALLERS_TRUNCATED = 1 << 5,  /* the module is too large to be scanned whole */
};

struct caller {
	uint64_t call; /* address of the call instruction */
	uint64_t ret;  /* return address */
};

/* Direct calls of the function that starts at `function`, in address order. At
 * most `max` are written; returns how many there are, or a negative errno.
 * The first use of a planner scans the code of the module (about 1 ns a byte). */
int callers_find(struct placer *p, uint64_t function, struct caller *out, size_t max,
		 uint32_t *flags);
