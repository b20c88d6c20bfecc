// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/parser/serve.h"

#include <poll.h>
#include <unistd.h>

#include "tui/parser/serve_internal.h"

enum {
	MAX_SEND = 4 << 20,
	MAX_REQUEST_MEMORY = 1 << 20,
	MAX_ANSWER_MEMORY = 16 << 20,
};

struct server *server_new(void)
{
	struct server *s = calloc(1, sizeof(*s));

	if (s)
		arena_init(&s->arena, MAX_ANSWER_MEMORY);
	return s;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < PARSE_MAX_MODULES; i++)
		server_module_release(&s->modules[i]);
	arena_release(&s->arena);
	server_unwind_free(s);
	free(s);
}

int server_send(struct server *s, enum parse_type type, const void *message)
{
	return channel_send_raw(s->channel, (uint16_t)type, FRAME_NOT_RECORDED, parse_layout(type),
				message, -1);
}

int server_answer(struct server *s, enum parse_type type, void *answer)
{
	struct parsed_head *head = answer;

	head->id = s->request.id;
	head->module = s->request.module;
	head->offset = s->request.offset;
	head->op = s->request.op;
	head->pid = s->request.pid;
	return server_send(s, type, answer);
}

static int refuse(struct server *s, unsigned int type, const char *reason)
{
	struct parsed_not answer = {.id = s->request.id, .type = type, .reason = reason};

	return server_send(s, PARSED_NOT, &answer);
}

static int dispatch(struct server *s, unsigned int type)
{
	static int (*const serve[PARSE_LAST])(struct server * s) = {
	    [PARSE_FIND] = serve_find,	       [PARSE_NEAREST] = serve_nearest,
	    [PARSE_INLINED] = serve_inlined,   [PARSE_LIST] = serve_list,
	    [PARSE_IFUNC] = serve_ifunc,       [PARSE_SYMBOLS] = serve_symbols,
	    [PARSE_PLAN] = serve_plan,	       [PARSE_PLAN_RETURN] = serve_plan_return,
	    [PARSE_COVERAGE] = serve_coverage, [PARSE_CALL_SITES] = serve_call_sites,
	    [PARSE_MAPPINGS] = serve_mappings, [PARSE_UNWIND] = serve_unwind,
	    [PARSE_INLINES] = serve_inlines,   [PARSE_CODE] = serve_code,
	    [PARSE_SLOTS] = serve_slots,       [PARSE_FORGET] = serve_forget,
	};

	return type < PARSE_LAST && serve[type] ? serve[type](s)
						: refuse(s, type, "unknown request");
}

int server_handle(struct server *s, struct channel *c, const struct raw_frame *frame, int fd)
{
	bool wants_fd = frame->type == PARSE_ADD_MODULE || frame->type == PARSE_ADD_DEBUG;
	const struct struct_layout *layout = parse_layout(frame->type);
	struct arena memory;
	int err;

	s->channel = c;
	s->requests++;
	s->request = (struct parse_request){.text = ""};
	arena_reset(&s->arena);
	arena_init(&memory, MAX_REQUEST_MEMORY);
	if (fd >= 0 && !wants_fd) {
		close(fd);
		fd = -1;
	}
	if (!layout || frame->type >= PARSE_LAST) {
		err = refuse(s, frame->type, "unknown request");
	} else if (struct_decode(&memory, layout, frame->payload, frame->length, &s->request)) {
		s->request = (struct parse_request){.text = ""};
		err = refuse(s, frame->type, "damaged request");
	} else if (wants_fd && fd < 0) {
		err = refuse(s, frame->type, "the request came without its file descriptor");
	} else if (wants_fd) {
		err = frame->type == PARSE_ADD_MODULE ? serve_add_module(s, fd)
						      : serve_add_debug(s, fd);
		fd = -1;
	} else {
		err = dispatch(s, frame->type);
	}
	if (fd >= 0)
		close(fd);
	if (frame->type <= PARSE_ADD_DEBUG)
		server_unwind_forget(s, s->request.module);
	arena_release(&memory);
	server_trim(s, s->request.module);
	return err;
}

/* Wait for `events` on the channel. A hang-up counts as ready. */
static int wait_for(struct channel *c, short events)
{
	struct pollfd p = {.fd = channel_fd(c), .events = events};

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int flush_all(struct channel *c)
{
	int ret;

	while ((ret = channel_flush(c)) == 1) {
		ret = wait_for(c, POLLOUT);
		if (ret)
			return ret;
	}
	return ret;
}

static int serve_loop(struct server *s, struct channel *c)
{
	struct raw_frame frame;
	int ret, fd;

	for (;;) {
		while ((ret = channel_next_raw(c, &frame, &fd)) == 1) {
			ret = server_handle(s, c, &frame, fd);
			if (!ret)
				ret = flush_all(c);
			if (ret)
				return ret;
		}
		if (ret < 0)
			return ret;
		ret = wait_for(c, POLLIN);
		if (!ret)
			ret = channel_fill(c);
		if (ret < 0)
			return ret;
	}
}

int parser_serve(int fd)
{
	struct channel *c = channel_new(fd, MAX_SEND);
	struct server *s = server_new();
	int ret = -ENOMEM;

	if (c && s)
		ret = serve_loop(s, c);
	if (c)
		channel_free(c);
	else
		close(fd);
	server_free(s);
	return ret == -EPIPE ? 0 : ret;
}
