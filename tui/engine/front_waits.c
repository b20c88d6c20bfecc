// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ask the collector to trace waits, and have the parser unwind the user stacks that come with them.
 * The raw bytes of a stack are dropped afterwards, because they may hold secrets.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/parser/frames.h"
#include "tui/engine/front_state.h"
#include "tui/engine/wait_driver.h"

enum { AT_PARSER = 24, MAX_WAITING = 1024 };

/* One stack, copied. */
struct stored_trace {
	struct stored_trace *next;
	uint32_t trace, pid;
	uint32_t nr_regs, nr_words;
	uint64_t regs[PARSE_MAX_REGS];
	uint64_t words[];
};

struct front_waits {
	unsigned int users;		   /* who have begun and not ended the tracing */
	uint32_t begin_epoch, end_epoch;   /* of the requests; 0: not sent */
	bool begun, ended;		   /* they were acknowledged */
	struct stored_trace *first, *last; /* not sent to the parser yet */
	size_t nr_waiting;
	struct stored_trace *asked[AT_PARSER]; /* sent to the parser; NULL: a free slot */
	size_t nr_asked;
	uint64_t dropped; /* stacks that came while too many were waiting */
};

struct wait_driver *front_waits(struct front *f)
{
	return f->stream.waits;
}

static uint32_t waits_request(struct front *f, uint32_t stop)
{
	struct record rec = {.type = REQ_WAITS};

	rec.req_waits = (struct req_waits){.epoch = ++f->watches.next_epoch, .stop = stop};
	front_request(f, &rec);
	return rec.req_waits.epoch;
}

bool front_waits_begin(struct front *f)
{
	if (!f->waits)
		f->waits = calloc(1, sizeof(*f->waits));
	if (!f->waits)
		return false;
	f->waits->users++;
	modules_want(f);
	f->waits->begun = f->waits->ended = false;
	f->waits->end_epoch = 0;
	f->waits->begin_epoch = waits_request(f, 0);
	return true;
}

void front_waits_end(struct front *f)
{
	if (f->waits && f->waits->users && --f->waits->users)
		return;
	if (f->waits && !f->waits->end_epoch)
		f->waits->end_epoch = waits_request(f, 1);
}

bool front_waits_begun(const struct front *f)
{
	return f->waits && f->waits->begun;
}

bool front_waits_ended(const struct front *f)
{
	return !f->waits || f->waits->ended || f->over;
}

bool waits_are_due(const struct front *f)
{
	/* with --peak, the peak has to be found first */
	return (f->options->verb == VERB_CHAINS || f->options->verb == VERB_CRITICAL) &&
	       !f->options->question.peak && !f->options->question.peak_high_ns &&
	       (!f->waits || (!f->waits->begun && !f->waits->ended));
}

void waits_acknowledged(struct front *f, uint32_t epoch)
{
	if (!f->waits || !epoch)
		return;
	f->waits->begun |= epoch == f->waits->begin_epoch;
	f->waits->ended |= epoch == f->waits->end_epoch;
}

bool waits_refused(struct front *f, const struct rec_refused *r)
{
	if (!f->waits || r->op || !r->epoch ||
	    (r->epoch != f->waits->begin_epoch && r->epoch != f->waits->end_epoch))
		return false;
	f->waits->ended = true;
	if (f->options->verb == VERB_CHAINS || f->options->verb == VERB_CRITICAL)
		front_fail(f, refused_status(r->error), "%s", r->reason);
	else if (f->options->verb != VERB_DESCEND) /* a note says it */
		front_message(f, "%s", r->reason);
	return true;
}

static bool has_mappings(const struct front *f, uint32_t pid)
{
	for (size_t i = 0; i < f->files.nr_mappings; i++) {
		if (f->files.mappings[i].pid == pid)
			return true;
	}
	return false;
}

void traces_take(struct front *f, const struct rec_raw_trace *r)
{
	uint32_t words = r->nr_words < PARSE_MAX_WORDS ? r->nr_words : PARSE_MAX_WORDS;
	struct front_waits *s = f->waits;
	struct stored_trace *t;

	if (!s || !words || !r->nr_regs || r->nr_regs > PARSE_MAX_REGS || !f->parser)
		return;
	t = s->nr_waiting < MAX_WAITING ? malloc(sizeof(*t) + words * sizeof(t->words[0])) : NULL;
	if (!t) {
		s->dropped++;
		return;
	}
	*t = (struct stored_trace){
	    .trace = r->trace, .pid = r->pid, .nr_regs = r->nr_regs, .nr_words = words};
	memcpy(t->regs, r->regs, r->nr_regs * sizeof(t->regs[0]));
	memcpy(t->words, r->words, words * sizeof(t->words[0]));
	if (s->last)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
	s->nr_waiting++;
}

/* Called when the parser has unwound the stack in slot `slot`. */
static void unwound(void *ctx, uint64_t slot, const struct parsed *answer)
{
	const struct parsed_frames *p = &answer->frames;
	struct rec_frame frames[PARSE_MAX_FRAMES];
	struct front *f = ctx;
	struct stored_trace *t = f->waits->asked[slot];
	struct record rec = {.type = REC_TRACE};

	f->waits->asked[slot] = NULL;
	f->waits->nr_asked--;
	rec.trace = (struct rec_trace){.trace = t->trace,
				       .pid = t->pid,
				       .kernel = "",
				       .frames = frames,
				       .flags = p->stop ? TRACE_PARTIAL : 0};
	free(t);
	if (p->error) {
		stacks_mappings_forget(f);
		return;
	}
	rec.trace.nr_frames = frames_outermost_first(p, frames, PARSE_MAX_FRAMES);
	if (rec.trace.nr_frames)
		front_feed(f, &rec);
}

/* The next stack in the queue, taken out of it. */
static struct stored_trace *trace_next(struct front_waits *s)
{
	struct stored_trace *t = s->first;

	s->first = t->next;
	if (!s->first)
		s->last = NULL;
	s->nr_waiting--;
	return t;
}

void traces_move(struct front *f)
{
	struct front_waits *s = f->waits;

	while (s && s->first && s->nr_asked < AT_PARSER && modules_settled(f)) {
		struct stored_trace *t = trace_next(s);
		struct parse_request req = {.pid = t->pid,
					    .text = "",
					    .nr_regs = t->nr_regs,
					    .regs = t->regs,
					    .nr_words = t->nr_words,
					    .words = t->words};
		struct parser_reply reply = {unwound, f, 0};

		while (s->asked[reply.tag])
			reply.tag++;
		if (!has_mappings(f, t->pid) || !stacks_mappings(f, t->pid) ||
		    !front_ask(f, PARSE_UNWIND, &req, &reply)) {
			free(t);
			continue;
		}
		s->asked[reply.tag] = t;
		s->nr_asked++;
	}
}

bool front_traces_pending(const struct front *f)
{
	return f->waits && (f->waits->first || f->waits->nr_asked);
}

uint64_t front_traces_dropped(const struct front *f)
{
	return f->waits ? f->waits->dropped : 0;
}

void waits_release(struct front *f)
{
	struct front_waits *s = f->waits;

	while (s && s->first)
		free(trace_next(s));
	for (size_t i = 0; s && i < AT_PARSER; i++)
		free(s->asked[i]);
	free(s);
	f->waits = NULL;
}
