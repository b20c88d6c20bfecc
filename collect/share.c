// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples the share of CPU time of functions whose calls are shorter than the cost of their own
 * probes: their latencies do not show where the time goes. A timer on each CPU samples the
 * program counter of the targets while no function is armed.
 */
#include "collect/share.h"
#include "collect/state.h"

enum {
	SHARE_HZ = 97,
	SHARE_MIN_CALLS = 50, /* calls needed before a function counts as short */
};

struct sharing {
	struct clocks clocks;
	uint32_t slot[PT_SHARES];
	unsigned int nr;
};

/* True if most calls of the function are shorter than a third of the correction for its
 * probes, or than the error of that correction. */
static bool is_short(const struct function *f, const struct pt_hist *h, uint32_t correction)
{
	uint64_t limit = correction / 3 > f->error_ns ? correction / 3 : f->error_ns, below = 0,
		 calls = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		calls += h->count[i];
		if (i <= pt_bucket(limit))
			below += h->count[i];
	}
	return calls >= SHARE_MIN_CALLS && below * 2 > calls;
}

/* The addresses of the function in the first target that maps its file. */
static bool range_of(const struct collector *c, const struct function *f, struct pt_share *out)
{
	for (unsigned int i = 0; f->meta->size && i < c->files.nr_mappings; i++) {
		const struct file_mapping *m = &c->files.mappings[i];

		if (m->module != f->meta->module_id || f->meta->offset < m->offset ||
		    f->meta->offset - m->offset >= m->end - m->start)
			continue;
		*out = (struct pt_share){.low = m->start + (f->meta->offset - m->offset),
					 .tgid = (uint32_t)m->pid};
		out->high = out->low + f->meta->size;
		return true;
	}
	return false;
}

void share_look(struct collector *c, uint32_t slot, const struct pt_hist *h)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	const struct function *f = c->slots[slot].function;
	struct pt_share share;

	if (!f || c->slots[slot].share || !is_short(f, h, control->correction[slot]) ||
	    !range_of(c, f, &share))
		return;
	if (!c->sharing)
		c->sharing = calloc(1, sizeof(*c->sharing));
	if (!c->sharing || c->sharing->nr == PT_SHARES)
		return;
	if (!c->sharing->clocks.nr)
		clocks_attach(&c->sharing->clocks, kernel_side_program(c->kernel, PROGRAM_SHARE),
			      control->nr_cpus, SHARE_HZ);
	control->shares[c->sharing->nr] = share;
	c->sharing->slot[c->sharing->nr] = slot;
	/* the tick counters start from 0 again, even if the function was sampled before */
	c->slots[slot].last_ticks = c->slots[slot].last_in = 0;
	c->slots[slot].share = ++c->sharing->nr;
}

void share_hold(struct collector *c)
{
	uint32_t armed = 0;

	for (unsigned int i = 0; i < c->functions.nr; i++)
		armed |= c->functions.list[i]->state != FUNCTION_OFF;
	__atomic_store_n(&kernel_side_control(c->kernel)->share_hold, armed, __ATOMIC_RELAXED);
}

void share_end(struct collector *c)
{
	if (!c->sharing)
		return;
	clocks_release(&c->sharing->clocks);
	for (unsigned int i = 0; i < c->sharing->nr; i++)
		c->slots[c->sharing->slot[i]].share = 0;
	free(c->sharing);
	c->sharing = NULL;
}
