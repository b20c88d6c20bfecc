// SPDX-License-Identifier: GPL-2.0-or-later
/* Selects the paths to follow in the tree of a walk, and builds the result. */
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/walk/walk_tree.h"

/* Paths below this fraction of the first path of their class are not reported. */
#define LEAST_OF_FIRST 0.1
/* of the time of a thread: what one does for so much of it all the time, it does */
#define ONE_THREAD 0.5
enum { CLASS_PATHS = 6 /* paths of each class, and as many that stand apart from a crowd */ };

/* Returns the time to move from idle to work: waits that look idle but are part of a request. */
static double moved(enum walk_class class, uint64_t blocked)
{
	return class == WALK_WORK ? (double)blocked : class == WALK_IDLE ? -(double)blocked : 0;
}

double walk_inclusive(const struct walk_making *m, const struct walk_tree_node *n,
		      enum walk_class class)
{
	return (class == WALK_WORK ? (double)n->run_ns * m->scale : 0) + (double)n->wait_ns[class] +
	       moved(class, m->blocked[n - m->w->nodes]);
}

double walk_own(const struct walk_making *m, const struct walk_tree_node *n, enum walk_class class)
{
	if (!n->self)
		return 0;
	return (class == WALK_WORK ? (double)n->self->run_ns * m->scale : 0) +
	       (double)n->self->wait_ns[class] + moved(class, m->blocked_own[n - m->w->nodes]);
}

const struct cause_tally *walk_own_causes(const struct walk_making *m,
					  const struct walk_tree_node *n)
{
	bool blocked = m->class == WALK_WORK && m->blocked_own[n - m->w->nodes] >
						    n->self->wait_ns[WALK_WORK] + n->self->run_ns;

	return &n->self->causes[blocked ? WALK_IDLE : m->class];
}

const struct cause *walk_own_cause(const struct walk_making *m, const struct walk_tree_node *n)
{
	return cause_tally_top(walk_own_causes(m, n));
}

static uint64_t walk_total(const struct walk_tree_node *n)
{
	uint64_t ns = n->run_ns;

	for (int c = 0; c < WALK_CLASSES; c++)
		ns += n->wait_ns[c];
	return ns;
}

/* Returns the share of a node's time that the first thread of a process spent. */
static double of_main_thread(const struct walk_tree_node *n)
{
	return walk_total(n) ? (double)n->main_ns / (double)walk_total(n) : 0;
}

static int pcs_order(const void *a, const void *b)
{
	const struct walk_pc *x = a, *y = b;

	return descending(x->ns, y->ns) ?: ascending(x->place.offset, y->place.offset);
}

struct walk_path *walk_path_new(struct walk_making *m, unsigned int depth)
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

struct walk_path *walk_path_end(struct walk_making *m, uint32_t index, unsigned int depth,
				double ns, bool cut)
{
	const struct walk_tree_node *n = &m->w->nodes[index];
	struct walk_path *p = walk_path_new(m, depth);
	const struct cause *top;

	if (!p)
		return NULL;
	p->share = ns / m->total;
	p->of_class = m->class_ns > 0 ? ns / m->class_ns : 0;
	p->cut = cut;
	if (m->class == WALK_IDLE && !cut) {
		p->unsure = walk_is_unsure(m, index);
		p->inside = walk_is_inside(m, index);
	}
	p->main_thread = of_main_thread(n);
	p->snapshots = cut ? n->snapshots : n->self ? n->self->snapshots : 0;
	p->evidence = m->class == WALK_WORK &&
			      (double)n->run_ns * m->scale * 2 >= walk_inclusive(m, n, WALK_WORK)
			  ? EVIDENCE_SAMPLED
			  : EVIDENCE_WITNESSED;
	top = n->self ? walk_own_cause(m, n) : NULL;
	if (cut) {
		p->cause.kind = CAUSE_UNMEASURED;
	} else if (top) {
		p->cause = *top;
		/* a lock made of a condition variable, or of something else for which the kernel
		 * knows no holder */
		if (m->class == WALK_WORK && p->cause.kind >= CAUSE_TIMEOUT &&
		    p->cause.kind <= CAUSE_UNKNOWN && walk_is_in_lock(m, index))
			p->cause.kind = CAUSE_LOCK;
	}
	if (!n->self || p->cause.kind != CAUSE_OWN_CODE)
		return p;
	p->nr_pcs = n->self->nr_pcs;
	memcpy(p->pcs, n->self->pcs, sizeof(p->pcs));
	qsort(p->pcs, p->nr_pcs, sizeof(*p->pcs), pcs_order);
	if (n->kind == WALK_FUNCTION || n->kind == WALK_UNKNOWN)
		walk_judge_faults(m, index, p);
	return p;
}

