// SPDX-License-Identifier: GPL-2.0-or-later
/* The shared lists of states: reference counts, folding, and what is forgotten. */

#include "analysis/base/array.h"
#include "analysis/waits/critical_impl.h"

enum { FIRST_ROOM = 4096 };

static uint32_t children_of(const struct path_node *n)
{
	return n->children & ~PATH_DETACHED;
}

int lists_init(struct critical *c)
{
	c->cap_nodes = FIRST_ROOM < c->config.max_nodes ? FIRST_ROOM : c->config.max_nodes;
	c->nodes = calloc(c->cap_nodes, sizeof(*c->nodes));
	if (!c->nodes)
		return -ENOMEM;
	c->root = 1;
	c->nr_nodes = 2;
	c->nodes[1].edge = NO_EDGE;
	c->nodes[1].state = UINT32_MAX;
	return 0;
}

static uint32_t node_new(struct critical *c)
{
	uint32_t i = c->free_node;

	if (i) {
		c->free_node = c->nodes[i].parent;
		/* it was freed long ago and is in no cache: a third of the time went by here */
		__builtin_prefetch(&c->nodes[c->free_node], 1);
	} else if (!array_grow(c->nodes, c->nr_nodes, c->cap_nodes, c->config.max_nodes)) {
		i = c->nr_nodes++;
	} else {
		return NO_NODE;
	}
	if (++c->used_nodes > c->most_nodes)
		c->most_nodes = c->used_nodes;
	return i;
}

static void node_free(struct critical *c, uint32_t i)
{
	c->nodes[i].parent = c->free_node;
	c->free_node = i;
	c->used_nodes--;
}

/* Time on the path that is known for good. */
static void fold_one(struct critical *c, const struct path_node *n)
{
	if (n->children & PATH_DETACHED) {
		/* what was folded before is not what this one goes on from */
		for (uint32_t i = 0; i < c->nr_states; i++)
			c->states[i].critical_ns = 0;
		for (uint32_t i = 0; i < c->nr_edges; i++)
			c->edges[i].critical_ns = 0;
	}
	c->states[n->state].critical_ns += n->ns;
	if (n->edge != NO_EDGE)
		c->edges[n->edge].critical_ns += n->ns;
}

/* While all paths go through one child of the root, that child becomes the root. */
static void fold(struct critical *c)
{
	struct path_node *root = &c->nodes[c->root];

	while (root->refs == 1 && children_of(root) == 1) {
		uint32_t old = c->root;

		c->root = root->child_sum;
		root = &c->nodes[c->root];
		fold_one(c, root);
		root->ns = 0;
		root->parent = NO_NODE;
		root->children &= ~PATH_DETACHED;
		if (old != 1)
			node_free(c, old);
	}
}

static void release(struct critical *c, uint32_t i)
{
	while (i != c->root && i != NO_NODE && !--c->nodes[i].refs) {
		uint32_t parent = c->nodes[i].parent;

		c->nodes[parent].children--;
		c->nodes[parent].child_sum -= i;
		node_free(c, i);
		i = parent;
	}
	if (i == c->root) {
		c->nodes[i].refs--;
		fold(c);
	}
}

/* ---- machines that hold a path, by age */

static void list_untouch(struct critical *c, struct machine *m)
{
	uint32_t self = (uint32_t)(m - c->machines);

	if (!m->older && !m->newer && c->oldest != self)
		return;
	if (m->older)
		c->machines[m->older].newer = m->newer;
	else
		c->oldest = m->newer;
	if (m->newer)
		c->machines[m->newer].older = m->older;
	else
		c->newest = m->older;
	m->older = m->newer = 0;
}

void list_touch(struct critical *c, struct machine *m)
{
	uint32_t self = (uint32_t)(m - c->machines);

	if (c->newest == self)
		return;
	list_untouch(c, m);
	if (m->node == NO_NODE)
		return;
	m->older = c->newest;
	if (c->newest)
		c->machines[c->newest].newer = self;
	else
		c->oldest = self;
	c->newest = self;
}

void list_release(struct critical *c, struct machine *m)
{
	uint32_t node = m->node;

	list_untouch(c, m);
	m->node = NO_NODE;
	if (node != NO_NODE)
		release(c, node);
}

/* Those that were idle longest keep their lengths only. */
static void forget(struct critical *c, const struct machine *but)
{
	uint32_t self = (uint32_t)(but - c->machines);
	uint32_t enough = c->config.max_nodes / 8 * 7;

	while (c->used_nodes > enough && c->oldest && c->oldest != self) {
		list_release(c, &c->machines[c->oldest]);
		c->forgotten++;
	}
}

static uint32_t edge_of(struct critical *c, uint32_t from, uint32_t to)
{
	uint32_t i, *bucket;

	if (from == UINT32_MAX || from == to)
		return NO_EDGE;
	bucket = &c->edge_bucket[(from * 0x9e3779b1u ^ to * 0x85ebca6bu) >> 8 & c->edge_mask];
	/* a few places behind its own; where these are taken, the edge is not told */
	for (unsigned int probe = 0; probe < 8; probe++) {
		i = bucket[probe];
		if (i && c->edges[i - 1].from == from && c->edges[i - 1].to == to) {
			c->edges[i - 1].count++;
			return i - 1;
		}
		if (!i && c->nr_edges < c->max_edges) {
			i = c->nr_edges++;
			bucket[probe] = i + 1;
			c->edges[i] =
			    (struct critical_edge_sum){.from = from, .to = to, .count = 1};
			return i;
		}
	}
	return NO_EDGE;
}

void list_append(struct critical *c, struct machine *m, uint32_t state, uint64_t ns)
{
	struct path_node *last = &c->nodes[m->node], *n;
	uint32_t i, parent;

	m->length += ns;
	if (m->node != NO_NODE && m->node != c->root && last->refs == 1 && last->state == state) {
		last->ns += ns;
		if (last->edge != NO_EDGE)
			c->edges[last->edge].ns += ns;
		return;
	}
	if (c->used_nodes > c->config.max_nodes / 16 * 15)
		forget(c, m);
	i = node_new(c);
	if (i == NO_NODE) {
		/* one path alone is longer than there is room */
		c->approximate = true;
		return;
	}
	parent = m->node == NO_NODE ? c->root : m->node;
	n = &c->nodes[i];
	*n = (struct path_node){.ns = ns, .parent = parent, .refs = 1, .state = state};
	n->edge = edge_of(c, m->node == NO_NODE ? UINT32_MAX : c->nodes[parent].state, state);
	if (n->edge != NO_EDGE)
		c->edges[n->edge].ns += ns;
	if (m->node == NO_NODE) {
		/* it had a path once: only how long it was is known */
		n->children = PATH_DETACHED;
		c->approximate |= m->length > ns;
	}
	/* the machine's reference becomes that of its new end */
	c->nodes[parent].refs += m->node == NO_NODE;
	c->nodes[parent].children++;
	c->nodes[parent].child_sum += i;
	m->node = i;
	if (parent == c->root)
		fold(c);
}

void list_share(struct critical *c, struct machine *to, const struct machine *from)
{
	uint32_t node = from->node, old = to->node;

	if (node != NO_NODE)
		c->nodes[node].refs++;
	to->node = node;
	to->length = from->length;
	if (node == NO_NODE)
		list_untouch(c, to);
	if (old != NO_NODE)
		release(c, old);
}
