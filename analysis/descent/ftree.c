// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/ftree.h"
#include "analysis/base/array.h"

#include <math.h>

enum { FUNCTION_SLOTS = 2 * FTREE_MAX_FUNCTIONS };

/* Standard deviations from which on the votes of two runs contradict each other. */
#define CONTRADICTS 3

enum {
	/* a saved callee with less than 1/8 of its caller's time need not be armed again */
	SAVED_PART = 8,
};

static uint32_t hash(struct rec_code key)
{
	uint64_t h = (key.offset ^ ((uint64_t)key.module << 40)) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 40) % FUNCTION_SLOTS;
}

/* Returns the slot that holds `key`, or the free slot for it. */
static uint32_t *function_slot(const struct ftree *t, struct rec_code key)
{
	uint32_t i = hash(key);

	while (t->slot[i] != NO_INDEX && !code_equal(t->function[t->slot[i]].key, key))
		i = (i + 1) % FUNCTION_SLOTS;
	return &t->slot[i];
}

uint32_t ftree_find_function(const struct ftree *t, struct rec_code key)
{
	return key.module ? *function_slot(t, key) : NO_INDEX;
}

uint32_t ftree_function(struct ftree *t, struct rec_code key)
{
	uint32_t *slot;

	if (!key.module)
		return NO_INDEX;
	slot = function_slot(t, key);
	if (*slot != NO_INDEX)
		return *slot;
	if (array_grow(t->function, t->nr_functions, t->cap_functions, FTREE_MAX_FUNCTIONS))
		return NO_INDEX;
	t->function[t->nr_functions] = (struct function_sites){.key = key};
	return *slot = t->nr_functions++;
}

/* Adds an fnode under `parent` (NO_INDEX for f0), behind its other children. Returns its number,
 * -ENOSPC or -ENOMEM. */
static int add_node(struct ftree *t, uint32_t parent, struct rec_code callee)
{
	uint32_t function = ftree_function(t, callee), id = t->nr_nodes;
	struct fnode *n;

	if (id == DESCENT_MAX_NODES)
		return -ENOSPC;
	if (array_grow(t->node, id, t->cap_nodes, DESCENT_MAX_NODES))
		return -ENOMEM;
	n = &t->node[id];
	*n = (struct fnode){
	    .id = id,
	    .parent = parent,
	    .function = function,
	    .site = NO_INDEX,
	    .last = NO_INDEX,
	    .first_child = NO_INDEX,
	    .last_child = NO_INDEX,
	    .next = NO_INDEX,
	};
	t->nr_nodes++;
	if (parent == NO_INDEX)
		return (int)id;
	n->depth = t->node[parent].depth + 1;
	if (t->node[parent].last_child == NO_INDEX)
		t->node[parent].first_child = id;
	else
		t->node[t->node[parent].last_child].next = id;
	t->node[parent].last_child = id;
	return (int)id;
}

int ftree_init(struct ftree *t, struct rec_code f0)
{
	int root;

	memset(t, 0, sizeof(*t));
	t->slot = malloc(FUNCTION_SLOTS * sizeof(*t->slot));
	if (!t->slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < FUNCTION_SLOTS; i++)
		t->slot[i] = NO_INDEX;
	root = add_node(t, NO_INDEX, f0);
	return root < 0 ? root : 0;
}

void ftree_release(struct ftree *t)
{
	for (uint32_t i = 0; i < t->nr_functions; i++)
		free(t->function[i].sites);
	for (uint32_t i = 0; i < t->nr_nodes; i++)
		free(t->node[i].tried);
	free(t->function);
	free(t->node);
	free(t->slot);
	memset(t, 0, sizeof(*t));
}

bool ftree_site_discovered(const struct ftree *t, uint32_t parent, uint32_t site)
{
	for (uint32_t id = t->node[parent].first_child; id != NO_INDEX; id = t->node[id].next)
		if (t->node[id].site == site && t->node[id].discovered && t->node[id].replaced)
			return true;
	return false;
}

struct function_sites *fnode_function(const struct ftree *t, uint32_t node)
{
	uint32_t f = t->node[node].function;

	return f == NO_INDEX ? NULL : &t->function[f];
}

