/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segments of a ring: a session file of bounded size, in which new records overwrite the oldest
 * ones (layout: docs/session-format.md). Private to tui/session: session_writer.c uses it. */
#pragma once

#include "analysis/session/record.h"
#include "tui/session/session_file.h"

struct ring_writer;

/* Write the header and the first segments of a ring into an empty file. `fd` remains the caller's.
 * Returns 0 or a negative errno. */
int ring_writer_new(struct ring_writer **out, int fd, const struct session_ring *ring);
void ring_writer_free(struct ring_writer *r);
/* Append one record. Returns 1; 0 if it is a sample of which the ring has enough; or a negative
 * errno (-ENOSPC, -EIO ...): the file stays valid without it, and a later record may be written
 * again. If merging a minute failed half-way, the file has a damaged place: the last two minutes
 * are missing. */
int ring_writer_append(struct ring_writer *r, const struct record *rec);
/* Mark the session as closed in order, and sync the file to the disk. */
int ring_writer_close(struct ring_writer *r);
/* Bytes of the file. */
uint64_t ring_writer_bytes(const struct ring_writer *r);
/* True once, when the disk was found full: no segments are added from then on. */
bool ring_writer_take_limited(struct ring_writer *r);

/* Write all n bytes at an offset. 0 or a negative errno; *done has the bytes that were written. */
int write_at(int fd, const void *data, size_t n, uint64_t offset, size_t *done);
