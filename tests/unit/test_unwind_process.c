// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of another process: stopped deep in it and at every single
 * instruction, unwound here and by the parser worker.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <cmocka.h>

#include <sys/socket.h>

#include "tests/unit/unwind_process.h"
#include "tui/engine/parser.h"
#include "tui/parser/serve.h"

#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")

#ifdef __SANITIZE_ADDRESS__
enum { STEP_COPY = 128 << 10 }; /* its free() has large frames */
#else
enum { STEP_COPY = 8192 };
#endif

enum { COPY = 8192, CHILD_STACK = 1 << 20, DEEP = 12, STEPS = 60000, MAX_DEPTH = 64 };

#define NOINLINE __attribute__((noinline, noipa))

/* ---- what the child runs ---- */

static volatile int sink = 3;

static NOINLINE int deepest(int n)
{
	raise(SIGSTOP);
	return n + sink;
}

/* Twelve functions that differ in what they keep and in the size of their frames. */
#define LEVEL(i, next)                                                                             \
	static NOINLINE int level_##i(int n)                                                       \
	{                                                                                          \
		int a = sink + n, b = sink * n, c = sink ^ i;                                      \
		volatile char bytes[16 + 24 * i];                                                  \
                                                                                                   \
		bytes[n & 15] = (char)i;                                                           \
		return next(n + 1) + bytes[n & 15] + (i > 3 ? a : 0) + (i > 6 ? b * a : 0) +       \
		       (i > 9 ? c ^ b : 0);                                                        \
	}
LEVEL(12, deepest)
LEVEL(11, level_12)
LEVEL(10, level_11)
LEVEL(9, level_10)
LEVEL(8, level_9)
LEVEL(7, level_8)
LEVEL(6, level_7)
LEVEL(5, level_6)
LEVEL(4, level_5)
LEVEL(3, level_4)
LEVEL(2, level_3)
LEVEL(1, level_2)

static NOINLINE int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static NOINLINE int with_alloca(int n)
{
	volatile char bytes[64] __attribute__((aligned(64)));
	volatile char *p = __builtin_alloca((size_t)n * 16);

	p[0] = bytes[n] = 1;
	return p[0] + bytes[n] + compare(&n, (const int *)&sink);
}

static NOINLINE void to_be_stepped(void)
{
	int values[] = {5, 3, 9, 1, 7, 2}, i;
	struct timespec t;
	char text[64];

	qsort(values, 6, sizeof(values[0]), compare);
	for (i = 0; i < 6; i++)
		sink = values[i] + with_alloca(i + 1);
	snprintf(text, sizeof(text), "%d %s %5.3f", sink, "text", 3.25 * sink);
	free(malloc(3000));
	sink += (int)strtol(text, NULL, 10) + (int)strlen(text);
	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += getppid();
}

static NOINLINE int stepped_from_here(void)
{
	raise(SIGSTOP);
	to_be_stepped();
	return sink;
}

/* ---- the test's side ---- */

static pid_t child;
static struct process process;
static struct unwind_stack stack;
static uint64_t registers[ROW_REGISTERS];
static char copy[STEP_COPY];

static int (*child_runs)(void);

static void child_begins(void)
{
	_exit(child_runs() & 0);
}

/* On a stack of its own: not that of the test program, of which nobody knows how deep it is. */
static void run_on_new_stack(int (*run)(void))
{
	ucontext_t context;
	char *memory_of_stack =
	    mmap(NULL, 2 * CHILD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	child_runs = run;
	if (memory_of_stack == MAP_FAILED || getcontext(&context))
		_exit(78);
	context.uc_stack.ss_sp = memory_of_stack;
	context.uc_stack.ss_size = CHILD_STACK; /* and as much above it */
	context.uc_link = NULL;
	makecontext(&context, child_begins, 0);
	setcontext(&context);
}

/* Start a child that stops itself in `run`. */
static void start(int (*run)(void))
{
	int status;

	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		run_on_new_stack(run);
		_exit(79);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFSTOPPED(status));
	assert_true(process_begin(&process, child));
}

