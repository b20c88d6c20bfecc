// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread snapshots that wait for the parser, which unwinds the raw stack into frames; then
 * the snapshot enters the stream of records. They wait until the modules of the target are
 * loaded. The raw bytes are dropped afterwards, because they may hold secrets.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/parser/frames.h"
#include "analysis/session/sleep_texts.h"
#include "analysis/walk/known_stacks.h"
#include "tui/engine/front_state.h"

enum { AT_PARSER = 24, KERNEL_BYTES = 1024 };

/* One snapshot with copies of everything that it points to. */
struct stored_snapshot {
	struct stored_snapshot *next;
	struct rec_thread_snapshot snapshot;
	char comm[24], kernel[KERNEL_BYTES];
	struct sleep_texts texts;
	uint64_t regs[PARSE_MAX_REGS];
	uint32_t nr_regs, nr_words;
	uint64_t words[];
};

struct front_snapshots {
	struct known_stacks *known;
	struct stored_snapshot *first, *last; /* not sent to the parser yet */
	size_t nr_waiting;
	struct stored_snapshot *asked[AT_PARSER]; /* sent to the parser; NULL: a free slot */
	size_t nr_asked;
	uint32_t last_ack;
	uint64_t dropped;
};

static void text_copy(char *out, size_t n, const char **text)
{
	snprintf(out, n, "%s", *text ? *text : "");
	*text = out;
}

static struct stored_snapshot *stored_snapshot_new(const struct rec_raw_snapshot *l)
{
	uint32_t words = l->nr_words < PARSE_MAX_WORDS ? l->nr_words : PARSE_MAX_WORDS;
	struct stored_snapshot *h = malloc(sizeof(*h) + words * sizeof(h->words[0]));

	if (!h)
		return NULL;
	h->next = NULL;
	h->snapshot = l->snapshot;
	text_copy(h->comm, sizeof(h->comm), &h->snapshot.comm);
	text_copy(h->kernel, sizeof(h->kernel), &h->snapshot.kernel);
	sleep_texts_keep(&h->texts, &h->snapshot.sleep);
	h->snapshot.stop_text = "";
	h->snapshot.nr_frames = 0;
	h->nr_regs = l->nr_regs <= PARSE_MAX_REGS ? l->nr_regs : 0;
	if (h->nr_regs)
		memcpy(h->regs, l->regs, h->nr_regs * sizeof(h->regs[0]));
	h->nr_words = words;
	if (words)
		memcpy(h->words, l->words, words * sizeof(h->words[0]));
	return h;
}

static void snapshot_feed(struct front *f, const struct rec_thread_snapshot *snapshot)
{
	const struct record rec = {.type = REC_THREAD_SNAPSHOT, .snapshot = *snapshot};

	front_feed(f, &rec);
}

/* Feed a snapshot without frames, with the reason `why`. Frees `h`. */
static void feed_bare(struct front *f, struct stored_snapshot *h, const char *why)
{
	h->snapshot.stop = UINT32_MAX;
	h->snapshot.stop_text = why;
	snapshot_feed(f, &h->snapshot);
	free(h);
}

/* Feed a snapshot with the frames of an earlier sleep at the same place, and free `h`. False: no
 * such sleep is known; `h` stays. */
static bool feed_known(struct front *f, struct stored_snapshot *h)
{
	if (!known_stacks_fill(f->snapshots->known,
			       stack_place_of(&h->snapshot, h->regs, h->nr_regs), &h->snapshot))
		return false;
	snapshot_feed(f, &h->snapshot);
	free(h);
	return true;
}

static struct front_snapshots *snapshots_of(struct front *f)
{
	struct front_snapshots *s = f->snapshots;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s)
		s->known = known_stacks_new();
	if (s && !s->known) {
		free(s);
		s = NULL;
	}
	return f->snapshots = s;
}

void snapshots_take(struct front *f, const struct rec_raw_snapshot *raw_snapshot)
{
	struct front_snapshots *s = snapshots_of(f);
	struct stored_snapshot *h;

	if (!s)
		return;
	if (s->nr_waiting >= FRONT_MAX_SNAPSHOTS) {
		s->dropped++;
		return;
	}
	h = stored_snapshot_new(raw_snapshot);
	if (!h)
		return;
	if (!h->nr_words || !h->nr_regs || !f->parser) {
		if (!feed_known(f, h))
			feed_bare(f, h, "the thread continued while its stack was read");
		return;
	}
	if (s->last)
		s->last->next = h;
	else
		s->first = h;
	s->last = h;
	s->nr_waiting++;
}

