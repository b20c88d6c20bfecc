// SPDX-License-Identifier: GPL-2.0-or-later
/* The parser worker as a process: its privileges, its answers, its deaths. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/process/channel.h"
#include "collect/vdso.c" /* not among the pure libraries */
#include "tui/engine/parser.h"
#include "tui/parser/serve.h"

enum { SELF = 1, LIBC = 2, VDSO = 3, LIMIT_NS = 1000000000 };

/* Watched by name below. */
uint64_t parser_test_function(uint64_t n);
static struct parser *parser;
static struct parsed answer;

__attribute__((noinline)) uint64_t parser_test_function(uint64_t n)
{
	return n ? n + (uint64_t)getppid() : 0;
}

/* Wait for the next answer, on a clock that stands still. */
static void wait_answer(void)
{
	struct pollfd p;

	while (!parser_next(parser, 0, &answer)) {
		p.fd = parser_fd(parser);
		p.events = (short)(POLLIN | (parser_wants_write(parser) ? POLLOUT : 0));
		assert_true(poll(&p, 1, 60000) > 0);
	}
}

static void wait_for(int64_t id)
{
	assert_true(id > 0);
	wait_answer();
	assert_int_equal(answer.id, id);
}

static int libc_open(void)
{
	char path[PATH_MAX], line[PATH_MAX + 100];
	FILE *maps = fopen("/proc/self/maps", "re");
	int fd = -1;

	assert_non_null(maps);
	while (fd < 0 && fgets(line, sizeof(line), maps))
		if (strstr(line, "/" LIBC_SO) &&
		    sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) == 1)
			fd = open(path, O_RDONLY | O_CLOEXEC);
	fclose(maps);
	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	assert_int_equal(parser_start(&parser, LIMIT_NS), 0);
	return 0;
}

