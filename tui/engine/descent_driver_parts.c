// SPDX-License-Identifier: GPL-2.0-or-later
/* Several descents, one after the other, into the parts of an operation: the answers of those that
 * are over. */

#include "tui/engine/descent_driver_private.h"

static void forget(struct driver_parts *p)
{
	for (uint32_t i = 0; i < FRAME_MAX_PARTS; i++) {
		struct driver_part *over = &p->over[i];

		descent_result_release(&over->result);
		hops_free(over->hops);
		over->hops = NULL;
	}
}

void parts_take(struct descent_driver *d, const struct rec_parts *parts)
{
	struct driver_parts *p = d->parts;

	if (!p)
		p = d->parts = calloc(1, sizeof(*p));
	if (!p)
		return;
	forget(p);
	d->ask.part = 0;
	p->all = *parts;
	p->all.parts = p->list;
	if (parts->nr_parts)
		memcpy(p->list, parts->parts, parts->nr_parts * sizeof(*p->list));
}

/* True if the descent is one into a part that the stream has told of. */
static bool is_part(const struct driver_parts *p, const struct rec_descent *ask)
{
	return p && ask->op == p->all.op && ask->part && ask->part <= p->all.nr_parts;
}

/* Move the answer of the present descent to those that are over. */
static void keep(struct descent_driver *d)
{
	struct driver_part *over = &d->parts->over[d->ask.part - 1];
	struct hops *fresh = hops_new();
	struct descent_result found;

	if (!fresh || descent_result(d->descent, &found)) {
		hops_free(fresh);
		return;
	}
	descent_result_release(&over->result);
	hops_free(over->hops);
	over->ask = d->ask;
	over->result = found;
	over->hops = d->hops;
	d->hops = fresh;
}

void parts_turn(struct descent_driver *d, const struct rec_descent *ask)
{
	if (!is_part(d->parts, ask)) {
		if (d->parts)
			forget(d->parts);
	} else if (d->asked && is_part(d->parts, &d->ask) && d->ask.part != ask->part) {
		keep(d);
	}
}

void parts_release(struct descent_driver *d)
{
	if (!d->parts)
		return;
	forget(d->parts);
	for (uint32_t i = 0; i < FRAME_MAX_PARTS; i++)
		free(d->parts->over[i].view);
	free(d->parts);
}

int driver_begin_parts(struct descent_driver *d, const struct rec_parts *parts,
		       const struct rec_descent *ask)
{
	struct record rec = {.type = REC_PARTS, .parts = *parts};

	if (!d->live)
		return -EINVAL;
	d->host.feed(d->host.ctx, &rec);
	return driver_begin(d, ask);
}

const struct rec_parts *driver_parts(const struct descent_driver *d)
{
	return d->asked && is_part(d->parts, &d->ask) ? &d->parts->all : NULL;
}

const struct descent_driver *driver_part(const struct descent_driver *d, uint32_t number)
{
	struct driver_part *over;

	if (!driver_parts(d) || !number || number > d->parts->all.nr_parts)
		return NULL;
	if (number == d->ask.part)
		return d;
	over = &d->parts->over[number - 1];
	if (!over->hops)
		return NULL;
	if (!over->view)
		over->view = malloc(sizeof(*over->view));
	if (!over->view)
		return NULL;
	/* names and places are shared; they may have moved since the last time */
	*over->view = *d;
	over->view->ask = over->ask;
	over->view->hops = over->hops;
	over->view->kept = &over->result;
	over->view->over = true;
	over->view->beside = (struct driver_waited){.low_ns = 0};
	return over->view;
}
