// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/path_waits.h"

#include "analysis/waits/traces.h"

enum {
	NAMED_PERCENT = 25, /* a holder with less of the time is not named */
	LEAST_WAITS = 5,    /* fewer waits say less than those of the whole descent */
};

#define NO_PARENT UINT32_MAX

bool cause_has_chain(const struct cause *c)
{
	return c->kind == CAUSE_IO || c->kind == CAUSE_NETWORK ||
	       (c->kind == CAUSE_LOCK && c->wait != WAIT_FILE_LOCK_POLLED) ||
	       (c->kind == CAUSE_WAIT && !c->took_cpu && c->wait != WAIT_GRACE);
}

/* Could a sleep of this kind have this cause? Who ended the sleep decides about the cause, too, so
 * a kind can fit several causes. */
static bool kind_fits(enum wait_kind kind, enum cause_kind cause)
{
	switch (kind) {
	case WAIT_UNKNOWN:
	case WAIT_CLOCK:
	case WAIT_FILE_LOCK_POLLED:
	case WAIT_RETRY:
	case WAIT_STOPPED:
	case WAIT_TRACED:
	case WAIT_FROZEN:
	case WAIT_FROZEN_FILES:
	case WAIT_GRACE:
	case WAIT_KERNEL_IDLE:
		return false;
	case WAIT_KERNEL_LOCK:
	case WAIT_ADDRESS_SPACE:
	case WAIT_FILE_LOCK:
		return cause == CAUSE_LOCK;
	case WAIT_LOCK:
	case WAIT_CONDITION:
	case WAIT_SEMAPHORE:
	case WAIT_JOIN:
		return cause == CAUSE_LOCK || cause == CAUSE_WAIT;
	case WAIT_FILE:
	case WAIT_DEVICE:
	case WAIT_PAGE:
	case WAIT_SWAP:
	case WAIT_WRITEBACK:
	case WAIT_JOURNAL:
	case WAIT_RECLAIM:
		return cause == CAUSE_IO;
	case WAIT_CONNECTION:
	case WAIT_NETWORK:
	case WAIT_NETWORK_FULL:
	case WAIT_HELD_BACK:
	case WAIT_CONNECT:
		return cause == CAUSE_NETWORK || cause == CAUSE_WAIT;
	case WAIT_EVENTS:
	case WAIT_LOCAL:
	case WAIT_LOCAL_FULL:
	case WAIT_URING:
	case WAIT_OTHER:
		return cause != CAUSE_LOCK;
	default:
		return cause == CAUSE_WAIT;
	}
}

/* True if frame `i` of the path entered the next one by a tail call: then the stack has no frame of
 * it. */
static bool has_jumped(const struct descent_result *r, const struct descent_path *p, unsigned int i)
{
	return i + 1 < p->nr_frames && !r->nodes[p->frames[i + 1]].ret;
}

bool path_goes_through(const struct rec_frame *frames, uint32_t nr, const struct descent_result *r,
		       const struct descent_path *p)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < p->nr_frames; i++) {
		struct rec_code f = r->nodes[p->frames[i]].function;

		/* skip callees that are not known, and system calls, which no such stack has */
		if (!f.module || f.module == REC_KERNEL_MODULE || has_jumped(r, p, i))
			continue;
		while (at < nr &&
		       (frames[at].module != f.module || frames[at].function != f.offset))
			at++;
		if (at++ >= nr)
			return false;
	}
	return true;
}

static bool is_only_one(const struct descent_result *r)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->nr_paths; i++)
		nr += cause_has_chain(&r->paths[i].cause);
	return nr == 1;
}

static bool has_stack(const struct waits_layer *l)
{
	return l->user && l->user->path;
}

static bool begins_on(const struct waits_layer *l, const struct descent_result *r,
		      const struct descent_path *p)
{
	struct rec_code f0 = r->nodes[p->frames[0]].function;

	if (l->state != CHAIN_SLEEP || !kind_fits(l->kind, p->cause.kind))
		return false;
	/* calls of a kernel function are made in whatever system call */
	if (f0.module == REC_KERNEL_MODULE)
		return !(f0.offset & REC_KERNEL_CALL) ||
		       (l->syscall >= 0 && (uint64_t)l->syscall == (f0.offset & ~REC_KERNEL_CALL));
	return has_stack(l) ? path_goes_through(l->user->frames, l->user->nr_frames, r, p)
			    : is_only_one(r);
}

