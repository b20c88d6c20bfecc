// SPDX-License-Identifier: GPL-2.0-or-later
/* What is compared before a probe is attached: instructions in memory and in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/code_bytes.c"
#include "collect/code_memory.c"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

void reader_reads(pid_t pid)
{
	(void)pid;
}

/* The reader's work, done in this process. */
int64_t reader_call(pid_t about, enum reader_kind kind, reader_work work, void *argument,
		    size_t size, int *fd)
{
	int unused = -1;

	(void)about;
	(void)size;
	(void)fd;
	assert_int_equal(kind, READER_CODE);
	return work(argument, &unused);
}

static const uint8_t push[] = {0x55}, lea[] = {0x48, 0x8d, 0x43, 0x03};

static void same(void **state)
{
	(void)state;
	assert_int_equal(code_compare(push, push, 1), CODE_AS_IN_FILE);
	assert_int_equal(code_compare(lea, lea, 4), CODE_AS_IN_FILE);
	/* a breakpoint that the file itself has */
	assert_int_equal(code_compare((uint8_t[]){0xcc}, (uint8_t[]){0xcc}, 1), CODE_AS_IN_FILE);
}

static void breakpoint_in_first_byte_only(void **state)
{
	(void)state;
	assert_int_equal(code_compare(push, (uint8_t[]){0xcc}, 1), CODE_BREAKPOINT);
	assert_int_equal(code_compare(lea, (uint8_t[]){0xcc, 0x8d, 0x43, 0x03}, 4),
			 CODE_BREAKPOINT);
	assert_int_equal(code_compare(lea, (uint8_t[]){0xcc, 0x8d, 0x43, 0x04}, 4), CODE_CHANGED);
	assert_int_equal(code_compare(lea, (uint8_t[]){0x48, 0xcc, 0x43, 0x03}, 4), CODE_CHANGED);
	assert_int_equal(code_compare(lea, (uint8_t[]){0x48, 0x8d, 0x43, 0xcc}, 4), CODE_CHANGED);
}

static void changed(void **state)
{
	(void)state;
	assert_int_equal(code_compare(push, (uint8_t[]){0xe9}, 1), CODE_CHANGED);
	assert_int_equal(code_compare(lea, (uint8_t[]){0xe9, 0x8d, 0x43, 0x03}, 4), CODE_CHANGED);
	/* bytes behind the instruction do not matter */
	assert_int_equal(code_compare((uint8_t[]){0x55, 1}, (uint8_t[]){0x55, 2}, 1),
			 CODE_AS_IN_FILE);
	/* an instruction without bytes is not known */
	assert_int_equal(code_compare(push, push, 0), CODE_CHANGED);
}

static void call_over_a_nop(void **state)
{
	const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00},
		      other[] = {0x0f, 0x1f, 0x44, 0x00, 0x08};
	const uint8_t forth[] = {0xe8, 0x10, 0x00, 0x00, 0x00},
		      back[] = {0xe8, 0xfb, 0xff, 0xff, 0xff};

	(void)state;
	assert_int_equal(code_compare(nop, forth, 5), CODE_CALL_AT_NOP);
	assert_int_equal(code_compare(other, forth, 5), CODE_CHANGED);
	assert_int_equal(code_compare((uint8_t[]){0x90, 0, 0, 0, 0}, forth, 1), CODE_CHANGED);
	assert_int_equal(code_call_target(forth, 0x1000), 0x1015);
	assert_int_equal(code_call_target(back, 0x1000), 0x1000);
}

/* The lengths of which the end of these bytes is a call; bit n: n bytes. */
static unsigned int calls_before(const uint8_t *end)
{
	unsigned int found = 0;

	for (size_t n = 0; n <= CODE_CALL_BYTES; n++)
		found |= (unsigned int)code_is_call(end - n, n) << n;
	return found;
}

/* Eight bytes, from the instruction's first one on the right: nops before it. */
#define LENGTHS(...)                                                                               \
	({                                                                                         \
		const uint8_t tail[] = {__VA_ARGS__};                                              \
		uint8_t code[8];                                                                   \
		memset(code, 0x90, sizeof(code));                                                  \
		memcpy(code + sizeof(code) - sizeof(tail), tail, sizeof(tail));                    \
		calls_before(code + sizeof(code));                                                 \
	})

