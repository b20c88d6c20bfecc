// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/descent_whole.h"

#define LEAST_NS 500000000ull /* a descent into a further part needs that long */

void descent_whole_divide(struct descent_whole *w, uint32_t part, uint64_t now_ns)
{
	uint64_t left = w->end_ns > now_ns ? w->end_ns - now_ns : 0, nr = 1;

	while ((part = parts_next(&w->parts.all, part)))
		nr++;
	w->until_ns = now_ns + left / nr;
}

int descent_whole_begin(struct descent_whole *w, struct descent_driver *d,
			const struct rec_descent *ask, uint64_t now_ns)
{
	w->parts.all.parts = w->parts.part; /* the parts may have been copied */
	descent_whole_divide(w, ask->part, now_ns);
	return ask->part ? driver_begin_parts(d, &w->parts.all, ask) : driver_begin(d, ask);
}

/* The number of the part after the present one; 0: none. */
static uint32_t next_part(const struct descent_whole *w, const struct descent_driver *d)
{
	const struct rec_descent *asked = driver_asked(d);

	return asked && asked->part ? parts_next(&w->parts.all, asked->part) : 0;
}

bool descent_whole_goes_on(const struct descent_whole *w, const struct descent_driver *d)
{
	return next_part(w, d) > 0;
}

bool descent_whole_next(struct descent_whole *w, struct descent_driver *d, struct model *m,
			uint64_t now_ns)
{
	uint32_t part = next_part(w, d);
	struct rec_descent ask;

	if (!part || now_ns + LEAST_NS > w->end_ns ||
	    descent_status(driver_descent(d)) == DESCENT_TARGET_END)
		return false;
	ask = *driver_asked(d);
	descent_whole_divide(w, part, now_ns);
	parts_ask(model_op_by_number(m, ask.op), &w->parts.all, part, &ask);
	return !driver_begin(d, &ask);
}
