// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/parked.h"

struct names {
	function_name *name;
	const void *ctx;
};

static bool parks(const struct names *n, struct rec_code function)
{
	const char *name = n->name(n->ctx, function);

	return name && !strcmp(name, "runtime.gopark");
}

static bool is_wait(const struct cause *c)
{
	return strstr(c->detail, "goroutine was parked") != NULL;
}

/* Before Go 1.20 a wait for other goroutines to finish has the reason of a wait for a lock: the
 * path tells which it is. */
static void name_group(const struct names *n, const struct descent_result *r,
		       struct descent_path *p)
{
	for (unsigned int i = 0; i < p->nr_frames && p->cause.kind == CAUSE_LOCK; i++) {
		const char *name = n->name(n->ctx, r->nodes[p->frames[i]].function);

		if (!name || strcmp(name, "sync.(*WaitGroup).Wait") != 0)
			continue;
		p->cause.kind = CAUSE_WAIT;
		snprintf(p->cause.name, sizeof(p->cause.name), "other goroutines");
	}
}

/* Cuts the path behind runtime.gopark(). Returns true if it goes through that function. */
static bool cut(const struct names *n, const struct descent_result *r, struct descent_path *p)
{
	for (unsigned int i = 0; i < p->nr_frames; i++) {
		if (!parks(n, r->nodes[p->frames[i]].function))
			continue;
		p->nr_frames = i + 1;
		name_group(n, r, p);
		p->nr_siblings = p->nr_pcs = p->nr_below = p->nr_kernel = p->nr_deep = 0;
		p->looped = (struct descent_looped){.calls = 0};
		return true;
	}
	return false;
}

/* Adds a path to the first one that ends in the same call. Returns false if there is none. */
static bool join(struct descent_result *r, unsigned int nr, const struct descent_path *p)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct descent_path *to = &r->paths[i];

		if (to->nr_frames != p->nr_frames ||
		    to->frames[to->nr_frames - 1] != p->frames[p->nr_frames - 1])
			continue;
		to->share += p->share;
		to->latency_ns += p->latency_ns;
		if (!is_wait(&to->cause))
			to->cause = p->cause;
		return true;
	}
	return false;
}

/* The path to which the time of `p` belongs: the only one that leads through all frames of `p` to a
 * parked goroutine that waited for the same reason. The waits of `p` brought no stack. NULL: there
 * is none, or there are several. */
static struct descent_path *longer(const struct names *n, struct descent_result *r,
				   const struct descent_path *p)
{
	struct descent_path *found = NULL;

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		struct descent_path *q = &r->paths[i];

		if (q == p || q->nr_frames <= p->nr_frames ||
		    !parks(n, r->nodes[q->frames[q->nr_frames - 1]].function) ||
		    memcmp(q->frames, p->frames, p->nr_frames * sizeof(*p->frames)) ||
		    strcmp(q->cause.detail, p->cause.detail))
			continue;
		if (found)
			return NULL;
		found = q;
	}
	return found;
}

static void join_waits_without_stack(const struct names *n, struct descent_result *r)
{
	for (unsigned int i = 0; i < r->nr_paths;) {
		struct descent_path *p = &r->paths[i], *to = NULL;

		if (p->nr_frames && is_wait(&p->cause))
			to = longer(n, r, p);
		if (!to) {
			i++;
			continue;
		}
		to->share += p->share;
		to->latency_ns += p->latency_ns;
		free((void *)(uintptr_t)p->frames);
		memmove(p, p + 1, (--r->nr_paths - i) * sizeof(*p));
	}
}

static int by_share(const void *a, const void *b)
{
	const struct descent_path *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : 0;
}

void parked_cut(struct descent_result *r, function_name *name, const void *ctx)
{
	const struct names names = {name, ctx};
	unsigned int kept = 0;
	bool any = false;

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		struct descent_path *p = &r->paths[i];

		if (cut(&names, r, p)) {
			any = true;
			if (join(r, kept, p)) {
				free((void *)(uintptr_t)p->frames);
				continue;
			}
		}
		r->paths[kept++] = *p;
	}
	r->nr_paths = kept;
	for (unsigned int i = 0; any && i < kept; i++) {
		struct descent_path *p = &r->paths[i];

		if (!p->nr_frames ||
		    !parks(&names, r->nodes[p->frames[p->nr_frames - 1]].function) ||
		    is_wait(&p->cause))
			continue;
		/* the thread never slept meanwhile, because it ran other goroutines */
		p->cause = (struct cause){.kind = CAUSE_WAIT, .name = "another goroutine"};
		snprintf(p->cause.detail, sizeof(p->cause.detail), "the goroutine was parked");
	}
	if (any) {
		join_waits_without_stack(&names, r);
		qsort(r->paths, r->nr_paths, sizeof(*r->paths), by_share);
	}
}
