// SPDX-License-Identifier: GPL-2.0-or-later
/* The answer of a descent by samples alone: its calls are too short to time what they call, so that
 * stack samples in f0, taken without probes, tell where its time goes. */

#include "analysis/base/array.h"
#include "analysis/descent/result_impl.h"

enum {
	MAX_FUNCTIONS = 512,
	ENOUGH_SAMPLES = 400,
	FEW_SAMPLES = 50, /* enough after FEW_NS */
};

#define FEW_NS 6000000000ull

/* A function with this share of the time is a cause. */
#define PATH_SHARE 0.1
/* A call path with a smaller share of the time is not shown as nodes. */
#define NODE_SHARE 0.02
/* If the kernel has this part of the samples of a function, the time is the kernel's. */
#define KERNEL_PART 0.5

/* One function, wherever f0 calls it. Times in ns. */
struct function_time {
	struct rec_code function;
	uint64_t own, inclusive;
	uint64_t heaviest_ns; /* time of `heaviest` itself */
	uint32_t heaviest;    /* its frame of the samples with most time of its own */
};

struct profile_of_samples {
	const struct witnesses *w;
	struct function_time *list; /* f0 first */
	unsigned int nr;
	uint64_t all_ns, left_ns; /* left: of functions that found no room */
};

static struct function_time *time_of(struct profile_of_samples *p, struct rec_code function)
{
	unsigned int i = 0;

	while (i < p->nr && !code_equal(p->list[i].function, function))
		i++;
	if (i == MAX_FUNCTIONS)
		return NULL;
	if (i == p->nr)
		p->list[p->nr++] = (struct function_time){.function = function};
	return &p->list[i];
}

/* Returns true if an outer frame of the same stacks is one of the same function. */
static bool is_recursion(const struct witnesses *w, uint32_t witness)
{
	struct rec_code function = witnesses_node(w, witness)->function;
	uint32_t at = witness;

	while (at) {
		at = witnesses_node(w, at)->parent;
		if (code_equal(witnesses_node(w, at)->function, function))
			return true;
	}
	return false;
}

/* Recursion is limited: a stack has at most DESCENT_MAX_WITNESS_FRAMES frames. */
static void add_times(struct profile_of_samples *p, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(p->w, witness);
	struct function_time *t = time_of(p, n->function);

	if (!t) {
		p->left_ns += n->own_run_ns;
	} else {
		t->own += n->own_run_ns;
		if (!is_recursion(p->w, witness))
			t->inclusive += n->weight_ns;
		if (n->own_run_ns > t->heaviest_ns) {
			t->heaviest_ns = n->own_run_ns;
			t->heaviest = witness;
		}
	}
	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(p->w, id)->next)
		add_times(p, id);
}

static int by_inclusive(const void *a, const void *b)
{
	const struct function_time *x = a, *y = b;

	return descending(x->inclusive, y->inclusive) ?: descending(x->own, y->own);
}

static int by_own(const void *a, const void *b)
{
	const struct function_time *x = a, *y = b;

	return descending(x->own, y->own) ?: descending(x->inclusive, y->inclusive);
}

/* The table: f0 itself, then the functions with most time. */
static void fill_table(struct builder *b, struct profile_of_samples *p)
{
	struct descent_sampled *out = &b->r->sampled;
	double all = (double)p->all_ns, listed = 0;

	qsort(p->list + 1, p->nr - 1, sizeof(*p->list), by_inclusive);
	for (unsigned int i = 0; i < p->nr && i < DESCENT_SAMPLED; i++) {
		const struct function_time *t = &p->list[i];

		out->function[out->nr++] = (struct descent_share){
		    t->function, ratio((double)t->own, all), ratio((double)t->inclusive, all)};
		listed += (double)t->own;
	}
	out->nr_rest = p->nr - out->nr;
	out->rest = ratio(all - listed, all);
}

static void show_node(struct builder *b, uint32_t witness, uint64_t all_ns)
{
	const struct witness_node *n = witnesses_node(b->d->witnesses, witness);
	double share = ratio((double)n->weight_ns, (double)all_ns);
	struct descent_fnode *out = &b->r->nodes[b->r->nr_nodes];

	*out = (struct descent_fnode){
	    .node = witness,
	    .parent = witness ? n->parent : 0,
	    .function = n->function,
	    .state = FNODE_UNTRIED,
	    .share = witness ? share : 1,
	    .latency_ns = (uint64_t)((witness ? share : 1) * b->latency + 0.5),
	};
	/* the byte before the return address is in the call */
	if (witness && n->ret.module && n->ret.offset)
		out->site = (struct rec_code){n->ret.module, n->ret.offset - 1};
	if (witness)
		out->depth = b->r->nodes[b->index[n->parent]].depth + 1;
	b->index[witness] = b->r->nr_nodes++;
}

