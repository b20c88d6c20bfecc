// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The client of the parser against workers that die, hang and lie. The worker
 * is ours: parser_worker_fork() here takes the place of the real one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/process/channel.h"
#include "tui/engine/parser.h"
#include "tui/engine/parser_worker.h"

enum { LIMIT_NS = 1000 };

/* What workers do with the module BAD, or with every request. */
enum behaviour {
	GOOD,
	CRASH_AT_BAD,
	HANG_AT_BAD,
	CRASH_AT_ADD,
	EXIT_AT_ONCE,
	CRASH_BEFORE_ANY,
	WRONG_ID,
	WRONG_TYPE,
	REQUEST_AS_ANSWER,
	UNKNOWN_TYPE,
	GARBAGE,
	SAYS_NOT,
	WITH_DESCRIPTOR,
	TWO_ANSWERS,
};
enum { BAD = 2, LAST_MODULE = 4 };

static enum behaviour behaviour;
static int reached[2]; /* a byte comes through when a worker hangs */
static struct parser *parser;
static struct parsed answer;

static void say(struct channel *c, unsigned int type, const void *what, int fd)
{
	if (channel_send_raw(c, (uint16_t)type, 0, parse_layout(type), what, fd))
		_exit(3);
}

/* Says at which modules it is, and how many it was handed, in `total`. */
static void all_modules(struct channel *c, uint32_t id, uint32_t handed)
{
	struct parsed_functions found = {.id = id};
	struct parsed_at at = {.id = id};

	for (at.module = 1; at.module <= LAST_MODULE; at.module++) {
		if (!(handed & (1U << at.module)))
			continue;
		found.total++;
		say(c, PARSED_AT, &at, -1);
		channel_flush(c);
		if (at.module == BAD && behaviour == CRASH_AT_BAD)
			raise(SIGSEGV);
		if (at.module == BAD && behaviour == HANG_AT_BAD && write(reached[1], "b", 1) == 1)
			for (;;)
				pause();
	}
	say(c, PARSED_FUNCTIONS, &found, -1);
}

static void lie(struct channel *c, uint32_t id)
{
	struct parsed_functions found = {.id = id};
	struct parsed_symbols symbols = {.id = id};
	struct parsed_not not = {.id = id, .reason = "why not"};
	struct parse_request request = {.id = id};

	switch (behaviour) {
	case WRONG_ID:
		found.id++;
		say(c, PARSED_FUNCTIONS, &found, -1);
		break;
	case WRONG_TYPE:
		say(c, PARSED_SYMBOLS, &symbols, -1);
		break;
	case REQUEST_AS_ANSWER:
		say(c, PARSE_FIND, &request, -1);
		break;
	case UNKNOWN_TYPE:
		if (channel_send_raw(c, 0x2ff, 0, parse_layout(PARSED_AT), &found, -1))
			_exit(3);
		break;
	case GARBAGE:
		if (write(channel_fd(c), "garbage, and a lot of it, it is", 31) != 31)
			_exit(3);
		break;
	case SAYS_NOT:
		say(c, PARSED_NOT, &not, -1);
		break;
	case WITH_DESCRIPTOR:
		say(c, PARSED_FUNCTIONS, &found, dup(0));
		break;
	case TWO_ANSWERS:
		say(c, PARSED_FUNCTIONS, &found, -1);
		say(c, PARSED_FUNCTIONS, &found, -1);
		break;
	default:
		say(c, PARSED_FUNCTIONS, &found, -1);
		break;
	}
}

static void fake_request(struct channel *c, const struct raw_frame *frame, uint32_t *handed)
{
	struct parsed_module module = {0};
	struct parse_request r;
	struct arena arena;

	arena_init(&arena, 1 << 20);
	if (struct_decode(&arena, parse_layout(frame->type), frame->payload, frame->length, &r))
		_exit(2);
	if (behaviour == CRASH_BEFORE_ANY)
		raise(SIGSEGV);
	if (frame->type == PARSE_ADD_MODULE || frame->type == PARSE_ADD_DEBUG) {
		if (r.module == BAD && behaviour == CRASH_AT_ADD)
			raise(SIGBUS);
		*handed |= 1U << r.module;
		module.id = r.id;
		module.module = r.module;
		say(c, PARSED_MODULE, &module, -1);
	} else if (!r.module) {
		all_modules(c, r.id, *handed);
	} else if (r.module == BAD && behaviour == CRASH_AT_BAD) {
		raise(SIGSEGV);
	} else {
		lie(c, r.id);
	}
	arena_release(&arena);
}

static void fake_worker(int socket)
{
	struct channel *c = channel_new(socket, 1 << 20);
	struct pollfd p = {.fd = socket, .events = POLLIN};
	struct raw_frame frame;
	uint32_t handed = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (behaviour == EXIT_AT_ONCE)
		_exit(0);
	for (;;) {
		while (channel_next_raw(c, &frame, &fd) == 1) {
			if (fd >= 0)
				close(fd);
			fake_request(c, &frame, &handed);
			channel_flush(c);
		}
		if (poll(&p, 1, -1) < 0 || channel_fill(c) < 0)
			_exit(0);
	}
}

