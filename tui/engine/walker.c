// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/walker.h"
#include "analysis/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/walk/names.h"

enum { BATCH = 256, MAX_ASKED = 256, MAX_PLACES = 1 << 16 };

struct walker {
	const struct descent_driver *names;
	struct driver_host host;
	bool live;
	struct walk *walk;
	struct rec_code *asked; /* places whose names were requested, ascending */
	size_t nr_asked, cap_asked;
	unsigned int nr_requests; /* requests to the parser that are not answered yet */
};

struct walker *walker_new(const struct descent_driver *names, const struct driver_host *host)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->walk = walk_new();
	if (!w->walk) {
		free(w);
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
	free(w->asked);
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

static size_t place_of(const struct walker *w, struct rec_code c)
{
	return lower_bound(i, w->nr_asked, code_is_before(w->asked[i], c));
}

/* Mark a place as requested. False: it was requested before, or has no module, or memory is short.
 */
static bool note_place(struct walker *w, struct rec_code c)
{
	size_t i = place_of(w, c);

	if (!c.module ||
	    (i < w->nr_asked && w->asked[i].module == c.module && w->asked[i].offset == c.offset))
		return false;
	if (array_grow(w->asked, w->nr_asked, w->cap_asked, MAX_PLACES))
		return false;
	memmove(w->asked + i + 1, w->asked + i, (w->nr_asked - i) * sizeof(*w->asked));
	w->asked[i] = c;
	w->nr_asked++;
	return true;
}

struct batch {
	struct walker *w;
	uint32_t module, nr;
	uint64_t offsets[BATCH];
};

static void answer_names(void *ctx, uint64_t tag, const struct parsed *a)
{
	struct walker *w = ctx;

	w->nr_requests--;
	for (uint32_t i = 0; i < a->symbols.nr; i++) {
		struct record rec = {.type = REC_SYMBOL, .symbol = a->symbols.symbols[i]};

		if (rec.symbol.function && (rec.symbol.function[0] || rec.symbol.line))
			w->host.feed(w->host.ctx, &rec);
	}
}

static void batch_send(struct batch *b)
{
	struct walker *w = b->w;
	const struct parser_reply reply = {answer_names, w, 0};
	struct parse_request req = {
	    .module = b->module, .text = "", .nr_offsets = b->nr, .offsets = b->offsets};

	if (b->nr && w->nr_requests < MAX_ASKED &&
	    w->host.ask(w->host.ctx, PARSE_SYMBOLS, &req, &reply))
		w->nr_requests++;
	b->nr = 0;
}

static void want(struct batch *b, struct rec_code c)
{
	if (!note_place(b->w, c))
		return;
	if (b->module != c.module || b->nr == BATCH)
		batch_send(b);
	b->module = c.module;
	b->offsets[b->nr++] = c.offset;
}

bool walker_names(struct walker *w)
{
	struct batch b = {.w = w};
	struct walk_result r;

	if (!w->live || !walk_asked(w->walk))
		return true;
	/* Which frames are start functions decides the paths. So wait for those names before asking
	 * for others. */
	if (w->nr_requests || walker_result(w, &r))
		return false;
	for (unsigned int i = 0; i < r.nr_nodes; i++) {
		const struct walk_node *n = &r.nodes[i];

		if (n->kind == WALK_FUNCTION &&
		    (n->followed ||
		     n->share[WALK_WORK] + n->share[WALK_SLEEP] + n->share[WALK_IDLE] > 0.001 ||
		     !n->parent))
			want(&b, n->function);
	}
	for (unsigned int i = 0; i < r.nr_paths; i++) {
		for (unsigned int k = 0; k < r.paths[i].nr_frames; k++) {
			const struct walk_node *n = &r.nodes[r.paths[i].frames[k]];

			want(&b, n->function);
			want(&b, n->site);
		}
		for (unsigned int k = 0; k < r.paths[i].nr_pcs; k++)
			want(&b, r.paths[i].pcs[k].place);
	}
	for (unsigned int i = 0; i < r.nr_tops; i++)
		want(&b, r.nodes[r.tops[i].node].function);
	batch_send(&b);
	walk_result_release(&r);
	return !w->nr_requests;
}

bool walker_names_open(struct walker *w, const struct open_calls *calls)
{
	struct batch b = {.w = w};

	if (!w->live)
		return true;
	for (size_t i = 0; i < open_calls_nr(calls); i++) {
		const struct rec_thread_snapshot *l = open_calls_at(calls, i);

		for (uint32_t k = 0; k < l->nr_frames; k++) {
			const struct rec_frame *f = &l->frames[k];

			want(&b, (struct rec_code){f->module, f->function});
			want(&b, (struct rec_code){f->module, f->offset - (k + 1 < l->nr_frames)});
		}
	}
	batch_send(&b);
	return !w->nr_requests;
}
