// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/open.h"
#include "analysis/base/array.h"
#include "analysis/session/record_copy.h"

struct open_calls {
	struct record **snapshots; /* copies */
	size_t nr, cap;
	uint32_t round;
	struct record *asked; /* NULL: no REC_OPEN_ASK came */
};

struct open_calls *open_calls_new(void)
{
	return calloc(1, sizeof(struct open_calls));
}

static void forget(struct open_calls *o)
{
	for (size_t i = 0; i < o->nr; i++)
		free(o->snapshots[i]);
	o->nr = 0;
}

void open_calls_free(struct open_calls *o)
{
	if (!o)
		return;
	forget(o);
	free(o->asked);
	free(o->snapshots);
	free(o);
}

/* Asleep for longer; among equals, the lower thread id. */
static bool is_before(const struct rec_thread_snapshot *a, const struct rec_thread_snapshot *b)
{
	return a->asleep_ns != b->asleep_ns ? a->asleep_ns > b->asleep_ns : a->tid < b->tid;
}

static int take_ask(struct open_calls *o, const struct record *rec)
{
	free(o->asked);
	o->asked = record_copy(rec);
	return o->asked ? 0 : -ENOMEM;
}

int open_calls_feed(struct open_calls *o, const struct record *rec)
{
	const struct rec_thread_snapshot *snapshot = &rec->snapshot;
	struct record *copy;
	size_t i;

	if (rec->type == REC_OPEN_ASK)
		return take_ask(o, rec);
	if (rec->type != REC_THREAD_SNAPSHOT || snapshot->reason != SNAPSHOTS_FOR_OPEN ||
	    snapshot->round < o->round)
		return 0;
	if (snapshot->round > o->round) {
		forget(o);
		o->round = snapshot->round;
	}
	if (array_grow(o->snapshots, o->nr, o->cap, OPEN_MAX_THREADS))
		return o->nr < OPEN_MAX_THREADS ? -ENOMEM : 0;
	copy = record_copy(rec);
	if (!copy)
		return -ENOMEM;
	for (i = o->nr; i > 0 && is_before(snapshot, &o->snapshots[i - 1]->snapshot); i--)
		o->snapshots[i] = o->snapshots[i - 1];
	o->snapshots[i] = copy;
	o->nr++;
	return 0;
}

uint32_t open_calls_round(const struct open_calls *o)
{
	return o->round;
}

const struct rec_open_ask *open_calls_asked(const struct open_calls *o)
{
	return o->asked ? &o->asked->open_ask : NULL;
}

size_t open_calls_nr(const struct open_calls *o)
{
	return o->nr;
}

const struct rec_thread_snapshot *open_calls_at(const struct open_calls *o, size_t i)
{
	return i < o->nr ? &o->snapshots[i]->snapshot : NULL;
}

bool open_matches(const struct rec_thread_snapshot *snapshot, const struct open_ask *ask,
		  uint32_t *frame)
{
	*frame = snapshot->nr_frames;
	if (ask->syscall)
		return snapshot->sleep.syscall >= 0 && !strcmp(snapshot->sleep.call, ask->syscall);
	*frame = 0;
	if (!ask->function.module)
		return true;
	for (; *frame < snapshot->nr_frames; ++*frame) {
		const struct rec_frame *f = &snapshot->frames[*frame];

		if (f->module == ask->function.module && f->function == ask->function.offset)
			return true;
	}
	return false;
}

bool open_may_match(const struct rec_thread_snapshot *snapshot, const struct open_ask *ask)
{
	uint32_t frame;

	return !ask->syscall && ask->function.module && (snapshot->stop || !snapshot->nr_frames) &&
	       !open_matches(snapshot, ask, &frame);
}