static int teardown(void **state)
{
	pid_t pid = parser_pid(parser);

	parser_free(parser);
	parser = NULL;
	/* No worker stays behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	if (pid > 0)
		assert_int_equal(kill(pid, 0), -1);
	return 0;
}

static void add_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	wait_for(parser_add_module(parser, SELF, fd, "test_parser_process", NULL));
	assert_int_equal(answer.type, PARSED_MODULE);
	assert_int_equal(answer.module.error, 0);
	close(fd);
}

static void add_libc(void)
{
	int fd = libc_open();

	wait_for(parser_add_module(parser, LIBC, fd, LIBC_SO, NULL));
	assert_int_equal(answer.module.error, 0);
	close(fd);
}

static int add_bytes(uint32_t module, const void *bytes, size_t n)
{
	int fd = memfd_create("module", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	wait_for(parser_add_module(parser, module, fd, "made", NULL));
	close(fd);
	return answer.module.error;
}

static int64_t ask(enum parse_type type, uint32_t module, const char *text)
{
	struct parse_request request = {.module = module, .text = text};

	return parser_ask(parser, type, &request, NULL);
}

static unsigned long long status_field(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	unsigned long long value = ~0ULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	fclose(f);
	return value;
}

static void test_privileges(void **state)
{
	char path[64];
	struct dirent *entry;
	unsigned int nr = 0;
	pid_t pid;
	DIR *dir;

	add_self(); /* it answers, so it is inside the sandbox */
	pid = parser_pid(parser);
	assert_int_equal(status_field(pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_field(pid, "Seccomp", 10), 2);
	assert_int_equal(status_field(pid, "CapEff", 16), 0);
	assert_int_equal(status_field(pid, "CapPrm", 16), 0);
	assert_int_equal(getsid(pid), pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return; /* not root: the worker is closed to us */
	while ((entry = readdir(dir)))
		nr += entry->d_name[0] != '.';
	closedir(dir);
	/* standard ones, the socket, the module as handed and as opened */
	assert_in_range(nr, 4, 6);
}

static void test_identity(void **state)
{
	add_self();
	assert_true(answer.module.size > 10000);
	assert_int_equal(answer.module.has_eh_frame, 1);
	assert_string_equal(answer.module.reason, "");
	add_libc();
	assert_int_equal(answer.module.position_independent, 1);
	assert_int_equal(strlen(answer.module.build_id), 40);
}

static void test_refused_files(void **state)
{
	unsigned char elf32[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
	unsigned char other[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

	elf32[16] = 3;
	elf32[18] = 3;
	other[16] = 3;
	other[18] = 183;
	assert_int_equal(add_bytes(3, "#!/bin/sh\n", 10), -ENOEXEC);
	assert_true(strlen(answer.module.reason) > 0);
	assert_int_equal(add_bytes(4, elf32, sizeof(elf32)), -EXDEV);
	assert_non_null(strstr(answer.module.reason, "32-bit"));
	assert_int_equal(add_bytes(5, other, sizeof(other)), -ENOTSUP);
	assert_int_equal(add_bytes(6, "", 0), -ENOEXEC);
	/* What was refused is not there, and the others are. */
	wait_for(ask(PARSE_FIND, 3, "main"));
	assert_int_equal(answer.functions.error, -ENOENT);
	add_self();
}

static void test_find(void **state)
{
	uint64_t offset;

	add_self();
	add_libc();
	wait_for(ask(PARSE_FIND, SELF, "parser_test_function"));
	assert_int_equal(answer.type, PARSED_FUNCTIONS);
	assert_int_equal(answer.functions.error, 0);
	assert_int_equal(answer.functions.nr, 1);
	assert_int_equal(answer.functions.total, 1);
	assert_string_equal(answer.functions.functions[0].symbol, "parser_test_function");
	assert_string_equal(answer.functions.functions[0].function, "parser_test_function");
	offset = answer.functions.functions[0].offset;
	/* The same through all modules. */
	wait_for(ask(PARSE_FIND, 0, "parser_test_function"));
	assert_int_equal(answer.functions.nr, 1);
	assert_int_equal(answer.functions.functions[0].module, SELF);
	assert_int_equal(answer.functions.functions[0].offset, offset);
	wait_for(ask(PARSE_FIND, 0, "qsort"));
	assert_int_equal(answer.functions.nr, 1);
	assert_int_equal(answer.functions.functions[0].module, LIBC);
	wait_for(ask(PARSE_FIND, 0, "no_such_function_anywhere"));
	assert_int_equal(answer.functions.nr, 0);
	assert_int_equal(answer.functions.error, 0);
	wait_for(ask(PARSE_FIND, 77, "main"));
	assert_int_equal(answer.functions.error, -ENOENT);
}

/* The vDSO has names for stacks, but its functions are neither found by name nor probed. */
static void test_vdso(void **state)
{
	struct parse_request request = {.module = VDSO};
	int fd = vdso_copy();
	unsigned int named = 0;

	if (!vdso_size()) {
		assert_int_equal(fd, -ENOENT);
		return;
	}
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), vdso_size());
	assert_int_equal(write(fd, "x", 1), -1);
	wait_for(parser_add_module(parser, VDSO, fd, "[vdso]", NULL));
	assert_int_equal(answer.module.error, 0);
	close(fd);
	wait_for(ask(PARSE_LIST, VDSO, ""));
	for (uint32_t i = 0; i < answer.functions.nr; i++) {
		if (strstr(answer.functions.functions[i].symbol, "clock_gettime"))
			request.offset = answer.functions.functions[i].offset;
	}
	assert_true(request.offset);
	for (int calls = 0; calls < 2; calls++) {
		wait_for(parser_ask(parser, calls ? PARSE_CALL_SITES : PARSE_PLAN, &request, NULL));
		assert_int_equal(calls ? answer.call_sites.error : answer.plan.error, -ENOTSUP);
	}
	add_libc();
	wait_for(ask(PARSE_FIND, 0, "clock_gettime"));
	for (uint32_t i = 0; i < answer.functions.nr; i++)
		named += answer.functions.functions[i].module == LIBC;
	assert_int_equal(named, 1);
	assert_int_equal(answer.functions.nr, 1);
}

static void test_nearest(void **state)
{
	add_self();
	add_libc();
	wait_for(ask(PARSE_NEAREST, 0, "parser_test_functoin"));
	assert_true(answer.functions.nr > 0);
	assert_string_equal(answer.functions.functions[0].symbol, "parser_test_function");
	wait_for(ask(PARSE_NEAREST, LIBC, "qsrot"));
	assert_true(answer.functions.nr > 0);
}

static void test_list_in_parts(void **state)
{
	struct parse_request request = {.text = "str", .max = 20};
	unsigned int parts = 0, total = 0;
	uint64_t last = 0;
	uint32_t i;

	add_self();
	add_libc();
	do {
		wait_for(parser_ask(parser, PARSE_LIST, &request, NULL));
		assert_int_equal(answer.functions.error, 0);
		assert_true(answer.functions.nr <= 20);
		for (i = 0; i < answer.functions.nr; i++) {
			const struct parsed_function *f = &answer.functions.functions[i];
			uint64_t place = (uint64_t)f->module << 48 | f->offset;

			assert_true(strcasestr(f->symbol, "str") || strcasestr(f->function, "str"));
			/* Nothing twice, nothing out of order. */
			assert_true(place > last);
			last = place;
		}
		total += answer.functions.nr;
		request.cursor = answer.functions.cursor;
		parts++;
	} while (request.cursor && parts < 500);
	assert_int_equal(request.cursor, 0);
	assert_true(total > 50);
	assert_true(parts > 2);
}

static uint64_t offset_of(uint32_t module, const char *name)
{
	wait_for(ask(PARSE_FIND, module, name));
	assert_int_equal(answer.functions.nr, 1);
	return answer.functions.functions[0].offset;
}

static void test_symbols(void **state)
{
	uint64_t offsets[3] = {0, UINT64_MAX / 2, 0};
	struct parse_request request = {.module = SELF, .offsets = offsets, .nr_offsets = 3};

	add_self();
	offsets[0] = offset_of(SELF, "parser_test_function");
	offsets[2] = offsets[0] + 1;
	wait_for(parser_ask(parser, PARSE_SYMBOLS, &request, NULL));
	assert_int_equal(answer.symbols.error, 0);
	assert_int_equal(answer.symbols.nr, 3);
	assert_string_equal(answer.symbols.symbols[0].function, "parser_test_function");
	assert_int_equal(answer.symbols.symbols[0].module, SELF);
	assert_int_equal(answer.symbols.symbols[0].offset, offsets[0]);
	assert_non_null(strstr(answer.symbols.symbols[0].file, "test_parser_process.c"));
	assert_true(answer.symbols.symbols[0].line > 0);
	assert_string_equal(answer.symbols.symbols[1].function, "");
	assert_string_equal(answer.symbols.symbols[2].function, "parser_test_function");
}

static void test_plan(void **state)
{
	struct parse_request request = {.module = SELF, .op = 42};
	uint64_t start, ret = 0;
	unsigned int i, entries = 0, ends = 0;

	add_self();
	start = request.offset = offset_of(SELF, "parser_test_function");
	wait_for(parser_ask(parser, PARSE_PLAN, &request, NULL));
	assert_int_equal(answer.type, PARSED_PLAN);
	assert_string_equal(answer.plan.error ? answer.plan.text : "", "");
	assert_int_equal(answer.plan.error, 0);
	assert_int_equal(answer.plan.op, 42);
	assert_true(strlen(answer.plan.text) > 0);
	for (i = 0; i < answer.plan.nr_sites; i++) {
		const struct rec_site *site = &answer.plan.sites[i];

		assert_int_equal(site->op, 42);
		assert_int_equal(site->module, SELF);
		assert_int_equal(site->state, SITE_PLANNED);
		if (site->role & (SITE_ENTRY | SITE_CALL)) {
			entries++;
			assert_in_range(site->offset, start, start + 64);
		} else {
			ends++;
		}
		if (site->role == SITE_RETURN)
			ret = site->ret;
	}
	assert_int_equal(entries, 1);
	if (ret) {
		request.offset = ret;
		wait_for(parser_ask(parser, PARSE_PLAN_RETURN, &request, NULL));
		assert_int_equal(answer.plan.error, 0);
		assert_int_equal(answer.plan.nr_sites, 1);
		assert_int_equal(answer.plan.sites[0].role, SITE_RETURN);
		assert_int_equal(answer.plan.sites[0].ret, ret);
	}
	assert_true(ends > 0 || answer.plan.needs_learning);
	/* Not a function, not code, not a module. */
	request.offset = start + 1;
	wait_for(parser_ask(parser, PARSE_PLAN, &request, NULL));
	assert_int_not_equal(answer.plan.error, 0);
	assert_int_equal(answer.plan.nr_sites, 0);
	assert_true(strlen(answer.plan.text) > 0);
	request.offset = 3;
	wait_for(parser_ask(parser, PARSE_PLAN, &request, NULL));
	assert_int_not_equal(answer.plan.error, 0);
	request.offset = UINT64_MAX;
	wait_for(parser_ask(parser, PARSE_PLAN_RETURN, &request, NULL));
	assert_int_not_equal(answer.plan.error, 0);
	request.module = 9;
	wait_for(parser_ask(parser, PARSE_PLAN, &request, NULL));
	assert_int_equal(answer.plan.error, -ENOENT);
}

static void test_ifunc(void **state)
{
	struct parse_request request = {.module = LIBC};

	add_libc();
	request.offset = offset_of(LIBC, "memcpy");
	if (!answer.functions.functions[0].ifunc)
		skip(); /* a C library without them */
	wait_for(parser_ask(parser, PARSE_PLAN, &request, NULL));
	assert_int_equal(answer.plan.error, -ENOTSUP);
	wait_for(parser_ask(parser, PARSE_IFUNC, &request, NULL));
	assert_int_equal(answer.functions.error, 0);
	assert_true(answer.functions.nr > 1);
	request.offset = offset_of(LIBC, "qsort");
	wait_for(parser_ask(parser, PARSE_IFUNC, &request, NULL));
	assert_int_equal(answer.functions.error, -EINVAL);
}

static void test_coverage(void **state)
{
	struct parse_request request = {.module = SELF, .max = 5};
	const struct parsed_coverage *c = &answer.coverage;
	uint64_t declined = 0, last = 0;
	unsigned int parts = 0;
	uint32_t i;

	add_self();
	do {
		wait_for(parser_ask(parser, PARSE_COVERAGE, &request, NULL));
		assert_int_equal(c->error, 0);
		assert_true(c->functions >= last);
		last = c->functions;
		request.cursor = c->cursor;
		parts++;
	} while (request.cursor);
	assert_true(parts > 1);
	for (i = 0; i < c->nr; i++) {
		assert_true(strlen(c->shares[i].reason) > 0);
		declined += c->shares[i].functions;
	}
	assert_true(c->functions > 10);
	assert_int_equal(c->pairs + c->entry_emulated + c->entry_stepped + declined, c->functions);
	assert_true(declined * 2 < c->functions);
	assert_non_null(strstr(c->text, "test_parser_process"));
	/* Begun anew, all at once, it is the same. */
	request.max = UINT32_MAX;
	wait_for(parser_ask(parser, PARSE_COVERAGE, &request, NULL));
	assert_int_equal(c->cursor, 0);
	assert_int_equal(c->functions, last);
	request.module = 8;
	wait_for(parser_ask(parser, PARSE_COVERAGE, &request, NULL));
	assert_int_equal(c->error, -ENOENT);
}

/* A file that cannot be read replaces the one before it. */
static void test_replaced_module(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	add_self();
	wait_for(parser_add_module(parser, SELF, null, "null", NULL));
	assert_true(answer.module.error < 0);
	close(null);
	wait_for(ask(PARSE_FIND, SELF, "main"));
	assert_int_equal(answer.functions.error, -ENOENT);
	add_self();
	wait_for(ask(PARSE_FIND, SELF, "main"));
	assert_int_equal(answer.functions.nr, 1);
}

static void test_bad_arguments(void **state)
{
	struct parse_request request = {.nr_offsets = PARSE_MAX_OFFSETS + 1};

	assert_int_equal(parser_add_module(parser, 0, 0, "x", NULL), -EINVAL);
	assert_int_equal(parser_add_module(parser, PARSE_MAX_MODULES, 0, "x", NULL), -EINVAL);
	assert_int_equal(parser_add_module(parser, 1, -1, "x", NULL), -EINVAL);
	assert_int_equal(parser_add_debug(parser, 1, 0, NULL), -ENOENT);
	assert_int_equal(parser_ask(parser, PARSE_SYMBOLS, &request, NULL), -EINVAL);
	assert_int_equal(parser_ask(parser, PARSED_PLAN, &request, NULL), -EINVAL);
	assert_int_equal(parser_ask(parser, PARSE_ADD_MODULE, &request, NULL), -EINVAL);
}

static struct taken {
	unsigned int nr;
	uint64_t tag[4];
	char symbol[4][64];
} taken;

static void take(void *ctx, uint64_t tag, const struct parsed *a)
{
	struct taken *t = ctx;

	assert_int_equal(a->type, PARSED_FUNCTIONS);
	assert_true(t->nr < 4);
	t->tag[t->nr] = tag;
	snprintf(t->symbol[t->nr++], sizeof(t->symbol[0]), "%s", a->functions.functions[0].symbol);
}

/* Each answer goes to the reply of its own request; one without a reply is dropped. */
static void test_replies(void **state)
{
	const struct parser_reply replies[] = {{take, &taken, 7}, {take, &taken, 3}};
	struct parse_request request = {.module = SELF, .max = 1};
	struct pollfd p = {.events = POLLIN};

	add_self();
	request.text = "main";
	assert_true(parser_ask(parser, PARSE_FIND, &request, &replies[0]) > 0);
	assert_true(parser_ask(parser, PARSE_FIND, &request, NULL) > 0);
	request.text = "parser_test_function";
	assert_true(parser_ask(parser, PARSE_FIND, &request, &replies[1]) > 0);
	while (parser_run(parser, 0), taken.nr < 2) {
		p.fd = parser_fd(parser);
		assert_int_equal(poll(&p, 1, 60000), 1);
	}
	assert_int_equal(taken.tag[0], 7);
	assert_string_equal(taken.symbol[0], "main");
	assert_int_equal(taken.tag[1], 3);
	assert_string_equal(taken.symbol[1], "parser_test_function");
	assert_int_equal(parser_next(parser, 0, &answer), 0);
	assert_int_equal(taken.nr, 2);
}

/* Kill the worker while it has a request: the module is refused, the rest goes on. */
static void test_death_is_blamed_on_the_module(void **state)
{
	unsigned int restarts = parser_restarts(parser);
	int64_t id, other;
	pid_t pid;

	add_self();
	add_libc();
	pid = parser_pid(parser);
	kill(pid, SIGSTOP);
	id = ask(PARSE_FIND, LIBC, "qsort");
	other = ask(PARSE_FIND, SELF, "parser_test_function");
	assert_int_equal(parser_next(parser, 0, &answer), 0); /* sent */
	kill(pid, SIGABRT);
	kill(pid, SIGCONT);
	wait_for(id);
	assert_int_equal(answer.type, PARSED_FUNCTIONS);
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_non_null(strstr(answer.functions.reason, LIBC_SO));
	assert_non_null(strstr(answer.functions.reason, "SIGABRT"));
	wait_for(other);
	assert_int_equal(answer.functions.error, 0);
	assert_int_equal(answer.functions.nr, 1);
	assert_int_equal(parser_restarts(parser), restarts + 1);
	assert_int_not_equal(parser_pid(parser), pid);
	/* For good. */
	wait_for(ask(PARSE_FIND, LIBC, "qsort"));
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_non_null(strstr(answer.functions.reason, "SIGABRT"));
	assert_int_equal(parser_restarts(parser), restarts + 1);
}

static void test_death_while_idle(void **state)
{
	pid_t pid;

	add_self();
	pid = parser_pid(parser);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Nobody is to blame: the module is still good. */
	wait_for(ask(PARSE_FIND, SELF, "parser_test_function"));
	if (answer.functions.error) /* it was asked before the death was seen */
		assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_int_not_equal(parser_pid(parser), pid);
}

static void test_deadline(void **state)
{
	int64_t id;
	pid_t pid;

	add_self();
	pid = parser_pid(parser);
	kill(pid, SIGSTOP);
	id = ask(PARSE_FIND, SELF, "main");
	assert_int_equal(parser_deadline_ns(parser), 0);
	assert_int_equal(parser_next(parser, 5, &answer), 0);
	assert_int_equal(parser_deadline_ns(parser), 5 + LIMIT_NS);
	assert_int_equal(parser_next(parser, 4 + LIMIT_NS, &answer), 0);
	assert_int_equal(parser_next(parser, 5 + LIMIT_NS, &answer), 1);
	assert_int_equal(answer.id, id);
	assert_int_equal(answer.functions.error, -ENOTRECOVERABLE);
	assert_non_null(strstr(answer.functions.reason, "more than 1 s"));
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(parser_deadline_ns(parser), UINT64_MAX);
}

static void test_many_requests(void **state)
{
	int64_t ids[300];
	int i;

	add_self();
	for (i = 0; i < 300; i++)
		ids[i] = ask(i % 2 ? PARSE_FIND : PARSE_NEAREST, SELF, "parser_test_function");
	for (i = 0; i < 300; i++) {
		wait_for(ids[i]);
		assert_true(answer.functions.nr >= 1);
	}
}

/* ---- the server alone, with requests that a sane client never makes ---- */

static int raw_request(struct server *s, struct channel *c, uint16_t type, const void *payload,
		       size_t n, int fd)
{
	const struct raw_frame frame = {.type = type, .payload = payload, .length = n};

	return server_handle(s, c, &frame, fd);
}

static void test_broken_requests(void **state)
{
	static const uint8_t bad[] = {1, 255, 255, 255, 255, 255, 255};
	struct server *s = server_new();
	struct channel *c, *reader;
	struct raw_frame frame;
	unsigned int type, answers = 0;
	int pair[2], fd;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	c = channel_new(pair[0], 1 << 20);
	reader = channel_new(pair[1], 1 << 20);
	for (type = 0x1f0; type < 0x2a0; type++) {
		fd = open("/dev/null", O_RDONLY);
		assert_int_equal(raw_request(s, c, (uint16_t)type, "", 0, -1), 0);
		assert_int_equal(raw_request(s, c, (uint16_t)type, bad, sizeof(bad), -1), 0);
		assert_int_equal(raw_request(s, c, (uint16_t)type, "\5", 1, fd), 0);
		/* Taken over, used or not. */
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_int_equal(channel_flush(c), 0);
		channel_fill(reader);
		while (channel_next_raw(reader, &frame, &fd) == 1) {
			assert_true(frame.type >= PARSED_MODULE && frame.type < PARSED_LAST);
			answers += frame.type != PARSED_AT;
		}
	}
	assert_int_equal(answers, 3 * (0x2a0 - 0x1f0));
	server_free(s);
	channel_free(c);
	channel_free(reader);
}

#define process_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    process_test(test_privileges),
	    process_test(test_identity),
	    process_test(test_refused_files),
	    process_test(test_find),
	    process_test(test_vdso),
	    process_test(test_nearest),
	    process_test(test_list_in_parts),
	    process_test(test_symbols),
	    process_test(test_plan),
	    process_test(test_ifunc),
	    process_test(test_coverage),
	    process_test(test_replaced_module),
	    process_test(test_bad_arguments),
	    process_test(test_replies),
	    process_test(test_death_is_blamed_on_the_module),
	    process_test(test_death_while_idle),
	    process_test(test_deadline),
	    process_test(test_many_requests),
	    cmocka_unit_test(test_broken_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
