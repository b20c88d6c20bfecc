// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes what the armed set of a descent costs the target, and removes sites that cost too
 * much. */
#include "collect/descend.h"
#include "collect/descend_state.h"
#include "collect/learn.h"
#include "collect/stream.h"

#define SECOND_NS 1000000000ull

enum {
	SET_FUSE_PART = 2,    /* all sites may take 1/2 of the targets' CPU time */
	SET_FUSE_PASSES = 64, /* hits per call of f0 from which a site counts as a loop */
};

void descend_node_lost(struct collector *c, const struct descent_arming *d,
		       const struct node_site *s, uint32_t reason)
{
	struct record rec = {.type = REC_FNODE_LOST};

	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct req_fnode *n = &d->nodes[i];

		if ((n->start.module != s->module || n->start.offset != s->offset) &&
		    (n->end.module != s->module || n->end.offset != s->offset))
			continue;
		rec.fnode_lost =
		    (struct rec_fnode_lost){.epoch = d->epoch, .node = n->node, .reason = reason};
		send_record(c, &rec);
	}
}

static void site_blow(struct collector *c, struct descent_arming *d, struct node_site *s)
{
	s->dead = true;
	descend_node_lost(c, d, s, FNODE_BLOWN);
	if (s->module != REC_KERNEL_MODULE) {
		d->attach_again = true;
		return;
	}
	descend_kernel_give_up(d, s);
	/* an fnode that begins there may be open, and would not be seen to end */
	kernel_side_control(c->kernel)->descend_burst++;
}

/*
 * Remove the most expensive site if the whole set costs too much. The BPF programs detect loops
 * only in calls of f0 that they saw begin. In a call that began earlier, or outside of f0,
 * several sites of a loop can take nearly all of the target's time while each stays below its
 * own fuse.
 */
static void set_fuse(struct collector *c, struct descent_arming *d)
{
	uint64_t begun = function_starts(c, d->function, NULL), calls = begun - d->renewed_begun,
		 most = 0;
	uint64_t cpu = targets_cpu_ns(c),
		 ran = cpu > d->renewed_cpu_ns ? cpu - d->renewed_cpu_ns : 0;
	struct node_site *dearest = NULL;

	for (uint32_t i = 0; i < d->nr_sites; i++) {
		struct node_site *s = &d->sites[i];
		uint32_t hits = s->seen - s->renewed;

		s->renewed = s->seen;
		if (s->dead || s->shared || s->module == REC_KERNEL_MODULE ||
		    hits < (calls + 1) * SET_FUSE_PASSES ||
		    hits * (uint64_t)c->cost.hit[s->class] <= most)
			continue;
		most = hits * (uint64_t)c->cost.hit[s->class];
		dearest = s;
	}
	if (dearest && d->renewed_cpu_ns && d->window_ns * SET_FUSE_PART > ran)
		site_blow(c, d, dearest);
	d->renewed_cpu_ns = cpu;
	d->renewed_begun = begun;
	d->window_ns = 0;
}

/* Cost of a hit of this site and of the end of the fnode that begins there, ns. */
static uint64_t pass_ns(const struct collector *c, const struct descent_arming *d,
			const struct node_site *s)
{
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct req_fnode *n = &d->nodes[i];

		if (s->module == REC_KERNEL_MODULE)
			return 2ull * c->cost.kernel;
		if (n->start.module == s->module && n->start.offset == s->offset)
			return budget_hit_ns(c, s->class) +
			       (n->end.module ? budget_hit_ns(c, n->end.class) : 0);
	}
	return budget_hit_ns(c, s->class);
}

/* Cost of a hit of this site, ns. */
static uint64_t hit_ns(const struct collector *c, const struct node_site *s)
{
	return s->module == REC_KERNEL_MODULE ? c->cost.kernel : budget_hit_ns(c, s->class);
}

/*
 * Remove a site whose hits are mostly not on the path, as in a library function that the whole
 * program calls: these hits cost as much as the others. The limit is one second's budget.
 * Otherwise calls of the peak would wait for the budget; without the site only the innermost
 * part of the path is not timed.
 */