static void finish(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	process_end(&process);
}

static size_t look(size_t n)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
	process_registers(&regs, registers);
	return process_read(child, registers[ROW_RSP], copy, n);
}

static void unwind_child(size_t n)
{
	struct unwind_memory memory = {registers[ROW_RSP], copy, n};
	struct unwind_input in = {registers, &memory, 1, process.map};

	unwind(process.unwinder, &in, &stack);
}

static int run_deep(void)
{
	return level_1(0);
}

static void test_deep(void **state)
{
	unsigned int i, at;
	char name[16];

	start(run_deep);
	unwind_child(look(COPY));
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	for (at = 0; at < stack.nr; at++)
		if (!strcmp(process_function(&process, &stack.frames[at]), "deepest"))
			break;
	assert_true(at >= 1); /* it waits in raise() */
	for (i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "level_%u", DEEP - i);
		assert_true(at + 1 + i < stack.nr);
		assert_string_equal(process_function(&process, &stack.frames[at + 1 + i]), name);
		assert_int_equal(stack.frames[at + 1 + i].flags, UNWIND_CALLER);
	}
	assert_string_equal(process_function(&process, &stack.frames[at + 1 + i]), "run_deep");
	finish();
}

/* ---- every instruction ---- */

/* Return addresses on the stack, kept beside by watching calls and returns. */
struct shadow {
	uint64_t ret[MAX_DEPTH], at[MAX_DEPTH]; /* at: where on the stack it is */
	unsigned int i, nr;
};

static void push_shadow(struct shadow *s, uint64_t ret, uint64_t at)
{
	assert_true(s->nr < MAX_DEPTH);
	s->ret[s->nr] = ret;
	s->at[s->nr++] = at;
}

/* What one instruction did: a call has put the address after itself on the stack. */
static void follow(struct shadow *s, const uint64_t *before)
{
	uint64_t sp = registers[ROW_RSP], top, length;

	while (s->nr && s->at[s->nr - 1] < sp)
		s->nr--;
	if (sp != before[ROW_RSP] - 8 || process_read(child, sp, &top, 8) != 8)
		return;
	length = top - before[ROW_RIP];
	/* A push of an address that lies just there, without going elsewhere, is no call. */
	if (length >= 2 && length <= 7 && registers[ROW_RIP] != top)
		push_shadow(s, top, sp);
}

static bool step_child(void)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSTOPPED(status);
}

static void same_as_shadow(const struct shadow *s, unsigned long step)
{
	unsigned int i;

	if (stack.nr > s->nr)
		assert_int_equal(process_address(&process, &stack.frames[0]), registers[ROW_RIP]);
	for (i = 0; i < s->nr; i++) {
		const struct unwind_frame *f = &stack.frames[i + 1];
		uint64_t address = i + 1 < stack.nr ? process_address(&process, f) : 0;

		if (address != s->ret[s->nr - 1 - i] ||
		    stack.frames[i].cfa != s->at[s->nr - 1 - i] + 8)
			fail_msg("step %lu at %#lx in %s: frame %u of %u is %#lx and not %#lx: %s",
				 step, (unsigned long)registers[ROW_RIP],
				 process_function(&process, &stack.frames[0]), i + 1, stack.nr,
				 (unsigned long)address, (unsigned long)s->ret[s->nr - 1 - i],
				 unwind_stop_text(stack.stop));
	}
}

