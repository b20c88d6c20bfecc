/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session file as bytes: a header, the frames of the stream, an index, and
 * a last frame that says where the index is (docs/session-format.md). A file
 * without the last two is whole up to where it ends: its writer did not close
 * it. Pure: no I/O.
 */
#ifndef PEAKTOP_CONTAINER_H
#define PEAKTOP_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"

enum {
	CONTAINER_HEADER_SIZE = 24,
	CONTAINER_MAJOR = 1, /* raised when an older reader would get it wrong */
	CONTAINER_MINOR = 0,
	CONTAINER_END_SIZE = FRAME_HEADER_SIZE + 8,
	CONTAINER_MAX_MARKS = 2048, /* in the index */

	/* Types of frames that are not records; readers of the stream skip them. */
	CONTAINER_INDEX = 0x70,
	CONTAINER_END = 0x71,
};

struct container_header {
	uint16_t major, minor;
	uint16_t least_major, least_minor; /* the oldest reader that gets it right */
};

/* The header that this version writes. */
void container_header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE]);
/*
 * 0; -ENODATA: nothing there; -ENOEXEC: not a session file; -EBADMSG: its
 * header is cut off or damaged; -ENOTSUP: written for newer readers only (then
 * `header` says which).
 */
int container_header_decode(const void *data, size_t n, struct container_header *header);

enum container_mark_kind { MARK_SLICE = 0, MARK_SESSION };

struct container_mark {
	uint32_t kind;
	uint64_t at_ns;
	uint64_t offset;   /* of the frame in the file: the TICK, the SNAPSHOT */
	const char *label; /* of a snapshot */
};

struct container_index {
	uint64_t records;
	uint64_t slices;
	uint64_t elapsed_ns; /* end of the last slice */
	uint32_t nr_marks;
	const struct container_mark *marks; /* ascending; of slices only some, evenly spread */
};

/* Makes the index while records pass. */
struct container_indexer;
struct container_indexer *container_indexer_new(void);
void container_indexer_free(struct container_indexer *ix);
/* `offset`: of the record's frame. 0 or -ENOMEM. */
int container_indexer_add(struct container_indexer *ix, const struct record *rec, uint64_t offset);
/* Valid until the next call. */
const struct container_index *container_indexer_index(struct container_indexer *ix);

/*
 * Append the index and the end to `out`; `offset` is where that will stand in
 * the file, `sequence` that of the index (the end takes the next one).
 */
int container_close_encode(struct buf *out, const struct container_index *index, uint64_t offset,
			   uint32_t sequence);
/*
 * Where the index is, from the last CONTAINER_END_SIZE bytes of the file.
 * 0 or -EBADMSG: the file was not closed, or is damaged.
 */
int container_end_decode(const void *data, size_t n, uint64_t *index_offset);
/*
 * The index from its frame. Everything in it is checked: offsets lie before
 * `offset`, marks ascend. 0, -EBADMSG, -ENOMEM. `arena` owns the marks.
 */
int container_index_decode(struct arena *arena, const struct raw_frame *frame, uint64_t offset,
			   struct container_index *index);

#endif
