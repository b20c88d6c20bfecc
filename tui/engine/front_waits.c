// SPDX-License-Identifier: GPL-2.0-or-later
/* Ask the collector to trace waits, and have the parser unwind the user stacks that come with
 * them. */

#include "analysis/parser/frames.h"
#include "tui/engine/front_state.h"
#include "tui/engine/stack_queue.h"

struct front_waits {
	unsigned int users;		 /* who have begun and not ended the tracing */
	uint32_t begin_epoch, end_epoch; /* of the requests; 0: not sent */
	bool begun, ended;		 /* they were acknowledged */
	struct stack_queue queue;
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

/* Called with the frames of a stack. */
static void unwound(struct front *f, const struct record *rec, const struct parsed_frames *p)
{
	struct rec_frame frames[PARSE_MAX_FRAMES];
	struct record out = {.type = REC_TRACE};

	if (!p || p->error)
		return;
	out.trace =
	    (struct rec_trace){.trace = rec->raw_trace.trace,
			       .pid = rec->raw_trace.pid,
			       .kernel = "",
			       .nr_frames = frames_outermost_first(p, frames, PARSE_MAX_FRAMES),
			       .frames = frames,
			       .flags = p->stop ? TRACE_PARTIAL : 0};
	if (out.trace.nr_frames)
		front_feed(f, &out);
}

bool front_waits_begin(struct front *f)
{
	if (!f->waits)
		f->waits = calloc(1, sizeof(*f->waits));
	if (!f->waits)
		return false;
	f->waits->queue.front = f;
	f->waits->queue.done = unwound;
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

void traces_take(struct front *f, const struct record *rec)
{
	const struct rec_raw_trace *r = &rec->raw_trace;

	if (f->waits && r->nr_words && r->nr_regs && r->nr_regs <= PARSE_MAX_REGS && f->parser)
		stack_queue_add(&f->waits->queue, rec);
}

void traces_move(struct front *f)
{
	if (f->waits)
		stack_queue_move(&f->waits->queue);
}

bool front_traces_pending(const struct front *f)
{
	return f->waits && !stack_queue_is_empty(&f->waits->queue);
}

uint64_t front_traces_dropped(const struct front *f)
{
	return f->waits ? f->waits->queue.dropped : 0;
}

void waits_release(struct front *f)
{
	if (f->waits)
		stack_queue_release(&f->waits->queue);
	free(f->waits);
	f->waits = NULL;
}
