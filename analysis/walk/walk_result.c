// SPDX-License-Identifier: GPL-2.0-or-later
/* What to follow in the tree of a walk, and what it comes to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/walk/walk_tree.h"

enum { MIN_LOOKS = 2 /* a single look is an accident */ };
#define LEAST_OF_FIRST 0.1 /* a path that is shorter than this part of its kind's first is not told */

struct making {
	const struct walk *w;
	struct walk_result *r;
	walk_starts_fn starts;
	void *ctx;
	double scale, total;
	enum walk_class class;
	double class_ns;
	uint32_t chain[WALK_MAX_FRAMES];
	bool failed;
};

static double inclusive(const struct making *m, const struct tree_node *n, enum walk_class class)
{
	return (class == WALK_WORK ? (double)n->run_ns * m->scale : 0) + (double)n->wait_ns[class];
}

static double own(const struct making *m, const struct tree_node *n, enum walk_class class)
{
	if (!n->self)
		return 0;
	return (class == WALK_WORK ? (double)n->self->run_ns * m->scale : 0) + (double)n->self->wait_ns[class];
}

/* ---- paths */

static int pcs_order(const void *a, const void *b)
{
	const struct walk_pc *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->place.offset < y->place.offset ? -1 : x->place.offset > y->place.offset;
}

static struct walk_path *path_new(struct making *m, unsigned int depth)
{
	struct walk_result *r = m->r;
	struct walk_path *p;
	uint32_t *frames;

	if (r->nr_paths == WALK_MAX_PATHS)
		return NULL;
	frames = malloc((depth + 1) * sizeof(*frames));
	if (!frames) {
		m->failed = true;
		return NULL;
	}
	memcpy(frames, m->chain, depth * sizeof(*frames));
	p = &r->paths[r->nr_paths++];
	*p = (struct walk_path){.class = m->class, .frames = frames, .nr_frames = depth};
	return p;
}

static void path_end(struct making *m, uint32_t index, unsigned int depth, double ns, bool cut)
{
	const struct tree_node *n = &m->w->nodes[index];
	struct walk_path *p = path_new(m, depth);
	const struct cause *top;

	if (!p)
		return;
	p->share = ns / m->total;
	p->of_class = m->class_ns > 0 ? ns / m->class_ns : 0;
	p->cut = cut;
	p->looks = cut ? n->looks : n->self ? n->self->looks : 0;
	p->evidence = m->class == WALK_WORK && (double)n->run_ns * m->scale >= (double)n->wait_ns[WALK_WORK] ? EVIDENCE_SAMPLED :
													       EVIDENCE_WITNESSED;
	top = n->self ? cause_tally_top(&n->self->causes[m->class]) : NULL;
	if (cut) {
		p->cause.kind = CAUSE_UNMEASURED;
	} else if (top) {
		p->cause = *top;
	}
	if (!n->self || p->cause.kind != CAUSE_OWN_CODE)
		return;
	p->nr_pcs = n->self->nr_pcs;
	memcpy(p->pcs, n->self->pcs, sizeof(p->pcs));
	qsort(p->pcs, p->nr_pcs, sizeof(*p->pcs), pcs_order);
}

/* Is this one passed over because it only starts things? One without a name may be told by what it calls, and only that. */
static bool is_start(const struct making *m, const struct tree_node *n, unsigned int depth)
{
	const struct tree_node *only = n->first != NO_NODE ? &m->w->nodes[n->first] : NULL;

	if (depth || n->kind != WALK_FUNCTION || !m->starts)
		return false;
	if (m->starts(m->ctx, n->function))
		return true;
	return only && only->next == NO_NODE && !n->self && only->kind == WALK_FUNCTION && m->starts(m->ctx, only->function);
}