/* True if the function only starts other code. A function without a name is recognised by
 * its only callee. */
bool walk_is_start(const struct walk_making *m, const struct walk_tree_node *n, unsigned int depth)
{
	const struct walk_tree_node *only = n->first != NO_NODE ? &m->w->nodes[n->first] : NULL;

	const struct walk_functions *names = m->functions;

	if (depth || n->kind != WALK_FUNCTION || !names || !names->starts)
		return false;
	if (names->starts(names->ctx, n->function))
		return true;
	return only && only->next == NO_NODE && !n->self && only->kind == WALK_FUNCTION &&
	       names->starts(names->ctx, only->function);
}

/* Returns the largest time among a node itself and its children. Roots below functions that only
 * start things count as children. */
static double largest(const struct walk_making *m, uint32_t index, unsigned int depth)
{
	const struct walk_tree_node *n = &m->w->nodes[index];
	double most = walk_own(m, n, m->class);

	for (uint32_t i = n->first; i != NO_NODE; i = m->w->nodes[i].next) {
		const struct walk_tree_node *child = &m->w->nodes[i];
		double ns = walk_is_start(m, child, depth) ? largest(m, i, depth)
							   : walk_inclusive(m, child, m->class);

		if (ns > most)
			most = ns;
	}
	return most;
}

/* If the node is the scheduler of coroutines, adds one path for all idle waits below it, which
 * differ by chance, and returns true. */
static bool path_scheduler(struct walk_making *m, uint32_t index, unsigned int depth, double ns)
{
	struct walk_path *p;

	if (m->class != WALK_IDLE || !walk_is_scheduler(m, index) || depth >= WALK_MAX_FRAMES)
		return false;
	m->chain[depth] = index;
	p = walk_path_end(m, index, depth + 1, ns, false);
	if (!p)
		return true;
	p->cause = (struct cause){.kind = CAUSE_UNKNOWN};
	p->unsure = p->scheduler = true;
	p->snapshots = m->w->nodes[index].snapshots;
	return true;
}

static void follow(struct walk_making *m, uint32_t index, unsigned int depth, double least)
{
	const struct walk_tree_node *n = &m->w->nodes[index];
	double self = walk_own(m, n, m->class), beyond = 0;

	if (depth && self >= least && self > 0 &&
	    n->self->snapshots >= (n->snapshots > WALK_MIN_SNAPSHOTS ? WALK_MIN_SNAPSHOTS : 1))
		walk_path_end(m, index, depth, self, false);
	for (uint32_t i = n->first; i != NO_NODE && !m->failed; i = m->w->nodes[i].next) {
		const struct walk_tree_node *child = &m->w->nodes[i];
		double ns = walk_inclusive(m, child, m->class);

		if (walk_is_start(m, child, depth)) {
			/* the own time of such a function is not reported */
			m->r->nodes[i].start = true;
			follow(m, i, depth, least);
			continue;
		}
		/* Report the wait of the first thread even if many other threads wait, and what one
		 * thread does all the time even if a crowd does something else. */
		if (ns <= 0 || (ns < least && ns < m->apart_ns &&
				!(m->class == WALK_IDLE && !depth && of_main_thread(child) > 0.5)))
			continue;
		if (walk_follow_kernel(m, i, depth) || path_scheduler(m, i, depth, ns))
			continue;
		if (depth >= m->w->ask.max_depth || depth >= WALK_MAX_FRAMES) {
			/* maximum depth: report everything below as one path */
			m->r->depth_reached = true;
			beyond += ns;
			continue;
		}
		m->chain[depth] = i;
		follow(m, i, depth + 1, largest(m, i, depth + 1) * m->w->ask.maxcount_ppm / 1e6);
	}
	if (beyond > 0)
		walk_path_end(m, index, depth, beyond, true);
}

/* If a program only waits, the wait of its first thread is reported first, before those of threads
 * apart from a crowd, and these before a thread pool. */
