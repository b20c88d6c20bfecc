// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A goroutine that waits calls runtime.gopark(), which switches to the scheduler on the stack of
 * the thread. What the thread does from there on, sleeping or running other goroutines, is not what
 * the call waits for: the path ends there.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/engine/descend_private.h"

static bool parks(const struct descend *d, struct rec_code function)
{
	const struct descend_symbol *s = descend_symbol(d, function.module, function.offset);

	return s && !strcmp(s->function, "runtime.gopark");
}

static bool is_wait(const struct cause *c)
{
	return strstr(c->detail, "goroutine was parked") != NULL;
}

/* True if the path went on below runtime.gopark(). */
static bool cut(const struct descend *d, const struct descent_result *r, struct descent_path *p)
{
	for (unsigned int i = 0; i < p->nr_frames; i++) {
		if (!parks(d, r->nodes[p->frames[i]].function))
			continue;
		p->nr_frames = i + 1;
		p->nr_siblings = p->nr_pcs = p->nr_below = p->nr_kernel = 0;
		p->looped = (struct descent_looped){.calls = 0};
		return true;
	}
	return false;
}

/* Add a path to the first one that ends in the same call, if there is one. */
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

static int by_share(const void *a, const void *b)
{
	const struct descent_path *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : 0;
}

void descend_cut_parked(const struct descend *d, struct descent_result *r)
{
	unsigned int kept = 0;
	bool any = false;

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		struct descent_path *p = &r->paths[i];

		if (cut(d, r, p)) {
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

		if (!p->nr_frames || !parks(d, r->nodes[p->frames[p->nr_frames - 1]].function) ||
		    is_wait(&p->cause))
			continue;
		/* the thread never slept meanwhile: it ran other goroutines */
		p->cause = (struct cause){.kind = CAUSE_WAIT, .name = "another goroutine"};
		snprintf(p->cause.detail, sizeof(p->cause.detail), "the goroutine was parked");
	}
	if (any)
		qsort(r->paths, r->nr_paths, sizeof(*r->paths), by_share);
}