static struct rec_code callee_key(const struct ftree *t, const struct fnode *n)
{
	return n->function == NO_INDEX ? (struct rec_code){0, 0} : t->function[n->function].key;
}

/* Binds an fnode to call sites `site` to `last` of its caller and copies their properties. */
static void bind(struct ftree *t, struct fnode *n, uint32_t site, uint32_t last)
{
	const struct function_sites *f = fnode_function(t, n->parent);
	const struct rec_call_site *s = &f->sites[site], *l = &f->sites[last];

	n->site = site;
	n->last = last;
	n->site_key = (struct rec_code){f->key.module, s->offset};
	n->last_key = last == site ? 0 : l->offset;
	n->ret = s->ret;
	n->last_ret = last == site ? 0 : l->ret;
	n->kind = (enum callee_kind)s->kind;
	n->in_loop = s->flags & CALL_SITE_LOOP;
	/* For a block, only the cost of its own pair of probes: its members have probes only when
	 * they are armed themselves. */
	n->inside_ns = s->inside_ns;
	n->total_ns = s->total_ns;
	n->only_callee = !s->callee.module && n->function != NO_INDEX;
	for (uint32_t i = site; i <= last; i++)
		n->in_loop |= !!(f->sites[i].flags & CALL_SITE_LOOP);
}

int ftree_node(struct ftree *t, uint32_t parent, uint32_t site, uint32_t last,
	       struct rec_code callee)
{
	int made;

	for (uint32_t id = t->node[parent].first_child; id != NO_INDEX; id = t->node[id].next) {
		const struct fnode *n = &t->node[id];

		if (n->site != site || n->last != last)
			continue;
		if (code_equal(callee_key(t, n), callee))
			return (int)id;
		/* The fnode for any callee of this site, which turned out to have one callee
		 * only. */
		if (!callee.module && n->discovered && !n->only_callee)
			return (int)id;
	}
	made = add_node(t, parent, callee);
	if (made >= 0)
		bind(t, &t->node[made], site, last);
	return made;
}

static bool is_given_up(uint32_t state)
{
	return state == FNODE_HOT || state == FNODE_UNTIMED;
}

int ftree_restore(struct ftree *t, const struct rec_fnode *saved, uint32_t parent)
{
	struct fnode *n;
	int id = 0;

	if (parent != NO_INDEX)
		id = add_node(t, parent, saved->callee);
	if (id < 0)
		return id;
	n = &t->node[id];
	n->site_key = saved->site;
	n->last_key = saved->last_site;
	n->restored = true;
	n->maxcount = n->saved.maxcount = saved->maxcount;
	n->votes = n->saved.votes = saved->votes;
	for (int i = 0; i < CANDIDATES; i++)
		n->own[i] = n->saved.own[i] = saved->own[i];
	n->decisions = (unsigned int)saved->decisions;
	n->saved_records = saved->records;
	n->saved_max_ns = saved->max_sum_ns;
	if (is_given_up(saved->state))
		n->state = (enum descent_node_state)saved->state;
	return id;
}

static uint32_t find_site(const struct function_sites *f, uint64_t offset)
{
	uint32_t low = lower_bound(i, f->nr_sites, f->sites[i].offset < offset);

	return low < f->nr_sites && f->sites[low].offset == offset ? low : NO_INDEX;
}

/* Returns true if the call site still calls the callee of the restored fnode. */
static bool calls_the_same(const struct ftree *t, const struct fnode *n,
			   const struct rec_call_site *s)
{
	if (s->flags & CALL_SITE_NORETURN)
		return false;
	return n->last_key || n->function == NO_INDEX || !s->callee.module ||
	       code_equal(s->callee, callee_key(t, n));
}

void fnode_give_up(struct ftree *t, uint32_t node)
{
	const struct fnode *n = &t->node[node];
	struct fnode *caller = &t->node[n->parent];
	struct function_sites *f = fnode_function(t, n->parent);

	caller->unmeasured = true;
	caller->hot_loop |= n->state == FNODE_HOT && n->in_loop;
	if (n->site == NO_INDEX || n->only_callee || n->last != n->site || !f)
		return;
	f->sites[n->site].flags &= ~(uint32_t)CALL_SITE_TIMED;
	if (n->state == FNODE_HOT)
		f->sites[n->site].flags |= SITE_IS_HOT;
}