static void test_every_instruction(void **state)
{
	static struct shadow shadow;
	uint64_t before[ROW_REGISTERS], leave;
	unsigned long step;
	unsigned int i, deepest_seen = 0;
	size_t n;

	start(stepped_from_here);
	unwind_child(look(STEP_COPY));
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	/* What is there at the start was compared before. */
	shadow.nr = 0;
	for (i = stack.nr - 1; i > 0; i--)
		push_shadow(&shadow, process_address(&process, &stack.frames[i]),
			    stack.frames[i - 1].cfa - 8);
	/* Until it has come back from the function that stopped itself. */
	for (i = 0; strcmp(process_function(&process, &stack.frames[i]), "stepped_from_here"); i++)
		;
	leave = stack.frames[i].cfa;
	for (step = 0; step < STEPS && registers[ROW_RSP] < leave; step++) {
		memcpy(before, registers, sizeof(before));
		assert_true(step_child());
		n = look(STEP_COPY);
		follow(&shadow, before);
		unwind_child(n);
		same_as_shadow(&shadow, step);
		assert_int_equal(stack.stop, UNWIND_BOTTOM);
		deepest_seen = stack.nr > deepest_seen ? stack.nr : deepest_seen;
	}
	print_message("%lu instructions, up to %u frames\n", step, deepest_seen);
	assert_true(step > 3000 && step < STEPS);
	finish();
}

/* ---- by the worker ---- */

static struct parser *parser;
static struct parsed answer;

static void wait_for(int64_t id)
{
	struct pollfd p;

	assert_true(id > 0);
	while (!parser_next(parser, 0, &answer)) {
		p.fd = parser_fd(parser);
		p.events = (short)(POLLIN | (parser_wants_write(parser) ? POLLOUT : 0));
		assert_true(poll(&p, 1, 60000) > 0);
	}
	assert_int_equal(answer.id, id);
}

/* Hand over what the child maps. */
static void hand_over(void)
{
	unsigned int i, k;
	int fd;

	for (i = 1; i <= process.nr_modules; i++) {
		for (k = 0; process.maps[k].module != i; k++)
			;
		fd = process.path[i][0] == '/'
			 ? open(process.path[i], O_RDONLY | O_CLOEXEC)
			 : process_vdso(child, process.maps[k].start, process.maps[k].end);
		wait_for(parser_add_module(parser, i, fd, process.path[i], NULL));
		assert_int_equal(answer.module.error, 0);
		close(fd);
	}
}

static void say_mappings(uint32_t nr)
{
	struct parse_mapping list[PROCESS_MAPS];
	struct parse_request request = {
	    .pid = (uint32_t)child, .mappings = list, .nr_mappings = nr};
	uint32_t i;

	for (i = 0; i < nr; i++)
		list[i] = (struct parse_mapping){process.maps[i].module, process.maps[i].start,
						 process.maps[i].end, process.maps[i].offset};
	wait_for(parser_ask(parser, PARSE_MAPPINGS, &request, NULL));
	assert_int_equal(answer.type, PARSED_MAPPINGS);
	assert_int_equal(answer.mappings.error, 0);
	assert_int_equal(answer.mappings.pid, child);
	assert_int_equal(answer.mappings.nr, nr);
}

/* As the collector has them: struct pt_regs and words. */
static void ask_frames(uint32_t nr_regs, size_t bytes)
{
	struct user_regs_struct regs;
	uint64_t words[PARSE_MAX_WORDS];
	struct parse_request request = {.pid = (uint32_t)child,
					.nr_regs = nr_regs,
					.regs = (const uint64_t *)(const void *)&regs,
					.nr_words = (uint32_t)(bytes / 8),
					.words = words};

	assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
	assert_true(process_read(child, regs.rsp, words, bytes) == bytes);
	wait_for(parser_ask(parser, PARSE_UNWIND, &request, NULL));
	assert_int_equal(answer.type, PARSED_FRAMES);
	assert_int_equal(answer.frames.pid, child);
}

static void frames_as_here(void)
{
	unsigned int i;

	assert_int_equal(answer.frames.error, 0);
	assert_int_equal(answer.frames.nr, stack.nr);
	assert_int_equal(answer.frames.stop, stack.stop);
	assert_int_equal(answer.frames.missing, stack.missing);
	assert_string_equal(answer.frames.reason, unwind_stop_text(stack.stop));
	for (i = 0; i < stack.nr; i++) {
		const struct parsed_frame *f = &answer.frames.frames[i];

		assert_int_equal(f->module, stack.frames[i].module);
		assert_int_equal(f->offset, stack.frames[i].offset);
		assert_int_equal(f->function, stack.frames[i].function);
		assert_int_equal(f->cfa, stack.frames[i].cfa);
		assert_int_equal(f->flags, stack.frames[i].flags);
	}
}

