// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks on their way through the parser: raw bytes of a stack become frames, and
 * the look goes into the stream. They wait until the files of the target are read.
 * The bytes go no further.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/parser/frames.h"
#include "analysis/walk/known_stacks.h"
#include "tui/engine/front_state.h"

enum { AT_PARSER = 24, KERNEL_BYTES = 1024 };

/* One look with all that it points to. */
struct held {
	struct held *next;
	struct rec_look look;
	char comm[24], call[32], name[256], waker[96], holder[96], doing[64], kernel[KERNEL_BYTES];
	uint64_t regs[PARSE_MAX_REGS];
	uint32_t nr_regs, nr_words;
	uint64_t words[];
};

struct front_looks {
	struct known_stacks *known;
	struct held *first, *last; /* not at the parser yet */
	size_t nr_waiting;
	struct held *asked[AT_PARSER]; /* NULL: a free slot */
	size_t nr_asked;
	uint32_t last_ack;
	uint64_t dropped;
};

static void text_copy(char *out, size_t n, const char **text)
{
	snprintf(out, n, "%s", *text ? *text : "");
	*text = out;
}

static struct held *held_new(const struct rec_looked *l)
{
	uint32_t words = l->nr_words < PARSE_MAX_WORDS ? l->nr_words : PARSE_MAX_WORDS;
	struct held *h = malloc(sizeof(*h) + words * sizeof(h->words[0]));

	if (!h)
		return NULL;
	h->next = NULL;
	h->look = l->look;
	text_copy(h->comm, sizeof(h->comm), &h->look.comm);
	text_copy(h->call, sizeof(h->call), &h->look.sleep.call);
	text_copy(h->name, sizeof(h->name), &h->look.sleep.name);
	text_copy(h->waker, sizeof(h->waker), &h->look.sleep.waker);
	text_copy(h->holder, sizeof(h->holder), &h->look.sleep.holder);
	text_copy(h->doing, sizeof(h->doing), &h->look.sleep.doing);
	text_copy(h->kernel, sizeof(h->kernel), &h->look.kernel);
	h->look.stop_text = "";
	h->look.nr_frames = 0;
	h->nr_regs = l->nr_regs <= PARSE_MAX_REGS ? l->nr_regs : 0;
	if (h->nr_regs)
		memcpy(h->regs, l->regs, h->nr_regs * sizeof(h->regs[0]));
	h->nr_words = words;
	if (words)
		memcpy(h->words, l->words, words * sizeof(h->words[0]));
	return h;
}

static void look_feed(struct front *f, const struct rec_look *look)
{
	const struct record rec = {.type = REC_LOOK, .look = *look};

	front_feed(f, &rec);
}

/* Without frames: what is known of it is the system call. */
static void feed_bare(struct front *f, struct held *h, const char *why)
{
	h->look.stop = UINT32_MAX;
	h->look.stop_text = why;
	look_feed(f, &h->look);
	free(h);
}

/* Tell it with the frames of an earlier sleep at the same place; it takes `h`. False: there was
 * none. */
static bool feed_known(struct front *f, struct held *h)
{
	if (!known_stacks_fill(f->looks->known, stack_place_of(&h->look, h->regs, h->nr_regs),
			       &h->look))
		return false;
	look_feed(f, &h->look);
	free(h);
	return true;
}

static struct front_looks *looks_of(struct front *f)
{
	struct front_looks *s = f->looks;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s)
		s->known = known_stacks_new();
	if (s && !s->known) {
		free(s);
		s = NULL;
	}
	return f->looks = s;
}

void looks_take(struct front *f, const struct rec_looked *looked)
{
	struct front_looks *s = looks_of(f);
	struct held *h;

	if (!s)
		return;
	if (s->nr_waiting >= FRONT_MAX_LOOKS) {
		s->dropped++;
		return;
	}
	h = held_new(looked);
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

/* The parser has unwound the stack of the look in slot `slot`. */
static void unwound(void *ctx, uint64_t slot, const struct parsed *answer)
{
	const struct parsed_frames *p = &answer->frames;
	struct rec_frame frames[PARSE_MAX_FRAMES];
	struct front *f = ctx;
	struct front_looks *s = f->looks;
	struct held *h = s->asked[slot];

	s->asked[slot] = NULL;
	s->nr_asked--;
	if (p->error) {
		stacks_mappings_forget(f);
		feed_bare(f, h, "the stack could not be read");
		return;
	}
	h->look.stop = p->stop;
	h->look.stop_text = p->stop && p->reason ? p->reason : "";
	h->look.nr_frames = frames_outermost_first(p, frames, PARSE_MAX_FRAMES);
	h->look.frames = frames;
	known_stacks_note(s->known, stack_place_of(&h->look, h->regs, h->nr_regs), &h->look);
	look_feed(f, &h->look);
	free(h);
}

void looks_move(struct front *f)
{
	struct front_looks *s = f->looks;

	if (s && !s->first && !s->nr_asked)
		mappings_purge(f);

	while (s && s->first && s->nr_asked < AT_PARSER && modules_settled(f)) {
		struct held *h = s->first;
		struct parse_request req = {.pid = h->look.pid,
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
		if (!stacks_mappings(f, h->look.pid) || !front_ask(f, PARSE_UNWIND, &req, &reply)) {
			feed_bare(f, h, "the request to the parser failed");
			continue;
		}
		s->asked[reply.tag] = h;
		s->nr_asked++;
	}
}

void looks_acknowledged(struct front *f, uint32_t round)
{
	if (f->looks)
		f->looks->last_ack = round;
}

bool front_looks_told(const struct front *f, uint32_t round)
{
	const struct front_looks *s = f->looks;

	return s && s->last_ack >= round && !s->first && !s->nr_asked;
}

bool front_looks_pending(const struct front *f)
{
	return f->looks && (f->looks->first || f->looks->nr_asked);
}

void looks_release(struct front *f)
{
	struct front_looks *s = f->looks;

	while (s && s->first) {
		struct held *h = s->first;

		s->first = h->next;
		free(h);
	}
	for (size_t i = 0; s && i < AT_PARSER; i++)
		free(s->asked[i]);
	if (s)
		known_stacks_free(s->known);
	free(s);
	f->looks = NULL;
}

static void request_look(struct front *f, const struct req_look *req)
{
	struct record rec = {.type = REQ_LOOK, .req_look = *req};

	modules_want(f);
	front_request(f, &rec);
}

void front_walk(struct front *f, bool stop)
{
	request_look(f, &(struct req_look){.reason = LOOK_WALK, .stop = stop});
}

uint32_t front_look(struct front *f, uint32_t op)
{
	uint32_t round = LOOK_ROUNDS + ++f->next_round;

	looks_of(f);
	request_look(f, &(struct req_look){.reason = LOOK_OPEN, .op = op, .round = round});
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
