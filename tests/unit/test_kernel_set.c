// SPDX-License-Identifier: GPL-2.0-or-later
/* -f 'kernel:ext4_*': which functions of the kernel a pattern stands for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tui/cli/kernel_set.h"

static char path[] = "/tmp/test_kernel_set.XXXXXX";
static struct options options;
static char error[512];

static int setup(void **state)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return -1;
	fputs("ffffffff81000000 T ext4_open\n"
	      "ffffffff81000010 t ext4_open.cold\n"
	      "ffffffff81000020 t __pfx_ext4_open\n"
	      "ffffffff81000030 d ext4_open_table\n"
	      "0000000000000000 t ext4_read\t[ext4]\n"
	      "0000000000000000 t ext4_read\t[other]\n"
	      "damaged\n",
	      f);
	for (int i = 0; i < 70; i++)
		fprintf(f, "ffffffff81001000 t many_%d\n", i);
	return fclose(f);
}

static int teardown(void **state)
{
	return unlink(path);
}

static int add(const char *text)
{
	error[0] = '\0';
	return kernel_set_add(&options, text, path, error, sizeof(error));
}

static void test_is(void **state)
{
	assert_true(kernel_set_is("kernel:ext4_*"));
	assert_true(kernel_set_is("kernel:ext4_???d"));
	assert_false(kernel_set_is("kernel:ext4_open"));
	assert_false(kernel_set_is("operator*"));
}

/* Each function once, and no data, no parts of functions. A function that was given counts, too. */
static void test_functions(void **state)
{
	options.nr_ops = 0;
	assert_int_equal(add("kernel:ext4_*"), 0);
	assert_int_equal(options.nr_ops, 2);
	assert_string_equal(options.ops[0].text, "kernel:ext4_open");
	assert_string_equal(options.ops[1].name, "ext4_read");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(options.ops[i].kind, OP_KERNEL);
		assert_true(options.ops[i].of_set);
	}
	assert_int_equal(add("kernel:ext4_o*"), -EINVAL);
	assert_int_equal(options.nr_ops, 2);
}

static void test_too_many(void **state)
{
	options.nr_ops = 0;
	assert_int_equal(add("kernel:many_*"), -EINVAL);
	assert_non_null(strstr(error, "70 functions"));
	assert_non_null(strstr(error, "at most 32"));
	options.nr_ops = 0;
	assert_int_equal(add("kernel:many_1?"), 0);
	assert_int_equal(options.nr_ops, 10);
}

static void test_none(void **state)
{
	options.nr_ops = 0;
	assert_int_equal(add("kernel:nothing_*"), -EINVAL);
	assert_non_null(strstr(error, "no function of the kernel fits"));
	assert_int_equal(
	    kernel_set_add(&options, "kernel:*", "/nowhere/kallsyms", error, sizeof(error)),
	    -EINVAL);
	assert_non_null(strstr(error, "/nowhere/kallsyms"));
	assert_int_equal(options.nr_ops, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_is),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_too_many),
	    cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
