/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Session files on disk (layout: analysis/session/container.h, docs/session-format.md). The writer
 * appends each frame with one write(), so a file is valid up to its last whole frame however the
 * program ended. The reader reads forward with pread() and stops at the first bad frame. */
#pragma once

#include "analysis/session/container.h"
#include "analysis/session/record.h"

#define SESSION_MAX_BYTES (8ULL << 30) /* default limit of a session file */

/* ---- writing ---- */

struct session_writer;

/* Create a file with mode 0600, locked against other writers. Remove an existing one only if it is
 * a session or empty, and follow no symbolic link. -EEXIST: it is another kind of file; -EINVAL: it
 * is not a regular file; -EBUSY: another peaktop is writing it. */
int session_writer_create_again(struct session_writer **out, const char *path);
/* Like session_writer_create_again(), but follow links; with `replace` false, never replace a file
 * (-EEXIST if the name exists). Closing the session removes the file again unless
 * session_writer_keep() was called. An older session keeps its name and its content until a kept
 * one is closed and takes its place; until then the new one is a file .peaktop-XXXXXX beside it,
 * or, where none can be created, an unnamed one. If the older one cannot be replaced by another
 * file (no right to change its folder, a mount point), its content is. */
int session_writer_create_provisional(struct session_writer **out, const char *path, bool replace);
void session_writer_keep(struct session_writer *w);
/* The same, but the session takes the place of an older one at once, so that it can be read even if
 * this process is killed. Returns 0 or a negative errno. */
int session_writer_keep_now(struct session_writer *w);
/* Is there an older session that keeps its place as long as this one is not kept? */
bool session_writer_older_stays(const struct session_writer *w);
/* How much a ring keeps. */
struct session_ring {
	uint64_t bytes;	  /* the most that the file may take; 0: as much as keep_ns needs */
	uint64_t keep_ns; /* records of this time; 0: as many as fit into `bytes` */
};

/* Create a ring: a session whose file is bounded, because new records overwrite the oldest ones. If
 * `path` is a session, it is renamed to `path`.1, in place of an older one of this name. Returns as
 * session_writer_create_again(). */
int session_writer_create_ring(struct session_writer **out, const char *path,
			       const struct session_ring *ring);
/* Closing this ring removes it, and gives a renamed session its name again, unless
 * session_writer_keep() is called. */
void session_writer_ring_provisional(struct session_writer *w);
/* True once, when a ring stopped to grow because the disk is full: it overwrites its oldest
 * records sooner. */
bool session_writer_take_limited(struct session_writer *w);
/* Create an unnamed file in `folder` (NULL: that for temporary files), for
 * session_writer_save_as(). */
int session_writer_spool(struct session_writer **out, const char *folder);
/* Set the maximum size of the file. */
void session_writer_set_maximum(struct session_writer *w, uint64_t bytes);

/* Append one record. Records that are never saved are skipped. A SNAPSHOT is synced to the disk
 * before this returns. If this fails (-ENOSPC, -EIO ..., or -EFBIG at the maximum size), the file
 * stays valid up to the previous record, and all later calls return the same error; those of a ring
 * try again. */
int session_writer_append(struct session_writer *w, const struct record *rec);
uint64_t session_writer_bytes(const struct session_writer *w);
uint64_t session_writer_records(const struct session_writer *w);

/* Write all records so far as a closed session to `path`: into a temporary file in the same folder,
 * which is synced to the disk before it is renamed. An existing file is replaced under the
 * conditions of session_writer_create_provisional(). */
int session_writer_save_as(struct session_writer *w, const char *path);
/* Append the index, sync the file to the disk, free the writer. Returns the first error of the
 * file, or 0. */
int session_writer_close(struct session_writer *w);
/* Free the writer without writing an index: the file looks as if the program had been killed. */
void session_writer_abandon(struct session_writer *w);

/* ---- reading ---- */

struct session_reader;

/* Open a session. Returns 0, or a negative errno with one line in `why` that names the file and the
 * error: -ENODATA (empty), -ENOEXEC (not a session), -EBADMSG (damaged at the start), -ENOTSUP
 * (needs a newer peaktop), or the error of open(). */
int session_reader_open(struct session_reader **out, const char *path, char *why, size_t why_size);
void session_reader_close(struct session_reader *r);

/* Read the next record, valid until the next call. Returns 1, or 0 at the end of the valid part
 * (session_reader_damage() says whether the file is damaged), or -ENOMEM, -EIO or another error of
 * reading. */
int session_reader_next(struct session_reader *r, const struct record **rec);
/* Start again from the first record. */
void session_reader_rewind(struct session_reader *r);
/* Of a ring: go on from the last segment that begins at or before this instant of the session, with
 * what it repeats of earlier records. Of other files: start again. */
void session_reader_seek(struct session_reader *r, uint64_t at_ns);
/* One line that describes what is missing at the end and how much was recovered; "" for a file that
 * was closed in order. Valid after session_reader_next() has returned 0. */
const char *session_reader_damage(const struct session_reader *r);
/* The file offset of the next frame. */
uint64_t session_reader_offset(const struct session_reader *r);
/* The index; NULL if the file was not closed in order or is damaged. */
const struct container_index *session_reader_index(const struct session_reader *r);
/* The end of the last slice, in ns since the start of the session, from the index; without an index
 * this reads the whole file once. Returns 0 or an error of reading. */
int session_reader_elapsed_ns(struct session_reader *r, uint64_t *elapsed_ns);
