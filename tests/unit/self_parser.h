/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parser that has the file of the test program itself. */
#ifndef TESTS_SELF_PARSER_H
#define TESTS_SELF_PARSER_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/parser/protocol.h"
#include "tui/engine/parser.h"

enum { SELF = 1 };

static struct parser *parser;
static struct parsed answer;
static volatile uint64_t sink;

/* Their code is looked at: the same whatever the rest is built with. */
#define SHAPE __attribute__((noipa, used, optimize("O2"), no_sanitize("address", "undefined")))

static inline void wait_for(int64_t id)
{
	assert_true(id > 0);
	while (!parser_next(parser, 0, &answer)) {
		struct pollfd p = {.fd = parser_fd(parser)};

		p.events = (short)(POLLIN | (parser_wants_write(parser) ? POLLOUT : 0));
		assert_true(poll(&p, 1, 60000) > 0);
	}
	assert_int_equal(answer.id, id);
}

static inline int setup(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int64_t id;

	assert_int_equal(parser_start(&parser, 0), 0);
	id = parser_add_module(parser, SELF, fd, "self", NULL);
	close(fd);
	wait_for(id);
	assert_int_equal(answer.module.error, 0);
	return 0;
}

static inline int teardown(void **state)
{
	parser_free(parser);
	return 0;
}

static inline uint64_t offset_of(const char *name)
{
	struct parse_request req = {.module = SELF, .text = name};

	wait_for(parser_ask(parser, PARSE_FIND, &req, NULL));
	assert_int_equal(answer.functions.nr, 1);
	return answer.functions.functions[0].offset;
}

#endif
