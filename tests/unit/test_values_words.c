// SPDX-License-Identifier: GPL-2.0-or-later
/* Value correlation in words, and what is known of arguments. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/model_feed.h"

#include "analysis/latency/syscall_args.h"
#include "analysis/latency/values.h"
#include "analysis/latency/values_text.h"

static void test_round_numbers(void **state)
{
	static const struct {
		int64_t low, high, at;
		bool is_signed;
		enum value_format format;
	} c[] = {
	    {0, 1, 1, false, FORMAT_COUNT},
	    {1, 2, 2, false, FORMAT_COUNT},
	    {0, 100, 10, false, FORMAT_NUMBER},
	    {999, 1001, 1000, false, FORMAT_NUMBER},
	    {1234, 1236, 1235, false, FORMAT_NUMBER},
	    {1235, 1236, 1236, false, FORMAT_NUMBER},
	    {1000000, 2000000, 1400000, false, FORMAT_TIME},
	    {900, 5000, 2048, false, FORMAT_SIZE},
	    {4095, 4096, 4096, false, FORMAT_SIZE},
	    {4096, 5000, 5000, false, FORMAT_SIZE},
	    {-11, 5, 0, true, FORMAT_RESULT},
	    {-11, 0, 0, true, FORMAT_RESULT},
	    {-11, -4, -4, true, FORMAT_NUMBER},
	    {0, INT64_MAX, 3000000000, false, FORMAT_NUMBER},
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		assert_int_equal(round_between(c[i].low, c[i].high, c[i].is_signed, c[i].format),
				 c[i].at);
	/* Always between the two, whatever they are. */
	struct rng rng = {50};

	for (int i = 0; i < 20000; i++) {
		uint64_t a = rng_next(&rng) >> rng_next(&rng) % 64,
			 b = rng_next(&rng) >> rng_next(&rng) % 64;
		uint64_t low = a < b ? a : b, high = a < b ? b : a;
		enum value_format format = (enum value_format)(rng_next(&rng) % 6);
		uint64_t t;

		if (low == high)
			continue;
		t = (uint64_t)round_between((int64_t)low, (int64_t)high, false, format);
		assert_true(t > low && t <= high);
	}
}

static void test_words(void **state)
{
	static const struct {
		struct rule rule;
		enum value_format format;
		double in, out;
		const char *text;
	} c[] = {
	    {{RULE_IN, 1, {0}}, FORMAT_RESULT, 1, 0, "0 in 100% of these, 0% of the others"},
	    {{RULE_IN, 1, {-512}},
	     FORMAT_RESULT,
	     0.5,
	     0.1,
	     "-512 (restarted after a signal) in 50% of these, 10% of the others"},
	    {{RULE_IN, 1, {-4000}},
	     FORMAT_RESULT,
	     0.5,
	     0.1,
	     "-4000 in 50% of these, 10% of the others"},
	    {{RULE_IN, 3, {1, 2, 3}},
	     FORMAT_NUMBER,
	     0.9999,
	     0.0001,
	     "1 or 2 or 3 in over 99% of these, under 1% of the others"},
	    {{RULE_NOT_IN, 2, {1, 2}},
	     FORMAT_NUMBER,
	     0.994,
	     0.006,
	     "neither 1 nor 2 in 99% of these, 1% of the others"},
	    {{RULE_BELOW, 1, {3}},
	     FORMAT_COUNT,
	     1,
	     0,
	     "under 3 in 100% of these, 0% of the others"},
	    {{RULE_BELOW, 1, {1200000}},
	     FORMAT_TIME,
	     1,
	     0,
	     "under 1.2 ms in 100% of these, 0% of the others"},
	    {{RULE_AT_LEAST, 1, {850}},
	     FORMAT_TIME,
	     1,
	     0,
	     "over 850 ns in 100% of these, 0% of the others"},
	    {{RULE_AT_LEAST, 1, {0}},
	     FORMAT_RESULT,
	     1,
	     0,
	     "no error in 100% of these, 0% of the others"},
	    {{RULE_AT_LEAST, 1, {0x123456789a}},
	     FORMAT_NUMBER,
	     1,
	     0,
	     "at least 0x123456789a in 100% of these, 0% of the others"},
	};
	char text[VALUES_TEXT], small[8];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		rule_text(text, sizeof(text), &c[i].rule,
			  &(struct value_traits){.format = c[i].format}, c[i].in, c[i].out);
		assert_string_equal(text, c[i].text);
	}
	rule_text(small, sizeof(small), &c[3].rule, &(struct value_traits){.format = c[3].format},
		  1, 0);
	assert_int_equal(strlen(small), 7);
}

static void test_longest_words_fit(void **state)
{
	struct rule rule = {RULE_NOT_IN, 3, {INT64_MIN, INT64_MIN + 1, INT64_MIN + 2}};
	struct rule errors = {RULE_NOT_IN, 3, {-512, -513, -514}};
	char text[VALUES_TEXT];

	rule_text(text, sizeof(text), &rule, &(struct value_traits){.format = FORMAT_NUMBER}, 0.999,
		  0.001);
	assert_non_null(strstr(text, "in over 99% of these, under 1% of the others"));
	rule_text(text, sizeof(text), &errors, &(struct value_traits){.format = FORMAT_RESULT},
		  0.999, 0.001);
	assert_non_null(strstr(text, "in over 99% of these, under 1% of the others"));
}

