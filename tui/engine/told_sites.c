// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/told_sites.h"

#include "analysis/base/array.h"
#include "analysis/descent/armed_set.h"

enum { MAX_SITES = 256, MAX_FUNCTIONS = 1 << 16 };

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

/* Add the call that this frame makes, if it is not known yet, in the order of the offsets. 0 or
 * -ENOMEM. */
static int add_site(struct told_function *f, const struct rec_frame *frame)
{
	struct rec_call_site site = {.offset = frame->offset - 1,
				     .ret = frame->offset,
				     .flags = CALL_SITE_TIMED,
				     .callee = function_of(frame + 1)};
	uint32_t at = 0;
	int err;

	while (at < f->nr && f->sites[at].ret < site.ret)
		at++;
	if (!frame->offset)
		return 0;
	if (at < f->nr && f->sites[at].ret == site.ret) {
		/* a pointer that called several functions */
		if (!code_equal(f->sites[at].callee, site.callee))
			f->sites[at].callee = (struct rec_code){0};
		return 0;
	}
	err = array_insert(f->sites, at, f->nr, f->cap, MAX_SITES, site);
	return err == -E2BIG ? 0 : err;
}

/* Add the function of this frame, if it is not known yet, and the call that it makes there. 0 or
 * -ENOMEM. */
static int add_frame(struct told_stacks *s, const struct rec_call *call,
		     const struct rec_witness *w, uint32_t frame)
{
	const struct rec_code function = function_of(&w->frames[frame]);
	struct told_function *f = find_first(i, s->functions, s->nr_functions,
					     code_equal(s->functions[i].function, function));
	int err;

	if (!f) {
		err = array_append(s->functions, s->nr_functions, s->cap_functions, MAX_FUNCTIONS,
				   (struct told_function){.function = function});
		if (err)
			return err;
		f = &s->functions[s->nr_functions - 1];
	}
	if (frame + 1 == w->nr_frames || is_handler(call, w, frame + 1))
		return 0;
	return add_site(f, &w->frames[frame]);
}

int told_functions(struct told_stacks *s, const struct rec_call *call)
{
	int err = 0;

	for (size_t i = 0; i < s->nr; i++) {
		for (uint32_t k = 0; k < s->list[i].nr_frames && !err; k++)
			err = add_frame(s, call, &s->list[i], k);
	}
	return err;
}

void told_stacks_release(struct told_stacks *s)
{
	for (size_t i = 0; i < s->nr_functions; i++)
		free(s->functions[i].sites);
	free(s->functions);
	free(s->list);
	*s = (struct told_stacks){0};
}

void told_callees(struct descent_driver *d, const struct told_stacks *s)
{
	struct record rec = {.type = REC_CALLEES};

	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct told_function *f = &s->functions[i];

		rec.callees = (struct rec_callees){.function = f->function,
						   /* calls that were not seen took the rest */
						   .total = f->nr + !s->covers_cpu,
						   .nr_sites = f->nr,
						   .sites = f->sites};
		driver_take(d, &rec);
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
