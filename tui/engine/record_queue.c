// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/record_queue.h"

enum { MAX_BYTES = 64 << 20 };

int record_queue_init(struct record_queue *q)
{
	buf_init(&q->frames, MAX_BYTES);
	q->decoder = frame_decoder_new();
	return q->decoder ? 0 : -ENOMEM;
}

void record_queue_release(struct record_queue *q)
{
	buf_release(&q->frames);
	frame_decoder_free(q->decoder);
}

int record_queue_push(struct record_queue *q, const struct record *rec)
{
	return frame_encode(&q->frames, rec, 0);
}

const struct record *record_queue_pop(struct record_queue *q)
{
	int got = frame_decode(q->decoder, q->frames.data, q->frames.len, &q->frame);

	buf_consume(&q->frames, got > 0 ? q->frame.size : q->frames.len);
	return got > 0 ? &q->frame.rec : NULL;
}
