// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/frame.h"

#include "analysis/session/raw_frame.h"
#include "analysis/session/record_codec.h"

enum { CRC_OFFSET = 12 };

/* The maximum memory of one decoded frame: enough for FRAME_MAX_SITES sites and a payload of text.
 */
enum { DECODER_MAX_MEMORY = 8 << 20 };

struct frame_decoder {
	struct arena arena;
};

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)v);
	put16(p + 2, (uint16_t)(v >> 16));
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static void frame_seal(struct buf *out, size_t begin, uint16_t type, uint16_t flags,
		       uint32_t sequence)
{
	uint8_t *start = (uint8_t *)out->data + begin;
	size_t length = out->len - begin - FRAME_HEADER_SIZE;
	uint32_t crc;

	put16(start, type);
	put16(start + 2, flags);
	put32(start + 4, (uint32_t)length);
	put32(start + 8, sequence);
	crc = crc32c(0, start, CRC_OFFSET);
	put32(start + CRC_OFFSET, crc32c(crc, start + FRAME_HEADER_SIZE, length));
}

/* Either an object with its layout, or `n` bytes. */
static int frame_append(struct buf *out, const struct struct_layout *layout, const void *payload,
			size_t n)
{
	static const uint8_t header[FRAME_HEADER_SIZE];
	size_t begin = out->len;
	int err = buf_append(out, header, sizeof(header));

	if (!err)
		err = layout ? struct_encode(out, layout, payload) : buf_append(out, payload, n);
	if (err)
		return err;
	return out->len - begin - FRAME_HEADER_SIZE > FRAME_MAX_PAYLOAD ? -E2BIG : 0;
}

static int frame_finish(struct buf *out, size_t begin, int err)
{
	if (!err)
		return 0;
	out->err = 0;
	out->len = begin;
	if (out->data)
		out->data[begin] = '\0';
	return err;
}

int raw_frame_encode(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const struct struct_layout *layout, const void *object)
{
	size_t begin = out->len;
	int err;

	if (out->err)
		return out->err;
	err = frame_append(out, layout, object, 0);
	if (!err)
		frame_seal(out, begin, type, flags, sequence);
	return frame_finish(out, begin, err);
}

int raw_frame_append(struct buf *out, uint16_t type, uint16_t flags, uint32_t sequence,
		     const void *payload, size_t n)
{
	size_t begin = out->len;
	int err;

	if (out->err)
		return out->err;
	err = frame_append(out, NULL, payload, n);
	if (!err)
		frame_seal(out, begin, type, flags, sequence);
	return frame_finish(out, begin, err);
}

int raw_frame_parse(const void *data, size_t n, struct raw_frame *frame)
{
	const uint8_t *p = data;
	uint32_t length, crc;

	if (n < FRAME_HEADER_SIZE)
		return 0;
	length = get32(p + 4);
	if (length > FRAME_MAX_PAYLOAD)
		return -EBADMSG;
	if (n - FRAME_HEADER_SIZE < length)
		return 0;
	crc = crc32c(0, p, CRC_OFFSET);
	if (crc32c(crc, p + FRAME_HEADER_SIZE, length) != get32(p + CRC_OFFSET))
		return -EBADMSG;
	*frame = (struct raw_frame){
	    .type = get16(p),
	    .flags = get16(p + 2),
	    .sequence = get32(p + 8),
	    .size = FRAME_HEADER_SIZE + (size_t)length,
	    .payload = p + FRAME_HEADER_SIZE,
	    .length = length,
	};
	return 1;
}

const struct struct_layout *record_frame(const struct record *rec, uint16_t *flags)
{
	*flags = 0;
	if (rec->type >= REC_SAVED_MAX)
		*flags |= FRAME_NOT_RECORDED;
	if (rec->type == REC_FILE && !rec->file.error)
		*flags |= FRAME_HAS_FD;
	return record_layout(rec->type);
}

int frame_encode(struct buf *out, const struct record *rec, uint32_t sequence)
{
	uint16_t flags;
	const struct struct_layout *layout = record_frame(rec, &flags);

	if (!layout)
		return -EINVAL;
	return raw_frame_encode(out, (uint16_t)rec->type, flags, sequence, layout, &rec->meta);
}

struct frame_decoder *frame_decoder_new(void)
{
	struct frame_decoder *d = malloc(sizeof(*d));

	if (d)
		arena_init(&d->arena, DECODER_MAX_MEMORY);
	return d;
}

void frame_decoder_free(struct frame_decoder *d)
{
	if (!d)
		return;
	arena_release(&d->arena);
	free(d);
}

int frame_decode_raw(struct frame_decoder *d, const struct raw_frame *raw, struct frame *frame)
{
	const struct struct_layout *layout = record_layout(raw->type);
	int err;

	*frame = (struct frame){
	    .type = raw->type, .flags = raw->flags, .sequence = raw->sequence, .size = raw->size};
	if (!layout)
		return raw->flags & FRAME_CRITICAL ? -ENOTSUP : 1;
	arena_reset(&d->arena);
	err = struct_decode(&d->arena, layout, raw->payload, raw->length, &frame->rec.meta);
	if (err)
		return err;
	frame->rec.type = (enum record_type)raw->type;
	frame->known = 1;
	return 1;
}

int frame_decode(struct frame_decoder *d, const void *data, size_t n, struct frame *frame)
{
	struct raw_frame raw;
	int ret = raw_frame_parse(data, n, &raw);

	return ret <= 0 ? ret : frame_decode_raw(d, &raw, frame);
}
