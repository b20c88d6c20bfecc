// SPDX-License-Identifier: GPL-2.0-or-later
/* What stacks alone can say of an answer: the kernel below a path, the callers above a system call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/descent/result_impl.h"

enum {
	MAJORITY = 2,	/* of stacks that agree, 1/2 go on to the next frame */
	BRANCH = 4,	/* of samples, 1/4 */
	FEW = 3,	/* samples that are no chance; of two, both; one says nothing */
	KERNEL_PART = 10, /* percent of a function's samples that are worth a path of their own */
	KERNEL_PATHS = 4,
};

_Static_assert((int)DESCENT_KERNEL == (int)STACK_DEPTH, "frames of a kernel stack");

/* f0 is a system call itself: the first frame is f0. */
void result_set_kernel(const struct builder *b, struct descent_path *path, uint32_t node, const struct rec_frame *frame,
		       uint32_t nr, enum evidence evidence)
{
	const struct fnode *n = &b->d->tree.node[node];
	struct rec_code function = n->function != NO_INDEX ? b->d->tree.function[n->function].key : (struct rec_code){0, 0};

	if (nr && function.module == frame->module && function.offset == frame->function) {
		frame++;
		nr--;
	}
	memcpy(path->kernel, frame, nr * sizeof(*frame));
	path->nr_kernel = nr;
	path->kernel_evidence = evidence;
}

/* The kernel stacks with one tag, of one witnessed frame after the other. */
struct gathered {
	struct stack_tally *tally;
	int tag;
};

static bool gather(void *ctx, const struct witness_node *n)
{
	struct gathered *g = ctx;

	if (n->own && n->own->kernel)
		stack_tally_join(g->tally, n->own->kernel, g->tag);
	return g->tally->nr > 0;
}

void result_add_kernel(struct builder *b, struct descent_path *path, uint32_t node, int tag)
{
	struct gathered g = {.tally = calloc(1, sizeof(*g.tally)), .tag = tag};
	struct rec_frame frame[STACK_DEPTH];
	uint64_t ns;

	if (!g.tally) {
		b->err = -ENOMEM;
		return;
	}
	result_visit_sleeps(b->d, node, gather, &g);
	if (!g.tally->nr && result_blocked_at(b->d, node))
		stack_tally_join(g.tally, &result_blocked_at(b->d, node)->kernel, tag);
	result_set_kernel(b, path, node, frame, stack_tally_path(g.tally, MAJORITY, 1, frame, &ns), EVIDENCE_WITNESSED);
	free(g.tally);
}

struct split {
	struct stack_tally tally;
	double user, kernel; /* shares of the path that is split */
	uint64_t all;	     /* ns of the tally */
	unsigned int nr;
	struct {
		struct rec_frame frame[STACK_DEPTH];
		uint32_t nr;
		double part; /* of the kernel's share */
	} path[KERNEL_PATHS];
};

/* The heaviest paths; what is left over after them is spread over them. */
static void split_paths(struct split *s)
{
	uint32_t least = stack_tally_count(&s->tally) < FEW ? 2 : FEW;
	double sum = 0;
	unsigned int i;
	uint64_t ns;

	s->all = stack_tally_ns(&s->tally);
	while (s->nr < KERNEL_PATHS && s->tally.nr) {
		uint32_t nr = stack_tally_path(&s->tally, BRANCH, least, s->path[s->nr].frame, &ns);

		if (!nr || ns * 100 < s->all * KERNEL_PART)
			break;
		stack_tally_remove(&s->tally, s->path[s->nr].frame, nr);
		s->path[s->nr].nr = nr;
		s->path[s->nr++].part = (double)ns;
		sum += (double)ns;
	}
	for (i = 0; i < s->nr; i++)
		s->path[i].part /= sum;
}

