// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds the answer from the present state: nodes, paths with shares and causes, siblings. */
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/descent/result_impl.h"

enum { MAX_PATHS = 256 };

/* A path with a smaller share of the peak's time says nothing about the peak. */
#define MIN_SHARE 0.01
/* If the shares of the paths sum to more than this, they contradict the latency of the calls. */
#define REFUSED_SUM 2

const char *evidence_text(enum evidence e)
{
	static const char *const text[EVIDENCE_KINDS] = {
	    [EVIDENCE_MEASURED] = "measured",
	    [EVIDENCE_WITNESSED] = "witnessed",
	    [EVIDENCE_SAMPLED] = "sampled",
	    [EVIDENCE_ESTIMATED] = "estimated",
	};

	return e < EVIDENCE_KINDS ? text[e] : "unknown";
}

const char *descent_status_text(enum descent_status s)
{
	static const char *const text[DESCENT_STATUSES] = {
	    [DESCENT_ROOT_CAUSE] = "root cause found",
	    [DESCENT_DEPTH_REACHED] = "maximum depth reached",
	    [DESCENT_IN_PROGRESS] = "in progress",
	    [DESCENT_CHANGED] = "distribution changed",
	    [DESCENT_TOO_FEW] = "not enough calls",
	    [DESCENT_TARGET_END] = "target ended",
	    [DESCENT_PARTLY] = "partly explained",
	};

	return s < DESCENT_STATUSES ? text[s] : "unknown";
}

