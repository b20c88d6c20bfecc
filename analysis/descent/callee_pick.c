// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/callee_pick.h"

#include "analysis/base/array.h"

enum {
	MIN_WITNESSES = 5, /* fewer stack samples are not used */
	CHAIN_SHARE = 10,  /* follow a call site with 1/10 of the sampled time of its caller */
	/* a path may end in a function that has 1/4 of the sampled time in itself */
	END_SHARE = 4,
	SIBLINGS_SHARE = 2, /* siblings take at most half of the room that is left */
	RARE_PART = 20,	    /* a peak with less than 1/20 of f0's calls is rare */
	/* percent of a function's sampled time that passes in its own system calls */
	KERNEL_PART = 95,
	/* most call sites of the kernel that are armed at once: these are attached one by one */
	KERNEL_SITES = 16,
};

bool picked(const struct pick *p, uint32_t node)
{
	return any_of(i, p->nr, p->node[i] == node);
}

static uint32_t node_room(const struct pick *p)
{
	uint32_t most = 2 * p->d->ask.max_sites;

	return (most < DESCENT_MAX_ARMED ? most : DESCENT_MAX_ARMED) - p->nr;
}

uint32_t pick_room(const struct pick *p)
{
	uint32_t sites = p->d->ask.max_sites - p->nr_sites;

	return sites < node_room(p) ? sites : node_room(p);
}

/* Returns true if one more call site in this module fits into the set. */
static bool module_room(const struct pick *p, uint32_t module)
{
	return p->nr_sites < p->d->ask.max_sites &&
	       (module != REC_KERNEL_MODULE || p->nr_kernel < KERNEL_SITES);
}

/* Returns true if there is room for another call site, or the set has this one already for another
 * path. */
static bool site_room(const struct pick *p, struct rec_code site)
{
	if (module_room(p, site.module))
		return true;
	return any_of(i, p->nr_sites, code_equal(p->d->tree.node[p->site_of[i]].site_key, site));
}

/* Returns true if two fnodes need the same probes. */
static bool same_site(const struct fnode *a, const struct fnode *b)
{
	return code_equal(a->site_key, b->site_key) && a->last_key == b->last_key &&
	       a->only_callee == b->only_callee && (!a->only_callee || a->function == b->function);
}

bool pick_node(struct pick *p, uint32_t node)
{
	const struct fnode *n = &p->d->tree.node[node];
	uint32_t i;

	if (!node || picked(p, node))
		return true;
	if (!fnode_alive(n) || n->site == NO_INDEX || !pick_node(p, n->parent))
		return false;
	if (!node_room(p))
		return false;
	for (i = 0; i < p->nr_sites; i++)
		if (same_site(&p->d->tree.node[p->site_of[i]], n))
			break;
	if (i == p->nr_sites) {
		if (!module_room(p, n->site_key.module))
			return false;
		p->nr_kernel += n->site_key.module == REC_KERNEL_MODULE;
		p->site_of[p->nr_sites++] = node;
	}
	p->node[p->nr++] = node;
	p->nr_new += n->state == FNODE_UNTRIED;
	return true;
}

bool pick_expand(struct pick *p, uint32_t function)
{
	struct function_sites *f;

	if (function == NO_INDEX)
		return false;
	f = &p->d->tree.function[function];
	if (f->state == FUNCTION_NEW && p->d->nr_expand < DESCENT_QUEUE) {
		f->state = FUNCTION_ASKED;
		p->d->expand[p->d->nr_expand++] = function;
	}
	p->asked |= f->state == FUNCTION_NEW || f->state == FUNCTION_ASKED;
	return f->state == FUNCTION_KNOWN;
}

void pick_learn(struct pick *p, uint32_t node)
{
	struct fnode *n = &p->d->tree.node[node];

	/* a burst watches the site below its armed caller, of which a resumed descent has none yet
	 */
	if (n->discovered || !p->d->epoch_armed)
		return;
	if (!n->learn_asked && p->d->nr_learn < DESCENT_QUEUE) {
		n->learn_asked = true;
		p->d->learn[p->d->nr_learn++] = node;
	}
	p->asked = true;
}

