/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Narrows the time in the last function of a path to inlined functions and to a line or a
 * loop, using CPU samples of its own code. Pure. */
#pragma once

#include "analysis/descent/descent.h"

enum { INLINED_LEVELS = 8 };

/* One level of inlining: [0] is the function that was called, each further level is inlined into
 * the level before. */
struct inlined_level {
	const char *function, *file; /* "" if unknown; owned by the lookup */
	uint32_t line;		     /* the line with most samples; 0: unknown */
	uint32_t loop_first,
	    loop_last;	       /* lines of a loop with at least half of the samples; 0: none */
	struct rec_code place; /* the address with most samples */
	uint64_t ns;
};

struct inlined {
	uint64_t ns; /* all samples in own code */
	unsigned int nr;
	struct inlined_level level[INLINED_LEVELS];
};

/* Returns the inlined calls at a code address, or NULL if they are not known. */
typedef const struct rec_inlines *inlined_lookup(const void *ctx, struct rec_code place);

/* Fills *out with the levels of inlining, from the called function inwards. It goes one level
 * deeper as long as one inlined function holds at least half of the samples. out->nr is 0 if
 * nothing is known. */
void inlined_narrow(const struct descent_path *p, inlined_lookup *lookup, const void *ctx,
		    struct inlined *out);
