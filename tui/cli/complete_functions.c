// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/complete_functions.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tui/engine/front.h"
#include "tui/engine/parser.h"
#include "tui/engine/processes.h"

enum { THE_MODULE = 1, TURN_MS = 50 };
static const uint64_t limit_ns = 1000000000;

struct name_search {
	struct parser *parser;
	const char *prefix;
	void (*take)(void *ctx, const char *name);
	void *ctx;
	size_t found;
	bool over;
};

static void ask(struct name_search *s, uint64_t cursor);

static void listed(void *ctx, uint64_t tag, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct name_search *s = ctx;

	for (uint32_t i = 0; !a->error && i < a->nr && s->found < COMPLETE_MAX_FUNCTIONS; i++) {
		if (strncmp(a->functions[i].symbol, s->prefix, strlen(s->prefix)))
			continue;
		s->take(s->ctx, a->functions[i].symbol);
		s->found++;
	}
	if (a->error || !a->cursor || s->found == COMPLETE_MAX_FUNCTIONS)
		s->over = true;
	else
		ask(s, a->cursor);
}

static void ask(struct name_search *s, uint64_t cursor)
{
	const struct parser_reply reply = {listed, s, 0};
	const struct parse_request req = {
	    .module = THE_MODULE, .text = s->prefix, .cursor = cursor};

	if (parser_ask(s->parser, PARSE_LIST, &req, &reply) < 0)
		s->over = true;
}

static void run(struct name_search *s)
{
	const uint64_t begin = now_ns();

	while (!s->over && now_ns() - begin < limit_ns) {
		struct pollfd p = {.fd = parser_fd(s->parser), .events = POLLIN};

		if (parser_wants_write(s->parser))
			p.events |= POLLOUT;
		if (poll(&p, 1, TURN_MS) < 0 && errno != EINTR)
			return;
		parser_run(s->parser, now_ns());
	}
}

void complete_functions(pid_t pid, const char *prefix, void (*take)(void *ctx, const char *name),
			void *ctx)
{
	struct name_search s = {.prefix = prefix, .take = take, .ctx = ctx};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process_number(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!parser_start(&s.parser, limit_ns)) {
		if (parser_add_module(s.parser, THE_MODULE, fd, "the program", NULL) > 0) {
			ask(&s, 0);
			run(&s);
		}
		parser_free(s.parser);
	}
	close(fd);
}
