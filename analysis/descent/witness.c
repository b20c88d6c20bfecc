// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/array.h"
#include "analysis/descent/witness_impl.h"

#define DISORDER_NS 100000000ull

/* The list of the callees of a frame to which this function belongs. */
static uint32_t *first_below(struct witnesses *w, uint32_t parent, struct rec_code function)
{
	return code_is_syscall(function) ? &w->node[parent].first_syscall
					 : &w->node[parent].first_child;
}

static int add_node(struct witnesses *w, uint32_t parent, struct rec_code function,
		    struct rec_code ret)
{
	struct witness_node *n;
	uint32_t *first;

	if (w->nr_nodes == WITNESS_MAX_NODES)
		return -ENOSPC;
	if (array_grow(w->node, w->nr_nodes, w->cap_nodes, WITNESS_MAX_NODES))
		return -ENOMEM;
	n = &w->node[w->nr_nodes];
	*n = (struct witness_node){
	    .parent = parent,
	    .first_child = NO_INDEX,
	    .first_syscall = NO_INDEX,
	    .next = NO_INDEX,
	    .function = function,
	    .ret = ret,
	};
	if (parent != NO_INDEX) {
		first = first_below(w, parent, function);
		n->next = *first;
		*first = w->nr_nodes;
	}
	return (int)w->nr_nodes++;
}

struct witnesses *witnesses_new(struct rec_code f0)
{
	struct witnesses *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->f0 = f0;
	if (add_node(w, NO_INDEX, f0, (struct rec_code){0, 0}) < 0) {
		witnesses_free(w);
		return NULL;
	}
	return w;
}

static void owns_release(struct witnesses *w)
{
	for (unsigned int i = 0; i < w->nr_nodes; i++) {
		if (w->node[i].own)
			free(w->node[i].own->kernel);
		free(w->node[i].own);
	}
	w->nr_kernel = 0;
}

void witnesses_free(struct witnesses *w)
{
	if (!w)
		return;
	owns_release(w);
	for (unsigned int i = 0; i < WITNESS_PENDING; i++)
		free(w->pending[i]);
	blocked_release(&w->blocked);
	free(w->callers);
	free(w->node);
	free(w);
}

void witnesses_keep_syscalls(struct witnesses *w)
{
	w->keeps_syscalls = w->f0.module != REC_KERNEL_MODULE;
}

void witnesses_forget(struct witnesses *w)
{
	owns_release(w);
	blocked_release(&w->blocked);
	if (w->callers)
		w->callers->nr = 0;
	for (unsigned int i = 0; i < WITNESS_PENDING; i++)
		if (w->pending[i])
			witness_release(w, w->pending[i]);
	memset(w->ended, 0, sizeof(w->ended));
	memset(w->recent, 0, sizeof(w->recent));
	w->nr_nodes = 0;
	w->count = w->stacks = 0;
	add_node(w, NO_INDEX, w->f0, (struct rec_code){0, 0});
}

/* Space saving (Metwally et al., ICDT 2005): a new address replaces the lightest and inherits its
 * weight. */
static void add_pc(struct witness_own *own, struct rec_code place, uint64_t ns)
{
	unsigned int lightest = 0;

	for (unsigned int i = 0; i < own->nr_pcs; i++) {
		if (code_equal(own->pcs[i].place, place)) {
			own->pcs[i].ns += ns;
			return;
		}
		if (own->pcs[i].ns < own->pcs[lightest].ns)
			lightest = i;
	}
	if (own->nr_pcs < DESCENT_PCS) {
		own->pcs[own->nr_pcs++] = (struct descent_pc){place, ns};
		return;
	}
	own->pcs[lightest].place = place;
	own->pcs[lightest].ns += ns;
}

static int child_of(struct witnesses *w, uint32_t parent, struct rec_code function,
		    struct rec_code ret)
{
	for (uint32_t id = *first_below(w, parent, function); id != NO_INDEX; id = w->node[id].next)
		if (code_equal(w->node[id].function, function) && code_equal(w->node[id].ret, ret))
			return (int)id;
	return add_node(w, parent, function, ret);
}

static int stack_tag(const struct stack *s)
{
	if (s->kind == WITNESS_SLEEP)
		return (int)s->cause.kind;
	return s->work ? WITNESS_WORK - (int)s->cause.kind : WITNESS_RAN;
}

static void count_kernel(struct witnesses *w, struct witness_own *own, const struct stack *s)
{
	if (!s->nr_kernel)
		return;
	if (s->kind == WITNESS_RUN)
		own->kernel_run_ns += s->weight_ns;
	if (s->work)
		cause_tally_add(&own->work, &s->cause, s->weight_ns);
	if (!own->kernel && w->nr_kernel < WITNESS_KERNEL) {
		own->kernel = calloc(1, sizeof(*own->kernel));
		w->nr_kernel += own->kernel != NULL;
	}
	if (own->kernel)
		stack_tally_add(own->kernel, s->kernel, s->nr_kernel, stack_tag(s), s->weight_ns);
}

