// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/open.h"
#include "analysis/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct open_calls {
	struct rec_thread_snapshot *snapshots;
	size_t nr, cap;
	uint32_t round;
};

struct open_calls *open_calls_new(void)
{
	return calloc(1, sizeof(struct open_calls));
}

/* Frees the copies of texts and frames that the snapshot owns. */
static void snapshot_release(struct rec_thread_snapshot *l)
{
	const char *texts[] = {l->comm,		l->kernel,	l->stop_text,
			       l->sleep.call,	l->sleep.name,	l->sleep.waker,
			       l->sleep.holder, l->sleep.doing, l->sleep.about};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((char *)(uintptr_t)texts[i]);
	free((struct rec_frame *)(uintptr_t)l->frames);
}

static bool text_copy(const char **text)
{
	*text = strdup(*text ? *text : "");
	return *text != NULL;
}

static int snapshot_copy(struct rec_thread_snapshot *out, const struct rec_thread_snapshot *from)
{
	struct rec_frame *frames = calloc(from->nr_frames + 1, sizeof(*frames));
	bool all = frames != NULL;

	*out = *from;
	if (frames && from->nr_frames)
		memcpy(frames, from->frames, from->nr_frames * sizeof(*frames));
	out->frames = frames;
	all &= text_copy(&out->comm) & text_copy(&out->kernel) & text_copy(&out->stop_text) &
	       text_copy(&out->sleep.call) & text_copy(&out->sleep.name) &
	       text_copy(&out->sleep.waker) & text_copy(&out->sleep.holder) &
	       text_copy(&out->sleep.doing) & text_copy(&out->sleep.about);
	if (all)
		return 0;
	snapshot_release(out);
	return -ENOMEM;
}

static void forget(struct open_calls *o)
{
	for (size_t i = 0; i < o->nr; i++)
		snapshot_release(&o->snapshots[i]);
	o->nr = 0;
}

void open_calls_free(struct open_calls *o)
{
	if (!o)
		return;
	forget(o);
	free(o->snapshots);
	free(o);
}

int open_calls_feed(struct open_calls *o, const struct record *rec)
{
	const struct rec_thread_snapshot *snapshot = &rec->snapshot;
	struct rec_thread_snapshot copy;
	size_t i;
	int err;

	if (rec->type != REC_THREAD_SNAPSHOT || snapshot->reason != SNAPSHOTS_FOR_OPEN ||
	    snapshot->round < o->round)
		return 0;
	if (snapshot->round > o->round) {
		forget(o);
		o->round = snapshot->round;
	}
	if (array_grow(o->snapshots, o->nr, o->cap, OPEN_MAX_THREADS))
		return o->nr < OPEN_MAX_THREADS ? -ENOMEM : 0;
	err = snapshot_copy(&copy, snapshot);
	if (err)
		return err;
	for (i = o->nr; i > 0 && (o->snapshots[i - 1].asleep_ns < copy.asleep_ns ||
				  (o->snapshots[i - 1].asleep_ns == copy.asleep_ns &&
				   o->snapshots[i - 1].tid > copy.tid));
	     i--)
		o->snapshots[i] = o->snapshots[i - 1];
	o->snapshots[i] = copy;
	o->nr++;
	return 0;
}

uint32_t open_calls_round(const struct open_calls *o)
{
	return o->round;
}

size_t open_calls_nr(const struct open_calls *o)
{
	return o->nr;
}

const struct rec_thread_snapshot *open_calls_at(const struct open_calls *o, size_t i)
{
	return i < o->nr ? &o->snapshots[i] : NULL;
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
