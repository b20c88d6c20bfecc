/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a session file: a header, the frames of the stream, an index, and an end frame with
 * the position of the index (docs/session-format.md). A file without index and end was not closed
 * by its writer, but its frames are valid. No I/O here. */
#pragma once

#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"

enum {
	CONTAINER_HEADER_SIZE = 24,
	CONTAINER_MAJOR = 1, /* incremented if older readers would misread the file */
	CONTAINER_MINOR = 1,
	CONTAINER_RING_MINOR = 1, /* the oldest version that can read a ring */
	CONTAINER_END_SIZE = FRAME_HEADER_SIZE + 8,
	CONTAINER_MAX_MARKS = 2048, /* in the index */

	/* Types of frames that are not records; readers of the stream skip them. */
	CONTAINER_INDEX = 0x70,
	CONTAINER_END = 0x71,
	CONTAINER_SEGMENT = 0x72,     /* the first frame of a segment of a ring */
	CONTAINER_SEGMENT_END = 0x73, /* its last one */

	/* Limits of the segments of a ring. */
	CONTAINER_SEGMENT_LEAST = 64 << 10,
	CONTAINER_SEGMENT_MOST = 16 << 20,
	CONTAINER_MAX_SEGMENTS = 8192,
};

struct container_header {
	uint16_t major, minor;
	uint16_t least_major, least_minor; /* the oldest version that can read the file */
	uint32_t segment_bytes;		   /* of a ring; 0: the file is no ring */
};

/* The header that this version writes. */
void container_header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE]);
/* The same for a ring with segments of this size. */
void container_ring_header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE], uint32_t segment_bytes);
/* Returns 0; -ENODATA: empty; -ENOEXEC: not a session file; -EBADMSG: the header is cut off or
 * damaged; -ENOTSUP: only newer versions can read the file (`header` contains the oldest of
 * them). */
int container_header_decode(const void *data, size_t n, struct container_header *header);

enum container_mark_kind { MARK_SLICE = 0, MARK_SESSION };

struct container_mark {
	uint32_t kind;
	uint64_t at_ns;
	uint64_t offset;   /* file offset of the frame of the TICK or SNAPSHOT */
	const char *label; /* of a snapshot */
};

struct container_index {
	uint64_t records;
	uint64_t slices;
	uint64_t elapsed_ns; /* end of the last slice */
	uint32_t nr_marks;
	const struct container_mark *marks; /* ascending; snapshots and some evenly spread slices */
};

/* Builds the index while records are written. */
struct container_indexer;
struct container_indexer *container_indexer_new(void);
void container_indexer_free(struct container_indexer *ix);
/* Add a record whose frame has this file offset. 0 or -ENOMEM. */
int container_indexer_add(struct container_indexer *ix, const struct record *rec, uint64_t offset);
/* The index so far. Valid until the next call. */
const struct container_index *container_indexer_index(struct container_indexer *ix);

/* Append the index and the end frame to `out`. `offset` is the file offset of the index, `sequence`
 * its sequence number; the end frame has the next number. */
int container_close_encode(struct buf *out, const struct container_index *index, uint64_t offset,
			   uint32_t sequence);
/* Read the file offset of the index from the last CONTAINER_END_SIZE bytes of the file. Returns 0,
 * or -EBADMSG: the file was not closed, or is damaged. */
int container_end_decode(const void *data, size_t n, uint64_t *index_offset);
/* Decode the index from its frame at `offset` and check it: the offsets of marks must be below
 * `offset` and ascend. Returns 0, -EBADMSG or -ENOMEM. `arena` owns the marks. */
int container_index_decode(struct arena *arena, const struct raw_frame *frame, uint64_t offset,
			   struct container_index *index);

/* ---- rings (docs/session-format.md) ---- */

/* The first frame of a segment. */
struct container_segment {
	uint64_t number; /* ascending, from 1, in the order in which segments were written */
	uint32_t state;	 /* frames that repeat earlier records follow, so many */
	uint64_t at_ns;	 /* the end of the last slice before it; 0: none, or an older writer */
};

/* Append the first or the last frame of a segment. Returns as raw_frame_encode(). */
int container_segment_encode(struct buf *out, const struct container_segment *s, uint32_t sequence);
int container_segment_end_encode(struct buf *out, uint32_t sequence);
/* Decode the first one. Returns 0, or -EBADMSG: the frame is of another type, or damaged. */
int container_segment_decode(const struct raw_frame *frame, struct container_segment *s);