static void test_syscall_table(void **state)
{
	/* From the manual pages. */
	assert_string_equal(syscall_arg("read", 0).name, "fd");
	assert_int_equal(syscall_arg("read", 0).kind, ARG_FD);
	assert_int_equal(syscall_arg("read", 1).kind, ARG_POINTER);
	assert_string_equal(syscall_arg("read", 2).name, "count");
	assert_int_equal(syscall_arg("read", 3).kind, ARG_NONE);
	assert_string_equal(syscall_arg("futex", 0).name, "uaddr");
	assert_string_equal(syscall_arg("futex", 1).name, "op");
	assert_string_equal(syscall_arg("futex", 2).name, "val");
	assert_string_equal(syscall_arg("epoll_wait", 3).name, "timeout");
	assert_string_equal(syscall_arg("pwrite64", 3).name, "offset");
	assert_int_equal(syscall_arg("getpid", 0).kind, ARG_NONE);
	assert_int_equal(syscall_arg("no_such_call", 0).kind, ARG_UNKNOWN);
	assert_int_equal(syscall_arg("", 0).kind, ARG_UNKNOWN);
	assert_int_equal(syscall_arg("read", 6).kind, ARG_NONE);
	/* bsearch() finds what is sorted: the ends and some between. */
	static const char *const names[] = {
	    "accept",	      "accept4",	"bind",	  "clone3",  "dup3",	   "epoll_pwait2",
	    "fcntl",	      "fdatasync",	"fsync",  "futex",   "getdents64", "ioctl",
	    "io_uring_enter", "kill",		"lseek",  "madvise", "mmap",	   "munmap",
	    "newfstatat",     "openat",		"poll",	  "ppoll",   "pread64",	   "recvfrom",
	    "recvmsg",	      "rt_sigprocmask", "select", "semop",   "sendfile",   "sendmsg",
	    "sendto",	      "socket",		"splice", "statx",   "unlinkat",   "wait4",
	    "waitid",	      "write",		"writev"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (syscall_arg(names[i], 0).kind == ARG_UNKNOWN)
			print_error("%s\n", names[i]);
		assert_int_not_equal(syscall_arg(names[i], 0).kind, ARG_UNKNOWN);
	}
}

static void expect_words(enum arg_kind kind, int64_t value, const char *words)
{
	char text[64] = "untouched";

	assert_int_equal(arg_words(kind, value, text, sizeof(text)), words != NULL);
	assert_string_equal(text, words ? words : "untouched");
}

static void test_layer_table(void **state)
{
	char text[8];

	assert_string_equal(layer_arg(LAYER_BLOCK, 1).name, "bytes");
	assert_int_equal(layer_arg(LAYER_BLOCK, 6).kind, ARG_NONE);
	assert_int_equal(layer_arg(LAYER_LOCK, 0).kind, ARG_ADDRESS);
	assert_int_equal(layer_arg(LAYER_FUNCTION, 0).kind, ARG_UNKNOWN);
	assert_int_equal(layer_arg(LAYER_RUNQUEUE, 99).kind, ARG_NONE);
	assert_int_equal(layer_member(LAYER_SYSCALL, SAMPLE_MEMBERS).kind, ARG_NAME);
	assert_int_equal(layer_member(LAYER_SYSCALL, SAMPLE_MEMBERS - 1).kind, ARG_NONE);
	assert_int_equal(layer_member(LAYER_SYSCALL, 99).kind, ARG_NONE);
	assert_int_equal(layer_member(LAYER_FUNCTION, 0).kind, ARG_NONE);
	expect_words(ARG_BLOCK_OPERATION, 2, "flush");
	expect_words(ARG_BLOCK_OPERATION, 200, NULL);
	expect_words(ARG_INT, 1, NULL);
	/* O_SYNC has the bit of O_DSYNC */
	expect_words(ARG_FILE_FLAGS, O_SYNC | O_NONBLOCK, "O_NONBLOCK|O_SYNC");
	expect_words(ARG_FILE_FLAGS, O_DSYNC | O_DIRECT, "O_DSYNC|O_DIRECT");
	expect_words(ARG_FILE_FLAGS, 0, "none");
	expect_words(ARG_BLOCK_FLAGS, 0x43, "REQ_SYNC|REQ_META|0x40");
	expect_words(ARG_BLOCK_FLAGS, 0x40, "0x40");
	/* what does not fit is cut */
	assert_true(arg_words(ARG_BLOCK_FLAGS, 0x43, text, sizeof(text)));
	assert_string_equal(text, "REQ_SYN");
}

/* The descriptor of the file that a call works on: not of a directory from which a path leads. */
static void test_file_of_call(void **state)
{
	static const struct {
		const char *call;
		int argument;
	} files[] = {{"read", 0},   {"mmap", 4},      {"sendfile", 0}, {"openat", SYSCALL_RESULT},
		     {"close", -1}, {"unlinkat", -1}, {"futex", -1},   {"no_such_call", -1}};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_int_equal(syscall_file(files[i].call), files[i].argument);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_numbers),     cmocka_unit_test(test_words),
	    cmocka_unit_test(test_longest_words_fit), cmocka_unit_test(test_syscall_table),
	    cmocka_unit_test(test_layer_table),	      cmocka_unit_test(test_file_of_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