static bool is_shown(const struct builder *b, uint32_t witness, uint64_t all_ns)
{
	return (double)witnesses_node(b->d->witnesses, witness)->weight_ns >=
	       NODE_SHARE * (double)all_ns;
}

/* Shows the frames of the samples with a good share of the time; callers before their callees. */
static void show_nodes(struct builder *b, uint32_t witness, uint64_t all_ns)
{
	show_node(b, witness, all_ns);
	for (uint32_t id = witnesses_node(b->d->witnesses, witness)->first_child; id != NO_INDEX;
	     id = witnesses_node(b->d->witnesses, id)->next)
		if (is_shown(b, id, all_ns))
			show_nodes(b, id, all_ns);
}

/* The frames of a path lead to `witness`; those with too small a share are shown for it. */
static uint32_t *frames_to(struct builder *b, uint32_t witness, uint64_t all_ns, unsigned int *nr)
{
	uint32_t chain[DESCENT_MAX_WITNESS_FRAMES], n = 0, at = witness, *frames;

	for (; n < DESCENT_MAX_WITNESS_FRAMES; at = witnesses_node(b->d->witnesses, at)->parent) {
		chain[n++] = at;
		if (!at)
			break;
	}
	frames = calloc(n, sizeof(*frames));
	if (!frames) {
		b->err = -ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		at = chain[n - 1 - i];
		if (b->index[at] == NO_INDEX)
			show_node(b, at, all_ns);
		frames[i] = b->index[at];
		b->r->nodes[frames[i]].root_cause = true;
	}
	*nr = n;
	return frames;
}

/* If the function mostly ran in the kernel, for a system call or a page fault, says where. */
static void set_kernel(const struct builder *b, struct descent_path *path,
		       const struct witness_own *own, uint64_t own_ns)
{
	struct kernel_frames f;

	if (!own->kernel || (double)own->kernel_run_ns < KERNEL_PART * (double)own_ns)
		return;
	result_kernel_frames(own->kernel, KERNEL_BRANCH, 2, &f);
	result_name_by(&f, result_kernel_trunk(&f, KERNEL_TRUNK));
	result_set_kernel(b, path, 0, &f, ratio((double)own->kernel_run_ns, (double)own_ns),
			  EVIDENCE_SAMPLED);
	path->kernel_trunk = path->nr_kernel;
	path->kernel_named = f.nr ? f.part[f.nr - 1] : 0;
	path->cause.kind = path->nr_kernel ? CAUSE_KERNEL : CAUSE_OWN_CODE;
}

static void add_path(struct builder *b, const struct function_time *t, uint64_t all_ns)
{
	const struct witness_node *n = witnesses_node(b->d->witnesses, t->heaviest);
	struct descent_path *path = &b->r->paths[b->r->nr_paths];
	uint32_t *frames = frames_to(b, t->heaviest, all_ns, &path->nr_frames);

	if (!frames)
		return;
	b->r->nr_paths++;
	path->frames = frames;
	path->share = ratio((double)t->own, (double)all_ns);
	path->latency_ns = (uint64_t)(path->share * b->latency + 0.5);
	path->cause.kind = CAUSE_OWN_CODE;
	path->evidence = EVIDENCE_SAMPLED;
	if (!n->own)
		return;
	path->nr_pcs = n->own->nr_pcs;
	memcpy(path->pcs, n->own->pcs, sizeof(path->pcs));
	result_sort_pcs(path);
	set_kernel(b, path, n->own, n->own_run_ns);
}

bool descent_samples_suffice(const struct descent *d, uint64_t now_ns)
{
	uint64_t samples = witnesses_count(d->witnesses);

	return samples >= ENOUGH_SAMPLES ||
	       (samples >= FEW_SAMPLES && now_ns - d->first_call_ns >= FEW_NS);
}

int result_by_samples(struct builder *b)
{
	struct profile_of_samples p = {.w = b->d->witnesses};
	uint32_t nr = witnesses_nr_nodes(p.w);

	p.list = calloc(MAX_FUNCTIONS, sizeof(*p.list));
	b->index = malloc(nr * sizeof(*b->index));
	b->r->nodes = calloc(nr, sizeof(*b->r->nodes));
	if (!p.list || !b->index || !b->r->nodes) {
		free(p.list);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++)
		b->index[i] = NO_INDEX;
	b->r->sampled.samples = witnesses_count(p.w);
	p.all_ns = witnesses_node(p.w, 0)->weight_ns;
	add_times(&p, 0);
	fill_table(b, &p);
	show_nodes(b, 0, p.all_ns);
	qsort(p.list, p.nr, sizeof(*p.list), by_own);
	for (unsigned int i = 0; i < p.nr && p.list[i].own && !b->err; i++)
		if (!i || (double)p.list[i].own >= PATH_SHARE * (double)p.all_ns)
			add_path(b, &p.list[i], p.all_ns);
	free(p.list);
	return b->err;
}