pid_t parser_worker_fork(int socket)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		fake_worker(dup(socket));
	}
	return pid;
}

static void wait_answer(uint64_t now_ns)
{
	struct pollfd p;

	while (!parser_next(parser, now_ns, &answer)) {
		p.fd = parser_fd(parser);
		p.events = POLLIN;
		assert_true(p.fd >= 0);
		assert_int_equal(poll(&p, 1, 60000), 1);
	}
}

static void wait_for(int64_t id)
{
	assert_true(id > 0);
	wait_answer(0);
	assert_int_equal(answer.id, id);
}

static int64_t find(uint32_t module)
{
	struct parse_request request = {.module = module, .text = "main"};

	return parser_ask(parser, PARSE_FIND, &request, NULL);
}

static void start(enum behaviour what)
{
	int module;

	behaviour = what;
	assert_int_equal(parser_start(&parser, LIMIT_NS), 0);
	for (module = 1; module <= 3; module++) {
		wait_for(parser_add_module(parser, (uint32_t)module, 0,
					   module == BAD ? "bad.so" : "good.so", NULL));
		assert_int_equal(answer.type, PARSED_MODULE);
	}
}

static int teardown(void **state)
{
	parser_free(parser);
	parser = NULL;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return 0;
}

static void test_all_modules(void **state)
{
	start(GOOD);
	wait_for(find(0));
	assert_int_equal(answer.functions.total, 3);
	assert_int_equal(parser_restarts(parser), 0);
}

static void test_asked_again_without_the_one_it_died_of(void **state)
{
	start(CRASH_AT_BAD);
	wait_for(find(0));
	assert_int_equal(answer.functions.error, 0);
	assert_int_equal(answer.functions.total, 2);
	assert_int_equal(parser_restarts(parser), 1);
	wait_for(find(BAD));
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_string_equal(
	    answer.functions.reason,
	    "bad.so: not parsed: the parser was killed by SIGSEGV while reading it");
	assert_int_equal(parser_restarts(parser), 1);
}

static void test_asked_again_without_the_one_it_hangs_on(void **state)
{
	int64_t id;
	char byte;

	assert_int_equal(pipe2(reached, O_CLOEXEC), 0);
	start(HANG_AT_BAD);
	id = find(0);
	assert_int_equal(parser_next(parser, 10, &answer), 0);
	assert_int_equal(read(reached[0], &byte, 1), 1);
	assert_int_equal(parser_next(parser, 10, &answer), 0);
	assert_int_equal(parser_restarts(parser), 0);
	assert_int_equal(parser_next(parser, 9 + LIMIT_NS, &answer), 0);
	assert_int_equal(parser_restarts(parser), 0);
	assert_int_equal(parser_next(parser, 10 + LIMIT_NS, &answer), 0);
	assert_int_equal(parser_restarts(parser), 1);
	wait_answer(10 + LIMIT_NS);
	assert_int_equal(answer.id, id);
	assert_int_equal(answer.functions.error, 0);
	assert_int_equal(answer.functions.total, 2);
	close(reached[0]);
	close(reached[1]);
}

static void test_waiting_requests_survive(void **state)
{
	int64_t bad, good, debug;

	start(CRASH_AT_BAD);
	bad = find(BAD);
	debug = parser_add_debug(parser, 1, 0, NULL);
	good = find(3);
	wait_for(bad);
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	wait_for(debug);
	assert_int_equal(answer.type, PARSED_MODULE);
	assert_int_equal(answer.module.error, 0);
	wait_for(good);
	assert_int_equal(answer.functions.error, 0);
	/* The other modules were handed to the new worker. */
	wait_for(find(0));
	assert_int_equal(answer.functions.total, 2);
}

static void test_death_of_opening(void **state)
{
	start(CRASH_AT_ADD); /* which adds BAD */
	assert_int_equal(parser_restarts(parser), 1);
	wait_for(find(1));
	assert_int_equal(answer.functions.error, 0);
	wait_for(parser_add_debug(parser, BAD, 0, NULL));
	assert_int_equal(answer.module.error, -ENOTRECOVERABLE);
	assert_non_null(strstr(answer.module.reason, "SIGBUS"));
	/* Another file under the same number gets its chance; this worker still dies of it. */
	behaviour = GOOD;
	wait_for(parser_add_module(parser, BAD, 0, "other.so", NULL));
	assert_int_equal(answer.module.error, -ENOTRECOVERABLE);
	assert_int_equal(parser_restarts(parser), 2);
	wait_for(parser_add_module(parser, BAD, 0, "better.so", NULL));
	assert_int_equal(answer.module.error, 0);
	wait_for(find(BAD));
	assert_int_equal(answer.functions.error, 0);
}