/* Returns true if the saved session has decided about this callee: it takes next to nothing. */
static bool was_dropped(const struct ftree *t, const struct fnode *n)
{
	const struct fnode *caller = &t->node[n->parent];
	double mean = (double)n->saved_max_ns / (double)n->saved_records,
	       of = (double)caller->saved_max_ns / (double)caller->saved_records;

	return caller->saved.votes >= SAVED_LEAST && n->saved_records && caller->saved_records &&
	       !n->saved.maxcount && !n->only_callee && mean * SAVED_PART < of;
}

/* Returns the call site of a restored fnode, or NO_INDEX. Nobody reads the kernel's code: the call
 * sites of its functions, and those of system calls, are what the saved session knew of them. */
static uint32_t site_of_restored(struct ftree *t, const struct fnode *n)
{
	const struct fnode *caller = &t->node[n->parent];
	const struct rec_code callee = callee_key(t, n);
	uint32_t site = find_site(fnode_function(t, n->parent), n->site_key.offset);
	const struct rec_call_site s = {.offset = n->site_key.offset,
					.ret = n->site_key.offset + 1,
					.kind = CALLEE_DIRECT,
					.flags = CALL_SITE_TIMED,
					.callee = callee};

	if (site != NO_INDEX || callee.module != REC_KERNEL_MODULE || n->last_key)
		return site;
	if (ftree_add_site(t, caller->function, &s))
		return NO_INDEX;
	return find_site(fnode_function(t, n->parent), s.offset);
}

/* Binds the restored fnodes under `parent`, whose call sites are known now. Returns 0. */
static int ftree_bind(struct ftree *t, uint32_t parent)
{
	const struct function_sites *f = fnode_function(t, parent);
	uint32_t site, last;

	for (uint32_t id = t->node[parent].first_child; id != NO_INDEX; id = t->node[id].next) {
		struct fnode *n = &t->node[id];

		if (n->site != NO_INDEX || n->replaced)
			continue;
		site = site_of_restored(t, n);
		last = n->last_key ? find_site(f, n->last_key) : site;
		if (site == NO_INDEX || last == NO_INDEX || last < site ||
		    !calls_the_same(t, n, &f->sites[site])) {
			n->replaced =
			    true; /* the program was changed since the session was saved */
			continue;
		}
		bind(t, n, site, last);
		if (is_given_up(n->state)) /* as in the session that was saved */
			fnode_give_up(t, id);
		else
			n->trusted = was_dropped(t, n);
	}
	return 0;
}

bool fnode_tried(const struct fnode *n, uint32_t site)
{
	return n->tried[site / 8] & 1 << site % 8;
}

void fnode_set_tried(struct fnode *n, uint32_t site, bool tried)
{
	if (fnode_tried(n, site) == tried)
		return;
	n->tried[site / 8] ^= (uint8_t)(1 << site % 8);
	n->nr_tried += tried ? 1 : -1u;
}

int ftree_open(struct ftree *t, uint32_t node)
{
	struct fnode *n = &t->node[node];
	const struct function_sites *f = fnode_function(t, node);
	size_t bytes = f->nr_sites / 8 + 1;

	if (n->tried)
		return 0;
	if (t->tried_bytes + bytes > FTREE_MAX_TRIED)
		return -ENOSPC;
	n->tried = calloc(bytes, 1);
	if (!n->tried)
		return -ENOMEM;
	t->tried_bytes += bytes;
	n->unmeasured |= f->cut;
	for (uint32_t i = 0; i < f->nr_sites; i++) {
		if (f->sites[i].flags & CALL_SITE_NORETURN) {
			fnode_set_tried(n, i, true);
		} else if (!(f->sites[i].flags & CALL_SITE_TIMED)) {
			fnode_set_tried(n, i, true);
			n->unmeasured = true;
			n->hot_loop |= (f->sites[i].flags & SITE_IS_HOT) &&
				       (f->sites[i].flags & CALL_SITE_LOOP);
		}
	}
	ftree_bind(t, node);
	for (uint32_t id = n->first_child; id != NO_INDEX; id = t->node[id].next) {
		const struct fnode *c = &t->node[id];

		if (c->site == NO_INDEX || (c->state == FNODE_UNTRIED && !c->trusted) ||
		    c->only_callee)
			continue;
		for (uint32_t i = c->site; i <= c->last; i++)
			fnode_set_tried(n, i, true);
	}
	return 0;
}