static bool is_of_main_thread(const struct walk_path *p)
{
	return p->class == WALK_IDLE && p->main_thread > 0.5;
}

static int path_order(const void *a, const void *b)
{
	const struct walk_path *x = a, *y = b;
	bool queue_x = x->cause.kind == CAUSE_RUN_QUEUE, queue_y = y->cause.kind == CAUSE_RUN_QUEUE;

	return ascending(x->rank, y->rank) ?: ascending(queue_x, queue_y)
	       ?: descending(is_of_main_thread(x), is_of_main_thread(y))
	       ?: descending(x->class == WALK_IDLE && x->apart, y->class == WALK_IDLE && y->apart)
	       ?: descending(x->share, y->share) ?: ascending(x->frames[0], y->frames[0]);
}

static int paths_by_share(const void *a, const void *b)
{
	const struct walk_path *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : 0;
}

static void paths_thin(struct walk_making *m, unsigned int from)
{
	unsigned int kept = from, apart = 0;
	double most = 0;

	for (unsigned int i = from; i < m->r->nr_paths; i++) {
		if (m->r->paths[i].share > most)
			most = m->r->paths[i].share;
	}
	qsort(m->r->paths + from, m->r->nr_paths - from, sizeof(*m->r->paths), paths_by_share);
	for (unsigned int i = from; i < m->r->nr_paths; i++) {
		struct walk_path *p = &m->r->paths[i];

		p->apart = p->share < most * LEAST_OF_FIRST && p->share * m->total >= m->apart_ns;
		if (is_of_main_thread(p) || (p->apart && apart++ < CLASS_PATHS) ||
		    (p->share >= most * LEAST_OF_FIRST && i < from + CLASS_PATHS))
			m->r->paths[kept++] = *p;
		else
			free((uint32_t *)(uintptr_t)p->frames);
	}
	m->r->nr_paths = kept;
}

/* Begins the chain with the root of this class's largest path. Returns its share; 0: none. */
static double chain_of_largest(struct walk_making *m, enum walk_class class)
{
	double most = 0;

	for (unsigned int i = 0; i < m->r->nr_paths; i++) {
		const struct walk_path *p = &m->r->paths[i];

		if (p->class != class || p->share <= most)
			continue;
		most = p->share;
		m->chain[0] = p->frames[0];
	}
	return most;
}

/* Time without a CPU belongs to no code; attribute it to the root with the most work. */
static void path_queued(struct walk_making *m, double ns, const struct cause *cause)
{
	double most = chain_of_largest(m, WALK_WORK);
	struct walk_path *p;

	/* of a thread that was never seen on a CPU, it is the root of its sleep */
	if (most <= 0)
		most = chain_of_largest(m, WALK_SLEEP);
	if (most <= 0 || ns / m->total < most * m->w->ask.maxcount_ppm / 1e6)
		return;
	m->class = WALK_WORK;
	p = walk_path_new(m, 1);
	if (!p)
		return;
	p->share = ns / m->total;
	p->of_class = m->r->share[WALK_WORK] > 0 ? p->share / m->r->share[WALK_WORK] : 0;
	p->cause = *cause;
	p->evidence = EVIDENCE_MEASURED;
}

static void nodes_fill(struct walk_making *m)
{
	struct walk_result *r = m->r;

	for (uint32_t i = 0; i < r->nr_nodes; i++) {
		const struct walk_tree_node *n = &m->w->nodes[i];

		r->nodes[i] = (struct walk_node){.parent = n->parent,
						 .kind = n->kind,
						 .function = n->function,
						 .name = "",
						 .site = n->site,
						 .recursive = n->recursive,
						 .pid = n->pid};
		if (n->kind == WALK_SYSCALL || n->kind == WALK_KERNEL)
			r->nodes[i].name = m->w->names[n->name];
		for (int c = 0; c < WALK_CLASSES; c++)
			r->nodes[i].share[c] = walk_inclusive(m, n, (enum walk_class)c) / m->total;
		if (n->kind == WALK_UNKNOWN && !n->function.module && n->parent && n->self)
			for (int c = 0; c < WALK_CLASSES; c++)
				r->unnamed += walk_own(m, n, (enum walk_class)c) / m->total;
		if (n->kind == WALK_UNKNOWN && !n->parent && i)
			for (int c = 0; c < WALK_CLASSES; c++)
				r->unknown_callers += r->nodes[i].share[c];
	}
}

