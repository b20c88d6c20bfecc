// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Session files. An input that begins with the magic is the file itself; any
 * other is made into a file of good frames with bad contents.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "tui/session/session_file.h"

static void read_session(int fd)
{
	const struct container_index *index;
	const struct record *rec;
	struct session_reader *r;
	char path[64], why[256];
	uint64_t elapsed, records = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (session_reader_open(&r, path, why, sizeof(why)))
		return;
	while (session_reader_next(r, &rec) == 1)
		records++;
	must(session_reader_next(r, &rec) == 0);
	index = session_reader_index(r);
	must(!index || index->nr_marks <= CONTAINER_MAX_MARKS);
	must(!session_reader_elapsed_ns(r, &elapsed));
	session_reader_rewind(r);
	while (session_reader_next(r, &rec) == 1)
		records--;
	must(!records);
	session_reader_close(r);
}

static void make_frames(struct input *in, struct buf *out)
{
	uint32_t sequence = 0;
	uint64_t index_offset = 0;
	const uint8_t *payload;
	uint16_t type, flags;
	size_t n;

	while (in->left > 4) {
		type = (uint16_t)input_number(in, 1);
		flags = (uint16_t)(input_number(in, 1) & 7);
		n = (size_t)input_number(in, 2);
		payload = input_bytes(in, &n);
		if (type == CONTAINER_INDEX)
			index_offset = out->len;
		if (type == CONTAINER_END) {
			payload = (const uint8_t *)&index_offset;
			n = sizeof(index_offset);
		}
		must(!raw_frame_append(out, type, flags, sequence++, payload, n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t header[CONTAINER_HEADER_SIZE];
	struct input in = {data, size};
	struct buf out;
	int fd;

	buf_init(&out, 1 << 24);
	container_header_encode(header);
	if (size >= 8 && !memcmp(data, header, 8)) {
		buf_append(&out, data, size);
	} else {
		buf_append(&out, header, sizeof(header));
		make_frames(&in, &out);
	}
	fd = memory_file(out.data, out.len);
	read_session(fd);
	close(fd);
	buf_release(&out);
	return 0;
}
