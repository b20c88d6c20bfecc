// SPDX-License-Identifier: GPL-2.0-or-later
/* The front as the host of a descent. */
#include <errno.h>

#include "tui/engine/front_state.h"
#include "tui/engine/walker.h"

enum { SETTLE_TURN_MS = 10 };
#define SETTLE_NS 3000000000ull

enum { CODE_INSNS = 1024 };

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
	const struct descend_host host = {.ctx = f,
					  .feed = host_feed,
					  .request = host_request,
					  .ask = host_ask,
					  .message = host_message};

	f->descend = descend_new(&host);
	if (f->descend)
		f->walker = walker_new(f->descend, &host);
	f->open_calls = open_calls_new();
	return f->walker && f->open_calls ? 0 : -ENOMEM;
}

struct descend *front_descend(struct front *f)
{
	return f->descend;
}

bool front_ask_code(struct front *f, uint32_t module, uint64_t offset,
		    void (*answer)(void *ctx, const struct parsed_code *code), void *ctx)
{
	struct parse_request req = {
	    .module = module, .offset = offset, .text = "", .max = CODE_INSNS};
	int64_t id = f->parser && module ? parser_ask(f->parser, PARSE_CODE, &req) : 0;

	f->code.request = id > 0 ? (uint32_t)id : 0;
	f->code.answer = answer;
	f->code.ctx = ctx;
	return id > 0;
}

bool code_answer(struct front *f, const struct parsed *a)
{
	if (a->type != PARSED_CODE)
		return false;
	if (a->code.id == f->code.request && f->code.answer)
		f->code.answer(f->code.ctx, &a->code);
	return true;
}

void parser_watch(struct front *f)
{
	struct record rec = {.type = REC_NOTE};
	const char *module = parser_lost_on(f->parser);
	unsigned int n = parser_restarts(f->parser);
	char text[512], times[32] = "once";

	if (n == f->parser_deaths)
		return;
	f->parser_deaths = n;
	if (n > 1)
		snprintf(times, sizeof(times), "%u times, most recently", n);
	snprintf(text, sizeof(text), "the parser died %s%s%s; names or call paths may be missing",
		 times, module[0] ? ", on " : "", module);
	rec.note = (struct rec_note){.level = NOTE_WARNING, .text = text};
	front_feed(f, &rec);
	front_message(f, "%s", text);
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

static bool is_sought(const struct watch *w)
{
	return w->stage == WATCH_WAITING || w->stage == WATCH_FINDING || w->stage == WATCH_NEAREST;
}

void front_settle(struct front *f)
{
	uint64_t until = front_now_ns() + SETTLE_NS;
	bool sought = f->over && !f->failure;

	/* a command that ended at once: what was to be found in its libraries was not looked for
	 * yet */
	for (size_t i = 0; sought && i < f->nr_watches; i++) {
		if (f->watches[i]->stage == WATCH_DORMANT && !f->watches[i]->spec.module[0])
			f->watches[i]->stage = WATCH_WAITING;
	}
	while (sought && front_now_ns() < until) {
		front_parser_turn(f, SETTLE_TURN_MS);
		sought = false;
		for (size_t i = 0; i < f->nr_watches; i++)
			sought |= is_sought(f->watches[i]);
	}
}
