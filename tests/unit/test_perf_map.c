// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps of code made at run time (/tmp/perf-PID.map) as modules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/module/module.h"

static int file_of(const char *text)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static struct module *open_map(int fd)
{
	struct module *m;

	assert_int_equal(module_open_perf_map(&m, fd), 0);
	assert_int_equal(module_set_name(m, "perf-7.map"), 0);
	return m;
}

static void assert_name(struct module *m, uint64_t address, const char *name)
{
	const struct module_function *f = module_function_at_offset(m, address);

	if (!name) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	assert_string_equal(module_function_name(m, f), name);
}

static void test_names(void **state)
{
	int fd = file_of("7f0000001000 40 JS:*handle /srv/app.js:3:16\n"
			 "7f0000002000 10 Interpreter\n");
	struct module *m = open_map(fd);

	assert_int_equal(module_nr_functions(m), 2);
	assert_name(m, 0x7f0000001000, "JS:*handle /srv/app.js:3:16");
	assert_name(m, 0x7f000000103f, "JS:*handle /srv/app.js:3:16");
	assert_name(m, 0x7f0000001040, NULL);
	assert_name(m, 0x7f0000002008, "Interpreter");
	assert_name(m, 0x1000, NULL);
	/* there is no code in it to look at, nor frames */
	assert_null(module_code(m, 0x7f0000001000, 8));
	assert_true(module_is_perf_map(m));
	assert_false(module_wants_debug(m));
	module_free(m);
	close(fd);
}

/* Memory is used again: what was written last is there. A line that is being written is left for
 * later. */
static void test_last_line(void **state)
{
	int fd = file_of("1000 20 old\n1000 10 new\n2000 10 half");
	struct module *m = open_map(fd);

	assert_int_equal(module_nr_functions(m), 1);
	assert_name(m, 0x1008, "new");
	assert_name(m, 0x2000, NULL);
	module_free(m);
	close(fd);
}

static void test_grows(void **state)
{
	static const char more[] = " done\n3000 10 later\n";
	int fd = file_of("1000 20 first\n2000 10 half");
	struct module *m = open_map(fd);

	assert_name(m, 0x2000, NULL);
	assert_false(module_perf_map_grew(m, 1000));
	assert_int_equal(write(fd, more, strlen(more)), (ssize_t)strlen(more));
	assert_true(module_perf_map_grew(m, 0));
	module_free(m);
	m = open_map(fd);
	assert_name(m, 0x2000, "half done");
	assert_name(m, 0x3000, "later");
	module_free(m);
	close(fd);
}

/* One more function in a large map is read, too, once there were requests enough. */
static void test_grows_by_one(void **state)
{
	enum { LINES = 40000 };
	char *text = malloc(LINES * 16 + 1);
	size_t n = 0;
	struct module *m;
	int fd;

	assert_non_null(text);
	for (int i = 0; i < LINES; i++)
		n += (size_t)snprintf(text + n, 17, "%x 8 f\n", 0x100000 + 16 * i);
	fd = file_of(text);
	m = open_map(fd);
	assert_false(module_perf_map_grew(m, 1000));
	assert_int_equal(write(fd, "3000 10 hot\n", 12), 12);
	assert_false(module_perf_map_grew(m, 1));
	assert_true(module_perf_map_grew(m, 1000));
	module_free(m);
	m = open_map(fd);
	assert_name(m, 0x3000, "hot");
	module_free(m);
	close(fd);
	free(text);
}

/* Its writer is the target: lines that say nothing sensible are passed over. */
static void test_hostile(void **state)
{
	int fd = file_of(
	    "\n \nzz 10 a\n1000\n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 10 high\n"
	    "7fffffffffff 10 over\n1000 ffffffffffffffff long\n1000fffffffffffffffffff 10 "
	    "huge\n4000 8 good\n");
	struct module *m = open_map(fd);

	assert_int_equal(module_nr_functions(m), 1);
	assert_name(m, 0x4004, "good");
	module_free(m);
	close(fd);
}

static void test_file_names(void **state)
{
	assert_true(module_is_perf_map_name("perf-1.map"));
	assert_true(module_is_perf_map_name("perf-4194304.map"));
	assert_false(module_is_perf_map_name("perf-.map"));
	assert_false(module_is_perf_map_name("perf-1x.map"));
	assert_false(module_is_perf_map_name("perf-1.map.so"));
	assert_false(module_is_perf_map_name("libperf-1.map"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),   cmocka_unit_test(test_last_line),
	    cmocka_unit_test(test_grows),   cmocka_unit_test(test_grows_by_one),
	    cmocka_unit_test(test_hostile), cmocka_unit_test(test_file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