static unsigned int index_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < stack.nr; i++)
		if (!strcmp(process_function(&process, &stack.frames[i]), name))
			return i;
	fail_msg("%s is not in the stack", name);
	return 0;
}

static void test_worker(void **state)
{
	unsigned int libc, i;
	int null;

	start(run_deep);
	unwind_child(look(COPY));
	assert_int_equal(parser_start(&parser, 0), 0);
	hand_over();
	ask_frames(PARSE_MAX_REGS, COPY);
	assert_int_equal(answer.frames.error, -ESTALE);
	assert_int_equal(answer.frames.nr, 0);
	say_mappings((uint32_t)process.nr_maps);
	ask_frames(PARSE_MAX_REGS, COPY);
	frames_as_here();
	assert_int_equal(answer.frames.stop, UNWIND_BOTTOM);
	ask_frames(PARSE_MAX_REGS, 0);
	assert_int_equal(answer.frames.stop, UNWIND_END_OF_COPY);
	assert_int_equal(answer.frames.nr, 1);
	unwind_child(0);
	frames_as_here();
	ask_frames(PARSE_MAX_REGS - 1, COPY);
	assert_int_equal(answer.frames.error, -EINVAL);
	/* Said again, they replace what was said. */
	say_mappings(1);
	ask_frames(PARSE_MAX_REGS, COPY);
	assert_int_equal(answer.frames.error, 0);
	assert_int_equal(answer.frames.frames[0].module, 0);
	say_mappings(0);
	ask_frames(PARSE_MAX_REGS, COPY);
	assert_int_equal(answer.frames.error, -ESTALE);
	/*
	 * Without libc's file there is no way out of raise(), unless that libc keeps frame
	 * pointers (Ubuntu's do), and that is said; with it there is again.
	 */
	say_mappings((uint32_t)process.nr_maps);
	unwind_child(look(COPY));
	libc = stack.frames[0].module;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	wait_for(parser_add_module(parser, libc, null, "null", NULL));
	close(null);
	ask_frames(PARSE_MAX_REGS, COPY);
	assert_int_equal(answer.frames.error, 0);
	assert_int_equal(answer.frames.frames[0].module, libc);
	assert_int_equal(answer.frames.frames[0].function, 0);
	assert_true(answer.frames.stop != UNWIND_BOTTOM ||
		    answer.frames.frames[1].flags & UNWIND_GUESSED);
	hand_over();
	ask_frames(PARSE_MAX_REGS, COPY);
	frames_as_here();
	/* A new worker knows nothing of the process. */
	kill(parser_pid(parser), SIGKILL);
	ask_frames(PARSE_MAX_REGS, COPY);
	if (answer.frames.error == -ENOTRECOVERABLE)
		ask_frames(PARSE_MAX_REGS, COPY);
	assert_int_equal(answer.frames.error, -ESTALE);
	say_mappings((uint32_t)process.nr_maps);
	for (i = 0; i < 3; i++)
		ask_frames(PARSE_MAX_REGS, COPY);
	frames_as_here();
	assert_int_equal(parser_restarts(parser), 1);
	parser_free(parser);
	finish();
}

static inline __attribute__((always_inline)) int inner(int n)
{
	return n * 3 + getppid();
}

static inline __attribute__((always_inline)) int middle(int n)
{
	return inner(n + 1) ^ sink;
}

static NOINLINE int outer(int n)
{
	raise(SIGSTOP);
	return middle(n) + 1;
}

static int run_outer(void)
{
	return outer(1);
}

