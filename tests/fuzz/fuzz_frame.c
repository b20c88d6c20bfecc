// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames as bytes, and payloads of every type behind a good envelope (a CRC
 * would keep a fuzzer out). What decodes must encode, and to the same bytes
 * when decoded once more.
 */
#include "tests/fuzz/fuzz.h"

#include "analysis/parser/protocol.h"
#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"
#include "analysis/session/record_codec.h"

union any_message {
	struct rec_meta record; /* the largest member counts */
	struct record whole;
	struct parsed parsed;
	struct parse_request request;
};

static void as_stream(const uint8_t *data, size_t size)
{
	struct frame_decoder *d = frame_decoder_new();
	struct frame frame;

	while (frame_decode(d, data, size, &frame) == 1) {
		must(frame.size >= FRAME_HEADER_SIZE && frame.size <= size);
		data += frame.size;
		size -= frame.size;
	}
	frame_decoder_free(d);
}

static void encode(struct buf *out, const struct struct_layout *layout, const void *object)
{
	buf_init(out, 1 << 24);
	must(!struct_encode(out, layout, object));
}

static void as_payload(const struct struct_layout *layout, const uint8_t *data, size_t size)
{
	union any_message first, second;
	struct buf once, twice;
	struct arena arena;

	arena_init(&arena, 64 << 20);
	if (!struct_decode(&arena, layout, data, size, &first)) {
		encode(&once, layout, &first);
		must(!struct_decode(&arena, layout, once.data, once.len, &second));
		encode(&twice, layout, &second);
		must(once.len == twice.len &&
		     (!once.len || !memcmp(once.data, twice.data, once.len)));
		buf_release(&once);
		buf_release(&twice);
	}
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned int type = (unsigned int)input_number(&in, 2) % 0x300;
	const struct struct_layout *layout = record_layout(type);

	if (!layout)
		layout = parse_layout(type);
	if (layout)
		as_payload(layout, in.data, in.left);
	else
		as_stream(in.data, in.left);
	return 0;
}
