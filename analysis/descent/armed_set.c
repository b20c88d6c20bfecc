// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/armed_set.h"

#include <math.h>

#include "analysis/base/array.h"

enum {
	STEPS_AT_LEAST = 2,
	KERNEL_PROBES = 20,
};

static const struct descent_armed *find(const struct descent_armed *armed, uint32_t nr,
					uint32_t node)
{
	return find_first(i, armed, nr, armed[i].node == node);
}

uint32_t armed_set_frames(const struct descent_armed *armed, uint32_t nr_armed, struct rec_code f0,
			  uint32_t node, struct rec_frame frames[DESCENT_MAX_DEPTH + 1])
{
	const struct descent_armed *path[DESCENT_MAX_DEPTH], *a;
	struct rec_code function = f0;
	uint32_t depth = 0, n = 0;

	for (; node; node = a->parent) {
		a = find(armed, nr_armed, node);
		if (!a || depth == DESCENT_MAX_DEPTH)
			return 0;
		path[depth++] = a;
	}
	for (; depth; depth--) {
		a = path[depth - 1];
		/* a tail call leaves no return address: use the address of the call site */
		frames[n++] = (struct rec_frame){.module = a->site.module,
						 .offset = a->ret ? a->ret : a->site.offset,
						 .function = function.offset};
		if (!a->callee.module)
			return n;
		function = a->callee;
	}
	frames[n++] = (struct rec_frame){
	    .module = function.module, .offset = function.offset, .function = function.offset};
	return n;
}

/* Returns the middle of the peak on the logarithmic axis, because few calls of a wide peak are as
 * short as its lower end. */
static double middle_ns(const struct rec_descent *ask)
{
	double low = (double)ask->low_ns,
	       high = ask->high_ns == UINT64_MAX ? low : (double)ask->high_ns;

	return sqrt(low * high);
}

bool armed_set_too_short(const struct rec_descent *ask, const struct req_fnode *n)
{
	bool stepped =
	    n->start.class == SITE_STEPPED || (n->end.module && n->end.class == SITE_STEPPED);

	return stepped && middle_ns(ask) < STEPS_AT_LEAST * (double)ask->step_ns;
}

bool armed_set_goes_into_kernel(const struct rec_descent *ask)
{
	return ask->kernel_ns && middle_ns(ask) >= KERNEL_PROBES * (double)ask->kernel_ns;
}