/* --- sites that were never armed */

struct wanted_site {
	uint32_t site, last;
	uint64_t weight;
};

static int compare_wanted_sites(const void *a, const void *b)
{
	const struct wanted_site *x = a, *y = b;

	return descending(x->weight, y->weight) ?: ascending(x->site, y->site);
}

/* Returns true if fnodes for certain callees of this call site exist. */
static bool has_known_callees(const struct descent *d, uint32_t node, uint32_t site)
{
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next)
		if (d->tree.node[id].site == site && d->tree.node[id].only_callee)
			return true;
	return false;
}

/* Returns true if the call site is in a basic block that was opened. */
static bool in_opened_block(const struct descent *d, uint32_t node, uint32_t site)
{
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		const struct fnode *n = &d->tree.node[id];

		if (n->replaced && n->last != n->site && n->site != NO_INDEX && site >= n->site &&
		    site <= n->last)
			return true;
	}
	return false;
}

/* Lists the call sites of `node` that were never armed, with their sampled time as weight. If there
 * is no room for all, lists basic blocks as one entry each. Returns the number of entries. */
static uint32_t list_wanted_sites(const struct pick *p, uint32_t node,
				  struct wanted_site *wanted_site, uint32_t room)
{
	const struct fnode *n = &p->d->tree.node[node];
	const struct function_sites *f = fnode_function(&p->d->tree, node);
	bool blocks = f->nr_sites - n->nr_tried > room;
	struct witness_set own, callee;
	uint32_t nr = 0;

	fnode_witness_set(p->d, node, &own);
	for (uint32_t i = 0; i < f->nr_sites; i++) {
		const struct rec_call_site *s = &f->sites[i];
		struct rec_code ret = {f->key.module, s->ret};

		if (fnode_tried(n, i))
			continue;
		wanted_site[nr] = (struct wanted_site){.site = i, .last = i};
		if (in_opened_block(p->d, node, i)) {
			wanted_site[nr++].weight = UINT64_MAX;
			continue;
		}
		while (blocks && s->block && wanted_site[nr].last + 1 < f->nr_sites &&
		       f->sites[wanted_site[nr].last + 1].block == s->block &&
		       !fnode_tried(n, wanted_site[nr].last + 1) &&
		       !in_opened_block(p->d, node, wanted_site[nr].last + 1))
			wanted_site[nr].last++;
		if (!p->d->ask.level_by_level && witnesses_count(p->d->witnesses)) {
			witness_set_callee(p->d->witnesses, &own, ret, s->callee, &callee);
			wanted_site[nr].weight = witness_set_weight(p->d->witnesses, &callee);
		}
		i = wanted_site[nr++].last;
	}
	return nr;
}

static bool witnessed_now(const struct pick *p, uint32_t node)
{
	return any_of(i, p->nr_witnessed, p->witnessed[i] == node);
}

/* Adds the fnodes of a call site whose callees were learnt before. Returns false if they were not
 * learnt. */
static bool pick_discovered_callees(struct pick *p, uint32_t node, uint32_t site)
{
	struct ftree *t = &p->d->tree;

	if (!ftree_site_discovered(t, node, site))
		return false;
	for (uint32_t id = t->node[node].first_child; id != NO_INDEX; id = t->node[id].next)
		if (t->node[id].site == site && t->node[id].only_callee)
			pick_node(p, id);
	return true;
}

/* Create an fnode for the wanted call site and select it. False if there is no room. */
static bool take_wanted_site(struct pick *p, uint32_t node, const struct wanted_site *w)
{
	const struct function_sites *f = fnode_function(&p->d->tree, node);
	struct rec_code any = {0, 0};
	struct rec_code callee = w->last == w->site ? f->sites[w->site].callee : any;
	int id;

	if (!site_room(p, (struct rec_code){f->key.module, f->sites[w->site].offset}))
		return false;

	if (!callee.module && w->last == w->site && has_known_callees(p->d, node, w->site)) {
		/* Some callees are known and were measured: learn the others, rather than time all
		 * of them as one. */
		if (witnessed_now(p, node))
			return true;
		if (pick_discovered_callees(p, node, w->site))
			return true;
		id = ftree_node(&p->d->tree, node, w->site, w->site, any);
		if (id >= 0)
			pick_learn(p, (uint32_t)id);
		return id >= 0;
	}
	id = ftree_node(&p->d->tree, node, w->site, w->last, callee);
	if (id == -ENOMEM)
		p->err = id;
	return id >= 0 && pick_node(p, (uint32_t)id);
}

