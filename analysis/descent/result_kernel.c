// SPDX-License-Identifier: GPL-2.0-or-later
/* The time that samples saw in the kernel below a path: it is divided among paths of its own. */

#include "analysis/base/array.h"
#include "analysis/descent/result_impl.h"

enum {
	/* samples needed to follow a frame; with fewer samples in total, 2 */
	FEW = 3,
	/* a part with this percentage of a function's samples gets a path of its own */
	KERNEL_PART = 10,
	KERNEL_PATHS = 4,
	/* the callee of a loop with this percentage of a system call's time makes that call */
	CALLEE_PART = 90,
};

/* A part of the time that samples saw in the kernel; becomes a path. */
struct part {
	struct cause cause;
	struct kernel_frames kernel;
	uint32_t trunk;
	double weight; /* ns at first; then a share of the kernel's time */
	/* in a system call: share of the part's time in or below the function that names it */
	double named;
};

struct split {
	struct stack_tally *tally; /* samples in the kernel whose work has no name of its own */
	struct cause_tally work;
	uint64_t run, kernel;		 /* ns of all samples, and of those in the kernel */
	double user_share, kernel_share; /* shares of the path that is split */
	bool in_kernel; /* the path ends in a function of the kernel: the cause is the kernel
			   already */
	unsigned int nr;
	struct part part[KERNEL_PATHS + CAUSE_NAMES];
};

/* Visits the sampled frames in a function and in those of its callees that have no path of their
 * own. */
struct below {
	const struct descent *d;
	struct live_callees live;
	void (*visit)(void *ctx, const struct witness_node *n);
	void *ctx;
};

void result_live_callees(const struct descent *d, uint32_t node, struct live_callees *out)
{
	const unsigned int max = sizeof(out->at) / sizeof(out->at[0]);
	struct witness_set set;

	out->nr = 0;
	for (uint32_t id = d->tree.node[node].first_child; id != NO_INDEX;
	     id = d->tree.node[id].next) {
		if (!d->tree.node[id].live)
			continue;
		fnode_witness_set(d, id, &set);
		for (unsigned int i = 0; i < set.nr_at && out->nr < max; i++)
			out->at[out->nr++] = set.at[i];
	}
}

bool result_is_live(const struct live_callees *live, uint32_t witness)
{
	return any_of(i, live->nr, live->at[i] == witness);
}

/* Recursion is limited: a stack has at most DESCENT_MAX_WITNESS_FRAMES frames. */
static void visit_below(const struct below *b, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(b->d->witnesses, witness);

	b->visit(b->ctx, n);
	for (uint32_t id = n->first_child; id != NO_INDEX;
	     id = witnesses_node(b->d->witnesses, id)->next)
		if (!result_is_live(&b->live, id))
			visit_below(b, id);
}

/* Visits the stacks of a function's own waits; with `callees`, also those of its callees that have
 * no path of their own. */
static void visit_own(const struct descent *d, uint32_t node, bool callees,
		      void (*visit)(void *ctx, const struct witness_node *n), void *ctx)
{
	struct below b = {.d = d, .visit = visit, .ctx = ctx};
	struct witness_set set;

	if (callees)
		result_live_callees(d, node, &b.live);
	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++) {
		if (callees)
			visit_below(&b, set.at[i]);
		else
			visit(ctx, witnesses_node(d->witnesses, set.at[i]));
	}
}

static void gather_run(void *ctx, const struct witness_node *n)
{
	struct split *s = ctx;

	s->run += n->own_run_ns;
	if (!n->own)
		return;
	s->kernel += n->own->kernel_run_ns;
	cause_tally_join(&s->work, &n->own->work, CAUSE_KINDS);
	if (n->own->kernel)
		stack_tally_join(s->tally, n->own->kernel, WITNESS_RAN);
}

