// SPDX-License-Identifier: GPL-2.0-or-later
/* The front as the host of a descent. */
#include <errno.h>

#include "tui/front_state.h"

static void host_feed(void *ctx, const struct record *rec)
{
	front_feed(ctx, rec);
}

static int host_request(void *ctx, const struct record *rec)
{
	return front_request(ctx, rec);
}

static uint32_t host_ask(void *ctx, enum parse_type type, struct parse_request *req)
{
	struct front *f = ctx;
	int64_t id = f->parser ? parser_ask(f->parser, type, req) : 0;

	return id > 0 ? (uint32_t)id : 0;
}

static void host_message(void *ctx, const char *line)
{
	front_message(ctx, "%s", line);
}

int front_descend_init(struct front *f)
{
	const struct descend_host host = {
	    .ctx = f, .feed = host_feed, .request = host_request, .ask = host_ask, .message = host_message};

	f->descend = descend_new(&host);
	return f->descend ? 0 : -ENOMEM;
}

struct descend *front_descend(struct front *f)
{
	return f->descend;
}

void front_parser_turn(struct front *f, int timeout_ms)
{
	struct pollfd p = {.fd = f->parser ? parser_fd(f->parser) : -1};

	if (!f->parser)
		return;
	p.events = (short)(POLLIN | (parser_wants_write(f->parser) ? POLLOUT : 0));
	if (poll(&p, 1, timeout_ms) < 0)
		return;
	watches_parser(f, front_now_ns());
}