void pick_untried(struct pick *p, uint32_t node, uint32_t max)
{
	struct function_sites *f = fnode_function(&p->d->tree, node);
	uint32_t room, nr;
	struct wanted_site *wanted_site;

	for (uint32_t id = p->d->tree.node[node].first_child; id != NO_INDEX;
	     id = p->d->tree.node[id].next)
		if (p->d->tree.node[id].pending)
			pick_node(p, id);
	if (!f->nr_sites || !node_room(p))
		return;
	wanted_site = calloc(f->nr_sites, sizeof(*wanted_site));
	if (!wanted_site) {
		p->err = -ENOMEM;
		return;
	}
	room = pick_room(p);
	nr = list_wanted_sites(p, node, wanted_site, room < max ? room : max);
	qsort(wanted_site, nr, sizeof(*wanted_site), compare_wanted_sites);
	for (uint32_t i = 0; i < nr && i < max && !p->err; i++)
		if (!take_wanted_site(p, node, &wanted_site[i]) && !node_room(p))
			break;
	free(wanted_site);
}

void fnode_witness_set(const struct descent *d, uint32_t node, struct witness_set *out)
{
	const struct fnode *n = &d->tree.node[node];
	struct rec_code callee = {0, 0}, ret = {n->site_key.module, n->ret};
	struct witness_set caller;

	if (!node) {
		witness_set_root(d->witnesses, out);
		return;
	}
	fnode_witness_set(d, n->parent, &caller);
	if (n->function != NO_INDEX)
		callee = d->tree.function[n->function].key;
	witness_set_callee(d->witnesses, &caller, ret, callee, out);
}

bool fnode_is_call_of_kernel(const struct descent *d, uint32_t node)
{
	const struct witnesses *w = d->witnesses;
	struct witness_set own;

	if (d->ask.level_by_level)
		return false;
	fnode_witness_set(d, node, &own);
	return witness_set_stacks(w, &own) >= MIN_WITNESSES &&
	       witness_set_own_kernel(w, &own) * 100 >= witness_set_weight(w, &own) * KERNEL_PART;
}

static void add_end(struct pick *p, uint32_t node)
{
	for (uint32_t i = 0; i < p->nr_ends; i++)
		if (p->end[i] == node)
			return;
	if (p->nr_ends < DESCENT_MAX_ARMED)
		p->end[p->nr_ends++] = node;
}

static void follow(struct pick *p, uint32_t node, uint32_t site, struct rec_code callee)
{
	int id = ftree_node(&p->d->tree, node, site, site, callee);

	if (id == -ENOMEM)
		p->err = id;
	if (id >= 0 && pick_node(p, (uint32_t)id))
		pick_witnessed(p, (uint32_t)id);
}

/* Follows the functions that were seen below a call site whose callee is not in the code (an
 * indirect call). */
static void follow_seen(struct pick *p, uint32_t node, uint32_t site,
			const struct witness_set *seen, uint64_t enough)
{
	unsigned int k;
	uint64_t ns;

	for (unsigned int i = 0; i < seen->nr_at; i++) {
		struct rec_code callee = witnesses_node(p->d->witnesses, seen->at[i])->function;

		for (k = 0; k < i; k++)
			if (code_equal(witnesses_node(p->d->witnesses, seen->at[k])->function,
				       callee))
				break;
		if (k < i)
			continue;
		for (ns = 0; k < seen->nr_at; k++)
			if (code_equal(witnesses_node(p->d->witnesses, seen->at[k])->function,
				       callee))
				ns += witnesses_node(p->d->witnesses, seen->at[k])->weight_ns;
		if (ns && ns >= enough)
			follow(p, node, site, callee);
	}
}

