/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw stacks (REC_RAW_SNAPSHOT, REC_RAW_TRACE) that wait for the parser, which unwinds them into
 * frames. They wait until the modules of the target are loaded. The raw bytes are dropped
 * afterwards, because they may hold secrets. Private to front*.c. */
#pragma once

#include "analysis/parser/protocol.h"
#include "analysis/session/record.h"

struct front;

enum { STACKS_AT_PARSER = 24, STACKS_WAITING = 1024 };

struct stack_queue {
	struct front *front;
	/* Called for each stack, with the answer; NULL: the parser could not be asked. */
	void (*done)(struct front *f, const struct record *rec, const struct parsed_frames *p);
	struct record *waiting[STACKS_WAITING]; /* a ring */
	size_t first, nr_waiting;
	struct record *asked[STACKS_AT_PARSER]; /* sent to the parser; NULL: a free slot */
	size_t nr_asked;
	uint64_t dropped; /* stacks for which there was no room */
};

/* Add a copy of a record; without room, count it as dropped. */
void stack_queue_add(struct stack_queue *q, const struct record *rec);
/* Send stacks to the parser. */
void stack_queue_move(struct stack_queue *q);
bool stack_queue_is_empty(const struct stack_queue *q);
void stack_queue_release(struct stack_queue *q);