bool fnode_complete(const struct ftree *t, uint32_t node)
{
	const struct fnode *n = &t->node[node];
	const struct function_sites *f = fnode_function(t, node);

	if (n->closed)
		return true;
	if (!f || f->state != FUNCTION_KNOWN)
		return false;
	if (!f->nr_sites)
		return true;
	if (!n->tried || n->nr_tried < f->nr_sites)
		return false;
	for (uint32_t id = n->first_child; id != NO_INDEX; id = t->node[id].next)
		if (t->node[id].pending)
			return false;
	return true;
}

void fnode_reset_votes(struct ftree *t, uint32_t node)
{
	struct fnode *n = &t->node[node];

	n->votes = n->saved.votes = 0;
	n->own_ns = n->loop_ns = 0;
	memset(n->own, 0, sizeof(n->own));
	memset(n->saved.own, 0, sizeof(n->saved.own));
	for (uint32_t id = n->first_child; id != NO_INDEX; id = t->node[id].next)
		t->node[id].maxcount = t->node[id].saved.maxcount = 0;
}

/* Returns true if the callee, which is armed, gets its votes as often as in the saved session, up
 * to CONTRADICTS standard deviations of its number of votes. */
static bool votes_as_saved(const struct fnode *caller, const struct fnode *n)
{
	double calls = (double)(caller->votes - caller->saved.votes),
	       part = fmin((double)n->saved.maxcount / (double)caller->saved.votes, 1),
	       error = (double)(n->maxcount - n->saved.maxcount) - part * calls;

	return fabs(error) <= CONTRADICTS * sqrt(1 + part * (1 - part) * calls);
}

bool fnode_distrust(struct ftree *t, uint32_t node)
{
	struct fnode *n = &t->node[node];
	bool any = false;

	for (uint32_t id = n->first_child; id != NO_INDEX; id = t->node[id].next) {
		struct fnode *c = &t->node[id];

		for (uint32_t i = c->site; c->trusted && n->tried && i <= c->last; i++)
			fnode_set_tried(n, i, false);
		any |= c->trusted;
		c->trusted = false;
	}
	return any;
}

void fnode_drop_saved_votes(struct ftree *t, uint32_t node)
{
	struct fnode *n = &t->node[node];
	bool same = true;

	for (uint32_t id = n->first_child; id != NO_INDEX && n->saved.votes; id = t->node[id].next)
		same &= t->node[id].state != FNODE_ARMED || votes_as_saved(n, &t->node[id]);
	if (same)
		return;
	fnode_distrust(t, node);
	t->contradicted++;
	n->votes -= n->saved.votes;
	n->saved.votes = 0;
	for (int i = 0; i < CANDIDATES; i++) {
		n->own[i] -= n->saved.own[i];
		n->saved.own[i] = 0;
	}
	for (uint32_t id = n->first_child; id != NO_INDEX; id = t->node[id].next) {
		t->node[id].maxcount -= t->node[id].saved.maxcount;
		t->node[id].saved.maxcount = 0;
	}
}

void fnode_sum_dropped(struct ftree *t, uint32_t node)
{
	struct dropped d = {0};

	for (uint32_t id = t->node[node].first_child; id != NO_INDEX; id = t->node[id].next) {
		const struct fnode *c = &t->node[id];
		double n = (double)c->all.records;

		if (c->state != FNODE_MEASURED || c->replaced || !c->all.records)
			continue;
		d.max += (double)c->all.max_ns / n;
		d.net += (double)c->all.net_ns / n;
		d.blocked += (double)c->all.blocked_ns / n;
		d.fault += (double)c->all.fault_ns / n;
		d.loop += (double)c->all.loop_ns / n;
		d.repeated += (double)c->all.repeated_ns / n;
	}
	t->node[node].dropped = d;
}
