/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a ring repeats at the begin of each of its segments, because the records that said it first
 * are overwritten: which processes, files and operations the later records are about, names of
 * code, notes. Of records about one thing, such as two REC_TARGET of one process, only the last
 * one is kept. Pure: no I/O. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/session/record.h"

struct ring_state;

/* At most `max_bytes` are kept: if there is more, names of code and notes are dropped first, the
 * oldest first. NULL: out of memory. */
struct ring_state *ring_state_new(size_t max_bytes);
void ring_state_free(struct ring_state *s);
/* Take a record of the stream. 0, or -ENOMEM: it is not kept. */
int ring_state_take(struct ring_state *s, const struct record *rec);
/* Number of the records that are kept. */
uint32_t ring_state_nr(const struct ring_state *s);
/* Append their frames to `out`, in the order of the stream, with sequence numbers from `sequence`
 * on. Returns as frame_encode(). */
int ring_state_encode(const struct ring_state *s, struct buf *out, uint32_t sequence);