static void outside_fuse(struct collector *c, struct descent_arming *d, struct node_site *s,
			 uint32_t hits)
{
	struct pt_site *site = &kernel_side_sites(c->kernel)[s->index];
	uint32_t opened;

	if (s->dead || !(site->flags & PT_SITE_FNODE_START) || budget_is_unlimited(c))
		return;
	opened = __atomic_exchange_n(&site->opened, 0, __ATOMIC_RELAXED);
	/* while f0 is off, passes in its calls open none either */
	if (hits > opened && (s->module != REC_KERNEL_MODULE || d->kernel_counts))
		s->outside_ns += (hits - opened) * pass_ns(c, d, s);
	if (s->outside_ns > (uint64_t)budget_of(c, SECOND_NS))
		site_blow(c, d, s);
}

uint64_t descend_sites_spending(struct collector *c, bool of_kernel)
{
	struct pt_site *table = kernel_side_sites(c->kernel);
	struct descent_arming *d = c->descent;
	uint64_t cost = 0;
	uint32_t hits;

	for (uint32_t i = 0; i < d->nr_sites; i++) {
		struct pt_site *s = &table[d->sites[i].index];
		uint64_t now = __atomic_load_n(&s->hits, __ATOMIC_RELAXED);

		if (d->sites[i].shared || (d->sites[i].module == REC_KERNEL_MODULE) != of_kernel)
			continue;
		hits = (uint32_t)now - d->sites[i].seen;
		cost += hits * hit_ns(c, &d->sites[i]);
		d->sites[i].seen = (uint32_t)now;
		outside_fuse(c, d, &d->sites[i], hits);
	}
	return cost;
}

uint64_t descend_spending(struct collector *c, const struct function *f)
{
	struct descent_arming *d = c->descent;
	uint64_t cost, at = now_ns();
	bool renew;

	if (!descend_is_of(c, f))
		return 0;
	cost = learn_spending(c);
	renew = at - d->renewed_ns >= DESCEND_FUSE_NS;
	if (renew)
		d->renewed_ns = at;
	cost += descend_sites_spending(c, false);
	d->spent_ns += cost;
	d->window_ns += cost;
	if (renew)
		set_fuse(c, d);
	return cost;
}

uint64_t descend_cost_of_call(struct collector *c, uint32_t slot, uint64_t calls)
{
	struct descent_arming *d = c->descent;
	uint64_t cost;

	if (!d || d->slot != slot || !calls)
		return 0;
	cost = d->spent_ns / calls;
	d->spent_ns = 0;
	return cost;
}

bool descend_blown(struct collector *c, uint32_t site_index)
{
	struct descent_arming *d = c->descent;

	for (uint32_t i = 0; d && i < d->nr_sites; i++) {
		if (d->sites[i].index != site_index || d->sites[i].shared)
			continue;
		if (d->sites[i].dead)
			return true;
		site_blow(c, d, &d->sites[i]);
		return true;
	}
	return false;
}

void descend_site_changed(struct collector *c, const struct descent_arming *d, struct node_site *s)
{
	s->dead = true;
	descend_node_lost(c, d, s, FNODE_REFUSED);
	if (!s->shared)
		send_note(c, NOTE_WARNING,
			  "%s+0x%llx: the code in memory differs from its file; it is not probed",
			  c->files.modules[s->module - 1].path, (unsigned long long)s->offset);
}

void descend_code_changed(struct collector *c, uint32_t module, uint64_t offset)
{
	struct descent_arming *d = c->descent;

	for (uint32_t i = 0; d && i < d->nr_sites; i++) {
		struct node_site *s = &d->sites[i];

		if (s->dead || s->module != module || s->offset != offset)
			continue;
		descend_site_changed(c, d, s);
		d->attach_again = !s->shared;
		descend_settle(c);
		return;
	}
}

void descend_settle(struct collector *c)
{
	struct descent_arming *d = c->descent;

	if (d && !d->tries && descend_wants_tries(c)) {
		d->tries = true;
		units_layers(c);
	}
	if (!d || !d->attach_again)
		return;
	d->attach_again = false;
	if (!d->function)
		return;
	/* the sites of the kernel stay attached: calls in which they are hit without those of their
	 * callers do not count */
	if (d->kernel_on)
		kernel_side_control(c->kernel)->descend_burst++;
	descend_links_release(d);
	if (d->function->state == FUNCTION_ON)
		descend_attach(c, d->function);
}