/* Makes a part for each kind of named work that matters, with its heaviest cause and stack. */
static void split_work(const struct descent *d, uint32_t node, bool callees, struct split *s)
{
	struct gathered g = {.tally = calloc(1, sizeof(*g.tally))};
	struct cause_tally one;
	unsigned int i;
	uint64_t kind_ns;

	for (unsigned int kind = 0; g.tally && kind < CAUSE_KINDS && s->nr < CAUSE_NAMES; kind++) {
		struct part *part = &s->part[s->nr];

		memset(&one, 0, sizeof(one));
		cause_tally_join(&one, &s->work, (enum cause_kind)kind);
		for (kind_ns = 0, i = 0; i < one.nr; i++)
			kind_ns += one.entry[i].ns;
		if (!kind_ns || kind_ns * 100 < s->run * KERNEL_PART)
			continue;
		g.tally->nr = 0;
		g.tag = WITNESS_WORK - (int)kind;
		visit_own(d, node, callees, result_gather, &g);
		part->cause = *cause_tally_top(&one);
		result_kernel_frames(g.tally, KERNEL_MAJORITY, 1, &part->kernel);
		part->weight = (double)kind_ns;
		s->nr++;
	}
	free(g.tally);
}

static bool in_page_fault(const struct rec_frame *frame)
{
	return frame->module == REC_KERNEL_MODULE && frame->function == REC_KERNEL_FAULT;
}

/* Returns true for a system call that the last function of the path, which is of the program,
 * called. */
static bool in_system_call(const struct split *s, const struct rec_frame *frame)
{
	return code_is_syscall((struct rec_code){frame->module, frame->function}) && !s->in_kernel;
}

/* Returns true for a part of a path whose time the kernel worked, as samples tell: in a system
 * call, or, if the path ends in the kernel, in callees that were not measured. */
static bool is_work_of_kernel(const struct split *s, const struct rec_frame *frame,
			      const struct cause *cause)
{
	return in_system_call(s, frame) || (s->in_kernel && cause->kind == CAUSE_UNMEASURED);
}

/* Names a part by the deepest function with most of its time. */
static void name_part(struct part *part)
{
	result_name_by(&part->kernel, part->trunk);
	part->named = part->trunk ? part->kernel.part[part->trunk - 1] : 0;
}

/* Finds the heaviest part of these stacks. All stacks below one system call are one part, down to
 * the deepest function that has KERNEL_TRUNK percent of them. Returns its time; 0: there is none.
 * The first `common` frames are those of all of its stacks. */
static uint64_t find_part(const struct split *s, uint32_t least, struct part *part,
			  uint32_t *common)
{
	struct kernel_frames *f = &part->kernel;
	uint64_t ns = result_kernel_frames(s->tally, KERNEL_BRANCH, least, f);

	if (!f->nr)
		return 0;
	part->trunk = result_kernel_trunk(f, KERNEL_TRUNK);
	*common = f->nr;
	if (in_system_call(s, f->frame)) {
		part->cause = (struct cause){.kind = CAUSE_KERNEL};
		*common = 1;
		ns = stack_tally_ns_of(s->tally, f->frame, *common);
		name_part(part);
	}
	return ns;
}

/* Makes parts of the heaviest paths of the remaining kernel time. The parts are scaled up to stand
 * for all of it. */
static void split_paths(struct split *s, const struct cause *cause)
{
	uint32_t least = stack_tally_count(s->tally) < FEW ? 2 : FEW;
	uint64_t all = stack_tally_ns(s->tally), ns;
	double sum = 0, rest = (double)s->kernel;
	unsigned int first = s->nr;
	uint32_t common;

	for (unsigned int i = 0; i < s->nr; i++)
		rest -= s->part[i].weight;
	while (s->nr < first + KERNEL_PATHS && s->tally->nr &&
	       rest * 100 >= (double)s->run * KERNEL_PART) {
		struct part *part = &s->part[s->nr];

		part->cause = *cause;
		ns = find_part(s, least, part, &common);
		if (!ns || ns * 100 < all * KERNEL_PART)
			break;
		stack_tally_remove(s->tally, part->kernel.frame, common);
		if (is_work_of_kernel(s, part->kernel.frame, cause))
			part->cause = (struct cause){.kind = CAUSE_KERNEL};
		part->weight = (double)ns;
		sum += (double)ns;
		s->nr++;
	}
	for (unsigned int i = first; i < s->nr; i++)
		s->part[i].weight *= rest / sum;
}

