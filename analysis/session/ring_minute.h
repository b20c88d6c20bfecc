/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a ring keeps of a minute that is over: a ring holds days, and slices of a second would fill
 * it within an hour. The slices of the minute become one, and of the slow calls those stay that
 * were slowest beside what is usual for their operation, as far as the budget of bytes allows.
 * Everything else is kept as it is. Pure: no I/O. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/session/record.h"

#define RING_MINUTE_NS 60000000000ull

enum {
	/* Bytes of slow calls and their stacks a minute. What a calm minute leaves is added up to
	 * that of so many minutes. */
	RING_MINUTE_SLOW_BYTES = 7 << 10,
	RING_MINUTE_SAVED = 60,
	/* Samples of an operation a minute; at most so many may be saved up. */
	RING_MINUTE_SAMPLES = 2,
	RING_MINUTE_SAMPLES_SAVED = 64,
};

/* How many samples and bytes of slow calls a ring may still hold. */
struct ring_budget;
struct ring_minute;

/* NULL: out of memory. */
struct ring_budget *ring_budget_new(void);
void ring_budget_free(struct ring_budget *b);
struct ring_minute *ring_minute_new(void);
void ring_minute_free(struct ring_minute *m);
/* False for a sample that is not written to a ring, because there are enough. While a descent or a
 * window of waits is recorded, all are wanted: they are the calls whose waits are told. */
bool ring_budget_wants(struct ring_budget *b, const struct record *rec);
/* Take a record that was written to the ring. */
void ring_minute_take(struct ring_minute *m, const struct record *rec);
/* True if the slices since ring_minute_begin() are a minute. */
bool ring_minute_is_over(const struct ring_minute *m);
/* Append the frames of what is kept of the records since ring_minute_begin(), which end with a
 * REC_TICK, with sequence numbers from *sequence on, which becomes the next one. 0; -ENOTSUP: they
 * must stay as they are, because a descent or something else was recorded that is told by slices;
 * or as frame_encode(). */
int ring_minute_encode(struct ring_minute *m, struct ring_budget *b, struct buf *out,
		       uint32_t *sequence);
/* Forget the records that were taken. */
void ring_minute_begin(struct ring_minute *m);