static uint64_t rounded(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static bool is_shown(const struct fnode *n)
{
	return !n->id || n->all.armed || n->state == FNODE_ARMED || n->state == FNODE_HOT ||
	       n->live;
}

/* Calls of the peak that voted, with those of the session that was resumed. */
static uint64_t calls_of_f0(const struct descent *d)
{
	uint64_t voted = d->tree.node[0].maxcount;

	return voted > d->calls_used ? voted : d->calls_used;
}

static void show_node(struct builder *b, const struct fnode *n)
{
	const struct descent *d = b->d;
	struct descent_fnode *out = &b->r->nodes[b->r->nr_nodes];
	struct means m;

	fnode_means(d, n->id, &m);
	/* the window counts the same calls as the share; use all calls only if the window has none,
	 * because earlier calls may have had probes in a loop */
	if (m.net_when_called <= 0)
		m.net_when_called = ratio((double)n->all.net_ns, (double)n->all.called);
	*out = (struct descent_fnode){
	    .node = n->id,
	    .parent = n->id ? n->parent : 0,
	    .site = n->site_key,
	    .ret = n->ret,
	    .last_site = n->last_key,
	    .depth = n->depth,
	    .state = n->id ? n->state : FNODE_ARMED,
	    .in_loop = n->in_loop,
	    .share = ratio(m.net, b->latency),
	    .latency_ns = rounded(m.net_when_called),
	    .max_ns = n->longest_ns,
	    .maxcount = n->maxcount,
	    .votes = n->id ? d->tree.node[n->parent].votes : calls_of_f0(d),
	    .decisions = n->decisions,
	    .records = n->all.armed,
	};
	/* A callee may have been measured in other calls than its caller, so their means
	 * differ. Limit each part to the whole. */
	if (n->id) {
		const struct descent_fnode *caller = &b->r->nodes[b->index[n->parent]];

		if (out->latency_ns > caller->latency_ns)
			out->latency_ns = rounded(m.net);
		if (out->latency_ns > caller->latency_ns)
			out->latency_ns = caller->latency_ns;
		if (out->share > caller->share)
			out->share = caller->share;
	}
	if (n->function != NO_INDEX)
		out->function = d->tree.function[n->function].key;
	if (!n->id) {
		out->share = 1;
		out->latency_ns = rounded(b->latency);
	}
	b->index[n->id] = b->r->nr_nodes++;
}

static int show_nodes(struct builder *b)
{
	const struct ftree *t = &b->d->tree;

	b->index = malloc(t->nr_nodes * sizeof(*b->index));
	b->r->nodes = calloc(t->nr_nodes, sizeof(*b->r->nodes));
	if (!b->index || !b->r->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nr_nodes; i++) {
		b->index[i] = NO_INDEX;
		if (is_shown(&t->node[i]) && (!i || b->index[t->node[i].parent] != NO_INDEX))
			show_node(b, &t->node[i]);
	}
	return 0;
}

static int by_latency(const void *a, const void *b)
{
	const struct descent_fnode *const *x = a, *const *y = b;

	return descending((*x)->latency_ns, (*y)->latency_ns) ?: ascending((*x)->node, (*y)->node);
}

static void add_siblings(struct builder *b, struct descent_path *path, uint32_t node)
{
	const struct ftree *t = &b->d->tree;
	const struct descent_fnode **list;
	uint32_t nr = 0;

	if (!node)
		return;
	list = calloc(b->r->nr_nodes, sizeof(*list));
	if (!list) {
		b->err = -ENOMEM;
		return;
	}
	for (uint32_t id = t->node[t->node[node].parent].first_child; id != NO_INDEX;
	     id = t->node[id].next)
		if (id != node && b->index[id] != NO_INDEX && t->node[id].all.called &&
		    !t->node[id].replaced)
			list[nr++] = &b->r->nodes[b->index[id]];
	qsort(list, nr, sizeof(*list), by_latency);
	for (uint32_t id = 0; id < nr && id < DESCENT_SIBLINGS; id++)
		path->siblings[path->nr_siblings++] = (uint32_t)(list[id] - b->r->nodes);
	free(list);
}

static int by_weight(const void *a, const void *b)
{
	const struct descent_pc *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* Adds the time of one place; if the table is full, the lightest place makes room. */
static void add_pc(struct descent_path *path, struct rec_code place, uint64_t ns)
{
	unsigned int i, lightest = 0;

	for (i = 0; i < path->nr_pcs && !code_equal(path->pcs[i].place, place); i++)
		if (path->pcs[i].ns < path->pcs[lightest].ns)
			lightest = i;
	if (i < path->nr_pcs) {
		path->pcs[i].ns += ns;
		return;
	}
	if (i < DESCENT_PCS)
		path->nr_pcs++;
	else if (path->pcs[lightest].ns < ns)
		i = lightest;
	else
		return;
	path->pcs[i] = (struct descent_pc){place, ns};
}

/* Adds the calls of a frame to callees that have no path of their own. */
static void add_calls(const struct witnesses *w, struct descent_path *path, uint32_t witness,
		      const struct live_callees *live)
{
	for (uint32_t id = witnesses_node(w, witness)->first_child; id != NO_INDEX;
	     id = witnesses_node(w, id)->next) {
		struct rec_code ret = witnesses_node(w, id)->ret;
		bool counts = !witness_is_trampoline(w, id) && !result_is_live(live, id);
		uint64_t ns = counts ? result_run_below(w, id) : 0;

		/* the byte before the return address is in the call */
		if (ns && ret.offset)
			add_pc(path, (struct rec_code){ret.module, ret.offset - 1}, ns);
	}
}

void result_sort_pcs(struct descent_path *path)
{
	qsort(path->pcs, path->nr_pcs, sizeof(path->pcs[0]), by_weight);
}

void result_add_pcs(struct builder *b, struct descent_path *path, uint32_t node, bool callees)
{
	struct live_callees live;
	struct witness_set set;

	result_live_callees(b->d, node, &live);
	fnode_witness_set(b->d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++) {
		const struct witness_own *own = witnesses_node(b->d->witnesses, set.at[i])->own;

		for (unsigned int k = 0; own && k < own->nr_pcs; k++)
			add_pc(path, own->pcs[k].place, own->pcs[k].ns);
		if (callees)
			add_calls(b->d->witnesses, path, set.at[i], &live);
	}
	result_sort_pcs(path);
}

struct descent_path *result_add_path(struct builder *b, uint32_t node, double ns,
				     const struct cause *cause, uint64_t maxcount)
{
	const struct ftree *t = &b->d->tree;
	struct descent_path *path;
	uint32_t *frames, at, depth = t->node[node].depth;

	if (b->r->nr_paths == MAX_PATHS)
		return NULL;
	frames = calloc(depth + 1, sizeof(*frames));
	if (!frames) {
		b->err = -ENOMEM;
		return NULL;
	}
	/* a small path may have been here, and left out */
	path = &b->r->paths[b->r->nr_paths++];
	*path = (struct descent_path){0};
	path->share = ratio(ns, b->latency);
	path->latency_ns = rounded(ns);
	path->cause = *cause;
	path->maxcount = maxcount;
	path->frames = frames;
	path->nr_frames = depth + 1;
	for (at = node;; at = t->node[at].parent) {
		frames[t->node[at].depth] = b->index[at];
		b->r->nodes[b->index[at]].root_cause = true;
		if (!at)
			break;
	}
	add_siblings(b, path, node);
	return path;
}

/* Returns true if both paths have the same cause, and wait for it at the same place of the kernel.
 */
static bool same_cause(const struct descent_path *a, const struct descent_path *b)
{
	return a->cause.kind == b->cause.kind && !strcmp(a->cause.name, b->cause.name) &&
	       !strcmp(a->cause.detail, b->cause.detail) && a->nr_kernel &&
	       a->nr_kernel == b->nr_kernel &&
	       a->kernel[a->nr_kernel - 1].function == b->kernel[b->nr_kernel - 1].function;
}

/* Returns the number of frames, from f0 on, in which two paths have the same functions. */
static unsigned int frames_in_common(const struct descent_result *r, const struct descent_path *a,
				     const struct descent_path *b)
{
	unsigned int i = 0;

	while (i < a->nr_frames && i < b->nr_frames &&
	       code_equal(r->nodes[a->frames[i]].function, r->nodes[b->frames[i]].function))
		i++;
	return i;
}

/* Returns true if stack samples saw that a function waits itself, and not below a callee. */
static bool waits_itself(const struct builder *b, const struct descent_path *p)
{
	struct witness_set set;

	fnode_witness_set(b->d, b->r->nodes[p->frames[p->nr_frames - 1]].node, &set);
	/* a function that has ended in a jump is in no stack, but what it has jumped to */
	return (!set.nr_at && !set.nr_beyond) || witness_set_own_sleep(b->d->witnesses, &set) > 0;
}

/* Returns the path that has the same culprit as path `at`: the same functions, called at another
 * site, or the functions below it, if it is known not to wait itself: there, the time of calls in
 * which its callees had no probes is left. nr_paths: none, or several. */
static unsigned int path_of_same_culprit(const struct builder *b, unsigned int at)
{
	const struct descent_result *r = b->r;
	const struct descent_path *p = &r->paths[at];
	unsigned int found = r->nr_paths;

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *q = &r->paths[i];

		if (i == at || !same_cause(p, q) || frames_in_common(r, p, q) < p->nr_frames ||
		    (q->nr_frames > p->nr_frames ? waits_itself(b, p) : q->share < p->share))
			continue;
		if (found < r->nr_paths)
			return r->nr_paths;
		found = i;
	}
	return found;
}

/* Adds the time of `from` to `to`, and to the frames that only `to` has. */
static void join_path(const struct builder *b, struct descent_path *to,
		      const struct descent_path *from)
{
	struct descent_fnode *nodes = b->r->nodes;

	to->share += from->share;
	to->latency_ns += from->latency_ns;
	for (unsigned int i = 1; i < to->nr_frames; i++) {
		struct descent_fnode *n = &nodes[to->frames[i]];
		const struct descent_fnode *caller = &nodes[to->frames[i - 1]];

		if (i < from->nr_frames && to->frames[i] == from->frames[i])
			continue;
		n->share = fmin(n->share + from->share, caller->share);
		if ((double)n->latency_ns < n->share * b->latency)
			n->latency_ns = rounded(n->share * b->latency);
	}
}

/* Joins the paths of one culprit. */
static void join_paths(struct builder *b)
{
	struct descent_result *r = b->r;

	for (unsigned int i = 0; i < r->nr_paths;) {
		unsigned int to = path_of_same_culprit(b, i);

		if (to == r->nr_paths) {
			i++;
			continue;
		}
		join_path(b, &r->paths[to], &r->paths[i]);
		free((void *)(uintptr_t)r->paths[i].frames);
		memmove(&r->paths[i], &r->paths[i + 1], (--r->nr_paths - i) * sizeof(r->paths[0]));
		i = 0;
	}
}

static int by_share(const void *a, const void *b)
{
	const struct descent_path *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : 0;
}

/* Drops paths with next to no share, but keeps at least one. The paths are sorted. */
static void leave_out_small_paths(struct descent_result *r)
{
	while (r->nr_paths > 1 && r->paths[r->nr_paths - 1].share < MIN_SHARE)
		free((void *)(uintptr_t)r->paths[--r->nr_paths].frames);
}

/* Limits what samples found in a path to the path: they were divided among the time of a function
 * before parts of it, such as its time in the kernel, became paths of their own. */
static void fit_parts(struct descent_path *path)
{
	double sum = 0;

	for (unsigned int i = 0; i < path->nr_below; i++)
		sum += path->below[i].share;
	for (unsigned int i = 0; i < path->nr_below && sum > path->share; i++)
		path->below[i].share *= path->share / sum;
	/* what is left of the loop has no more than that of the sampled callee */
	if (!path->looped.calls && path->looped.share > path->share)
		path->looped.share = path->share;
}

/* Scales the shares down if they sum to more than 1: means of different calls may exceed the total
 * a little. A multiple of the total is an error: set `refused`. */
static void add_up(struct descent_result *r)
{
	double sum = 0;

	for (unsigned int i = 0; i < r->nr_paths; i++)
		sum += r->paths[i].share;
	if (sum > REFUSED_SUM)
		snprintf(r->refused, sizeof(r->refused),
			 "its paths together take %.1f times as long as the calls", sum);
	for (unsigned int i = 0; i < r->nr_paths; i++) {
		if (sum > 1) {
			r->paths[i].share /= sum;
			r->paths[i].latency_ns = rounded((double)r->paths[i].latency_ns / sum);
		}
		fit_parts(&r->paths[i]);
	}
	r->explained = sum > 1 ? 1 : sum;
}

void result_add_up(struct builder *b)
{
	qsort(b->r->paths, b->r->nr_paths, sizeof(*b->r->paths), by_share);
	leave_out_small_paths(b->r);
	add_up(b->r);
}

int descent_result(const struct descent *d, struct descent_result *out)
{
	const struct totals *t;
	struct builder b = {.d = d, .r = out};

	memset(out, 0, sizeof(*out));
	out->status = descent_status(d);
	if (d->phase == PHASE_IDLE)
		return 0;
	t = descent_totals(d);
	out->rounds = d->rounds;
	out->calls_used = d->calls_used;
	b.latency = ratio((double)t->latency_ns, (double)t->records);
	if (d->ask.sampled)
		b.latency = ratio((double)d->change.start.sum_ns, (double)d->change.start.calls);
	out->latency_ns = rounded(b.latency);
	out->since_saved = d->changed_since_saved;
	if (out->status == DESCENT_CHANGED || d->changed_since_saved)
		snprintf(out->change, sizeof(out->change), "%s", d->change.words);
	out->paths = calloc(MAX_PATHS, sizeof(*out->paths));
	if (!out->paths)
		b.err = -ENOMEM;
	else if (d->ask.sampled)
		b.err = result_by_samples(&b);
	else
		b.err = show_nodes(&b);
	if (!b.err && !d->ask.sampled) {
		result_add_paths(&b);
		result_add_callers(&b);
		join_paths(&b);
	}
	if (!b.err) {
		result_add_up(&b);
		result_judge(&b);
	}
	free(b.index);
	if (b.err)
		descent_result_release(out);
	return b.err;
}

void descent_result_release(struct descent_result *r)
{
	for (unsigned int i = 0; i < r->nr_paths; i++)
		free((void *)(uintptr_t)r->paths[i].frames);
	free(r->paths);
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}

static bool same_frame(const struct descent_result *a, const struct descent_result *b,
		       unsigned int i)
{
	const struct descent_fnode *x = &a->nodes[a->paths[0].frames[i]];
	const struct descent_fnode *y = &b->nodes[b->paths[0].frames[i]];

	return code_equal(x->site, y->site) && code_equal(x->function, y->function);
}

bool descent_same_path(const struct descent_result *a, const struct descent_result *b)
{
	if (!a->nr_paths || !b->nr_paths || a->paths[0].nr_frames != b->paths[0].nr_frames ||
	    a->paths[0].cause.kind != b->paths[0].cause.kind)
		return false;
	return !any_of(i, a->paths[0].nr_frames, !same_frame(a, b, i));
}