/* The largest among a node's children and itself; roots below functions that only start things count as children. */
static double largest(const struct making *m, uint32_t index, unsigned int depth)
{
	const struct tree_node *n = &m->w->nodes[index];
	double most = own(m, n, m->class);

	for (uint32_t i = n->first; i != NO_NODE; i = m->w->nodes[i].next) {
		const struct tree_node *child = &m->w->nodes[i];
		double ns = is_start(m, child, depth) ? largest(m, i, depth) : inclusive(m, child, m->class);

		if (ns > most)
			most = ns;
	}
	return most;
}

static void follow(struct making *m, uint32_t index, unsigned int depth, double least)
{
	const struct tree_node *n = &m->w->nodes[index];
	double self = own(m, n, m->class), beyond = 0;

	if (depth && self >= least && self > 0 && n->self->looks >= (n->looks > MIN_LOOKS ? MIN_LOOKS : 1))
		path_end(m, index, depth, self, false);
	for (uint32_t i = n->first; i != NO_NODE && !m->failed; i = m->w->nodes[i].next) {
		const struct tree_node *child = &m->w->nodes[i];
		double ns = inclusive(m, child, m->class);
		unsigned int limit = m->w->ask.max_depth + (child->kind == WALK_KERNEL ? WALK_KERNEL_DEPTH : 0);

		if (is_start(m, child, depth)) {
			/* its own time, if it has any, is of no interest */
			m->r->nodes[i].start = true;
			follow(m, i, depth, least);
			continue;
		}
		if (ns < least || ns <= 0)
			continue;
		if (depth >= limit || depth >= WALK_MAX_FRAMES) {
			/* as deep as was asked: what lies below is told as a whole */
			m->r->depth_reached = true;
			beyond += ns;
			continue;
		}
		m->chain[depth] = i;
		follow(m, i, depth + 1, largest(m, i, depth + 1) * m->w->ask.maxcount_ppm / 1e6);
	}
	if (beyond > 0)
		path_end(m, index, depth, beyond, true);
}

static int path_order(const void *a, const void *b)
{
	const struct walk_path *x = a, *y = b;
	bool idle_x = x->class == WALK_IDLE, idle_y = y->class == WALK_IDLE;

	if (idle_x != idle_y)
		return idle_x ? 1 : -1;
	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->frames[0] < y->frames[0] ? -1 : x->frames[0] > y->frames[0];
}

static void paths_thin(struct making *m, unsigned int from)
{
	unsigned int kept = from;
	double most = 0;

	for (unsigned int i = from; i < m->r->nr_paths; i++) {
		if (m->r->paths[i].share > most)
			most = m->r->paths[i].share;
	}
	for (unsigned int i = from; i < m->r->nr_paths; i++) {
		if (m->r->paths[i].share >= most * LEAST_OF_FIRST)
			m->r->paths[kept++] = m->r->paths[i];
		else
			free((uint32_t *)(uintptr_t)m->r->paths[i].frames);
	}
	m->r->nr_paths = kept;
}

/* Ready to run, and no CPU: nobody's code; it is told of the root where most of the work is. */
static void path_runqueue(struct making *m, double runqueue_ns)
{
	double most = 0;
	unsigned int from = m->r->nr_paths;
	struct walk_path *p;

	for (unsigned int i = 0; i < from; i++) {
		if (m->r->paths[i].class == WALK_WORK && m->r->paths[i].share > most) {
			most = m->r->paths[i].share;
			m->chain[0] = m->r->paths[i].frames[0];
		}
	}
	if (!from || most <= 0 || runqueue_ns / m->total < most * m->w->ask.maxcount_ppm / 1e6)
		return;
	m->class = WALK_WORK;
	p = path_new(m, 1);
	if (!p)
		return;
	p->share = runqueue_ns / m->total;
	p->of_class = m->r->share[WALK_WORK] > 0 ? p->share / m->r->share[WALK_WORK] : 0;
	p->cause.kind = CAUSE_RUN_QUEUE;
	p->evidence = EVIDENCE_MEASURED;
}

/* ---- the whole */

