// SPDX-License-Identifier: GPL-2.0-or-later
/* The callbacks of the descent and the walk into the front. */

#include "tui/engine/front_state.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"

enum { CODE_INSNS = 1024 };

static void host_feed(void *ctx, const struct record *rec)
{
	front_feed(ctx, rec);
}

static int host_request(void *ctx, const struct record *rec)
{
	return front_request(ctx, rec);
}

static bool host_ask(void *ctx, enum parse_type type, struct parse_request *req,
		     const struct parser_reply *reply)
{
	return front_ask(ctx, type, req, reply);
}

static void host_message(void *ctx, const char *line)
{
	front_message(ctx, "%s", line);
}

struct driver_host front_driver_host(struct front *f)
{
	return (struct driver_host){.ctx = f,
				    .feed = host_feed,
				    .request = host_request,
				    .ask = host_ask,
				    .message = host_message};
}

int front_driver_init(struct front *f)
{
	const struct driver_host host = front_driver_host(f);

	f->stream.driver = driver_new(&host);
	if (f->stream.driver) {
		f->stream.walker = walker_new(f->stream.driver, &host);
		f->stream.waits = wait_driver_new(f->stream.driver, &host);
	}
	f->stream.open_calls = open_calls_new();
	return f->stream.walker && f->stream.waits && f->stream.open_calls ? 0 : -ENOMEM;
}

struct descent_driver *front_driver(struct front *f)
{
	return f->stream.driver;
}

static void code_answered(void *ctx, uint64_t number, const struct parsed *answer)
{
	struct front *f = ctx;

	if (number == f->code.number)
		f->code.answer(f->code.ctx, &answer->code);
}

bool front_ask_code(struct front *f, uint32_t module, uint64_t offset,
		    void (*answer)(void *ctx, const struct parsed_code *code), void *ctx)
{
	const struct parser_reply reply = {code_answered, f, ++f->code.number};
	struct parse_request req = {.module = module, .offset = offset, .max = CODE_INSNS};

	f->code.answer = answer;
	f->code.ctx = ctx;
	return module && front_ask(f, PARSE_CODE, &req, &reply);
}