static void test_inlines(void **state)
{
	uint64_t offsets[3] = {0, UINT64_MAX / 2, 0};
	struct parse_request request = {.offsets = offsets, .nr_offsets = 3};
	const struct parsed_chain *chain = NULL;
	const struct module_function *f, *found[1];
	unsigned int self, at;
	uint64_t offset;

	start(run_outer);
	unwind_child(look(COPY));
	at = index_of("outer");
	self = stack.frames[at].module;
	f = module_function_at_offset(process.module[self], stack.frames[at].function);
	assert_int_equal(module_find(process.module[self], "deepest", found, 1), 1);
	assert_int_equal(parser_start(&parser, 0), 0);
	hand_over();
	request.module = self;
	offsets[2] = found[0]->offset;
	/* Some instruction of it is of the inlined call in the inlined call. */
	for (offset = f->offset; offset < f->offset + f->size; offset++) {
		offsets[0] = offset;
		wait_for(parser_ask(parser, PARSE_INLINES, &request, NULL));
		assert_int_equal(answer.type, PARSED_INLINES);
		assert_int_equal(answer.inlines.error, 0);
		assert_int_equal(answer.inlines.nr, 3);
		chain = answer.inlines.chains;
		assert_int_equal(chain[0].offset, offset);
		assert_true(chain[0].nr >= 1);
		assert_string_equal(chain[0].calls[chain[0].nr - 1].function, "outer");
		assert_int_equal(chain[0].calls[chain[0].nr - 1].inlined, 0);
		assert_int_equal(chain[1].nr, 0);
		assert_int_equal(chain[2].nr, 1);
		assert_string_equal(chain[2].calls[0].function, "deepest");
		assert_non_null(strstr(chain[2].calls[0].file, "test_unwind_process.c"));
		if (chain[0].nr == 3)
			break;
	}
	assert_int_equal(chain[0].nr, 3);
	assert_string_equal(chain[0].calls[0].function, "inner");
	assert_string_equal(chain[0].calls[1].function, "middle");
	assert_int_equal(chain[0].calls[1].inlined, 1);
	assert_true(chain[0].calls[1].line > 0);
	/* Without DWARF the function alone. */
	at = index_of("raise") < at ? index_of("raise") : 0;
	request.module = stack.frames[at].module;
	offsets[0] = stack.frames[at].offset - 1;
	wait_for(parser_ask(parser, PARSE_INLINES, &request, NULL));
	assert_int_equal(answer.inlines.error, 0);
	assert_true(answer.inlines.chains[0].nr >= 1);
	assert_string_equal(answer.inlines.chains[0].calls[0].function, "raise");
	request.module = 4000;
	wait_for(parser_ask(parser, PARSE_INLINES, &request, NULL));
	assert_int_equal(answer.inlines.error, -ENOENT);
	assert_int_equal(answer.inlines.nr, 0);
	parser_free(parser);
	finish();
}

/* More than one answer can hold: what is left out can be asked for again. */
static void test_many_inlines(void **state)
{
	static uint64_t offsets[PARSE_MAX_OFFSETS];
	struct parse_request request = {.offsets = offsets, .nr_offsets = PARSE_MAX_OFFSETS};
	const struct module_function *f;
	unsigned int i, known = 0;
	size_t n;

	start(run_outer);
	unwind_child(look(COPY));
	request.module = stack.frames[index_of("outer")].module;
	f = module_function_at_offset(process.module[request.module],
				      stack.frames[index_of("outer")].function);
	n = (size_t)(f - module_function(process.module[request.module], 0));
	for (i = 0; i < PARSE_MAX_OFFSETS; i++)
		offsets[i] = module_function(process.module[request.module], n - i % 20)->offset;
	assert_int_equal(parser_start(&parser, 0), 0);
	hand_over();
	wait_for(parser_ask(parser, PARSE_INLINES, &request, NULL));
	assert_int_equal(answer.inlines.error, 0);
	assert_int_equal(answer.inlines.nr, PARSE_MAX_OFFSETS);
	for (i = 0; i < PARSE_MAX_OFFSETS; i++)
		known += answer.inlines.chains[i].nr > 0;
	assert_int_equal(known, PARSE_MAX_OFFSETS);
	request.nr_offsets++;
	assert_int_equal(parser_ask(parser, PARSE_INLINES, &request, NULL), -EINVAL);
	parser_free(parser);
	finish();
}