static void calls(void **state)
{
	(void)state;
	/* to an address; with a prefix both are read, and one is where an instruction begins */
	assert_int_equal(LENGTHS(0xe8, 1, 2, 3, 4), 1 << 5);
	assert_int_equal(LENGTHS(0x2e, 0xe8, 1, 2, 3, 4), 1 << 6 | 1 << 5);
	assert_int_equal(LENGTHS(0xe8, 1, 2, 0xff, 0xd0), 1 << 5 | 1 << 2);
	/* by a register */
	assert_int_equal(LENGTHS(0xff, 0xd0), 1 << 2);		      /* call *%rax */
	assert_int_equal(LENGTHS(0x41, 0xff, 0xd0), 1 << 3 | 1 << 2); /* call *%r8 */
	assert_int_equal(LENGTHS(0x2e, 0x41, 0xff, 0xd3), 1 << 4 | 1 << 3 | 1 << 2);
	assert_int_equal(LENGTHS(0x3e, 0xff, 0xd0), 1 << 3 | 1 << 2);
	/* by memory */
	assert_int_equal(LENGTHS(0xff, 0x10), 1 << 2);		   /* (%rax) */
	assert_int_equal(LENGTHS(0xff, 0x50, 0x18), 1 << 3);	   /* 24(%rax) */
	assert_int_equal(LENGTHS(0xff, 0x90, 1, 2, 3, 4), 1 << 6); /* disp32(%rax) */
	assert_int_equal(LENGTHS(0x41, 0xff, 0x90, 1, 2, 3, 4), 1 << 7 | 1 << 6);
	assert_int_equal(LENGTHS(0xff, 0x15, 1, 2, 3, 4), 1 << 6);	 /* disp32(%rip) */
	assert_int_equal(LENGTHS(0xff, 0x14, 0xc8), 1 << 3);		 /* (%rax,%rcx,8) */
	assert_int_equal(LENGTHS(0xff, 0x14, 0xc5, 1, 2, 3, 4), 1 << 7); /* disp32(,%rax,8) */
	assert_int_equal(LENGTHS(0xff, 0x54, 0x24, 8), 1 << 4);		 /* 8(%rsp) */
	assert_int_equal(LENGTHS(0x41, 0xff, 0x94, 0x24, 1, 2, 3, 4), 1 << 8 | 1 << 7);
}

/* Instructions that stand before a call are not part of it. */
static void no_calls(void **state)
{
	(void)state;
	assert_int_equal(LENGTHS(0x74, 3, 0x41, 0xff, 0xd0), 1 << 3 | 1 << 2); /* je; call *%r8 */
	assert_int_equal(LENGTHS(0x50, 0xe8, 1, 2, 3, 4), 1 << 5);	       /* push %rax; call */
	assert_int_equal(LENGTHS(0xff, 0xe0), 0);			       /* jmp *%rax */
	assert_int_equal(LENGTHS(0xff, 0xc0), 0);			       /* inc %eax */
	assert_int_equal(LENGTHS(0xff, 0x18), 0);			       /* a far call */
	assert_int_equal(LENGTHS(0xe9, 1, 2, 3, 4), 0);			       /* jmp */
	assert_int_equal(LENGTHS(0x3e, 0xe8, 1, 2, 3, 4), 1 << 5);
	/* not yet at its end */
	assert_int_equal(LENGTHS(0xe8, 1, 2, 3), 0);
	assert_int_equal(LENGTHS(0xff, 0x50), 0);
	assert_int_equal(LENGTHS(0xff, 0x14), 0);
	assert_int_equal(LENGTHS(0xff), 0);
	assert_int_equal(LENGTHS(0x2e), 0);
	/* a breakpoint over its first byte */
	assert_int_equal(LENGTHS(0xcc, 1, 2, 3, 4), 0);
	assert_false(code_is_call((const uint8_t[16]){0xff, 0x94}, CODE_CALL_BYTES + 1));
}

static void differences(void **state)
{
	const uint8_t file[] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint8_t memory[] = {0xcc, 2, 3, 4, 5, 6, 7, 0xcc};
	size_t first = 99;

	(void)state;
	assert_int_equal(code_differences(file, file, sizeof(file), &first), 0);
	/* single breakpoints */
	assert_int_equal(code_differences(file, memory, sizeof(file), &first), 0);
	assert_int_equal(first, 99);
	/* not beside other differences */
	memory[6] = 0;
	assert_int_equal(code_differences(file, memory, sizeof(file), &first), 2);
	assert_int_equal(first, 6);
	memory[3] = 0xe9;
	assert_int_equal(code_differences(file, memory, sizeof(file), &first), 3);
	assert_int_equal(first, 3);
}

enum { NOP_AT = 64, EDGE = PAGE - 2 };

