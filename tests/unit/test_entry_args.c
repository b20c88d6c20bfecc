// SPDX-License-Identifier: GPL-2.0-or-later
/* Which argument registers a function reads, by its code. */
#include "tests/unit/placement_fixture.h"

#include "analysis/code/entry_args.h"

enum { DI = 1 << 0, SI = 1 << 1, DX = 1 << 2, CX = 1 << 3 };

static uint8_t args_of(const uint8_t *begin, const uint8_t *end)
{
	struct fixture fx;
	uint8_t args;

	fixture_init(&fx, begin, end);
	fixture_start(&fx);
	args = code_entry_args(fx.placer, BASE);
	fixture_end(&fx);
	return args;
}

#define ARGS(name) args_of(name##_begin, name##_end)

CODE(two, "lea (%rdi,%rsi), %rax\n xor %ecx, %ecx\n add %rcx, %rax\n ret");
CODE(none, "mov $1, %eax\n ret");
/* the second one is read on one of two ways only, the third one is set on both */
CODE(branch, "mov $3, %edx\n test %rdi, %rdi\n je 1f\n mov %rsi, %rax\n add %rdx, %rax\n ret\n"
	     "1: mov %rdx, %rax\n ret");
/* what is read after a call, or on the way back of a loop after it, is not the caller's */
CODE(after_call, "push %rbx\n mov %rdi, %rbx\n 1: mov %rbx, %rdi\n call 2f\n mov %rcx, %rax\n"
		 " dec %rbx\n jne 1b\n pop %rbx\n ret\n .balign 16\n 2: ret");
CODE(loop, "1: add (%rdi), %rax\n add $8, %rdi\n dec %edx\n jne 1b\n ret");
/* all that it got goes to another function */
CODE(wrapper, "sub $8, %rsp\n call 1f\n add $8, %rsp\n ret\n .balign 16\n 1: ret");
CODE(tail, "mov %rsi, %rdi\n jmp *%rax");

static void test_read_before_written(void **state)
{
	assert_int_equal(ARGS(two), DI | SI);
	assert_int_equal(ARGS(none), 0);
	assert_int_equal(ARGS(branch), DI | SI);
	assert_int_equal(ARGS(loop), DI | DX);
}

static void test_calls(void **state)
{
	assert_int_equal(ARGS(after_call), DI);
	assert_int_equal(ARGS(wrapper), ENTRY_ARGS_UNKNOWN);
	assert_int_equal(ARGS(tail), SI | DX | CX | 1 << 4 | 1 << 5);
}

/* where the code cannot be followed, all may be read */
CODE(odd, "mov %rdi, %rax\n .byte 0x06\n ret");
static void test_not_decoded(void **state)
{
	assert_int_equal(ARGS(odd), 0x3f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_read_before_written),
	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_not_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
