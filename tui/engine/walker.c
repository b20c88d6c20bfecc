// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/walker.h"

#include "analysis/latency/threads.h"
#include "analysis/walk/names.h"
#include "tui/engine/name_requests.h"

struct walker {
	const struct descent_driver *names;
	struct driver_host host;
	bool live;
	struct walk *walk;
	struct name_requests *requests; /* NULL for a replay */
	struct thread_choice choice;
	struct record ask; /* the last REC_WALK */
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
	thread_choice_release(&w->choice);
	free(w);
}

static int begin_anew(struct walker *w)
{
	struct walk *fresh = walk_new();

	if (!fresh)
		return -ENOMEM;
	walk_free(w->walk);
	w->walk = fresh;
	return w->ask.type == REC_WALK ? walk_feed(w->walk, &w->ask) : 0;
}

/* Other threads were chosen. */
static int take_choice(struct walker *w, const struct rec_choice *choice)
{
	return thread_choice_set(&w->choice, choice) ? -ENOMEM : begin_anew(w);
}

/* False if the record is of a thread that the user did not choose. */
static bool is_wanted(const struct walker *w, const struct record *rec)
{
	if (!w->choice.nr)
		return true;
	if (rec->type == REC_THREAD_SNAPSHOT)
		return thread_choice_has(&w->choice, rec->snapshot.pid, rec->snapshot.tid);
	return rec->type != REC_THREAD ||
	       thread_choice_has(&w->choice, rec->thread.pid, rec->thread.tid);
}

void walker_take(struct walker *w, const struct record *rec)
{
	bool again = rec->type == REC_WALK && !rec->walk.stop && w->ask.walk.stop;
	int err = 0;

	if (rec->type == REC_WALK)
		w->ask = *rec;
	if (rec->type == REC_CHOICE)
		err = take_choice(w, &rec->choice);
	else if (again)
		err = begin_anew(w);
	else if (is_wanted(w, rec))
		err = walk_feed(w->walk, rec);
	if (err == -ENOMEM && w->live)
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

bool walker_is_empty(const struct walker *w)
{
	return walk_is_empty(w->walk);
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

static bool takes_lock(void *ctx, struct rec_code function, struct rec_code callee)
{
	const struct walker *w = ctx;
	const struct driver_symbol *s = driver_symbol(w->names, function.module, function.offset);

	if (s && walk_name_takes_lock(s->function))
		return true;
	if (!callee.module || !walk_name_is_python(driver_module(w->names, function.module)))
		return false;
	s = driver_symbol(w->names, callee.module, callee.offset);
	return s && walk_name_waits_for_condition(s->function);
}

static bool schedules(void *ctx, struct rec_code function)
{
	const struct walker *w = ctx;
	const struct driver_symbol *s = driver_symbol(w->names, function.module, function.offset);

	return s && walk_name_schedules(s->function);
}

int walker_result(const struct walker *w, struct walk_result *out)
{
	struct walk_functions functions = {only_starts, takes_lock, schedules,
					   (void *)(uintptr_t)w};

	return walk_result(w->walk, &functions, out);
}

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
