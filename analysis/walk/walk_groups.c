// SPDX-License-Identifier: GPL-2.0-or-later
/* Joins threads of the same role: a busy thread is not told by the mean of it and idle ones. */

#include "analysis/base/array.h"
#include "analysis/walk/walk_tree.h"

#define NEARLY_ALL 0.9 /* of the time must be known by threads */

/* Returns the function below which a node lies, without those that only start a thread; 0: it is
 * not known. */
static uint32_t root_of(const struct walk_making *m, uint32_t node)
{
	const struct walk_tree_node *nodes = m->w->nodes;
	uint32_t root = node;

	for (uint32_t i = node; i && !walk_is_start(m, &nodes[i], 0); i = nodes[i].parent)
		root = i;
	return nodes[root].kind == WALK_FUNCTION ? root : 0;
}

/* Returns the root above the leaf in which the thread spent most time, of the leaves whose root is
 * known. */
static uint32_t role_of(const struct walk_making *m, const struct walk_thread *t)
{
	uint64_t most = 0;
	uint32_t role = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t root = t->leaf[i].all_ns > most ? root_of(m, t->leaf[i].node) : 0;

		if (!root)
			continue;
		most = t->leaf[i].all_ns;
		role = root;
	}
	return role;
}

static int busiest_first(const void *a, const void *b)
{
	const struct walk_group *x = a, *y = b;

	return descending(x->cpu_ns + x->runqueue_ns, y->cpu_ns + y->runqueue_ns)
	       ?: descending(x->sleep_ns, y->sleep_ns) ?: ascending(x->root, y->root);
}

/* Sleeps are known from the snapshots, which begin a little before the counts. */
static uint64_t at_least_known(const struct walk_thread *t)
{
	uint64_t known = t->cpu_ns + t->runqueue_ns + t->sleep_ns;

	return t->wall_ns > known ? t->wall_ns : known;
}

static void join(struct walk_group *g, const struct walk_group *other)
{
	g->threads += other->threads;
	g->wall_ns += other->wall_ns;
	g->cpu_ns += other->cpu_ns;
	g->runqueue_ns += other->runqueue_ns;
	g->sleep_ns += other->sleep_ns;
}

void walk_group_threads(struct walk_making *m)
{
	const struct walk *w = m->w;
	struct walk_group *list, *same;
	uint64_t counted = 0;
	uint32_t nr = 0, i, k;

	if (w->nr_judged < 2)
		return;
	list = calloc(w->nr_judged, sizeof(*list));
	for (i = 0; list && i < w->nr_judged; i++) {
		const struct walk_thread *t = &w->judged[i];
		struct walk_group one = {.root = role_of(m, t),
					 .threads = 1,
					 .wall_ns = at_least_known(t),
					 .cpu_ns = t->cpu_ns,
					 .runqueue_ns = t->runqueue_ns,
					 .sleep_ns = t->sleep_ns};

		if (!t->wall_ns)
			continue;
		counted += t->wall_ns;
		same = find_first(j, list, nr, list[j].root == one.root);
		if (same)
			join(same, &one);
		else
			list[nr++] = one;
	}
	/* of a crowd, and of threads that soon end, not every one is looked at */
	if (nr > 1 && (double)counted >= NEARLY_ALL * (double)w->wall_ns) {
		qsort(list, nr, sizeof(*list), busiest_first);
		for (k = WALK_GROUPS; k < nr; k++)
			join(&list[WALK_GROUPS - 1], &list[k]);
		if (nr > WALK_GROUPS)
			list[WALK_GROUPS - 1].root = 0;
		m->r->nr_groups = nr < WALK_GROUPS ? nr : WALK_GROUPS;
		for (k = 0; k < m->r->nr_groups; k++)
			m->r->groups[k] = list[k];
	}
	free(list);
}