/* A file of two pages, mapped privately. */
static uint8_t *map(struct code_piece *piece)
{
	uint8_t content[2 * PAGE], *at;
	char path[] = "/tmp/test_code_memory.XXXXXX";
	int fd = mkstemp(path);

	for (unsigned int i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7);
	memcpy(content + NOP_AT, nop5, sizeof(nop5));
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
	at = mmap(NULL, sizeof(content), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	*piece = (struct code_piece){.address = (uintptr_t)at,
				     .map_start = (uintptr_t)at,
				     .map_end = (uintptr_t)at + sizeof(content),
				     .length = 4,
				     .state = CODE_UNREADABLE};
	return at;
}

static enum code_state state_at(const struct code_piece *piece, uint64_t offset, uint8_t length)
{
	struct code_piece p = *piece;

	p.address += offset;
	p.offset = offset;
	p.length = length;
	assert_int_equal(code_memory_compare(getpid(), &p, 1), 0);
	return p.state;
}

/* The number of bytes that differ in the whole mapping. */
static uint32_t survey(const struct code_piece *piece, uint64_t *first)
{
	struct code_survey s = {.map_start = piece->map_start, .map_end = piece->map_end};

	assert_int_equal(code_memory_survey(getpid(), &s), 0);
	*first = s.first;
	return s.bytes;
}

static void own_memory(void **state)
{
	struct code_piece piece;
	uint8_t *at = map(&piece), was;
	uint64_t first = 0;

	(void)state;
	if (access("/proc/self/map_files", X_OK))
		skip();
	assert_int_equal(state_at(&piece, 16, 4), CODE_AS_IN_FILE);
	assert_int_equal(survey(&piece, &first), 0);
	was = at[16];
	at[16] = was; /* the page is private now, and the same */
	assert_int_equal(state_at(&piece, 16, 4), CODE_AS_IN_FILE);
	at[17]++;
	assert_int_equal(state_at(&piece, 16, 1), CODE_AS_IN_FILE);
	assert_int_equal(state_at(&piece, 16, 2), CODE_CHANGED);
	assert_int_equal(state_at(&piece, 20, 4), CODE_AS_IN_FILE);
	at[20] = 0xcc;
	assert_int_equal(state_at(&piece, 20, 4), CODE_BREAKPOINT);
	/* a call that does not lead to the kernel's code for uprobes */
	memcpy(at + NOP_AT, (uint8_t[]){0xe8, 0, 0, 0, 0}, 5);
	assert_int_equal(state_at(&piece, NOP_AT, 5), CODE_CHANGED);
	/* an instruction on two pages, of which the second has changed */
	assert_int_equal(state_at(&piece, EDGE, 4), CODE_AS_IN_FILE);
	at[PAGE]++;
	assert_int_equal(state_at(&piece, EDGE, 4), CODE_CHANGED);
	assert_int_equal(state_at(&piece, EDGE, 2), CODE_AS_IN_FILE);
	assert_int_equal(survey(&piece, &first), 1 + 3 + 1);
	assert_int_equal(first, 17);
	munmap(at, 2 * PAGE);
}

static void many(void **state)
{
	enum { MANY = PIECES + 10 };
	struct code_piece piece, *list = calloc(MANY, sizeof(*list));
	uint8_t *at = map(&piece);

	(void)state;
	assert_non_null(list);
	at[5000] ^= 0xff;
	for (unsigned int i = 0; i < MANY; i++) {
		list[i] = piece;
		list[i].offset = 3000 + i;
		list[i].address += 3000 + i;
		list[i].length = 1;
	}
	if (access("/proc/self/map_files", X_OK))
		skip();
	assert_int_equal(code_memory_compare(getpid(), list, MANY), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(list[i].state, i == 2000 ? CODE_CHANGED : CODE_AS_IN_FILE);
	free(list);
	munmap(at, 2 * PAGE);
}

/* A process that has ended, or one that changed its code, does not keep the others from being
 * compared. */
static void processes(void **state)
{
	struct code_piece piece;
	uint8_t *at = map(&piece);
	pid_t child;
	struct code_piece list[4];

	(void)state;
	if (access("/proc/self/map_files", X_OK))
		skip();
	child = fork();
	if (!child) {
		at[100] ^= 0xff;
		for (;;)
			pause();
	}
	assert_true(child > 0);
	at[200] ^= 0xff;
	for (unsigned int i = 0; i < 4; i++) {
		list[i] = piece;
		list[i].offset = i == 3 ? 200 : 100;
		list[i].address += list[i].offset;
		list[i].length = 1;
	}
	list[0].pid = getpid();
	list[1].pid = 1 << 30;
	list[2].pid = child;
	list[3].pid = getpid();
	/* until the child has changed its copy */
	do {
		code_memory_compare_all(list, 4);
		assert_int_equal(list[0].state, CODE_AS_IN_FILE);
		assert_int_equal(list[1].state, CODE_UNREADABLE);
		assert_int_equal(list[3].state, CODE_CHANGED);
	} while (list[2].state == CODE_AS_IN_FILE);
	assert_int_equal(list[2].state, CODE_CHANGED);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	munmap(at, 2 * PAGE);
}

static void no_process(void **state)
{
	struct code_piece piece = {.length = 1};

	(void)state;
	/* larger than any process id */
	assert_int_equal(code_memory_compare(1 << 30, &piece, 1), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same),	   cmocka_unit_test(breakpoint_in_first_byte_only),
	    cmocka_unit_test(changed),	   cmocka_unit_test(call_over_a_nop),
	    cmocka_unit_test(own_memory),  cmocka_unit_test(many),
	    cmocka_unit_test(processes),   cmocka_unit_test(no_process),
	    cmocka_unit_test(differences), cmocka_unit_test(calls),
	    cmocka_unit_test(no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
