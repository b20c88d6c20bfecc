/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The envelope of a frame without its contents: what channels and files need
 * that move frames of any kind. Layout and limits are in frame.h. Pure.
 */
#ifndef PEAKTOP_RAW_FRAME_H
#define PEAKTOP_RAW_FRAME_H

#include "analysis/session/codec.h"
#include "analysis/session/frame.h"

struct raw_frame {
	uint16_t type, flags;
	uint32_t sequence;
	size_t size;	     /* of the whole frame */
	const void *payload; /* points into the bytes that were parsed */
	size_t length;	     /* of the payload */
};

/*
 * Append a frame whose payload is `object` as `layout` says.
 * -EINVAL, -E2BIG (over FRAME_MAX_PAYLOAD or the maximum of `out`), -ENOMEM;
 * then `out` is as it was before.
 */
int raw_frame_encode(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const struct struct_layout *layout, const void *object);

/* The same with a payload that is bytes already. */
int raw_frame_append(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const void *payload, size_t n);

/*
 * Look at the frame at the start of data[0..n). Returns 1 with `frame`
 * filled, 0 when more bytes are needed, -EBADMSG when it is damaged.
 */
int raw_frame_parse(const void *data, size_t n, struct raw_frame *frame);

/* Layout and flags with which a record is written. NULL: not a type of record. */
const struct struct_layout *record_frame(const struct record *rec, uint16_t *flags);
/* The second half of frame_decode(). */
int frame_decode_raw(struct frame_decoder *d, const struct raw_frame *raw, struct frame *frame);

/* crc32c() without the instruction for it. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t n);

#endif
