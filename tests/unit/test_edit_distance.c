// SPDX-License-Identifier: GPL-2.0-or-later
/* Edit distances, and the suggestions for system calls that are made with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/base/edit_distance.h"
#include "analysis/base/syscall_names.h"

static unsigned int distance(const char *a, const char *b, unsigned int limit)
{
	unsigned int there = edit_distance(a, strlen(a), b, strlen(b), limit);

	assert_int_equal(edit_distance(b, strlen(b), a, strlen(a), limit), there);
	return there;
}

static void test_distance(void **state)
{
	assert_int_equal(distance("", "", 5), 0);
	assert_int_equal(distance("read", "READ", 5), 0);
	assert_int_equal(distance("", "abc", 5), 3);
	assert_int_equal(distance("kitten", "sitting", 5), 3);
	assert_int_equal(distance("run", "rnu", 5), 1); /* neighbours swapped */
	assert_int_equal(distance("fsync", "fsycn", 5), 1);
	assert_int_equal(distance("ca", "abc", 5), 3); /* no edit inside of a swap */
	assert_int_equal(distance("nope", "open", 5), 2);
}

static void test_limit(void **state)
{
	assert_int_equal(distance("kitten", "sitting", 3), 3);
	assert_int_equal(distance("kitten", "sitting", 2), 3);
	assert_int_equal(distance("kitten", "sitting", 0), 1);
	assert_int_equal(distance("same", "same", 0), 0);
	assert_int_equal(distance("a", "abcdef", 2), 3);
}

static void test_long_texts(void **state)
{
	char a[3 * EDIT_MAX_TEXT], b[3 * EDIT_MAX_TEXT];

	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	b[EDIT_MAX_TEXT - 1] = 'y';
	b[EDIT_MAX_TEXT] = 'y';
	assert_int_equal(edit_distance(a, sizeof(a), b, sizeof(b), 10), 1);
}

static void test_system_calls(void **state)
{
	assert_string_equal(syscall_nearest("raed"), "read");
	assert_string_equal(syscall_nearest("fsycn"), "fsync");
	assert_string_equal(syscall_nearest("epoll_wiat"), "epoll_wait");
	assert_string_equal(syscall_nearest("nanoslep"), "nanosleep");
	/* A third of "nope" is one edit: iopl, nice and open need two. */
	assert_null(syscall_nearest("nope"));
	assert_null(syscall_nearest("no_such_system_call"));
	assert_null(syscall_nearest(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_distance),
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_long_texts),
	    cmocka_unit_test(test_system_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
