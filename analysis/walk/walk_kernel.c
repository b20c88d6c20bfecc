// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths into the kernel. One system call waits at many places of the kernel for the same thing: an
 * fsync() waits for the writeback, for the journal and for the device's cache. Each place alone
 * looks small, so the time below a system call is divided by its causes and not by its places. */

#include "analysis/walk/walk_tree.h"

/* A path with callers leads before the same call without, if it has this part of its time. */
#define CALLERS_LEAST 0.25
/* The same for any path, if of the other one neither the callers nor the cause are known. */
#define KNOWN_LEAST 0.5
/* A cause with this share of all time is reported beside one that has far more. */
#define CAUSE_LEAST 0.1

/* The time below a system call, or below another entry into the kernel, with one kind of cause. */
struct group {
	enum cause_kind kind;
	double ns, run_ns;
	uint64_t snapshots;
	uint32_t above;	   /* the deepest node above all its places */
	uint32_t heaviest; /* the place with most time, which gives the cause its name */
	const struct cause *cause;
	double heaviest_ns;
	bool unsure;
};

enum { MAX_GROUPS = 16 };

struct groups {
	struct group list[MAX_GROUPS];
	unsigned int nr;
};

static uint32_t above_both(const struct walk *w, uint32_t a, uint32_t b)
{
	/* a child has a higher number than its parent */
	while (a != b) {
		if (a > b)
			a = w->nodes[a].parent;
		else
			b = w->nodes[b].parent;
	}
	return a;
}

static struct group *group_of(struct groups *g, enum cause_kind kind, uint32_t node)
{
	for (unsigned int i = 0; i < g->nr; i++) {
		if (g->list[i].kind == kind)
			return &g->list[i];
	}
	if (g->nr == MAX_GROUPS)
		return NULL;
	g->list[g->nr] = (struct group){.kind = kind, .above = node};
	return &g->list[g->nr++];
}

/* Adds `part` of the time of a place: that of one of its causes. */
static void cause_add(const struct walk_making *m, uint32_t index, const struct cause *cause,
		      double part, struct groups *g)
{
	const struct walk_tree_node *n = &m->w->nodes[index];
	double ns = walk_own(m, n, m->class) * part;
	struct group *group = group_of(g, cause->kind, index);

	if (!group)
		return;
	group->ns += ns;
	group->run_ns += m->class == WALK_WORK ? (double)n->self->run_ns * m->scale * part : 0;
	group->snapshots += (uint64_t)((double)n->self->snapshots * part + 0.5);
	group->above = above_both(m->w, group->above, index);
	group->unsure |= m->class == WALK_IDLE && walk_is_unsure(m, index);
	if (ns > group->heaviest_ns) {
		group->heaviest = index;
		group->cause = cause;
		group->heaviest_ns = ns;
	}
}

static void place_add(const struct walk_making *m, uint32_t index, struct groups *g)
{
	const struct walk_tree_node *n = &m->w->nodes[index];
	const struct cause_tally *t = walk_own(m, n, m->class) > 0 ? walk_own_causes(m, n) : NULL;
	const struct cause *top = t ? cause_tally_top(t) : NULL, *cause;
	double all = 0;

	for (unsigned int i = 0; top && i < t->nr; i++)
		all += (double)t->entry[i].ns;
	for (unsigned int i = 0; top && i < t->nr && all > 0; i++) {
		cause = &t->entry[i].cause;
		/* time without a cause of its own belongs to what the kernel mostly does there */
		cause_add(m, index, cause->kind == CAUSE_OWN_CODE ? top : cause,
			  (double)t->entry[i].ns / all, g);
	}
}

static void places_collect(const struct walk_making *m, uint32_t index, struct groups *g)
{
	place_add(m, index, g);
	for (uint32_t i = m->w->nodes[index].first; i != NO_NODE; i = m->w->nodes[i].next)
		places_collect(m, i, g);
}

