// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/walker.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/walk/names.h"
#include "tui/engine/name_requests.h"

struct walker {
	const struct descent_driver *names;
	struct driver_host host;
	bool live;
	struct walk *walk;
	struct name_requests *requests; /* NULL for a replay */
};

struct walker *walker_new(const struct descent_driver *names, const struct driver_host *host)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->walk = walk_new();
	w->requests = host ? name_requests_new(host) : NULL;
	if (!w->walk || (host && !w->requests)) {
		walker_free(w);
		return NULL;
	}
	w->names = names;
	w->live = host != NULL;
	if (host)
		w->host = *host;
	return w;
}

void walker_free(struct walker *w)
{
	if (!w)
		return;
	walk_free(w->walk);
	name_requests_free(w->requests);
	free(w);
}

void walker_take(struct walker *w, const struct record *rec)
{
	if (walk_feed(w->walk, rec) == -ENOMEM && w->live)
		w->host.message(w->host.ctx, "out of memory: the walk is incomplete");
}

int walker_begin(struct walker *w, const struct rec_walk *ask)
{
	const struct record rec = {.type = REC_WALK, .walk = *ask};

	w->host.feed(w->host.ctx, &rec);
	return walk_asked(w->walk) ? 0 : -EINVAL;
}

void walker_end(struct walker *w)
{
	const struct record rec = {.type = REC_WALK, .walk = {.stop = 1}};

	w->host.feed(w->host.ctx, &rec);
}

bool walker_asked(const struct walker *w)
{
	return walk_asked(w->walk);
}

bool walker_settled(const struct walker *w)
{
	return walk_settled(w->walk);
}

/* ---- where the program's own code begins */

static bool only_starts(void *ctx, struct rec_code function)
{
	const struct walker *w = ctx;
	const struct driver_symbol *s = driver_symbol(w->names, function.module, function.offset);

	/* A stripped libc does not name its internal start functions. The functions that it exports
	 * have names. */
	if (s && !s->symbol[0])
		return walk_name_is_libc(driver_module(w->names, function.module));
	return s && walk_name_starts(s->function);
}

static bool takes_lock(void *ctx, struct rec_code function)
{
	const struct walker *w = ctx;
	const struct driver_symbol *s = driver_symbol(w->names, function.module, function.offset);

	return s && walk_name_takes_lock(s->function);
}

int walker_result(const struct walker *w, struct walk_result *out)
{
	return walk_result(w->walk, only_starts, takes_lock, (void *)(uintptr_t)w, out);
}

/* ---- names */

bool walker_names(struct walker *w)
{
	struct name_requests *names = w->requests;
	struct walk_result r;

	if (!w->live || !walk_asked(w->walk))
		return true;
	/* Which frames are start functions decides the paths. So wait for those names before asking
	 * for others. */
	if (!name_requests_idle(names) || walker_result(w, &r))
		return false;
	for (unsigned int i = 0; i < r.nr_nodes; i++) {
		const struct walk_node *n = &r.nodes[i];

		if (n->kind == WALK_FUNCTION &&
		    (n->followed ||
		     n->share[WALK_WORK] + n->share[WALK_SLEEP] + n->share[WALK_IDLE] > 0.001 ||
		     !n->parent))
			name_requests_want(names, n->function);
	}
	for (unsigned int i = 0; i < r.nr_paths; i++) {
		for (unsigned int k = 0; k < r.paths[i].nr_frames; k++) {
			const struct walk_node *n = &r.nodes[r.paths[i].frames[k]];

			name_requests_want(names, n->function);
			name_requests_want(names, n->site);
		}
		for (unsigned int k = 0; k < r.paths[i].nr_pcs; k++)
			name_requests_want(names, r.paths[i].pcs[k].place);
	}
	for (unsigned int i = 0; i < r.nr_tops; i++)
		name_requests_want(names, r.nodes[r.tops[i].node].function);
	walk_result_release(&r);
	return name_requests_send(names);
}

bool walker_names_open(struct walker *w, const struct open_calls *calls)
{
	struct name_requests *names = w->requests;

	if (!w->live)
		return true;
	for (size_t i = 0; i < open_calls_nr(calls); i++) {
		const struct rec_thread_snapshot *l = open_calls_at(calls, i);

		for (uint32_t k = 0; k < l->nr_frames; k++) {
			const struct rec_frame *f = &l->frames[k];

			name_requests_want_frame(names, f, k + 1 == l->nr_frames);
		}
	}
	return name_requests_send(names);
}
