// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples narrowed to inlined functions, lines and loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/descent/inlined.h"

#define CALL(f, l, in)                                                                             \
	{                                                                                          \
		.function = f, .file = "/src/a.c", .line = l, .inlined = in                        \
	}

static const struct rec_inline plain[] = {CALL("serve", 10, 0)};
static const struct rec_inline in_fold[] = {CALL("fold", 21, 1), CALL("serve", 12, 0)};
static const struct rec_inline in_mix[] = {CALL("mix", 31, 1), CALL("fold", 22, 1),
					   CALL("serve", 12, 0)};
static const struct rec_inline in_other[] = {CALL("other", 41, 1), CALL("serve", 14, 0)};
static const struct rec_inline no_lines[] = {{.function = "serve", .file = "", .line = 0}};

/* A place is described by the chain of its module. */
static const struct rec_inlines chains[] = {
    [1] = {.nr_calls = 1, .calls = plain},
    [2] = {.nr_calls = 2, .calls = in_fold},
    [3] = {.nr_calls = 3, .calls = in_mix, .loop_call = 0, .loop_first = 30, .loop_last = 33},
    [4] = {.nr_calls = 2, .calls = in_other, .loop_call = 1, .loop_first = 13, .loop_last = 15},
    [5] = {.nr_calls = 1, .calls = no_lines},
    [6] =
	{.nr_calls = 1, .calls = plain, .loop_call = 5, .loop_first = 1, .loop_last = 2}, /* lies */
};

static const struct rec_inlines *lookup(const void *ctx, struct rec_code place)
{
	return place.module < sizeof(chains) / sizeof(chains[0]) && chains[place.module].nr_calls
		   ? &chains[place.module]
		   : NULL;
}

static struct inlined narrow(const struct descent_pc *pcs, unsigned int nr)
{
	struct descent_path p = {.nr_pcs = nr};
	struct inlined out;

	for (unsigned int i = 0; i < nr; i++)
		p.pcs[i] = pcs[i];
	inlined_narrow(&p, lookup, NULL, &out);
	return out;
}

static void nothing_known(void **state)
{
	const struct descent_pc unknown[] = {{{77, 1}, 5}};
	struct inlined in = narrow(NULL, 0);

	assert_int_equal(in.nr, 0);
	in = narrow(unknown, 1);
	assert_int_equal(in.nr, 0);
	assert_int_equal(in.ns, 5);
}

static void own_code(void **state)
{
	const struct descent_pc pcs[] = {{{1, 100}, 6}, {{2, 200}, 4}};
	struct inlined in = narrow(pcs, 2);

	/* less than half of it is in fold() */
	assert_int_equal(in.nr, 1);
	assert_string_equal(in.level[0].function, "serve");
	assert_int_equal(in.level[0].line, 10);
	assert_int_equal(in.level[0].ns, 10);
	assert_int_equal(in.level[0].place.offset, 100);
	assert_int_equal(in.level[0].loop_first, 0);
}

static void followed(void **state)
{
	const struct descent_pc pcs[] = {{{3, 1}, 5}, {{2, 2}, 3}, {{1, 3}, 1}, {{4, 4}, 1}};
	struct inlined in = narrow(pcs, 4);

	assert_int_equal(in.nr, 3);
	assert_int_equal(in.ns, 10);
	assert_string_equal(in.level[0].function, "serve");
	assert_int_equal(in.level[0].line, 12);
	assert_int_equal(in.level[0].ns, 10);
	assert_string_equal(in.level[1].function, "fold");
	assert_int_equal(in.level[1].line, 22);
	assert_int_equal(in.level[1].ns, 8);
	assert_string_equal(in.level[2].function, "mix");
	assert_int_equal(in.level[2].ns, 5);
	/* the loop is mix()'s, not that of its callers */
	assert_int_equal(in.level[2].loop_first, 30);
	assert_int_equal(in.level[2].loop_last, 33);
	assert_int_equal(in.level[1].loop_first, 0);
	assert_int_equal(in.level[0].loop_first, 0);
}

/* mix() has most of fold(), and fold() most of all, but mix() has less than half of all. */
static void not_followed_too_far(void **state)
{
	const struct descent_pc pcs[] = {{{3, 1}, 4}, {{2, 2}, 3}, {{1, 3}, 3}};
	struct inlined in = narrow(pcs, 3);

	assert_int_equal(in.nr, 2);
	assert_string_equal(in.level[1].function, "fold");
	assert_int_equal(in.level[1].ns, 7);
}

/* The loop is of the caller: what is inlined into it is followed all the same. */
static void loop_of_the_caller(void **state)
{
	const struct descent_pc pcs[] = {{{4, 1}, 5}, {{1, 2}, 4}};
	struct inlined in = narrow(pcs, 2);

	assert_int_equal(in.nr, 2);
	assert_int_equal(in.level[0].loop_first, 13);
	assert_int_equal(in.level[1].loop_first, 0);
	assert_string_equal(in.level[1].function, "other");
}

static void without_lines(void **state)
{
	const struct descent_pc pcs[] = {{{5, 1}, 5}, {{6, 2}, 1}};
	struct inlined in = narrow(pcs, 2);

	assert_int_equal(in.nr, 1);
	/* the only line that there is */
	assert_int_equal(in.level[0].line, 10);
	assert_int_equal(in.level[0].loop_first, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_known),	  cmocka_unit_test(own_code),
	    cmocka_unit_test(followed),		  cmocka_unit_test(not_followed_too_far),
	    cmocka_unit_test(loop_of_the_caller), cmocka_unit_test(without_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