static void count_callers(struct witnesses *w, const struct stack *s)
{
	if (!s->nr_callers)
		return;
	if (!w->callers)
		w->callers = calloc(1, sizeof(*w->callers));
	if (!w->callers)
		return;
	w->callers->by_place = true;
	stack_tally_add(w->callers, s->caller, s->nr_callers, 0, s->weight_ns);
}

static void count_frame(struct witness_node *n, const struct stack *s)
{
	n->weight_ns += s->partial ? 0 : s->weight_ns;
	n->count += !s->partial;
}

/* Counts a stack sample in the frame `at`, in which it ended, at the instruction of `last`. */
static int count_own(struct witnesses *w, uint32_t at, const struct stack *s,
		     const struct rec_frame *last)
{
	struct witness_node *n = &w->node[at];
	uint64_t weight = s->partial ? 0 : s->weight_ns;

	if (!n->own)
		n->own = calloc(1, sizeof(*n->own));
	if (s->kind == WITNESS_SLEEP)
		n->own_sleep_ns += weight;
	else
		n->own_run_ns += weight;
	if (!n->own)
		return -ENOMEM;
	count_kernel(w, n->own, s);
	if (s->partial)
		cause_tally_add(&n->own->partial, &s->cause, s->weight_ns);
	else if (s->kind == WITNESS_SLEEP)
		cause_tally_add(&n->own->sleeps, &s->cause, s->weight_ns);
	else
		add_pc(n->own, (struct rec_code){last->module, last->offset}, s->weight_ns);
	return 0;
}

/* Goes from a frame, of which `from` was the last one, to the callee with this frame. Returns that,
 * or a negative errno. */
static int step_down(struct witnesses *w, uint32_t at, const struct rec_frame *from,
		     const struct rec_frame *to, const struct stack *s)
{
	int child = child_of(w, at, (struct rec_code){to->module, to->function},
			     (struct rec_code){from->module, from->offset});

	if (child >= 0)
		count_frame(&w->node[child], s);
	return child;
}

/* Counts the frames below the system call that the innermost frame of the program has made. */
static int count_syscall(struct witnesses *w, const struct stack *s)
{
	const struct rec_frame *from = &s->frame[s->nr_frames - 1];
	int at = (int)s->at;

	if (!w->keeps_syscalls || s->partial || !s->nr_kernel ||
	    !code_is_syscall((struct rec_code){s->kernel[0].module, s->kernel[0].function}))
		return 0;
	for (uint32_t i = 0; i < s->nr_kernel && at >= 0; from = &s->kernel[i++])
		at = step_down(w, (uint32_t)at, from, &s->kernel[i], s);
	if (at < 0)
		return at;
	return count_own(w, (uint32_t)at, s, from);
}

/* Counts a stack sample that is known to lie in an in-peak call. */
static int count_stack(struct witnesses *w, struct stack *s)
{
	const struct rec_frame *last = &s->frame[s->nr_frames - 1];
	uint32_t at = 0;
	int child, err;

	w->count += !s->partial;
	w->stacks += s->nr_kernel || s->nr_callers;
	count_callers(w, s);
	if (s->kind == WITNESS_SLEEP)
		blocked_add(&w->blocked, s->node, &s->cause, s->weight_ns, s->kernel, s->nr_kernel);
	if (s->frame[0].module != w->f0.module || s->frame[0].function != w->f0.offset) {
		/* f0 has jumped to this function: the frame of f0 is gone, and no return address
		 * leads here */
		child = child_of(w, 0, (struct rec_code){s->frame[0].module, s->frame[0].function},
				 (struct rec_code){0, 0});
		if (child < 0)
			return child;
		at = (uint32_t)child;
	}
	count_frame(&w->node[at], s);
	for (uint32_t i = 1; i < s->nr_frames; i++) {
		child = step_down(w, at, &s->frame[i - 1], &s->frame[i], s);
		if (child < 0)
			return child;
		at = (uint32_t)child;
	}
	s->counted = true;
	s->at = at;
	err = count_own(w, at, s, last);
	return err ? err : count_syscall(w, s);
}

static bool inside(uint64_t at_ns, uint64_t start_ns, uint64_t end_ns)
{
	return at_ns >= start_ns && at_ns <= end_ns;
}

/* Copies a stack sample. Frames beyond the maximum are dropped; the time then ends in the last
 * frame that is kept. */