/* Makes one part of the remaining kernel time if too few samples were taken to tell its paths
 * apart. They agree at least on the system call. */
static void split_whole(struct split *s, const struct cause *cause)
{
	struct part *part = &s->part[s->nr];
	double rest = (double)s->kernel;

	for (unsigned int i = 0; i < s->nr; i++)
		rest -= s->part[i].weight;
	if (rest * 100 < (double)s->run * KERNEL_PART)
		return;
	result_kernel_frames(s->tally, KERNEL_MAJORITY, 1, &part->kernel);
	if (!part->kernel.nr)
		return;
	part->trunk = 1;
	if (stack_tally_count(s->tally) > 1)
		part->trunk = result_kernel_trunk(&part->kernel, KERNEL_TRUNK);
	name_part(part);
	part->kernel.nr_deep = part->kernel.nr; /* so few samples tell no more */
	part->cause = *cause;
	if (is_work_of_kernel(s, part->kernel.frame, cause))
		part->cause = (struct cause){.kind = CAUSE_KERNEL};
	part->weight = rest;
	s->nr++;
}

static bool split_begin(const struct builder *b, const struct descent_path *path, uint32_t node,
			struct split *s)
{
	bool callees = path->cause.kind != CAUSE_OWN_CODE && path->cause.kind != CAUSE_KERNEL &&
		       path->cause.kind != CAUSE_UNKNOWN;
	unsigned int works;
	double sum = 0;

	s->in_kernel = result_is_kernel(b->d, node);
	visit_own(b->d, node, callees, gather_run, s);
	if (!s->run || s->kernel * 100 < s->run * KERNEL_PART)
		return false;
	if (s->kernel > s->run)
		s->kernel = s->run;
	split_work(b->d, node, callees, s);
	works = s->nr;
	split_paths(s, &path->cause);
	if (s->nr == works)
		split_whole(s, &path->cause);
	for (unsigned int i = 0; i < s->nr; i++)
		sum += s->part[i].weight;
	if (sum <= 0)
		return false;
	/* If only named work made parts, the remaining kernel time is not part of it: count it as
	 * the own code of the path. */
	if (s->nr == works && sum < (double)s->kernel)
		s->kernel = (uint64_t)sum;
	s->kernel_share = (double)s->kernel / (double)s->run;
	if ((1 - s->kernel_share) * 100 < KERNEL_PART)
		s->kernel_share = 1;
	s->user_share = 1 - s->kernel_share;
	for (unsigned int i = 0; i < s->nr; i++)
		s->part[i].weight /= sum;
	return true;
}

static void add_faults(struct builder *b, const struct part *part, double ns)
{
	b->faults.ns += ns;
	if (ns <= b->faults.heaviest_ns)
		return;
	b->faults.heaviest_ns = ns;
	b->faults.kernel = part->kernel;
}

/* Removes a path whose time all went to page faults, but keeps the functions that met them. Paths
 * may have been added behind it. */
static void take_back(struct builder *b, struct descent_path *path)
{
	struct descent_path *end = b->r->paths + b->r->nr_paths--;

	b->faults.nr_below = path->nr_below;
	memcpy(b->faults.below, path->below, sizeof(path->below));
	free((void *)(uintptr_t)path->frames);
	memmove(path, path + 1, (size_t)(end - path - 1) * sizeof(*path));
	/* the next path that is added must not inherit anything */
	memset(end - 1, 0, sizeof(*end));
}

/* Returns the time in the kernel of the samples in this frame and below it. */
static uint64_t kernel_below(const struct witnesses *w, uint32_t witness)
{
	const struct witness_node *n = witnesses_node(w, witness);
	uint64_t ns = n->own ? n->own->kernel_run_ns : 0;

	for (uint32_t id = n->first_child; id != NO_INDEX; id = witnesses_node(w, id)->next)
		ns += kernel_below(w, id);
	return ns;
}

/* Returns true if the path is a loop, and the callee that it is around makes the system calls in
 * which its time in the kernel passes. Then that time is the loop's. */
