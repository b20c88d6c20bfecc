// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls that were inlined at the places of a result: requested from the parser, stored in the
 * stream as REC_INLINES. */

#include "analysis/base/array.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"
#include "analysis/session/record_copy.h"
#include "tui/engine/descent_driver_private.h"

enum { BATCH = 64 };

static size_t index_of(const struct descent_driver *d, struct rec_code p)
{
	return lower_bound(i, d->nr_inlines, code_is_before(d->inlines[i].place, p));
}

static struct driver_inlines *lookup(const struct descent_driver *d, struct rec_code p)
{
	size_t i = index_of(d, p);

	if (i < d->nr_inlines && d->inlines[i].place.module == p.module &&
	    d->inlines[i].place.offset == p.offset)
		return &d->inlines[i];
	return NULL;
}

const struct rec_inlines *driver_inlines(const struct descent_driver *d, struct rec_code place)
{
	const struct driver_inlines *e = place.module ? lookup(d, place) : NULL;

	return e ? e->answer : NULL;
}

static const struct rec_inlines *lookup_any(const void *ctx, struct rec_code place)
{
	return driver_inlines(ctx, place);
}

void driver_narrow(const struct descent_driver *d, const struct descent_path *p,
		   struct inlined *out)
{
	inlined_narrow(p, lookup_any, d, out);
}

/* The table entry of a place; creates an empty one if there is none. */
static struct driver_inlines *entry_of(struct descent_driver *d, struct rec_code place)
{
	struct driver_inlines *e = lookup(d, place);
	size_t i = index_of(d, place);

	if (e)
		return e;
	return array_insert(d->inlines, i, d->nr_inlines, d->cap_inlines, DRIVER_MAX_INLINES,
			    (struct driver_inlines){.place = place})
		   ? NULL
		   : &d->inlines[i];
}

void inlines_take(struct descent_driver *d, const struct rec_inlines *from)
{
	struct driver_inlines *e =
	    from->nr_calls && from->place.module ? entry_of(d, from->place) : NULL;

	if (!e)
		return;
	free(e->answer);
	e->answer = struct_copy(record_layout(REC_INLINES), from);
	if (e->answer && from->loop_call >= from->nr_calls)
		e->answer->loop_call = e->answer->loop_first = e->answer->loop_last = 0;
}

struct batch {
	uint32_t module, nr;
	uint64_t offset[BATCH];
};

static void answer_inlines(void *ctx, uint64_t tag, const struct parsed *a);

static void batch_send(struct descent_driver *d, struct batch *b)
{
	const struct parser_reply reply = {answer_inlines, d, 0};
	struct parse_request req = {
	    .module = b->module, .text = "", .max = 1, .nr_offsets = b->nr, .offsets = b->offset};

	if (b->nr && d->host.ask(d->host.ctx, PARSE_INLINES, &req, &reply))
		d->inlines_asked++;
	b->nr = 0;
}

static void want(struct descent_driver *d, struct batch *b, struct rec_code place)
{
	if (!place.module || lookup(d, place) || !entry_of(d, place))
		return;
	if (b->nr == BATCH || b->module != place.module)
		batch_send(d, b);
	b->module = place.module;
	b->offset[b->nr++] = place.offset;
}

bool inlines_ask(struct descent_driver *d, const struct descent_result *r)
{
	struct batch b = {0};

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];

		for (unsigned int k = 0; k < p->nr_frames; k++)
			want(d, &b, r->nodes[p->frames[k]].site);
		for (unsigned int k = 0; k < p->nr_pcs; k++)
			want(d, &b, p->pcs[k].place);
	}
	batch_send(d, &b);
	return !d->inlines_asked;
}

static void feed_chain(struct descent_driver *d, uint32_t module, const struct parsed_chain *c)
{
	struct rec_inline calls[FRAME_MAX_INLINES];
	struct record rec = {.type = REC_INLINES};
	uint32_t nr = c->nr < FRAME_MAX_INLINES ? c->nr : FRAME_MAX_INLINES;

	for (uint32_t i = 0; i < nr; i++)
		calls[i] = (struct rec_inline){c->calls[i].function, c->calls[i].file,
					       c->calls[i].line, c->calls[i].inlined};
	rec.inlines = (struct rec_inlines){.place = {module, c->offset},
					   .nr_calls = nr,
					   .calls = calls,
					   .loop_call = c->loop_call,
					   .loop_first = c->loop_first,
					   .loop_last = c->loop_last};
	if (nr)
		d->host.feed(d->host.ctx, &rec);
}

static void answer_inlines(void *ctx, uint64_t tag, const struct parsed *a)
{
	struct descent_driver *d = ctx;

	d->inlines_asked--;
	for (uint32_t j = 0; j < a->inlines.nr; j++)
		feed_chain(d, a->inlines.module, &a->inlines.chains[j]);
}

void inlines_release(struct descent_driver *d)
{
	for (size_t i = 0; i < d->nr_inlines; i++)
		free(d->inlines[i].answer);
	free(d->inlines);
}
