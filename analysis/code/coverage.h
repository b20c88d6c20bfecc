/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which share of the functions of a module can be watched, and by which
 * placement: the planner's rules applied to every function and every call site. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/code/placement.h"

struct module_coverage {
	/* Every function is in exactly one of pairs, entry_emulated, entry_stepped, declined[]. */
	uint64_t functions; /* entry points; stubs and split-off parts are none */
	uint64_t pairs; /* entry emulated, and so are the ends of all direct calls, or all exits */
	uint64_t
	    entry_emulated; /* entry emulated; some end is single-stepped or still to be learnt */
	uint64_t entry_stepped;
	uint64_t declined[PLACE_WHY_MAX];

	uint64_t only_direct;	    /* functions with direct calls and no sign of another way in */
	uint64_t only_direct_pairs; /* of those, how many are among `pairs` by their callers */

	uint64_t calls; /* call instructions that have code after them */
	uint64_t calls_indirect;
	uint64_t ends_emulated; /* calls with an emulated end */
	uint64_t ends_straight; /* ... that no other path passes */
	uint64_t ends_stepped;
	uint64_t ends_none;
};

/* The functions that can be watched: all but the declined. */
uint64_t coverage_watchable(const struct module_coverage *c);

/* In steps, so that a server can answer between them. coverage_step() looks at
 * up to `parts` parts of the code and returns 1 while there is more, 0 at the
 * end (then the result is complete), or a negative errno. The placer must not be
 * freed before the run. */
struct coverage_run *coverage_begin(struct placer *p);
int coverage_step(struct coverage_run *run, size_t parts);
const struct module_coverage *coverage_result(const struct coverage_run *run);
void coverage_end(struct coverage_run *run);

/* All at once. 0 or a negative errno. */
int coverage_module(struct placer *p, struct module_coverage *out);

/* A few lines for a person, each ended by a newline. */
int coverage_text(const struct module_coverage *c, const char *module, struct buf *out);