/* Not every stack is known: two sleeps that differ only in that are one. */
static bool is_same(const struct waits_layer *a, const struct waits_layer *b)
{
	return a->state == b->state && a->pid == b->pid && a->tid == b->tid &&
	       a->notes == b->notes && a->kind == b->kind && a->why == b->why &&
	       a->syscall == b->syscall && a->operation == b->operation && a->device == b->device &&
	       (has_stack(a) && has_stack(b)
		    ? a->user->content == b->user->content
		    : a->state == CHAIN_SLEEP || has_stack(a) == has_stack(b)) &&
	       !strcmp(a->comm, b->comm) && !strcmp(a->what, b->what);
}

/* The nodes of a copy by their layers; both: index + 1, 0: none. */
struct node_index {
	uint32_t *first, *next;
	uint32_t mask; /* of `first` */
};

static int index_init(struct node_index *x, uint32_t nr)
{
	x->mask = 63;
	while (x->mask < nr)
		x->mask = 2 * x->mask + 1;
	x->first = calloc(x->mask + 1, sizeof(*x->first));
	x->next = calloc(nr + 1, sizeof(*x->next));
	return x->first && x->next ? 0 : -ENOMEM;
}

static void index_release(struct node_index *x)
{
	free(x->first);
	free(x->next);
}

/* Where nodes with this layer below `parent` are found: layers that are one have one place. */
static uint32_t *index_place(const struct node_index *x, uint32_t parent,
			     const struct waits_layer *l)
{
	uint64_t hash = parent;

	hash = (hash * 0x9e3779b97f4a7c15u) ^ l->tid;
	hash = (hash * 0x9e3779b97f4a7c15u) ^ (l->state << 16 | (uint32_t)l->kind);
	hash = (hash * 0x9e3779b97f4a7c15u) ^ (uint32_t)l->syscall;
	return &x->first[hash * 0x9e3779b97f4a7c15u >> 33 & x->mask];
}

/* The node with this layer below `parent`, or outermost if `parent` is NO_PARENT; nr: none. The
 * first one that is the same counts, and the last one comes first at its place. */
static uint32_t same_node(const struct waits_chains *c, const struct node_index *x, uint32_t parent,
			  const struct waits_layer *l)
{
	uint32_t found = c->nr;

	for (uint32_t at = *index_place(x, parent, l); at; at = x->next[at - 1]) {
		uint32_t above = c->nodes[at - 1].parent;

		if (above == (parent == NO_PARENT ? at - 1 : parent) &&
		    is_same(&c->nodes[at - 1].layer, l))
			found = at - 1;
	}
	return found;
}

static void node_join(struct waits_node *to, const struct waits_node *n)
{
	to->self_ns += n->self_ns;
	to->total_ns += n->total_ns;
	to->count += n->count;
	lock_waits_add(&to->locks, n->locks);
	request_sums_add(&to->requests, &n->requests);
	to->first_ns = n->first_ns < to->first_ns ? n->first_ns : to->first_ns;
	if (!has_stack(&to->layer)) {
		to->layer.user = n->layer.user;
		to->layer.kernel = n->layer.kernel;
	}
	for (unsigned int a = 0; a < ACCOUNTS; a++) {
		to->account_ns[a] += n->account_ns[a];
		if (to->account_ns[a] > to->account_ns[to->account])
			to->account = (enum wait_account)a;
	}
}

static void copy_chains(const struct waits_chains *all, const struct descent_result *r,
			const struct descent_path *p, uint32_t *to, struct node_index *x,
			struct waits_chains *out)
{
	for (uint32_t i = 0; i < all->nr; i++) {
		const struct waits_node *n = &all->nodes[i];
		bool outermost = n->parent == i;
		uint32_t at, parent, *place;

		if (outermost ? !begins_on(&n->layer, r, p) : !to[n->parent])
			continue;
		parent = outermost ? NO_PARENT : to[n->parent] - 1;
		at = same_node(out, x, parent, &n->layer);
		if (at < out->nr) {
			node_join(&out->nodes[at], n);
		} else {
			out->nodes[out->nr] = *n;
			out->nodes[out->nr++].parent = outermost ? at : parent;
			place = index_place(x, parent, &n->layer);
			x->next[at] = *place;
			*place = at + 1;
		}
		out->total_ns += n->self_ns;
		to[i] = at + 1;
	}
}

