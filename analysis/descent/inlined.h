/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Narrows the time in the last function of a path to inlined functions and to a line or a
 * loop, using CPU samples of its own code. Pure.
 */
#ifndef PEAKTOP_INLINED_H
#define PEAKTOP_INLINED_H

#include <stdint.h>

#include "analysis/descent/descent.h"

enum { INLINED_LEVELS = 8 };

/* One function: [0] the one that was really called, then what is inlined into the one before. */
struct inlined_level {
	const char *function, *file;	/* "" if unknown; they belong to who was asked */
	uint32_t line;			/* where in it most samples are; 0: unknown */
	uint32_t loop_first, loop_last; /* of the loop that holds at least half of them; 0: none */
	struct rec_code place;		/* the heaviest */
	uint64_t ns;
};

struct inlined {
	uint64_t ns; /* of all samples in own code */
	unsigned int nr;
	struct inlined_level level[INLINED_LEVELS];
};

/* Returns the inlined calls at a place, or NULL if not known. */
typedef const struct rec_inlines *inlined_lookup(const void *ctx, struct rec_code place);

/* A function is followed into while at least half of the samples are in it; nr 0: nothing is known.
 */
void inlined_narrow(const struct descent_path *p, inlined_lookup *lookup, const void *ctx,
		    struct inlined *out);

#endif
