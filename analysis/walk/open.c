// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/open.h"
#include "analysis/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct open_calls {
	struct rec_look *looks;
	size_t nr, cap;
	uint32_t round;
};

struct open_calls *open_calls_new(void)
{
	return calloc(1, sizeof(struct open_calls));
}

/* Texts and frames are our own copies. */
static void look_release(struct rec_look *l)
{
	const char *texts[] = {l->comm,	      l->kernel,      l->stop_text,    l->sleep.call,
			       l->sleep.name, l->sleep.waker, l->sleep.holder, l->sleep.doing};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((char *)(uintptr_t)texts[i]);
	free((struct rec_frame *)(uintptr_t)l->frames);
}

static bool text_copy(const char **text)
{
	*text = strdup(*text ? *text : "");
	return *text != NULL;
}

static int look_copy(struct rec_look *out, const struct rec_look *from)
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
	       text_copy(&out->sleep.doing);
	if (all)
		return 0;
	look_release(out);
	return -ENOMEM;
}

static void forget(struct open_calls *o)
{
	for (size_t i = 0; i < o->nr; i++)
		look_release(&o->looks[i]);
	o->nr = 0;
}

void open_calls_free(struct open_calls *o)
{
	if (!o)
		return;
	forget(o);
	free(o->looks);
	free(o);
}

int open_calls_feed(struct open_calls *o, const struct record *rec)
{
	const struct rec_look *look = &rec->look;
	struct rec_look copy;
	size_t i;
	int err;

	if (rec->type != REC_LOOK || look->reason != LOOK_OPEN || look->round < o->round)
		return 0;
	if (look->round > o->round) {
		forget(o);
		o->round = look->round;
	}
	if (array_grow(o->looks, o->nr, o->cap, OPEN_MAX_THREADS))
		return o->nr < OPEN_MAX_THREADS ? -ENOMEM : 0;
	err = look_copy(&copy, look);
	if (err)
		return err;
	for (i = o->nr; i > 0 && (o->looks[i - 1].asleep_ns < copy.asleep_ns ||
				  (o->looks[i - 1].asleep_ns == copy.asleep_ns &&
				   o->looks[i - 1].tid > copy.tid));
	     i--)
		o->looks[i] = o->looks[i - 1];
	o->looks[i] = copy;
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

const struct rec_look *open_calls_at(const struct open_calls *o, size_t i)
{
	return i < o->nr ? &o->looks[i] : NULL;
}

bool open_matches(const struct rec_look *look, const struct open_ask *ask, uint32_t *frame)
{
	*frame = look->nr_frames;
	if (ask->syscall)
		return look->sleep.syscall >= 0 && !strcmp(look->sleep.call, ask->syscall);
	*frame = 0;
	if (!ask->function.module)
		return true;
	for (; *frame < look->nr_frames; ++*frame) {
		const struct rec_frame *f = &look->frames[*frame];

		if (f->module == ask->function.module && f->function == ask->function.offset)
			return true;
	}
	return false;
}