/* ---- the server itself ---- */

static struct server *server;
static struct channel *to_client, *client;
static struct arena memory;

static void server_begin(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	server = server_new();
	to_client = channel_new(pair[0], 1 << 20);
	client = channel_new(pair[1], 1 << 20);
	assert_true(server && to_client && client);
	arena_init(&memory, 1 << 20);
}

static void server_end(void)
{
	server_free(server);
	channel_free(to_client);
	channel_free(client);
	arena_release(&memory);
}

/* Ask, and read what comes: the answer, and how many modules were announced before. */
static unsigned int serve(enum parse_type type, struct parse_request *request, int fd)
{
	struct raw_frame frame;
	unsigned int announced = 0;
	struct buf bytes;
	int none;

	buf_init(&bytes, 1 << 20);
	request->id = 5;
	assert_int_equal(struct_encode(&bytes, parse_layout(type), request), 0);
	frame =
	    (struct raw_frame){.type = (uint16_t)type, .payload = bytes.data, .length = bytes.len};
	assert_int_equal(server_handle(server, to_client, &frame, fd), 0);
	assert_int_equal(channel_flush(to_client), 0);
	buf_release(&bytes);
	arena_reset(&memory);
	for (;;) {
		while (channel_next_raw(client, &frame, &none) == 1) {
			answer.type = (enum parse_type)frame.type;
			assert_int_equal(struct_decode(&memory, parse_layout(frame.type),
						       frame.payload, frame.length, &answer.module),
					 0);
			assert_int_equal(answer.id, 5);
			if (answer.type != PARSED_AT)
				return announced;
			announced++;
		}
		assert_int_equal(channel_fill(client), 1);
	}
}

/* Begin a parser that knows the files and the mappings of the child; read its registers and the
 * innermost `bytes` of its stack. */
static void serve_child(struct user_regs_struct *regs, uint64_t *words, size_t bytes)
{
	static struct parse_mapping list[PROCESS_MAPS]; /* not on the stack that is copied */
	struct parse_request mappings = {.pid = 1, .mappings = list};
	struct parse_request module = {.text = ""};
	unsigned int i;

	server_begin();
	assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, regs), 0);
	assert_int_equal(process_read(child, regs->rsp, words, bytes), bytes);
	for (i = 0; i < process.nr_maps; i++)
		list[i] = (struct parse_mapping){process.maps[i].module, process.maps[i].start,
						 process.maps[i].end, process.maps[i].offset};
	mappings.nr_mappings = (uint32_t)process.nr_maps;
	for (i = 1; i <= process.nr_modules; i++) {
		module.module = i;
		if (process.path[i][0] == '/')
			serve(PARSE_ADD_MODULE, &module,
			      open(process.path[i], O_RDONLY | O_CLOEXEC));
	}
	serve(PARSE_MAPPINGS, &mappings, -1);
}

/* If reading a module ends the worker, the client knows which one it was. */
static void test_announced(void **state)
{
	static uint64_t words[PARSE_MAX_WORDS];
	struct user_regs_struct regs;
	struct parse_request request = {.pid = 1,
					.nr_regs = PARSE_MAX_REGS,
					.regs = (const uint64_t *)(const void *)&regs,
					.nr_words = PARSE_MAX_WORDS,
					.words = words};

	start(run_deep);
	serve_child(&regs, words, sizeof(words));
	/* libc, the test, libc: each time that it goes on to another. */
	assert_true(serve(PARSE_UNWIND, &request, -1) >= 3);
	assert_int_equal(answer.frames.stop, UNWIND_BOTTOM);
	/* All is known now. */
	assert_int_equal(serve(PARSE_UNWIND, &request, -1), 0);
	assert_int_equal(answer.frames.stop, UNWIND_BOTTOM);
	server_end();
	finish();
}

