// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/code/boundary.h"
#include "analysis/module/module.h"
#include "collect/process/code_reader.h"

enum { AT = 0x401000 };

static struct decoder *decoder;

static int setup(void **state)
{
	decoder = decoder_new();
	return decoder ? 0 : -1;
}

static int teardown(void **state)
{
	decoder_free(decoder);
	return 0;
}

/* What is said of each byte of this code, as letters: y(es), i(nside), n(o code). */
static void verdicts(const uint8_t *code, size_t size, const uint64_t *roots, size_t nr, char *out)
{
	static const char letters[] = "?yin-";
	struct boundaries b;

	b = (struct boundaries){.start = AT, .size = size};
	assert_int_equal(boundaries_init(&b, decoder, code, roots, nr), 0);
	for (size_t i = 0; i < size; i++)
		out[i] = letters[boundaries_check(&b, decoder, code, AT + i)];
	out[size] = '\0';
	assert_int_equal(boundaries_check(&b, decoder, code, AT - 1), BOUNDARY_NO_CODE);
	assert_int_equal(boundaries_check(&b, decoder, code, AT + size), BOUNDARY_NO_CODE);
	boundaries_release(&b);
}

static void straight(void **state)
{
	/* push %rbp; mov %rsp,%rbp; call +0; pop %rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3};
	char said[32];

	verdicts(code, sizeof(code), NULL, 0, said);
	assert_string_equal(said, "yyiiyiiiiyy");
}

/* Data behind a jump looks like the begin of a longer instruction: what the jump leads to is known
 * all the same. */
static void jump_over_data(void **state)
{
	/* jmp +2; 48 b8 (would be movabs with the next 8 bytes); nop; nop; nop; ret */
	static const uint8_t code[] = {0xeb, 0x02, 0x48, 0xb8, 0x90, 0x90, 0x90, 0xc3};
	char said[32];

	verdicts(code, sizeof(code), NULL, 0, said);
	assert_int_equal(strncmp(said, "yi", 2), 0);
	assert_string_equal(said + 4, "yyyy");
	assert_int_not_equal(said[2], 'y');
}

/* je into the middle of "lock cmpxchg": glibc does so. A breakpoint there would break the locked
 * path. */
static void into_the_middle(void **state)
{
	/* je +1; lock cmpxchg %edx,(%rdi); ret */
	static const uint8_t code[] = {0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x17, 0xc3};
	char said[32];

	verdicts(code, sizeof(code), NULL, 0, said);
	assert_string_equal(said, "yiyiiiy");
}

/* Behind an indirect jump nothing is followed: what stands there is decoded from where the known
 * code ends. */
static void behind_indirect_jump(void **state)
{
	/* jmp *%rax; mov $1,%eax; ret */
	static const uint8_t code[] = {0xff, 0xe0, 0xb8, 1, 0, 0, 0, 0xc3};
	char said[32];

	verdicts(code, sizeof(code), NULL, 0, said);
	assert_string_equal(said, "yiyiiiiy");
}

static void roots_count(void **state)
{
	/* ret; two bytes of data that begin an instruction; a function that only a symbol names:
	 * mov $1,%eax; ret */
	static const uint8_t code[] = {0xc3, 0x48, 0xb8, 0xb8, 1, 0, 0, 0, 0xc3};
	const uint64_t roots[] = {AT + 3, AT + 1000, 0};
	char said[32];

	verdicts(code, sizeof(code), roots, 3, said);
	assert_int_equal(strncmp(said + 3, "yiiiiy", 6), 0);
	verdicts(code, sizeof(code), NULL, 0, said);
	assert_int_not_equal(said[3], 'y');
}

static void limits(void **state)
{
	static const uint8_t code[] = {0xc3};
	struct boundaries b;

	b = (struct boundaries){.start = AT};
	assert_int_equal(boundaries_init(&b, decoder, code, NULL, 0), -E2BIG);
	b.size = BOUNDARY_MAX_RANGE + 1;
	assert_int_equal(boundaries_init(&b, decoder, code, NULL, 0), -E2BIG);
	/* the instruction goes on past the end */
	b.size = 1;
	assert_int_equal(boundaries_init(&b, decoder, (const uint8_t *)"\xe8", NULL, 0), 0);
	assert_int_equal(boundaries_check(&b, decoder, (const uint8_t *)"\xe8", AT),
			 BOUNDARY_NO_CODE);
	boundaries_release(&b);
}

/* Any bytes: no two instructions that are said to begin may overlap. */
static void random_bytes(void **state)
{
	const char *seed = getenv("PEAKTOP_SEED");
	unsigned int s = seed ? (unsigned int)strtoul(seed, NULL, 10) : 1;
	uint8_t code[64];
	char said[sizeof(code) + 1];

	for (int round = 0; round < 20000; round++) {
		uint64_t roots[4];

		for (size_t i = 0; i < sizeof(code); i++)
			code[i] = (uint8_t)((s = s * 1103515245u + 12345u) >> 16);
		for (size_t i = 0; i < 4; i++)
			roots[i] = AT + code[i];
		verdicts(code, sizeof(code), roots, code[5] & 3, said);
		for (size_t i = 0; i < sizeof(code); i++) {
			struct insn insn;

			if (said[i] != 'y' ||
			    decode_insn(decoder, code + i, sizeof(code) - i, AT + i, &insn))
				continue;
			for (size_t j = 1; j < insn.length; j++)
				assert_int_not_equal(said[i + j], 'y');
		}
	}
}

static void ask(int socket, const uint64_t *offsets, size_t nr, uint8_t *answers)
{
	assert_int_equal(send(socket, offsets, nr * sizeof(*offsets), 0), nr * sizeof(*offsets));
	assert_int_equal(recv(socket, answers, nr, 0), nr);
}

/* The process, over this very program: all of the instructions of a function, and no byte between
 * them. */
static void serve_self(void **state)
{
	int pair[2], fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	const struct module_function *f;
	struct module *m;
	uint64_t offsets[CODE_READER_MAX_ASKED];
	uint8_t answers[CODE_READER_MAX_ASKED];
	const uint8_t *code;
	size_t nr, at = 0;
	pid_t child;

	assert_true(fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	child = fork();
	if (!child) {
		close(pair[0]);
		_exit(code_reader_serve(pair[1], fd) ? 1 : 0);
	}
	close(pair[1]);
	assert_int_equal(module_open(&m, fd), 0);
	assert_true(module_find(m, "boundaries_check", &f, 1) >= 1);
	nr = f->size < CODE_READER_MAX_ASKED ? (size_t)f->size : CODE_READER_MAX_ASKED;
	for (size_t i = 0; i < nr; i++)
		offsets[i] = f->offset + i;
	ask(pair[0], offsets, nr, answers);
	code = module_code(m, f->vaddr, (size_t)f->size);
	assert_non_null(code);
	while (at < nr) {
		struct insn insn;

		assert_int_equal(
		    decode_insn(decoder, code + at, (size_t)f->size - at, f->vaddr + at, &insn), 0);
		assert_int_equal(answers[at],
				 BOUNDARY_YES | insn.length << CODE_READER_LENGTH_SHIFT);
		for (size_t i = 1; i < insn.length && at + i < nr; i++)
			assert_int_equal(answers[at + i], BOUNDARY_INSIDE);
		at += insn.length;
	}
	/* the header of the file is no code, nor is what lies beyond its end */
	offsets[0] = 4;
	offsets[1] = UINT64_MAX;
	ask(pair[0], offsets, 2, answers);
	assert_int_equal(answers[0], BOUNDARY_NO_CODE);
	assert_int_equal(answers[1], BOUNDARY_NO_CODE);
	close(pair[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	module_free(m);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(straight),	       cmocka_unit_test(jump_over_data),
	    cmocka_unit_test(into_the_middle), cmocka_unit_test(behind_indirect_jump),
	    cmocka_unit_test(roots_count),     cmocka_unit_test(limits),
	    cmocka_unit_test(random_bytes),    cmocka_unit_test(serve_self),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
