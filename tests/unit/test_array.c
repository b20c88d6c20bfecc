// SPDX-License-Identifier: GPL-2.0-or-later
/* Growing arrays and the search in ordered ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/base/array.h"

static void test_grows_up_to_its_maximum(void **state)
{
	uint16_t *a = NULL;
	uint32_t nr, cap = 0;

	for (nr = 0; nr < 1000; nr++) {
		assert_int_equal(array_grow(a, nr, cap, 1000), 0);
		assert_true(cap > nr && cap <= 1000);
		a[nr] = (uint16_t)nr;
	}
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(a[i], i);
	assert_int_equal(cap, 1000);
	assert_int_equal(array_grow(a, nr, cap, 1000), -E2BIG);
	assert_int_equal(cap, 1000);
	assert_int_equal(a[999], 999);
	free(a);
}

static void test_no_memory_leaves_it_alone(void **state)
{
	uint64_t first[4] = {1, 2, 3, 4};
	void *array = first;
	size_t cap = 4;

	/* the size in bytes does not fit into a size_t */
	assert_int_equal(array_reserve(&array, SIZE_MAX / 4, &cap, sizeof(first[0]), SIZE_MAX),
			 -ENOMEM);
	assert_ptr_equal(array, first);
	assert_int_equal(cap, 4);
}

static void test_lower_bound(void **state)
{
	unsigned int a[64];

	for (size_t n = 0; n <= 64; n++) {
		for (size_t i = 0; i < n; i++)
			a[i] = (unsigned int)(2 * (i / 2)); /* pairs of equal ones */
		for (unsigned int want = 0; want <= 66; want++) {
			size_t expect = 0;

			while (expect < n && a[expect] < want)
				expect++;
			assert_int_equal(lower_bound(i, n, a[i] < want), expect);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_grows_up_to_its_maximum),
	    cmocka_unit_test(test_no_memory_leaves_it_alone),
	    cmocka_unit_test(test_lower_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