static void follow_sites(struct pick *p, uint32_t node, const struct witness_set *own,
			 uint64_t enough)
{
	uint32_t number = p->d->tree.node[node].function, i;
	struct witness_set callee;
	uint64_t ns;

	for (i = 0; i < p->d->tree.function[number].nr_sites && !p->err; i++) {
		/* a copy, because follow() may move the array of functions */
		struct rec_call_site s = p->d->tree.function[number].sites[i];
		struct rec_code ret = {p->d->tree.function[number].key.module, s.ret};

		if ((s.flags & CALL_SITE_NORETURN) || !(s.flags & CALL_SITE_TIMED))
			continue;
		witness_set_callee(p->d->witnesses, own, ret, s.callee, &callee);
		ns = witness_set_weight(p->d->witnesses, &callee);
		if (!ns || ns < enough)
			continue;
		if (s.callee.module)
			follow(p, node, i, s.callee);
		else
			follow_seen(p, node, i, &callee, enough);
	}
}

bool pick_witnessed(struct pick *p, uint32_t node)
{
	const struct fnode *n = &p->d->tree.node[node];
	const struct witnesses *w = p->d->witnesses;
	uint64_t all, own_ns, enough;
	struct witness_set own;

	if (p->d->ask.level_by_level || witnesses_count(w) < MIN_WITNESSES || n->by_witness ||
	    n->closed || n->depth >= p->d->ask.max_depth)
		return false;
	fnode_witness_set(p->d, node, &own);
	all = witness_set_weight(w, &own);
	if (!all || !pick_expand(p, n->function))
		return false;
	if (ftree_open(&p->d->tree, node))
		return false;
	if (p->nr_witnessed < DESCENT_MAX_ARMED)
		p->witnessed[p->nr_witnessed++] = node;
	own_ns = witness_set_own_run(w, &own) + witness_set_own_sleep(w, &own);
	enough = (all + CHAIN_SHARE - 1) / CHAIN_SHARE;
	follow_sites(p, node, &own, enough);
	if (own_ns >= (all + END_SHARE - 1) / END_SHARE)
		add_end(p, node);
	return true;
}

/* Returns true if few calls of f0 are in the peak. Then probes that all calls execute cost more
 * than all other probes. */
static bool peak_is_rare(const struct descent *d)
{
	const struct profile *start = &d->change.start;
	struct bucket_range range = {pt_bucket(d->ask.low_ns), pt_bucket(d->ask.high_ns - 1) + 1};

	if (range.high > PT_BUCKETS)
		range.high = PT_BUCKETS;
	return profile_range_calls(start, range) * RARE_PART < start->calls;
}

void pick_siblings(struct pick *p, uint32_t node)
{
	uint32_t caller = p->d->tree.node[node].parent, site = p->d->tree.node[node].site;
	uint32_t left = pick_room(p) / SIBLINGS_SHARE, distance, k;
	const struct fnode *n;
	struct function_sites *f;

	if (!node || site == NO_INDEX || (!caller && peak_is_rare(p->d)))
		return;
	n = &p->d->tree.node[caller];
	f = fnode_function(&p->d->tree, caller);
	if (!n->tried || !f)
		return;
	if (left > DESCENT_SIBLINGS)
		left = DESCENT_SIBLINGS;
	/* Nearest first: the calls just before and after it. */
	for (distance = 1; left && distance < f->nr_sites; distance++) {
		for (k = 0; k < 2 && left; k++) {
			uint32_t at = k ? site + distance : site - distance;
			struct wanted_site w = {.site = at, .last = at};

			if (at >= f->nr_sites || fnode_tried(&p->d->tree.node[caller], at) ||
			    (f->sites[at].flags & CALL_SITE_LOOP) || !f->sites[at].callee.module)
				continue;
			if (!take_wanted_site(p, caller, &w))
				return;
			f = fnode_function(&p->d->tree, caller);
			left--;
		}
	}
}