int path_waits_find(const struct waits_chains *all, const struct descent_result *r,
		    const struct descent_path *p, struct waits_chains *out)
{
	uint32_t *to = calloc(all->nr + 1, sizeof(*to)); /* index in *out + 1; 0: not in it */
	struct node_index index;
	int err = index_init(&index, all->nr);

	*out = (struct waits_chains){.nodes = calloc(all->nr + 1, sizeof(*out->nodes))};
	err = to && out->nodes ? err : -ENOMEM;
	if (!err && p->nr_frames && cause_has_chain(&p->cause))
		copy_chains(all, r, p, to, &index, out);
	if (err)
		waits_chains_release(out);
	index_release(&index);
	free(to);
	return err;
}

/* Is it the turn of a thread that had a lock, which whoever has it releases? */
static bool is_turn(const struct waits_chains *c, uint32_t i)
{
	const struct waits_layer *l = &c->nodes[i].layer,
				 *above = &c->nodes[c->nodes[i].parent].layer;

	return c->nodes[i].parent != i &&
	       c->nodes[c->nodes[i].parent].parent == c->nodes[i].parent &&
	       above->kind == WAIT_LOCK && c->nodes[c->nodes[i].parent].locks.lock && l->tid &&
	       l->tid != above->tid;
}

/* What one thread had. */
struct turn {
	uint32_t tid, node;
	uint64_t ns;
};

static int by_thread(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid) ?: (x->node > y->node) - (x->node < y->node);
}

/* One turn for each thread, in the order of their numbers. Returns their number. */
static uint32_t join_turns(struct turn *turn, uint32_t nr)
{
	uint32_t k = 0;

	qsort(turn, nr, sizeof(*turn), by_thread);
	for (uint32_t i = 0; i < nr; i++) {
		if (k && turn[k - 1].tid == turn[i].tid)
			turn[k - 1].ns += turn[i].ns;
		else
			turn[k++] = turn[i];
	}
	return k;
}

int path_waits_turns(const struct waits_chains *found, struct lock_turns *out)
{
	struct turn *turn = calloc(found->nr + 1, sizeof(*turn));
	uint32_t nr = 0, best = 0;

	*out = (struct lock_turns){0};
	if (!turn)
		return -ENOMEM;
	for (uint32_t i = 0; i < found->nr; i++) {
		const struct waits_node *n = &found->nodes[i];

		if (n->parent == i && n->layer.kind == WAIT_LOCK)
			lock_waits_add(&out->locks, n->locks);
		if (!is_turn(found, i))
			continue;
		turn[nr++] = (struct turn){n->layer.tid, i, n->total_ns};
		out->total_ns += n->total_ns;
	}
	nr = join_turns(turn, nr);
	for (uint32_t k = 0; k < nr; k++)
		best = turn[k].ns > turn[best].ns ? k : best;
	for (uint32_t k = 0; k < nr; k++)
		out->alike += !strcmp(found->nodes[turn[k].node].layer.comm,
				      found->nodes[turn[best].node].layer.comm);
	out->holders = nr;
	out->longest = turn[best].node;
	out->longest_ns = turn[best].ns;
	free(turn);
	return 0;
}

void path_waits_name(const struct waits_chains *found, const struct lock_turns *turns,
		     struct cause *cause)
{
	const struct waits_layer *l;
	bool one = turns->locks.lock != LOCKS_DIFFER;
	double percent;

	if (turns->holders < 2 || !turns->total_ns || turns->locks.count < LEAST_WAITS)
		return;
	l = &found->nodes[turns->longest].layer;
	percent = 100 * (double)turns->longest_ns / (double)turns->total_ns;
	cause->tid = l->tid;
	if (percent >= NAMED_PERCENT) {
		snprintf(cause->name, sizeof(cause->name), "%s", l->comm);
		snprintf(cause->detail, sizeof(cause->detail),
			 "thread %u, longest of %u threads that had %s, %.0f%% of that time",
			 l->tid, turns->holders, one ? "it in turn" : "the locks waited for here",
			 percent);
		return;
	}
	cause->tid = 0;
	snprintf(cause->name, sizeof(cause->name), "%u threads", turns->holders);
	if (turns->alike == turns->holders)
		snprintf(cause->name, sizeof(cause->name), "%u threads named %s", turns->holders,
			 l->comm);
	snprintf(cause->detail, sizeof(cause->detail),
		 "%s, none of them for more than %.0f%% of that time",
		 one ? "in turn" : "they had the locks waited for here", percent);
}

