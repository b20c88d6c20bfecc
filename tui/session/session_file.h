/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Session files on disk (layout: analysis/session/container.h,
 * docs/session-format.md). Written by appending, one write() a frame, so that
 * whatever ends the program leaves a file that is good up to its end; read with
 * pread, forward, stopping at the first bad frame.
 */
#ifndef PEAKTOP_SESSION_FILE_H
#define PEAKTOP_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/session/container.h"
#include "analysis/session/record.h"

#define SESSION_MAX_BYTES (8ULL << 30) /* default limit of a session file */

/* ---- writing ---- */

struct session_writer;

/*
 * Begin a file with this name, mode 0600, locked against other writers. An
 * existing file is replaced only if it is a session or empty: -EEXIST if it is
 * something else, -EINVAL if it is not a regular file, -EBUSY if another
 * peaktop is writing it.
 */
int session_writer_create(struct session_writer **out, const char *path);
/* The same for a name that nothing has yet: -EEXIST, whatever is there. */
int session_writer_create_new(struct session_writer **out, const char *path);
/* Begin a file without a name in `folder`, for session_writer_save_as(). */
int session_writer_spool(struct session_writer **out, const char *folder);
/* Bytes that the file may grow to. */
void session_writer_set_maximum(struct session_writer *w, uint64_t bytes);

/*
 * Append one record; those that are never saved are passed over. A SNAPSHOT is
 * on the disk when this returns. Once it fails (-ENOSPC, -EFBIG: the maximum,
 * -EIO ...) the file stays good up to the record before, and every later call
 * returns the same error.
 */
int session_writer_append(struct session_writer *w, const struct record *rec);
uint64_t session_writer_bytes(const struct session_writer *w);
uint64_t session_writer_records(const struct session_writer *w);

/*
 * Write all so far as a closed session under another name: through a temporary
 * file in the same folder, on the disk before it gets its name. What was there
 * under that name is replaced as in session_writer_create().
 */
int session_writer_save_as(struct session_writer *w, const char *path);
/* Add the index, bring all to the disk, free. The first error of the file, or 0. */
int session_writer_close(struct session_writer *w);
/* Free without an index: as if the program had been killed. */
void session_writer_abandon(struct session_writer *w);

/* ---- reading ---- */

struct session_reader;

/*
 * On error one line in `why` says what is wrong with which file: -ENODATA
 * (empty), -ENOEXEC (no session), -EBADMSG (damaged at its very start),
 * -ENOTSUP (for newer versions only), or the error of open.
 */
int session_reader_open(struct session_reader **out, const char *path, char *why, size_t why_size);
void session_reader_close(struct session_reader *r);

/*
 * The next record, valid until the next call. 1; 0 at the end, whether the file
 * ends well or is damaged from here on (session_reader_damage() tells); -EIO
 * and other errors of reading, -ENOMEM.
 */
int session_reader_next(struct session_reader *r, const struct record **rec);
/* Start again from the first record. */
void session_reader_rewind(struct session_reader *r);
/*
 * One line on what is missing at the end and how much was recovered, "" for a
 * file that was closed in order. Known once session_reader_next() has given 0.
 */
const char *session_reader_damage(const struct session_reader *r);
/* Where the next frame stands; where a record with a mark in the index stood. */
uint64_t session_reader_offset(const struct session_reader *r);
/* NULL when the file has none: it was not closed, or is damaged. */
const struct container_index *session_reader_index(const struct session_reader *r);
/*
 * End of the last slice, in ns since the start of the session: from the index,
 * else by reading the file through once. 0 or an error of reading.
 */
int session_reader_elapsed_ns(struct session_reader *r, uint64_t *elapsed_ns);

#endif
