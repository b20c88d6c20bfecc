/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: how records travel on the wire and stand in a session file.
 *
 * Everything is little-endian, no struct is ever written whole. A frame is
 *   type u16 | flags u16 | length u32 | sequence u32 | crc32c u32 | payload
 * where the CRC covers the first 12 bytes and the payload. Payload fields are
 * varints (LEB128; signed ones zigzag), text is a varint length and bytes.
 * Pure: bytes in, records out; no I/O. Input is hostile: every count is checked
 * against the bytes left before anything is allocated.
 */
#ifndef PEAKTOP_FRAME_H
#define PEAKTOP_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/base/buf.h"
#include "analysis/session/record.h"

enum {
	FRAME_HEADER_SIZE = 16,
	FRAME_MAX_PAYLOAD = 1 << 20,
	FRAME_MAX_TEXT = 4096,	   /* longer text is cut when written, refused when read */
	FRAME_MAX_SITES = 4096,	   /* in one REQ_ARM, and call sites in one REC_CALLEES */
	FRAME_MAX_FNODES = 256,	   /* in one REC_CALL */
	FRAME_MAX_HOST_WAITS = 16, /* the same */
	FRAME_MAX_STACK = 256,	   /* frames of one REC_WITNESS */
	FRAME_MAX_CALLEES = 256,   /* in one REC_INDIRECT_CALLEES */
	FRAME_MAX_INLINES = 64,	   /* calls in one REC_INLINES */
};

enum frame_flags {
	FRAME_CRITICAL = 1 << 0,     /* a reader that does not support this type must stop */
	FRAME_NOT_RECORDED = 1 << 1, /* stays on the wire */
	FRAME_HAS_FD = 1 << 2,	     /* one descriptor travels with it */
};

/* CRC-32C (Castagnoli) of `n` bytes, continuing from `crc` (0 to begin). */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/*
 * Append the frame of one record to `out`, with this sequence number.
 * Returns 0 or a negative errno (out then is as before).
 */
int frame_encode(struct buf *out, const struct record *rec, uint32_t sequence);

/* One decoded frame. `rec` and all it points to is valid until the next call with the same decoder.
 */
struct frame {
	uint16_t type, flags;
	uint32_t sequence;
	size_t size; /* bytes it took, header included */
	int known;   /* 0: this reader does not support the type, and skips it unless it is critical
		      */
	struct record rec; /* only when known */
};

struct frame_decoder; /* owns the memory of the last decoded record */
struct frame_decoder *frame_decoder_new(void);
void frame_decoder_free(struct frame_decoder *d);

/*
 * Decode the frame at the start of data[0..n). Returns 1 with `frame` filled,
 * 0 when more bytes are needed, -EBADMSG for a damaged frame (CRC, counts,
 * text too long), -ENOTSUP for an unknown critical one, -ENOMEM.
 */
int frame_decode(struct frame_decoder *d, const void *data, size_t n, struct frame *frame);

#endif