uint32_t path_waits_largest(const struct waits_chains *chains)
{
	uint32_t best = chains->nr;

	for (uint32_t i = 0; i < chains->nr; i++) {
		const struct waits_node *n = &chains->nodes[i];

		if (n->parent != i && n->self_ns &&
		    (best == chains->nr || n->self_ns > chains->nodes[best].self_ns))
			best = i;
	}
	return best;
}

uint32_t path_waits_innermost(const struct waits_chains *c, uint32_t node)
{
	while (!c->nodes[node].layer.tid && c->nodes[node].parent != node)
		node = c->nodes[node].parent;
	return c->nodes[node].parent == node ? c->nr : node;
}

/* Does the chain that ends at `node` go through a task of this name first? `first` NULL: any. */
static bool goes_through(const struct waits_chains *c, uint32_t node, const char *first)
{
	while (first && c->nodes[c->nodes[node].parent].parent != c->nodes[node].parent)
		node = c->nodes[node].parent;
	return !first || !strcmp(c->nodes[node].layer.comm, first);
}

/* A thread of the kernel without work is awaited by nobody: what gives it work next is. */
static bool is_idle_worker(const struct waits_layer *l)
{
	return l->state == CHAIN_SLEEP && l->kind == WAIT_KERNEL_IDLE;
}

/* Does the chain end at a device, without a task between that works? */
static bool waits_for_device(const struct waits_chains *c, uint32_t node, const char *first)
{
	uint32_t task = path_waits_innermost(c, node);

	return c->nodes[node].layer.state == CHAIN_IO && c->nodes[node].self_ns &&
	       (task == c->nr || is_idle_worker(&c->nodes[task].layer)) &&
	       goes_through(c, node, first);
}

uint32_t path_waits_awaited(const struct waits_chains *c, uint32_t node, const char *first)
{
	uint32_t task = path_waits_innermost(c, node);

	return task < c->nr &&
		       (c->nodes[task].layer.state == CHAIN_RUNNABLE ||
			is_idle_worker(&c->nodes[task].layer) || !goes_through(c, node, first))
		   ? c->nr
		   : task;
}

struct rec_code path_waits_function(const struct waits_layer *l)
{
	const struct rec_frame *f =
	    l->user && l->user->nr_frames ? &l->user->frames[l->user->nr_frames - 1] : NULL;

	return f ? (struct rec_code){f->module, f->function} : (struct rec_code){0};
}

/* True if two tasks did the same: threads that are started for each call have different numbers. Of
 * most runs it is not known where they were. */
bool path_waits_alike(const struct waits_layer *a, const struct waits_layer *b)
{
	return a->state == b->state && a->kind == b->kind && a->syscall == b->syscall &&
	       !strcmp(a->comm, b->comm) &&
	       (a->state == CHAIN_RUN ? a->notes == b->notes
				      : code_equal(path_waits_function(a), path_waits_function(b)));
}

struct path_doing path_waits_most(const struct waits_chains *c, const char *first)
{
	struct path_doing best = {.node = c->nr};
	uint64_t all = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t task = c->nodes[i].self_ns ? path_waits_awaited(c, i, first) : c->nr,
			 other;
		uint64_t ns = 0;

		if (waits_for_device(c, i, first))
			all += c->nodes[i].self_ns;
		if (task == c->nr)
			continue;
		all += c->nodes[i].self_ns;
		for (uint32_t k = 0; k < c->nr; k++) {
			other = c->nodes[k].self_ns ? path_waits_awaited(c, k, first) : c->nr;
			if (other < c->nr &&
			    path_waits_alike(&c->nodes[task].layer, &c->nodes[other].layer))
				ns += c->nodes[k].self_ns;
		}
		if (ns > best.ns)
			best = (struct path_doing){.node = task, .ns = ns};
	}
	return 2 * best.ns > all ? best : (struct path_doing){.node = c->nr};
}