static void test_worker_that_never_lives(void **state)
{
	unsigned int i;

	behaviour = EXIT_AT_ONCE;
	assert_int_equal(parser_start(&parser, LIMIT_NS), 0);
	/* Every request is answered, none of them by a worker, and it ends. */
	for (i = 0; i < 20; i++) {
		wait_for(find(0));
		assert_int_not_equal(answer.functions.error, 0);
		assert_true(strlen(answer.functions.reason) > 0);
	}
	assert_int_equal(answer.functions.error, -EPIPE);
	assert_true(parser_restarts(parser) <= 3);
	assert_int_equal(parser_pid(parser), -1);
	assert_int_equal(parser_deadline_ns(parser), UINT64_MAX);
}

static void test_crash_without_a_module(void **state)
{
	unsigned int i;

	behaviour = CRASH_BEFORE_ANY;
	assert_int_equal(parser_start(&parser, LIMIT_NS), 0);
	for (i = 0; i < 10; i++) {
		wait_for(find(0));
		assert_int_not_equal(answer.functions.error, 0);
	}
	assert_int_equal(parser_restarts(parser), 3);
}

static void assert_lie_is_seen(enum behaviour what)
{
	start(what);
	wait_for(find(1));
	assert_int_equal(answer.type, PARSED_FUNCTIONS);
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_int_equal(parser_restarts(parser), 1);
	/* The next worker takes the others. */
	behaviour = GOOD;
	parser_free(parser);
	parser = NULL;
}

static void test_lies(void **state)
{
	assert_lie_is_seen(WRONG_ID);
	assert_lie_is_seen(WRONG_TYPE);
	assert_lie_is_seen(REQUEST_AS_ANSWER);
	assert_lie_is_seen(UNKNOWN_TYPE);
	assert_lie_is_seen(GARBAGE);
}

static void test_refused_request(void **state)
{
	start(SAYS_NOT);
	wait_for(find(1));
	assert_int_equal(answer.type, PARSED_FUNCTIONS);
	assert_int_equal(answer.functions.error, -EINVAL);
	assert_string_equal(answer.functions.reason, "why not");
	assert_int_equal(parser_restarts(parser), 0);
}

static void test_descriptor_nobody_asked_for(void **state)
{
	int before, after;

	start(WITH_DESCRIPTOR);
	before = dup(0);
	close(before);
	wait_for(find(1));
	assert_int_equal(answer.functions.error, 0);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static void test_more_answers_than_questions(void **state)
{
	start(TWO_ANSWERS);
	wait_for(find(1));
	assert_int_equal(answer.functions.error, 0);
	wait_for(find(1)); /* the second answer of before, or a new worker's */
	assert_int_equal(parser_restarts(parser), 1);
}

static void test_too_many_waiting(void **state)
{
	unsigned int i;

	start(GOOD);
	for (i = 0; i < PARSER_MAX_PENDING; i++)
		assert_true(find(1) > 0);
	assert_int_equal(find(1), -EAGAIN);
	wait_answer(0);
	assert_true(find(1) > 0);
}

/* A worker that has nothing to do is ended; the next one gets the modules, but not what was
 * refused. */
static void test_rest(void **state)
{
	int64_t id;

	start(CRASH_AT_BAD);
	wait_for(find(BAD));
	assert_int_equal(parser_restarts(parser), 1);
	assert_false(parser_rest(parser, 100, 50));
	assert_false(parser_rest(parser, 149, 50));
	/* something was asked meanwhile, and is being asked */
	id = find(1);
	assert_false(parser_rest(parser, 200, 50));
	wait_for(id);
	assert_false(parser_rest(parser, 220, 50));
	assert_true(parser_pid(parser) > 0);
	assert_true(parser_rest(parser, 250, 50));
	assert_int_equal(parser_pid(parser), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_false(parser_rest(parser, 1000, 50));
	id = find(0);
	assert_int_equal(parser_next(parser, 0, &answer), 0);
	assert_true(parser_pid(parser) > 0);
	wait_for(id);
	assert_int_equal(answer.functions.error, 0);
	assert_int_equal(answer.functions.total, 2);
	assert_int_equal(parser_restarts(parser), 1);
}

#define client_test(name) cmocka_unit_test_teardown(name, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    client_test(test_all_modules),
	    client_test(test_asked_again_without_the_one_it_died_of),
	    client_test(test_asked_again_without_the_one_it_hangs_on),
	    client_test(test_waiting_requests_survive),
	    client_test(test_death_of_opening),
	    client_test(test_worker_that_never_lives),
	    client_test(test_crash_without_a_module),
	    client_test(test_lies),
	    client_test(test_refused_request),
	    client_test(test_descriptor_nobody_asked_for),
	    client_test(test_more_answers_than_questions),
	    client_test(test_too_many_waiting),
	    client_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
