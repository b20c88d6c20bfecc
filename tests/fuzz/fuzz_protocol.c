// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests to the parser worker, any number in any order, with good and bad
 * files: every one gets one answer that the client can decode.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "analysis/parser/protocol.h"
#include "tui/parser/serve.h"

enum { MAX_REQUESTS = 40 };

/* One small file with real functions, found by the driver's name for it. */
static int good_file(void)
{
	static int fd = -2;

	if (fd == -2)
		fd = open("tests/fuzz/corpus/module/small", O_RDONLY | O_CLOEXEC);
	return fd;
}

/* Read all answers; how many there were, announcements not counted. */
static unsigned int read_answers(struct channel *reader)
{
	struct raw_frame frame;
	struct arena arena;
	struct parsed answer;
	unsigned int n = 0;
	int ret, fd;

	arena_init(&arena, 32 << 20);
	do {
		while ((ret = channel_next_raw(reader, &frame, &fd)) == 1) {
			must(fd < 0);
			must(frame.type >= PARSED_MODULE && frame.type < PARSED_LAST);
			must(!struct_decode(&arena, parse_layout(frame.type), frame.payload,
					    frame.length, &answer.module));
			n += frame.type != PARSED_AT;
			arena_reset(&arena);
		}
		must(!ret);
	} while (channel_fill(reader) == 1);
	arena_release(&arena);
	return n;
}

static int file_for(struct input *in, unsigned int choice)
{
	const uint8_t *bytes;
	size_t n;

	if (choice & 1)
		return good_file() < 0 ? -1 : fcntl(good_file(), F_DUPFD_CLOEXEC, 3);
	if (choice & 2)
		return -1;
	n = (size_t)input_number(in, 2);
	bytes = input_bytes(in, &n);
	return memory_file(bytes, n);
}

static void request(struct server *s, struct channel *c, struct channel *reader, struct input *in)
{
	unsigned int type = (unsigned int)input_number(in, 1), n;
	unsigned int choice = (unsigned int)input_number(in, 1);
	struct raw_frame frame = {.type = (uint16_t)(0x1fe + type % 0x14)};
	unsigned int answers = 0;
	int fd = -1, ret;

	frame.length = (size_t)input_number(in, 1);
	frame.payload = input_bytes(in, &frame.length);
	if (frame.type <= PARSE_ADD_DEBUG || choice & 4)
		fd = file_for(in, choice);
	must(!server_handle(s, c, &frame, fd));
	do {
		ret = channel_flush(c);
		must(ret >= 0);
		n = read_answers(reader);
		answers += n;
	} while (ret);
	must(answers == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct server *s = server_new();
	struct channel *c, *reader;
	int pair[2], i;

	must(s && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	c = channel_new(pair[0], 8 << 20);
	reader = channel_new(pair[1], 1 << 10);
	must(c && reader);
	for (i = 0; i < MAX_REQUESTS && in.left; i++)
		request(s, c, reader, &in);
	server_free(s);
	channel_free(c);
	channel_free(reader);
	return 0;
}
