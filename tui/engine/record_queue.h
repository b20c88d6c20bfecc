/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that wait to enter the stream. If a consumer makes a record while it processes another
 * one, the new record waits here. So all consumers see the records in the same order, and none is
 * called recursively. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/session/frame.h"

struct record_queue {
	struct buf frames;
	struct frame_decoder *decoder;
	struct frame frame; /* the frame that record_queue_pop() returned last */
};

/* 0 or -ENOMEM. */
int record_queue_init(struct record_queue *q);
void record_queue_release(struct record_queue *q);
/* Append a copy of a record that a session file can hold. 0 or a negative errno. */
int record_queue_push(struct record_queue *q, const struct record *rec);
/* Remove the oldest record; NULL: there is none. Valid until the next call. */
const struct record *record_queue_pop(struct record_queue *q);
