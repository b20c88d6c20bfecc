// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/witness.h"
#include "analysis/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/descent/ftree.h"

#define DISORDER_NS 100000000ull

/*
 * A stack sample without its texts: what the thread slept on is classified at once and stored as a
 * cause.
 */
struct stack {
	bool used, partial;
	bool in_peak;	/* its call is known; it waits for the next sleep of its thread */
	bool timed_out; /* another sleep for the same may follow */
	bool futex;
	uint32_t tid, nr_frames, node;
	int32_t syscall;
	uint64_t arg; /* the first one of the system call */
	uint64_t at_ns, weight_ns;
	enum witness_kind kind;
	/* a CPU sample while the kernel did work with a name: see `cause` */
	bool work;
	struct cause cause;
	uint32_t nr_kernel, nr_callers;
	struct rec_frame frame[DESCENT_MAX_WITNESS_FRAMES];
	struct rec_frame kernel[STACK_DEPTH], caller[STACK_DEPTH];
};

struct recent_call {
	uint32_t tid;
	uint64_t start_ns, end_ns;
};

struct witnesses {
	struct rec_code f0;
	uint64_t count, stacks;
	struct stack_tally *callers;
	struct blocked blocked;
	uint32_t nr_kernel; /* number of tallies of kernel stacks */
	uint32_t nr_nodes, cap_nodes;
	struct witness_node *node; /* [0] is f0 */
	unsigned int next_pending, next_recent;
	unsigned int nr_timed_out, nr_held;	/* in `pending`: timed out, in_peak */
	struct stack *pending[WITNESS_PENDING]; /* allocated at first use */
	struct recent_call recent[WITNESS_RECENT];
};

static int add_node(struct witnesses *w, uint32_t parent, struct rec_code function,
		    struct rec_code ret)
{
	struct witness_node *n;