static void nodes_fill(struct making *m)
{
	struct walk_result *r = m->r;

	for (uint32_t i = 0; i < r->nr_nodes; i++) {
		const struct tree_node *n = &m->w->nodes[i];

		r->nodes[i] = (struct walk_node){.parent = n->parent, .kind = n->kind, .function = n->function, .name = "",
						 .site = n->site, .recursive = n->recursive};
		if (n->kind == WALK_SYSCALL || n->kind == WALK_KERNEL)
			r->nodes[i].name = m->w->names[n->name];
		for (int c = 0; c < WALK_CLASSES; c++)
			r->nodes[i].share[c] = inclusive(m, n, (enum walk_class)c) / m->total;
		if (n->kind == WALK_UNKNOWN && !n->parent && i)
			for (int c = 0; c < WALK_CLASSES; c++)
				r->unknown_callers += r->nodes[i].share[c];
	}
}

int walk_result(const struct walk *w, walk_starts_fn starts, void *ctx, struct walk_result *out)
{
	struct making *m;
	double seen = 0, cpu;

	*out = (struct walk_result){.looks = w->looks, .threads = w->nr_threads, .settled = walk_settled(w),
				    .target_ended = w->target_ended, .total_ns = w->wall_ns};
	if (!w->nr_nodes)
		return 0;
	m = calloc(1, sizeof(*m));
	out->nodes = calloc(w->nr_nodes, sizeof(*out->nodes));
	out->paths = calloc(WALK_MAX_PATHS, sizeof(*out->paths));
	if (!m || !out->nodes || !out->paths) {
		free(m);
		walk_result_release(out);
		return -ENOMEM;
	}
	out->nr_nodes = w->nr_nodes;
	*m = (struct making){.w = w, .r = out, .starts = starts, .ctx = ctx, .scale = walk_run_scale(w)};
	cpu = (double)w->nodes[0].run_ns * m->scale;
	for (int c = 0; c < WALK_CLASSES; c++)
		seen += (double)w->nodes[0].wait_ns[c];
	seen += cpu + (double)w->runqueue_ns;
	/* the threads' own account is the whole, unless more was seen of them than they told */
	m->total = (double)w->wall_ns > seen ? (double)w->wall_ns : seen;
	if (m->total < 1)
		m->total = 1;
	out->total_ns = (uint64_t)m->total;
	nodes_fill(m);
	for (int c = 0; c < WALK_CLASSES; c++)
		out->share[c] = inclusive(m, &w->nodes[0], (enum walk_class)c) / m->total;
	out->runqueue = (double)w->runqueue_ns / m->total;
	out->share[WALK_WORK] += out->runqueue;
	for (int c = 0; c < WALK_CLASSES; c++) {
		unsigned int from = out->nr_paths;

		m->class = (enum walk_class)c;
		m->class_ns = out->share[c] * m->total;
		follow(m, 0, 0, largest(m, 0, 0) * w->ask.maxcount_ppm / 1e6);
		paths_thin(m, from);
	}
	for (unsigned int i = 0; i < out->nr_paths; i++) {
		for (unsigned int k = 0; k < out->paths[i].nr_frames; k++)
			out->nodes[out->paths[i].frames[k]].followed = true;
	}
	path_runqueue(m, (double)w->runqueue_ns);
	qsort(out->paths, out->nr_paths, sizeof(*out->paths), path_order);
	for (unsigned int i = 0; i < out->nr_paths; i++)
		out->explained += out->paths[i].share;
	if (m->failed)
		walk_result_release(out);
	free(m);
	return out->nodes ? 0 : -ENOMEM;
}

void walk_result_release(struct walk_result *r)
{
	for (unsigned int i = 0; i < r->nr_paths; i++)
		free((uint32_t *)(uintptr_t)r->paths[i].frames);
	free(r->paths);
	free(r->nodes);
	r->paths = NULL;
	r->nodes = NULL;
	r->nr_paths = r->nr_nodes = 0;
}
