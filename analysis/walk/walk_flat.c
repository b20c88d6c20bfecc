// SPDX-License-Identifier: GPL-2.0-or-later
/* A flat profile: no path stands out, so list the functions with the most time of their own. */

#include "analysis/base/array.h"
#include "analysis/walk/walk_tree.h"

/* The share of the work that the largest path must hold to be reported as a path, alone or
 * beside many others. */
#define PATH_LEAST 0.1
#define PATH_LEAST_OF_MANY 0.2
#define TRUNK_LEAST 0.5 /* a function with a smaller share is not part of the common path */
#define TOP_LEAST 0.01	/* functions with a smaller share of their own are not listed */
enum { MANY_PATHS = 8, TOP_SNAPSHOTS = 2, MAX_TRUNK = WALK_MAX_FRAMES };

struct top_key {
	uint32_t node;
	enum walk_node_kind kind;
	struct rec_code function;
	uint32_t name;
	double ns;
	uint64_t snapshots;
};

static int key_order(const void *a, const void *b)
{
	const struct top_key *x = a, *y = b;

	return ascending(x->kind, y->kind) ?: ascending(x->function.module, y->function.module)
	       ?: ascending(x->function.offset, y->function.offset) ?: ascending(x->name, y->name)
	       ?: ascending(x->node, y->node);
}

static int time_order(const void *a, const void *b)
{
	const struct top_key *x = a, *y = b;

	return descending(x->ns, y->ns) ?: key_order(a, b);
}

/* The node to which a node's own time is attributed: in the kernel the system call, the
 * page fault or the interrupt. */
static uint32_t attributed_to(const struct walk *w, uint32_t i)
{
	while (w->nodes[i].kind == WALK_KERNEL && w->nodes[i].parent &&
	       (w->nodes[w->nodes[i].parent].kind == WALK_KERNEL ||
		w->nodes[w->nodes[i].parent].kind == WALK_SYSCALL))
		i = w->nodes[i].parent;
	return i;
}

/* Collects the own time of each function over all paths, largest first. Returns the number of
 * functions. */
static uint32_t keys_collect(const struct walk_making *m, struct top_key *keys)
{
	const struct walk *w = m->w;
	uint32_t nr = 0, kept = 0;

	for (uint32_t i = 1; i < w->nr_nodes; i++) {
		double ns = walk_own(m, &w->nodes[i], WALK_WORK);
		uint32_t as = attributed_to(w, i);
		const struct walk_tree_node *n = &w->nodes[as];

		if (ns > 0)
			keys[nr++] = (struct top_key){
			    as, n->kind, n->function, n->name, ns, w->nodes[i].self->snapshots};
	}
	qsort(keys, nr, sizeof(*keys), key_order);
	for (uint32_t i = 0; i < nr; i++) {
		struct top_key *last = kept ? &keys[kept - 1] : NULL;

		if (last && last->kind == keys[i].kind &&
		    last->function.module == keys[i].function.module &&
		    last->function.offset == keys[i].function.offset &&
		    last->name == keys[i].name) {
			last->ns += keys[i].ns;
			last->snapshots += keys[i].snapshots;
		} else {
			keys[kept++] = keys[i];
		}
	}
	qsort(keys, kept, sizeof(*keys), time_order);
	return kept;
}

static void tops_fill(struct walk_making *m, double work_ns)
{
	struct top_key *keys = calloc(m->w->nr_nodes, sizeof(*keys));
	struct walk_result *r = m->r;
	uint32_t nr;

	if (!keys) {
		m->failed = true;
		return;
	}
	nr = keys_collect(m, keys);
	for (uint32_t i = 0; i < nr && r->nr_tops < WALK_TOPS; i++) {
		if (keys[i].snapshots >= TOP_SNAPSHOTS && keys[i].ns >= TOP_LEAST * work_ns)
			r->tops[r->nr_tops++] = (struct walk_top){
			    keys[i].node, keys[i].ns / work_ns, keys[i].snapshots};
	}
	free(keys);
}

/* Returns the child with most time. Skips functions that only start programs or threads. */
static uint32_t heaviest_child(struct walk_making *m, uint32_t at, unsigned int depth, double *most)
{
	uint32_t best = NO_NODE;

	for (uint32_t i = m->w->nodes[at].first; i != NO_NODE; i = m->w->nodes[i].next) {
		const struct walk_tree_node *child = &m->w->nodes[i];
		double ns = walk_inclusive(m, child, WALK_WORK);
		uint32_t found = i;

		if (walk_is_start(m, child, depth)) {
			ns = 0;
			found = heaviest_child(m, i, depth, &ns);
		}
		if (found != NO_NODE && ns > *most) {
			*most = ns;
			best = found;
		}
	}
	return best;
}

/* Sets m->chain to the path from the root to the last node with the bulk of the work. Returns its
 * length: at least one frame if there is any work. */
static unsigned int trunk(struct walk_making *m, double work_ns, double *held)
{
	unsigned int depth = 0;
	uint32_t at = 0;

	while (depth < MAX_TRUNK) {
		double ns = 0;
		uint32_t next = heaviest_child(m, at, depth, &ns);

		if (next == NO_NODE || (depth && ns < TRUNK_LEAST * work_ns))
			break;
		m->chain[depth++] = next;
		*held = ns;
		at = next;
	}
	return depth;
}

void walk_flatten(struct walk_making *m, unsigned int from)
{
	double work_ns = walk_inclusive(m, &m->w->nodes[0], WALK_WORK), largest = 0, held = 0;
	unsigned int nr = m->r->nr_paths - from, depth;
	struct walk_path *p;

	for (unsigned int i = from; i < m->r->nr_paths; i++) {
		if (m->r->paths[i].share * m->total > largest)
			largest = m->r->paths[i].share * m->total;
	}
	if (work_ns <= 0 || largest >= PATH_LEAST_OF_MANY * work_ns ||
	    (nr <= MANY_PATHS && largest >= PATH_LEAST * work_ns))
		return;
	depth = trunk(m, work_ns, &held);
	if (!depth)
		return;
	for (unsigned int i = from; i < m->r->nr_paths; i++)
		free((uint32_t *)(uintptr_t)m->r->paths[i].frames);
	m->r->nr_paths = from;
	p = walk_path_new(m, depth);
	if (!p)
		return;
	p->flat = m->r->flat = true;
	p->share = held / m->total;
	p->of_class = m->class_ns > 0 ? held / m->class_ns : 0;
	p->cause.kind = CAUSE_UNMEASURED;
	p->snapshots = m->w->nodes[m->chain[depth - 1]].snapshots;
	p->evidence = EVIDENCE_SAMPLED;
	tops_fill(m, work_ns);
}
