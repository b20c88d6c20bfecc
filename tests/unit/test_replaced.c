// SPDX-License-Identifier: GPL-2.0-or-later
/* Return addresses in a copied stack that return probes of another tool have replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/replaced.c"

enum { TRAMPOLINE = 0x7000, SP = 0x1000 };

static void restored(void **state)
{
	const struct pt_replaced replaced = {.trampoline = TRAMPOLINE,
					     .nr = 6,
					     .at = {{SP + 8, 0x11},
						    {SP + 16, 0x12}, /* left by a longjmp */
						    {SP + 32, 0x14}, /* behind the copy */
						    {SP - 8, 0x1f},  /* before it */
						    {SP + 28, 0x13}, /* between two words */
						    {SP + 24, 0x13}}};
	uint64_t words[5] = {TRAMPOLINE, TRAMPOLINE, 0x22, TRAMPOLINE, TRAMPOLINE};

	replaced_restore(&replaced, SP, words, 4);
	assert_int_equal(words[0], TRAMPOLINE);
	assert_int_equal(words[1], 0x11);
	assert_int_equal(words[2], 0x22);
	assert_int_equal(words[3], 0x13);
	assert_int_equal(words[4], TRAMPOLINE);
}

static void count_lies(void **state)
{
	struct pt_replaced replaced = {.trampoline = TRAMPOLINE, .nr = UINT32_MAX};
	uint64_t words[2] = {TRAMPOLINE, 1};

	for (uint64_t i = 0; i < PT_REPLACED; i++) {
		replaced.at[i].slot = SP + 8;
		replaced.at[i].address = 0x11;
	}
	replaced_restore(&replaced, SP, words, 2);
	assert_int_equal(words[0], TRAMPOLINE);
	assert_int_equal(words[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(restored),
	    cmocka_unit_test(count_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
