// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls of a function that are open at the end of a burst, and how their ends are seen. */
#include "analysis/base/array.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/state.h"

enum { MAX_BREAKS = 64 };

uint64_t function_open(struct collector *c, const struct function *f)
{
	struct pt_hist h;
	uint64_t closed;

	kernel_side_hist(c->kernel, f->slot, false, &h);
	closed = h.calls + h.abnormal + c->slots[f->slot].abnormal_total + f->censored;
	return h.entries > closed ? h.entries - closed : 0;
}

struct drop_walk {
	struct collector *c;
	struct function *f;
};

static void drop_slot(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct drop_walk *w = ctx;

	/* a breakpoint of its own waits for the end of a call that was found */
	if (a->key.slot != w->f->slot || a->arg_mask & PT_ACT_FOUND ||
	    !kernel_side_activation_drop(w->c->kernel, index, a))
		return;
	if (!(a->arg_mask & PT_ACT_OUTSIDE))
		w->f->censored++;
}

static void breaks_release(struct function *f)
{
	attachments_release(&f->breaks);
	f->ends_gone = false;
}

void function_drop_open(struct collector *c, struct function *f)
{
	struct drop_walk w = {.c = c, .f = f};

	breaks_release(f);
	kernel_side_activations(c->kernel, drop_slot, &w);
}

struct break_walk {
	struct collector *c;
	struct function *f;
	bool failed;
};

static void break_one(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct break_walk *w = ctx;
	struct attachment *one;

	/* what was found has a breakpoint of its own */
	if (a->key.slot != w->f->slot || a->arg_mask & PT_ACT_FOUND || w->failed)
		return;
	one = a->ret ? attachments_next(&w->f->breaks, MAX_BREAKS) : NULL;
	w->failed = !one || attach_breakpoint(one, kernel_side_program(w->c->kernel, PROGRAM_BREAK),
					      (int)a->tid, a->ret, a->key.slot);
	w->f->breaks.nr += !w->failed;
}

bool function_is_go(const struct function *f)
{
	return f->nr_sites && f->sites[0].site.flags & SITE_GO;
}

void function_breaks_arm(struct collector *c, struct function *f)
{
	struct break_walk w = {.c = c, .f = f};

	/* Go frames move; a descent's fnodes need their own end sites */
	if (function_is_go(f) || descend_is_of(c, f))
		return;
	kernel_side_activations(c->kernel, break_one, &w);
	if (w.failed) {
		breaks_release(f);
		return;
	}
	f->ends_gone = true;
	function_links_stop(f, true);
}

void function_closed(struct collector *c, uint32_t slot)
{
	struct function *f = function_by_slot(c, slot);

	/* the thread will hit the address again: keep breakpoints for the other calls only */
	if (!f || !f->ends_gone)
		return;
	breaks_release(f);
	function_breaks_arm(c, f);
}

bool functions_waiting(const struct collector *c)
{
	return any_of(i, c->functions.nr, c->functions.list[i]->ends_gone);
}