static void copy_stack(struct stack *to, const struct rec_witness *from)
{
	uint32_t n = from->nr_frames;

	if (n > DESCENT_MAX_WITNESS_FRAMES)
		n = DESCENT_MAX_WITNESS_FRAMES;
	/* clear everything but the frames: this runs for every stack sample */
	memset(to, 0, offsetof(struct stack, frame));
	to->tid = from->tid;
	to->node = from->node;
	to->at_ns = from->at_ns;
	to->weight_ns = from->weight_ns;
	to->kind = from->kind == WITNESS_SLEEP ? WITNESS_SLEEP : WITNESS_RUN;
	to->partial = from->partial && to->kind == WITNESS_SLEEP;
	to->nr_frames = n;
	for (uint32_t i = 0; i < n; i++)
		to->frame[i] = from->frames[i];
	to->nr_kernel = from->nr_kernel < STACK_DEPTH ? from->nr_kernel : STACK_DEPTH;
	to->nr_callers = from->nr_callers < STACK_DEPTH ? from->nr_callers : STACK_DEPTH;
	for (uint32_t i = 0; i < to->nr_kernel; i++)
		to->kernel[i] = from->kernel[i];
	for (uint32_t i = 0; i < to->nr_callers; i++)
		to->caller[i] = from->callers[i];
	to->syscall = from->sleep.syscall;
	to->arg = from->sleep.args[0];
	to->futex = from->sleep.call && !strcmp(from->sleep.call, "futex");
	if (to->kind == WITNESS_SLEEP)
		cause_of_sleep(&from->sleep, from->functions, &to->cause);
	else
		to->work = cause_of_work(&from->sleep, &to->cause);
	to->timed_out = to->kind == WITNESS_SLEEP && to->cause.kind == CAUSE_TIMEOUT;
}

/* Copies a stack sample to the next place of those that wait for their calls. */
static int take_stack(struct witnesses *w, const struct rec_witness *r, const struct recent_call *c)
{
	struct stack **slot = &w->pending[w->next_pending];

	if (!r->nr_frames)
		return -EINVAL;
	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return -ENOMEM;
	witness_release(w, *slot);
	copy_stack(*slot, r);
	witness_join_ended(w, *slot, c);
	witness_join_timeouts(w, *slot, c);
	return 0;
}

int witnesses_count_one(struct witnesses *w, const struct rec_witness *r)
{
	int err = take_stack(w, r, NULL);

	if (!err)
		err = count_stack(w, w->pending[w->next_pending]);
	if (w->pending[w->next_pending])
		w->pending[w->next_pending]->timed_out = false;
	return err;
}

/* The recent in-peak call in which the sample was taken; NULL if it is not known. */
static const struct recent_call *recent_call_of(const struct witnesses *w,
						const struct rec_witness *r)
{
	for (unsigned int i = 1; i <= WITNESS_RECENT; i++) {
		const struct recent_call *c = &w->recent[(w->next_recent - i) % WITNESS_RECENT];

		/* newest first; the calls of several threads arrive nearly in order */
		if (!c->end_ns || c->end_ns + DISORDER_NS < r->at_ns)
			break;
		if (c->tid == r->tid && inside(r->at_ns, c->start_ns, c->end_ns))
			return c;
	}
	return NULL;
}

int witnesses_add(struct witnesses *w, const struct rec_witness *r)
{
	const struct recent_call *c = recent_call_of(w, r);
	struct stack **slot = &w->pending[w->next_pending];
	int err = take_stack(w, r, c);

	if (err)
		return err;
	if (c)
		err = count_stack(w, *slot);
	if (c && !(*slot)->timed_out)
		return err;
	(*slot)->used = !c;
	w->nr_timed_out += (*slot)->timed_out;
	w->next_pending = (w->next_pending + 1) % WITNESS_PENDING;
	return err;
}

int witnesses_call(struct witnesses *w, uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	int err = 0, e;

	w->recent[w->next_recent] = (struct recent_call){tid, start_ns, end_ns};
	w->next_recent = (w->next_recent + 1) % WITNESS_RECENT;
	for (unsigned int i = 0; i < WITNESS_PENDING; i++) {
		struct stack *s = w->pending[i];

		if (!s || !s->used || s->tid != tid)
			continue;
		if (inside(s->at_ns, start_ns, end_ns)) {
			e = count_stack(w, s);
			err = err ? err : e;
		}
		if (s->counted && s->timed_out)
			s->used = false;
		/* A sample of the same thread before the end of this call was in a call outside of
		 * the peak. */
		else if (s->at_ns <= end_ns)
			witness_release(w, s);
	}
	return err;
}

uint64_t witnesses_count(const struct witnesses *w)
{
	return w->count;
}

uint64_t witnesses_stacks(const struct witnesses *w)
{
	return w->stacks;
}

const struct blocked *witnesses_blocked(const struct witnesses *w)
{
	return &w->blocked;
}

const struct stack_tally *witnesses_callers(const struct witnesses *w)
{
	return w->callers;
}

uint32_t witnesses_nr_nodes(const struct witnesses *w)
{
	return w->nr_nodes;
}

const struct witness_node *witnesses_node(const struct witnesses *w, uint32_t node)
{
	return &w->node[node];
}