	if (w->nr_nodes == WITNESS_MAX_NODES)
		return -ENOSPC;
	if (array_grow(w->node, w->nr_nodes, w->cap_nodes, WITNESS_MAX_NODES))
		return -ENOMEM;
	n = &w->node[w->nr_nodes];
	*n = (struct witness_node){
	    .parent = parent,
	    .first_child = NO_INDEX,
	    .next = NO_INDEX,
	    .function = function,
	    .ret = ret,
	};
	if (parent != NO_INDEX) {
		n->next = w->node[parent].first_child;
		w->node[parent].first_child = w->nr_nodes;
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

void witnesses_forget(struct witnesses *w)
{
	owns_release(w);
	blocked_release(&w->blocked);
	if (w->callers)
		w->callers->nr = 0;
	for (unsigned int i = 0; i < WITNESS_PENDING; i++)
		if (w->pending[i])
			w->pending[i]->used = w->pending[i]->in_peak = false;
	w->nr_timed_out = w->nr_held = 0;
	memset(w->recent, 0, sizeof(w->recent));
	w->nr_nodes = 0;
	w->count = w->stacks = 0;
	add_node(w, NO_INDEX, w->f0, (struct rec_code){0, 0});
}

/*
 * Space saving (Metwally et al., ICDT 2005): a new address replaces the lightest and inherits its
 * weight.
 */
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
	for (uint32_t id = w->node[parent].first_child; id != NO_INDEX; id = w->node[id].next)
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

/* Counts a stack sample that is known to lie in an in-peak call. */
static int count_stack(struct witnesses *w, const struct stack *s)
{
	const struct rec_frame *last = &s->frame[s->nr_frames - 1];
	uint32_t at = 0;
	uint64_t weight = s->partial ? 0 : s->weight_ns;
	int child, err = 0;

	w->count += !s->partial;
	w->stacks += s->nr_kernel || s->nr_callers;
	count_callers(w, s);
	if (s->kind == WITNESS_SLEEP)
		blocked_add(&w->blocked, s->node, &s->cause, s->weight_ns, s->kernel, s->nr_kernel);
	if (s->frame[0].module != w->f0.module || s->frame[0].function != w->f0.offset) {
		/*
		 * f0 has jumped to this function: the frame of f0 is gone, and no return address
		 * leads here
		 */
		child = child_of(w, 0, (struct rec_code){s->frame[0].module, s->frame[0].function},
				 (struct rec_code){0, 0});
		if (child < 0)
			return child;
		at = (uint32_t)child;
	}
	w->node[at].weight_ns += weight;
	w->node[at].count += !s->partial;
	for (uint32_t i = 1; i < s->nr_frames; i++) {
		struct rec_code ret = {s->frame[i - 1].module, s->frame[i - 1].offset};
		struct rec_code function = {s->frame[i].module, s->frame[i].function};

		child = child_of(w, at, function, ret);
		if (child < 0) {
			err = child;
			break;
		}
		at = (uint32_t)child;
		w->node[at].weight_ns += weight;
		w->node[at].count += !s->partial;
	}
	if (err)
		return err;
	if (!w->node[at].own)
		w->node[at].own = calloc(1, sizeof(*w->node[at].own));
	if (s->kind == WITNESS_SLEEP)
		w->node[at].own_sleep_ns += weight;
	else
		w->node[at].own_run_ns += weight;
	if (!w->node[at].own)
		return -ENOMEM;
	count_kernel(w, w->node[at].own, s);
	if (s->partial)
		cause_tally_add(&w->node[at].own->partial, &s->cause, s->weight_ns);
	else if (s->kind == WITNESS_SLEEP)
		cause_tally_add(&w->node[at].own->sleeps, &s->cause, s->weight_ns);
	else
		add_pc(w->node[at].own, (struct rec_code){last->module, last->offset},
		       s->weight_ns);
	return 0;
}

static bool inside(uint64_t at_ns, uint64_t start_ns, uint64_t end_ns)
{
	return at_ns >= start_ns && at_ns <= end_ns;
}

/*
 * Copies a stack sample. Frames beyond the maximum are dropped; the time then ends in the last
 * frame that is kept.
 */
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

/* ---- a wait that is begun again whenever its time is over is one wait */

static void release_pending(struct witnesses *w, struct stack *s)
{
	w->nr_timed_out -= s->timed_out;
	w->nr_held -= s->in_peak;
	s->used = s->in_peak = false;
}

/* Counts a stack sample that was held back although its call is known. */
static int count_held(struct witnesses *w, struct stack *s)
{
	release_pending(w, s);
	return count_stack(w, s);
}

/*
 * Do both wait for the same? The address of a futex tells; what other calls wait for may have the
 * same address or number in other code.
 */
static bool is_same_place(const struct stack *a, const struct stack *b)
{
	if (a->syscall != b->syscall || a->arg != b->arg)
		return false;
	return a->futex || (a->partial == b->partial && a->nr_frames == b->nr_frames &&
			    !memcmp(a->frame, b->frame, a->nr_frames * sizeof(a->frame[0])));
}

/*
 * Gives the sleeps of the thread that timed out before `s` in the same call, and waited for the
 * same, the cause of `s`: who ends the last wait is who was waited for all the time.
 */
static void join_timeouts(struct witnesses *w, const struct stack *s)
{
	uint64_t begin_ns = s->at_ns - s->weight_ns;

	if (s->kind != WITNESS_SLEEP || s->timed_out || s->cause.kind == CAUSE_UNKNOWN)
		return;
	for (unsigned int i = 1; w->nr_timed_out && i <= WITNESS_PENDING; i++) {
		struct stack *p = w->pending[(w->next_pending - i) % WITNESS_PENDING];

		if (!p || p == s || !p->used || p->tid != s->tid || p->kind != WITNESS_SLEEP)
			continue;
		if (!p->timed_out || !is_same_place(p, s) || p->at_ns > begin_ns ||
		    (!p->futex && !wait_is_begun_again(begin_ns - p->at_ns, p->weight_ns, false)))
			return;
		w->nr_timed_out--;
		p->timed_out = false;
		p->cause = s->cause;
		begin_ns = p->at_ns - p->weight_ns;
	}
}

/* Counts the sleeps of the thread that were held back and ended before `before_ns`. */
static int count_thread(struct witnesses *w, uint32_t tid, uint64_t before_ns)
{
	int err = 0, e;

	for (unsigned int i = 0; w->nr_held && i < WITNESS_PENDING; i++) {
		struct stack *p = w->pending[i];

		if (!p || !p->used || !p->in_peak || p->tid != tid || p->at_ns >= before_ns)
			continue;
		e = count_held(w, p);
		err = err ? err : e;
	}
	return err;
}

/* Copies a stack sample to the next place of those that wait for their calls. */
static int take_stack(struct witnesses *w, const struct rec_witness *r)
{
	struct stack **slot = &w->pending[w->next_pending];
	bool held = false;

	if (!r->nr_frames)
		return -EINVAL;
	if (*slot && (*slot)->used) {
		held = (*slot)->in_peak;
		release_pending(w, *slot);
	}
	if (held)
		count_stack(w, *slot);
	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return -ENOMEM;
	copy_stack(*slot, r);
	join_timeouts(w, *slot);
	return 0;
}

int witnesses_count_one(struct witnesses *w, const struct rec_witness *r)
{
	int err = take_stack(w, r);

	return err ? err : count_stack(w, w->pending[w->next_pending]);
}

/* Keeps the stack sample that was taken until its call, or the next sleep of its thread, comes. */
static void hold(struct witnesses *w, struct stack *s, bool in_peak)
{
	s->used = true;
	s->in_peak = in_peak;
	w->nr_held += in_peak;
	w->nr_timed_out += s->timed_out;
	w->next_pending = (w->next_pending + 1) % WITNESS_PENDING;
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
	/* the calls of those that were held back have ended: they are none of a later one's */
	int held = count_thread(w, r->tid, c ? c->start_ns : UINT64_MAX), err = take_stack(w, r);

	if (err)
		return err;
	if (c && !(*slot)->timed_out) {
		if ((*slot)->kind == WITNESS_SLEEP)
			held = count_thread(w, r->tid, UINT64_MAX) ?: held;
		return count_stack(w, *slot) ?: held;
	}
	hold(w, *slot, c != NULL);
	return held;
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
		if (s->in_peak || inside(s->at_ns, start_ns, end_ns)) {
			e = count_held(w, s);
			err = err ? err : e;
		} else if (s->at_ns <= end_ns) {
			/* before the end of this call: it was in a call outside of the peak */
			release_pending(w, s);
		}
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

static void add_at(struct witness_set *s, uint32_t node)
{
	if (s->nr_at < WITNESS_SET)
		s->at[s->nr_at++] = node;
}

static void add_beyond(struct witness_set *s, uint32_t node)
{
	if (s->nr_beyond < WITNESS_SET)
		s->beyond[s->nr_beyond++] = node;
}

void witness_set_root(const struct witnesses *w, struct witness_set *out)
{
	*out = (struct witness_set){.nr_at = 1};
	for (uint32_t id = w->node[0].first_child; id != NO_INDEX; id = w->node[id].next)
		if (!w->node[id].ret.module)
			add_beyond(out, id);
}

static void sort_in(const struct witnesses *w, uint32_t id, struct rec_code callee,
		    struct witness_set *out)
{
	if (!callee.module || code_equal(w->node[id].function, callee))
		add_at(out, id);
	else
		add_beyond(out, id);
}

void witness_set_callee(const struct witnesses *w, const struct witness_set *caller,
			struct rec_code ret, struct rec_code callee, struct witness_set *out)
{
	*out = (struct witness_set){0};
	if (!ret.offset) {
		for (unsigned int i = 0; i < caller->nr_beyond; i++)
			sort_in(w, caller->beyond[i], callee, out);
		/* A function that jumps to itself has one frame, however often it jumps. */
		for (unsigned int i = 0; i < caller->nr_at; i++)
			if (code_equal(w->node[caller->at[i]].function, callee))
				add_at(out, caller->at[i]);
		return;
	}
	for (unsigned int i = 0; i < caller->nr_at; i++)
		for (uint32_t id = w->node[caller->at[i]].first_child; id != NO_INDEX;
		     id = w->node[id].next)
			if (code_equal(w->node[id].ret, ret))
				sort_in(w, id, callee, out);
}

uint64_t witness_set_weight(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += w->node[s->at[i]].weight_ns;
	for (unsigned int i = 0; i < s->nr_beyond; i++)
		ns += w->node[s->beyond[i]].weight_ns;
	return ns;
}

bool witness_is_trampoline(const struct witnesses *w, uint32_t node)
{
	uint32_t below = w->node[node].first_child;

	return below != NO_INDEX && code_equal(w->node[below].ret, w->node[node].function);
}

uint64_t witness_set_own_run(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += w->node[s->at[i]].own_run_ns;
	return ns;
}

uint64_t witness_set_own_sleep(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		ns += w->node[s->at[i]].own_sleep_ns;
	return ns;
}

uint64_t witness_set_own_kernel(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t ns = witness_set_own_sleep(w, s);

	for (unsigned int i = 0; i < s->nr_at; i++)
		if (w->node[s->at[i]].own)
			ns += w->node[s->at[i]].own->kernel_run_ns;
	return ns;
}

uint64_t witness_set_stacks(const struct witnesses *w, const struct witness_set *s)
{
	uint64_t stacks = 0;

	for (unsigned int i = 0; i < s->nr_at; i++)
		stacks += w->node[s->at[i]].count;
	return stacks;
}
