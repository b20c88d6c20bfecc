// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/stack_queue.h"

#include "analysis/base/array.h"
#include "analysis/session/record_copy.h"
#include "tui/engine/front_state.h"

void stack_queue_add(struct stack_queue *q, const struct record *rec)
{
	struct record *copy = q->nr_waiting < STACKS_WAITING ? record_copy(rec) : NULL;

	if (copy)
		q->waiting[(q->first + q->nr_waiting++) % STACKS_WAITING] = copy;
	else
		q->dropped++;
}

static struct record *take_first(struct stack_queue *q)
{
	struct record *rec = q->waiting[q->first];

	q->first = (q->first + 1) % STACKS_WAITING;
	q->nr_waiting--;
	return rec;
}

static bool has_mappings(const struct front *f, uint32_t pid)
{
	return any_of(i, f->files.nr_mappings, f->files.mappings[i].pid == pid);
}

/* Called when the parser has unwound the stack in slot `slot`. */
static void unwound(void *ctx, uint64_t slot, const struct parsed *answer)
{
	struct stack_queue *q = ctx;
	struct record *rec = q->asked[slot];

	q->asked[slot] = NULL;
	q->nr_asked--;
	if (answer->frames.error)
		stacks_mappings_forget(q->front);
	q->done(q->front, rec, &answer->frames);
	free(rec);
}

static bool ask(struct stack_queue *q, const struct record *rec, uint64_t slot)
{
	const struct parser_reply reply = {unwound, q, slot};
	const struct rec_raw_snapshot *s = &rec->raw_snapshot;
	const struct rec_raw_trace *t = &rec->raw_trace;
	struct parse_request req = {.text = ""};

	if (rec->type == REC_RAW_SNAPSHOT) {
		req.pid = s->snapshot.pid;
		req.nr_regs = s->nr_regs;
		req.regs = s->regs;
		req.nr_words = s->nr_words;
		req.words = s->words;
		req.nr_pieces = s->nr_pieces;
		req.pieces = s->pieces;
	} else {
		req.pid = t->pid;
		req.nr_regs = t->nr_regs;
		req.regs = t->regs;
		req.nr_words = t->nr_words;
		req.words = t->words;
	}
	return has_mappings(q->front, req.pid) && stacks_mappings(q->front, req.pid) &&
	       front_ask(q->front, PARSE_UNWIND, &req, &reply);
}

void stack_queue_move(struct stack_queue *q)
{
	while (q->nr_waiting && q->nr_asked < STACKS_AT_PARSER && modules_settled(q->front)) {
		struct record *rec = take_first(q);
		uint64_t slot = 0;

		while (q->asked[slot])
			slot++;
		if (ask(q, rec, slot)) {
			q->asked[slot] = rec;
			q->nr_asked++;
		} else {
			q->done(q->front, rec, NULL);
			free(rec);
		}
	}
}

bool stack_queue_is_empty(const struct stack_queue *q)
{
	return !q->nr_waiting && !q->nr_asked;
}

void stack_queue_release(struct stack_queue *q)
{
	while (q->nr_waiting)
		free(take_first(q));
	for (size_t i = 0; i < STACKS_AT_PARSER; i++)
		free(q->asked[i]);
}