/* The time for which the threads were watched, ns; if not known, the total time of one thread. */
static double span_ns(const struct walk *w, double total)
{
	if (w->last_ns > w->first_ns)
		return (double)(w->last_ns - w->first_ns);
	return total / (w->nr_threads ? w->nr_threads : 1);
}

/* The wall time of REC_THREAD, unless the snapshots add up to more; at least 1. */
static double total_ns(const struct walk_making *m)
{
	const struct walk *w = m->w;
	double seen =
	    (double)w->nodes[0].run_ns * m->scale + (double)w->runqueue_ns + (double)w->quota_ns;

	for (int c = 0; c < WALK_CLASSES; c++)
		seen += (double)w->nodes[0].wait_ns[c];
	if (seen < (double)w->wall_ns)
		seen = (double)w->wall_ns;
	return seen < 1 ? 1 : seen;
}

/* The shares of the whole time, of all threads. */
static void shares_fill(struct walk_making *m)
{
	const struct walk *w = m->w;
	struct walk_result *out = m->r;

	out->total_ns = (uint64_t)m->total;
	for (int c = 0; c < WALK_CLASSES; c++)
		out->share[c] = walk_inclusive(m, &w->nodes[0], (enum walk_class)c) / m->total;
	out->runqueue = (double)w->runqueue_ns / m->total;
	out->share[WALK_WORK] += out->runqueue + (double)w->quota_ns / m->total;
	if (cause_tally_top(&w->stops))
		memcpy(out->unknown_why, cause_tally_top(&w->stops)->name,
		       sizeof(out->unknown_why));
	out->unsure = (double)m->unsure_ns / m->total;
	out->joined = (double)w->joined_ns / m->total;
	out->not_seen = (double)w->left_out_ns / m->total;
}

int walk_result(const struct walk *w, const struct walk_functions *functions,
		struct walk_result *out)
{
	unsigned int rank[WALK_CLASSES];
	struct walk_making *m;
	double span;

	*out = (struct walk_result){.snapshots = w->snapshots,
				    .threads = w->nr_threads + w->left_out,
				    .left_out = w->left_out,
				    .settled = walk_settled(w),
				    .target_ended = w->target_ended,
				    .total_ns = w->wall_ns};
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
	*m = (struct walk_making){
	    .w = w, .r = out, .functions = functions, .scale = walk_run_scale(w)};
	if (walk_judge_waits(m)) {
		walk_judge_end(m);
		free(m);
		walk_result_release(out);
		return -ENOMEM;
	}
	m->total = total_ns(m);
	nodes_fill(m);
	shares_fill(m);
	walk_count_faults(m);
	walk_group_threads(m);
	span = out->span_ns = span_ns(w, m->total);
	out->busy = out->share[WALK_WORK] * m->total / span;
	/* what one thread does is reported only beside a crowd */
	m->apart_ns = w->joined_ns ? span * ONE_THREAD : INFINITY;
	walk_rank_classes(m, span, rank);
	for (int c = 0; c < WALK_CLASSES; c++) {
		unsigned int from = out->nr_paths;

		m->class = (enum walk_class)c;
		m->class_ns = out->share[c] * m->total;
		follow(m, 0, 0, largest(m, 0, 0) * w->ask.maxcount_ppm / 1e6);
		if (c == WALK_WORK)
			walk_flatten(m, from);
		paths_thin(m, from);
	}
	for (unsigned int i = 0; i < out->nr_paths; i++)
		for (unsigned int k = 0; k < out->paths[i].nr_frames; k++)
			out->nodes[out->paths[i].frames[k]].followed = true;
	if (cause_tally_top(&w->quotas))
		path_queued(m, (double)w->quota_ns, cause_tally_top(&w->quotas));
	path_queued(m, (double)w->runqueue_ns, &(struct cause){.kind = CAUSE_RUN_QUEUE});
	for (unsigned int i = 0; i < out->nr_paths; i++)
		out->paths[i].rank = rank[out->paths[i].class];
	qsort(out->paths, out->nr_paths, sizeof(*out->paths), path_order);
	walk_prefer_callers(out);
	for (unsigned int i = 0; i < out->nr_paths; i++)
		out->explained += out->paths[i].share;
	if (m->failed)
		walk_result_release(out);
	walk_judge_end(m);
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
