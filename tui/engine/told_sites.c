// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/told_sites.h"

#include "analysis/base/array.h"
#include "analysis/descent/armed_set.h"

enum { MAX_SITES = 256 };

static struct rec_code function_of(const struct rec_frame *f)
{
	return (struct rec_code){f->module, f->function};
}

/* True if the frame is of the signal handler that ran inside the call, or of the code to which it
 * returns: the program does not call these. */
static bool is_handler(const struct rec_call *call, const struct rec_witness *w, uint32_t frame)
{
	for (uint32_t i = frame; i < w->nr_frames && i < frame + 2; i++) {
		if (call->handler.module && code_equal(function_of(&w->frames[i]), call->handler))
			return true;
	}
	return false;
}

/* Add the call that this frame makes, if it is not known yet, in the order of the offsets. */
static uint32_t add_site(struct rec_call_site *sites, uint32_t nr, const struct rec_frame *frame)
{
	struct rec_call_site site = {.offset = frame->offset - 1,
				     .ret = frame->offset,
				     .flags = CALL_SITE_TIMED,
				     .callee = function_of(frame + 1)};
	uint32_t at = 0;

	while (at < nr && sites[at].ret < site.ret)
		at++;
	if (nr == MAX_SITES || !frame->offset)
		return nr;
	if (at < nr && sites[at].ret == site.ret) {
		/* a pointer that called several functions */
		if (!code_equal(sites[at].callee, site.callee))
			sites[at].callee = (struct rec_code){0};
		return nr;
	}
	for (uint32_t i = nr; i > at; i--)
		sites[i] = sites[i - 1];
	sites[at] = site;
	return nr + 1;
}

static void tell_callees(struct descent_driver *d, struct rec_code function,
			 const struct told_stacks *s, const struct rec_call *call)
{
	struct rec_call_site sites[MAX_SITES];
	struct record rec = {.type = REC_CALLEES};
	uint32_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		const struct rec_witness *w = &s->list[i];

		for (uint32_t k = 0; k + 1 < w->nr_frames; k++) {
			if (code_equal(function_of(&w->frames[k]), function) &&
			    !is_handler(call, w, k + 1))
				nr = add_site(sites, nr, &w->frames[k]);
		}
	}
	rec.callees = (struct rec_callees){.function = function,
					   /* calls that were not seen took the rest */
					   .total = nr + !s->covers_cpu,
					   .nr_sites = nr,
					   .sites = sites};
	driver_take(d, &rec);
}

void told_callees(struct descent_driver *d, const struct told_stacks *s,
		  const struct rec_call *call)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct rec_witness *w = &s->list[i];

		for (uint32_t k = 0; k < w->nr_frames; k++)
			tell_callees(d, function_of(&w->frames[k]), s, call);
	}
}

/* True if the stack is at or below the call to which this path leads. */
static bool leads_to(const struct rec_frame *path, uint32_t nr, const struct rec_witness *w)
{
	if (w->nr_frames < nr)
		return false;
	for (uint32_t k = 0; k < nr; k++) {
		if (!code_equal(function_of(&path[k]), function_of(&w->frames[k])) ||
		    (k + 1 < nr && path[k].offset != w->frames[k].offset))
			return false;
	}
	return true;
}

uint32_t told_nodes(const struct descent_driver *d, struct rec_code f0, const struct told_stacks *s,
		    struct rec_call_node out[DESCENT_MAX_SITES])
{
	struct rec_frame path[DESCENT_MAX_DEPTH + 1];
	uint32_t nr_armed, nr = 0;
	const struct descent_armed *armed = driver_armed(d, &nr_armed);

	for (uint32_t a = 0; a < nr_armed && nr < DESCENT_MAX_SITES; a++) {
		struct rec_call_node n = {.node = armed[a].node};
		uint32_t depth = armed_set_frames(armed, nr_armed, f0, armed[a].node, path);

		for (size_t i = 0; depth && i < s->nr; i++) {
			if (!leads_to(path, depth, &s->list[i]))
				continue;
			n.sum_ns += s->list[i].weight_ns;
			if (s->list[i].kind == WITNESS_SLEEP)
				n.blocked_ns += s->list[i].weight_ns;
		}
		n.count = 1;
		n.max_ns = n.sum_ns;
		if (n.sum_ns)
			out[nr++] = n;
	}
	return nr;
}