/* Called when the parser has unwound the stack of the snapshot in slot `slot`. */
static void unwound(void *ctx, uint64_t slot, const struct parsed *answer)
{
	const struct parsed_frames *p = &answer->frames;
	struct rec_frame frames[PARSE_MAX_FRAMES];
	struct front *f = ctx;
	struct front_snapshots *s = f->snapshots;
	struct stored_snapshot *h = s->asked[slot];

	s->asked[slot] = NULL;
	s->nr_asked--;
	if (p->error) {
		stacks_mappings_forget(f);
		feed_bare(f, h, "the stack could not be read");
		return;
	}
	h->snapshot.stop = p->stop;
	h->snapshot.stop_text = p->stop && p->reason ? p->reason : "";
	h->snapshot.nr_frames = frames_outermost_first(p, frames, PARSE_MAX_FRAMES);
	h->snapshot.frames = frames;
	known_stacks_note(s->known, stack_place_of(&h->snapshot, h->regs, h->nr_regs),
			  &h->snapshot);
	snapshot_feed(f, &h->snapshot);
	free(h);
}

void snapshots_move(struct front *f)
{
	struct front_snapshots *s = f->snapshots;

	while (s && s->first && s->nr_asked < AT_PARSER && modules_settled(f)) {
		struct stored_snapshot *h = s->first;
		struct parse_request req = {.pid = h->snapshot.pid,
					    .text = "",
					    .nr_regs = h->nr_regs,
					    .regs = h->regs,
					    .nr_words = h->nr_words,
					    .words = h->words};
		struct parser_reply reply = {unwound, f, 0};

		s->first = h->next;
		if (!s->first)
			s->last = NULL;
		s->nr_waiting--;
		while (s->asked[reply.tag])
			reply.tag++;
		if (!stacks_mappings(f, h->snapshot.pid) ||
		    !front_ask(f, PARSE_UNWIND, &req, &reply)) {
			feed_bare(f, h, "the request to the parser failed");
			continue;
		}
		s->asked[reply.tag] = h;
		s->nr_asked++;
	}
}

void snapshots_acknowledged(struct front *f, uint32_t round)
{
	if (f->snapshots)
		f->snapshots->last_ack = round;
}

bool front_snapshots_complete(const struct front *f, uint32_t round)
{
	const struct front_snapshots *s = f->snapshots;

	return s && s->last_ack >= round && !s->first && !s->nr_asked;
}

bool front_snapshots_pending(const struct front *f)
{
	return f->snapshots && (f->snapshots->first || f->snapshots->nr_asked);
}

void snapshots_release(struct front *f)
{
	struct front_snapshots *s = f->snapshots;

	while (s && s->first) {
		struct stored_snapshot *h = s->first;

		s->first = h->next;
		free(h);
	}
	for (size_t i = 0; s && i < AT_PARSER; i++)
		free(s->asked[i]);
	if (s)
		known_stacks_free(s->known);
	free(s);
	f->snapshots = NULL;
}

static void request_snapshots(struct front *f, const struct req_thread_snapshots *req)
{
	struct record rec = {.type = REQ_THREAD_SNAPSHOTS, .req_thread_snapshots = *req};

	modules_want(f);
	front_request(f, &rec);
}

void front_walk(struct front *f, bool stop)
{
	request_snapshots(
	    f, &(struct req_thread_snapshots){.reason = SNAPSHOTS_FOR_WALK, .stop = stop});
}

uint32_t front_take_snapshots(struct front *f, uint32_t op)
{
	uint32_t round = SNAPSHOT_ROUNDS + ++f->next_round;

	snapshots_of(f);
	request_snapshots(f, &(struct req_thread_snapshots){
				 .reason = SNAPSHOTS_FOR_OPEN, .op = op, .round = round});
	return round;
}

const struct open_calls *front_open_calls(const struct front *f)
{
	return f->stream.open_calls;
}

bool front_found(const struct front *f, struct rec_code *function)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		const struct watch *w = f->watches.list[i];

		*function = (struct rec_code){w->module, w->offset};
		return w->stage == WATCH_ARMED;
	}
	return true;
}

struct walker *front_walker(struct front *f)
{
	return f->stream.walker;
}