static bool is_of_loop(const struct descent *d, const struct descent_path *path, uint32_t node,
		       uint64_t kernel_ns)
{
	struct live_callees live;
	struct witness_set set;
	uint64_t ns = 0;

	if (path->cause.kind != CAUSE_LOOP || !path->looped.function.module)
		return false;
	result_live_callees(d, node, &live);
	fnode_witness_set(d, node, &set);
	for (unsigned int i = 0; i < set.nr_at; i++)
		for (uint32_t id = witnesses_node(d->witnesses, set.at[i])->first_child;
		     id != NO_INDEX; id = witnesses_node(d->witnesses, id)->next)
			if (code_equal(witnesses_node(d->witnesses, id)->function,
				       path->looped.function) &&
			    !result_is_live(&live, id))
				ns += kernel_below(d->witnesses, id);
	return ns * 100 >= kernel_ns * CALLEE_PART;
}

/* Leaves the time in system calls that the callee of a loop makes to the path of the loop. */
static void join_loop(const struct builder *b, struct descent_path *path, uint32_t node,
		      struct split *s)
{
	struct part heaviest = {.weight = 0};
	unsigned int kept = 0;
	double share = 0;

	if (!is_of_loop(b->d, path, node, s->kernel))
		return;
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct part *part = &s->part[i];

		if (part->cause.kind != CAUSE_KERNEL) {
			s->part[kept++] = *part;
			continue;
		}
		share += s->kernel_share * part->weight;
		if (part->weight > heaviest.weight)
			heaviest = *part;
	}
	s->nr = kept;
	s->user_share += share;
	if (heaviest.weight > 0)
		result_set_kernel(b, path, node, &heaviest.kernel,
				  s->kernel_share * heaviest.weight / s->user_share,
				  EVIDENCE_SAMPLED);
	path->looped.kernel = path->share * share;
}

static void part_fill(struct builder *b, struct descent_path *path, uint32_t node,
		      const struct part *part)
{
	path->cause = part->cause;
	/* the callee that samples named is that of another cause */
	if (part->cause.kind != CAUSE_LOOP && part->cause.kind != CAUSE_UNMEASURED)
		path->looped = (struct descent_looped){.calls = 0};
	path->nr_pcs = 0;
	path->nr_below = 0;
	result_set_kernel(b, path, node, &part->kernel, 1, EVIDENCE_SAMPLED);
	/* the frames of the path itself may have been left out */
	if (part->cause.kind == CAUSE_KERNEL && part->trunk > part->kernel.nr - path->nr_kernel)
		path->kernel_trunk = part->trunk - (part->kernel.nr - path->nr_kernel);
	path->kernel_named = part->named;
}

void result_split_kernel(struct builder *b, struct descent_path *path, uint32_t node)
{
	struct split *s = calloc(1, sizeof(*s));
	double share = path->share, latency = (double)path->latency_ns;
	struct descent_path *one;
	bool used;

	if (s)
		s->tally = calloc(1, sizeof(*s->tally));
	if (!s || !s->tally)
		b->err = -ENOMEM;
	if (b->err || !split_begin(b, path, node, s))
		goto out;
	join_loop(b, path, node, s);
	used = s->user_share > 0;
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct part *part = &s->part[i];
		double weight = s->kernel_share * part->weight;

		if (part->kernel.nr && in_page_fault(part->kernel.frame) &&
		    part->cause.kind == path->cause.kind) {
			add_faults(b, part, latency * weight);
			continue;
		}
		one = used ? result_add_path(b, node, 0, &part->cause, path->maxcount) : path;
		if (!one)
			break;
		used = true;
		one->share = share * weight;
		one->latency_ns = (uint64_t)(latency * weight + 0.5);
		one->evidence = weight < 1 ? EVIDENCE_SAMPLED : path->evidence;
		part_fill(b, one, node, part);
	}
	if (s->user_share > 0 && s->nr) {
		path->share = share * s->user_share;
		path->latency_ns = (uint64_t)(latency * s->user_share + 0.5);
		path->evidence = EVIDENCE_SAMPLED;
	}
	if (!used)
		take_back(b, path);
out:
	if (s)
		free(s->tally);
	free(s);
}