static bool split_begin(const struct builder *b, uint32_t node, struct split *s)
{
	struct gathered ran = {.tally = &s->tally, .tag = WITNESS_RAN};
	uint64_t kernel = 0, run;
	struct witness_set set;
	unsigned int i;

	fnode_witness_set(b->d, node, &set);
	run = witness_set_own_run(b->d->witnesses, &set);
	for (i = 0; i < set.nr_at; i++) {
		const struct witness_own *own = witnesses_node(b->d->witnesses, set.at[i])->own;

		if (own)
			kernel += own->kernel_run_ns;
		gather(&ran, witnesses_node(b->d->witnesses, set.at[i]));
	}
	if (!run || !s->tally.nr || kernel * 100 < run * KERNEL_PART)
		return false;
	s->kernel = kernel < run ? (double)kernel / (double)run : 1;
	s->user = 1 - s->kernel;
	if (s->user * 100 < KERNEL_PART) {
		s->user = 0;
		s->kernel = 1;
	}
	split_paths(s);
	return s->nr > 0;
}

static void add_faults(struct builder *b, const struct split *s, unsigned int i, double ns)
{
	b->faults.ns += ns;
	if (ns <= b->faults.heaviest_ns)
		return;
	b->faults.heaviest_ns = ns;
	b->faults.nr = s->path[i].nr;
	memcpy(b->faults.frame, s->path[i].frame, s->path[i].nr * sizeof(s->path[i].frame[0]));
}

static bool in_page_fault(const struct rec_frame *frame)
{
	return frame->module == REC_KERNEL_MODULE && frame->function == REC_KERNEL_FAULT;
}

/* All of it went to the faults: the path that was added last is none. */
static void take_back(struct builder *b, struct descent_path *path)
{
	free((void *)(uintptr_t)path->frames);
	memset(path, 0, sizeof(*path));
	b->r->nr_paths--;
}

void result_split_kernel(struct builder *b, struct descent_path *path, uint32_t node)
{
	struct split *s = calloc(1, sizeof(*s));
	double share = path->share, latency = (double)path->latency_ns;
	struct descent_path *one;
	bool used;
	unsigned int i;

	if (!s) {
		b->err = -ENOMEM;
		return;
	}
	if (!split_begin(b, node, s)) {
		free(s);
		return;
	}
	used = s->user > 0;
	for (i = 0; i < s->nr; i++) {
		double part = s->kernel * s->path[i].part;

		if (in_page_fault(s->path[i].frame)) {
			add_faults(b, s, i, latency * part);
			continue;
		}
		one = used ? result_add_path(b, node, 0, &path->cause, path->maxcount) : path;
		if (!one)
			break;
		used = true;
		one->share = share * part;
		one->latency_ns = (uint64_t)(latency * part + 0.5);
		one->evidence = part < 1 ? EVIDENCE_SAMPLED : path->evidence;
		one->nr_pcs = 0;
		result_set_kernel(b, one, node, s->path[i].frame, s->path[i].nr, EVIDENCE_SAMPLED);
	}
	if (s->user > 0) {
		path->share = share * s->user;
		path->latency_ns = (uint64_t)(latency * s->user + 0.5);
		path->evidence = EVIDENCE_SAMPLED;
	}
	if (!used)
		take_back(b, path);
	free(s);
}

void result_add_callers(struct builder *b)
{
	const struct stack_tally *t = witnesses_callers(b->d->witnesses);
	struct descent_result *r = b->r;
	uint64_t all;
	uint32_t i, k;

	if (!t || !t->nr)
		return;
	all = stack_tally_ns(t);
	/* by insertion: the heaviest few */
	for (i = 0; i < t->nr; i++) {
		const struct stack_entry *e = &t->entry[i];
		double share = all ? (double)e->ns / (double)all : 0;

		for (k = 0; k < r->nr_callers && r->callers[k].share >= share; k++)
			;
		if (k == DESCENT_CALLERS)
			continue;
		if (r->nr_callers < DESCENT_CALLERS)
			r->nr_callers++;
		memmove(&r->callers[k + 1], &r->callers[k], (r->nr_callers - 1 - k) * sizeof(r->callers[0]));
		r->callers[k].share = share;
		r->callers[k].nr_frames = e->nr;
		memcpy(r->callers[k].frame, e->frame, e->nr * sizeof(e->frame[0]));
	}
}
