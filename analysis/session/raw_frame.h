/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a frame, without decoding its payload, for channels and files that transport frames
 * of any kind. Layout and limits are in frame.h. */
#pragma once

#include "analysis/session/codec.h"
#include "analysis/session/frame.h"

struct raw_frame {
	uint16_t type, flags;
	uint32_t sequence;
	size_t size;	     /* of the whole frame */
	const void *payload; /* points into the bytes that were parsed */
	size_t length;	     /* of the payload */
};

/* Append a frame whose payload is `object`, encoded with `layout`. Returns 0, or with `out`
 * unchanged -EINVAL, -ENOMEM or -E2BIG (beyond FRAME_MAX_PAYLOAD or the maximum of `out`). */
int raw_frame_encode(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const struct struct_layout *layout, const void *object);

/* Append a frame with an encoded payload. Returns as raw_frame_encode(). */
int raw_frame_append(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const void *payload, size_t n);

/* Parse the frame at the start of data[0..n). Returns 1 with `frame` filled, 0 if more bytes are
 * needed, -EBADMSG if the frame is damaged. */
int raw_frame_parse(const void *data, size_t n, struct raw_frame *frame);

/* The layout and flags of the frame of a record. NULL: unknown type. */
const struct struct_layout *record_frame(const struct record *rec, uint16_t *flags);
/* Decode the record of a parsed frame. Returns as frame_decode(). */
int frame_decode_raw(struct frame_decoder *d, const struct raw_frame *raw, struct frame *frame);

/* crc32c() without the CPU's CRC instruction. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t n);