/* A copy that ends too early, and then the piece of the stack that is needed. */
static void test_pieces(void **state)
{
	enum { WORDS = 200 };
	uint64_t words[8], piece[2 + WORDS];
	struct user_regs_struct regs;
	struct parse_request request = {.pid = 1,
					.nr_regs = PARSE_MAX_REGS,
					.regs = (const uint64_t *)(const void *)&regs,
					.nr_words = 8,
					.words = words};
	unsigned int i, nr;
	uint64_t missing;

	start(run_deep);
	unwind_child(look(COPY));
	serve_child(&regs, words, sizeof(words));
	serve(PARSE_UNWIND, &request, -1);
	assert_int_equal(answer.frames.stop, UNWIND_END_OF_COPY);
	missing = answer.frames.missing;
	nr = answer.frames.nr;
	assert_true(missing >= regs.rsp + sizeof(words) && nr < stack.nr);
	/* a piece that says to be longer than it is gives nothing */
	piece[0] = missing - 64;
	piece[1] = WORDS + 1;
	assert_int_equal(process_read(child, piece[0], piece + 2, sizeof(uint64_t) * WORDS),
			 sizeof(uint64_t) * WORDS);
	request.pieces = piece;
	request.nr_pieces = 2 + WORDS;
	serve(PARSE_UNWIND, &request, -1);
	assert_int_equal(answer.frames.missing, missing);
	assert_int_equal(answer.frames.nr, nr);
	piece[1] = WORDS;
	serve(PARSE_UNWIND, &request, -1);
	assert_int_not_equal(answer.frames.missing, missing);
	assert_true(answer.frames.nr > nr && answer.frames.nr <= stack.nr);
	for (i = 0; i + 1 < answer.frames.nr; i++)
		assert_int_equal(answer.frames.frames[i].cfa, stack.frames[i].cfa);
	server_end();
	finish();
}

static int32_t error_of(uint32_t pid)
{
	uint64_t regs[PARSE_MAX_REGS] = {0};
	struct parse_request request = {.pid = pid, .nr_regs = PARSE_MAX_REGS, .regs = regs};

	serve(PARSE_UNWIND, &request, -1);
	return answer.frames.error;
}

/* Of too many processes those are forgotten that were not asked about. */
static void test_bounded(void **state)
{
	static struct parse_mapping list[PARSE_MAX_MAPPINGS];
	struct parse_request request = {.mappings = list, .nr_mappings = 1};
	uint32_t pid, i;

	for (i = 0; i < PARSE_MAX_MAPPINGS; i++)
		list[i] = (struct parse_mapping){1, i * 4096, i * 4096 + 4096, 0};
	server_begin();
	for (pid = 1; pid <= 1024; pid++) {
		request.pid = pid;
		serve(PARSE_MAPPINGS, &request, -1);
		assert_int_equal(answer.mappings.error, 0);
	}
	assert_int_equal(error_of(1), 0);
	request.pid = 2000;
	serve(PARSE_MAPPINGS, &request, -1);
	assert_int_equal(error_of(1), 0);
	assert_int_equal(error_of(2), -ESTALE);
	assert_int_equal(error_of(3), 0);
	/* And of too many mappings. */
	request.nr_mappings = PARSE_MAX_MAPPINGS;
	for (pid = 5000; pid < 5064; pid++) {
		request.pid = pid;
		serve(PARSE_MAPPINGS, &request, -1);
		assert_int_equal(answer.mappings.nr, PARSE_MAX_MAPPINGS);
	}
	assert_int_equal(error_of(1), -ESTALE);
	assert_int_equal(error_of(5000), 0);
	request.pid = 6000;
	serve(PARSE_MAPPINGS, &request, -1);
	assert_int_equal(error_of(5000), 0);
	assert_int_equal(error_of(5001), -ESTALE);
	assert_int_equal(error_of(5063), 0);
	assert_int_equal(error_of(6000), 0);
	server_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_deep),	 cmocka_unit_test(test_every_instruction),
	    cmocka_unit_test(test_worker),	 cmocka_unit_test(test_inlines),
	    cmocka_unit_test(test_many_inlines), cmocka_unit_test(test_announced),
	    cmocka_unit_test(test_pieces),	 cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