/* Extends m->chain from `root`, its last node, down to `node`. Returns its length. */
static unsigned int chain_extend(struct walk_making *m, uint32_t root, uint32_t node,
				 unsigned int depth)
{
	unsigned int length = depth, limit = m->w->ask.max_depth + WALK_KERNEL_DEPTH;

	if (limit > WALK_MAX_FRAMES)
		limit = WALK_MAX_FRAMES;
	for (uint32_t i = node; i != root; i = m->w->nodes[i].parent)
		length++;
	for (; length > limit && node != root; length--)
		node = m->w->nodes[node].parent;
	for (unsigned int i = length; node != root; node = m->w->nodes[node].parent)
		m->chain[--i] = node;
	return length;
}

bool walk_follow_kernel(struct walk_making *m, uint32_t root, unsigned int depth)
{
	const struct walk_tree_node *n = &m->w->nodes[root];
	uint64_t few = n->snapshots > WALK_MIN_SNAPSHOTS ? WALK_MIN_SNAPSHOTS : 1;
	struct groups g = {.nr = 0};
	double most = 0;

	if ((n->kind != WALK_SYSCALL && n->kind != WALK_KERNEL) || depth >= WALK_MAX_FRAMES)
		return false;
	m->chain[depth++] = root;
	places_collect(m, root, &g);
	for (unsigned int i = 0; i < g.nr; i++)
		most = g.list[i].ns > most ? g.list[i].ns : most;
	for (unsigned int i = 0; i < g.nr && !m->failed; i++) {
		const struct group *group = &g.list[i];
		struct walk_path *p;

		if (group->snapshots < few || (group->ns < most * m->w->ask.maxcount_ppm / 1e6 &&
					       group->ns < CAUSE_LEAST * m->total))
			continue;
		p = walk_path_end(m, group->heaviest, chain_extend(m, root, group->above, depth),
				  group->ns, false);
		if (!p)
			break;
		/* another kind of cause may have more of the time of this place */
		if (group->kind != walk_own_cause(m, &m->w->nodes[group->heaviest])->kind)
			p->cause = *group->cause;
		p->snapshots = group->snapshots;
		p->unsure = group->unsure;
		p->evidence =
		    group->run_ns * 2 >= group->ns ? EVIDENCE_SAMPLED : EVIDENCE_WITNESSED;
	}
	return true;
}

/* The system call in which a path ends; NULL: none. */
static const char *call_of(const struct walk_result *r, const struct walk_path *p)
{
	for (unsigned int i = p->nr_frames; i-- > 0;) {
		if (r->nodes[p->frames[i]].kind == WALK_SYSCALL)
			return r->nodes[p->frames[i]].name;
	}
	return NULL;
}

static bool has_callers(const struct walk_result *r, const struct walk_path *p)
{
	return p->nr_frames && r->nodes[p->frames[0]].kind != WALK_UNKNOWN;
}

bool walk_is_same_call(const struct walk_result *r, const struct walk_path *p,
		       const struct walk_path *without)
{
	const char *call = call_of(r, p), *other = call_of(r, without);

	return call && other && !strcmp(call, other) && p->rank == without->rank &&
	       p->cause.kind == without->cause.kind && has_callers(r, p) &&
	       !has_callers(r, without);
}

/* True if `p` leads before the first path, whose callers are not known. */
static bool leads(const struct walk_result *r, const struct walk_path *p)
{
	const struct walk_path *first = &r->paths[0];

	if (walk_is_same_call(r, p, first))
		return p->share >= first->share * CALLERS_LEAST;
	return first->cause.kind == CAUSE_UNKNOWN && p->rank == first->rank && has_callers(r, p) &&
	       p->cause.kind != CAUSE_RUN_QUEUE && p->share >= first->share * KNOWN_LEAST;
}

void walk_prefer_callers(struct walk_result *r)
{
	if (!r->nr_paths || has_callers(r, &r->paths[0]))
		return;
	for (unsigned int i = 1; i < r->nr_paths; i++) {
		struct walk_path p = r->paths[i];

		if (!leads(r, &p))
			continue;
		memmove(&r->paths[1], &r->paths[0], i * sizeof(r->paths[0]));
		r->paths[0] = p;
		return;
	}
}
