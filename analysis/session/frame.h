/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: the encoding of records on channels and in session files.
 *
 * All numbers are little-endian. A frame is
 *   type u16 | flags u16 | length u32 | sequence u32 | crc32c u32 | payload
 * where the CRC covers the first 12 bytes and the payload. Payload fields are
 * varints (LEB128; signed ones zigzag), text is a varint length and bytes.
 * No I/O here. Input is untrusted: the decoder checks every count against the remaining bytes
 * before it allocates memory.
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/session/record.h"

enum {
	FRAME_HEADER_SIZE = 16,
	FRAME_MAX_PAYLOAD = 1 << 20,
	FRAME_MAX_TEXT = 4096,	   /* bytes; the encoder cuts longer text, the decoder rejects it */
	FRAME_MAX_SITES = 4096,	   /* in one REQ_ARM, and call sites in one REC_CALLEES */
	FRAME_MAX_FNODES = 256,	   /* in one REC_CALL */
	FRAME_MAX_HOST_WAITS = 16, /* in one REC_CALL */
	FRAME_MAX_STACK = 256,	   /* frames of one REC_WITNESS */
	FRAME_MAX_CALLEES = 256,   /* in one REC_INDIRECT_CALLEES */
	FRAME_MAX_CHOSEN = 1024,   /* threads in one REC_CHOICE */
	FRAME_MAX_INLINES = 64,	   /* calls in one REC_INLINES */
	FRAME_MAX_PARTS = 16,	   /* in one REC_PARTS */
};

enum frame_flags {
	FRAME_CRITICAL = 1 << 0,     /* a reader that does not support this type must stop */
	FRAME_NOT_RECORDED = 1 << 1, /* never written to a session file */
	FRAME_HAS_FD = 1 << 2,	     /* one file descriptor is sent with the frame */
};

/* CRC-32C (Castagnoli) of `n` bytes, continuing from `crc` (0 to begin). */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* Append the frame of one record to `out`, with this sequence number. Returns 0, or a negative
 * errno with `out` unchanged. */
int frame_encode(struct buf *out, const struct record *rec, uint32_t sequence);

/* One decoded frame. `rec` and all it points to is valid until the next call with the same decoder.
 */
struct frame {
	uint16_t type, flags;
	uint32_t sequence;
	size_t size;	   /* bytes of the frame, including its header */
	int known;	   /* 0: the type is not supported; skip the frame */
	struct record rec; /* valid if `known` */
};

struct frame_decoder; /* owns the memory of the last decoded record */
struct frame_decoder *frame_decoder_new(void);
void frame_decoder_free(struct frame_decoder *d);

/* Decode the frame at the start of data[0..n). Returns 1 with `frame` filled,
 * 0 if more bytes are needed, -EBADMSG for a damaged frame (CRC, counts,
 * text too long), -ENOTSUP for an unknown critical one, -ENOMEM. */
int frame_decode(struct frame_decoder *d, const void *data, size_t n, struct frame *frame);
