// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of the privileged processes that are pure: paths of debug files, sets of capabilities. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/base/capability_set.h"
#include "analysis/base/debug_path.h"
#include "analysis/base/process_start.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define ALL ((UINT64_C(1) << 41) - 1)

static void build_ids(void **state)
{
	static const char *const bad[] = {"",	   "a",	    "ab",    "ABCD",  "abcg",
					  "../..", "ab/cd", "ab.cd", "ab\ncd"};
	char out[256], longest[130];

	assert_int_equal(debug_path_of_build_id("abcdef", out, sizeof(out)), 23);
	assert_string_equal(out, ".build-id/ab/cdef.debug");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(debug_path_of_build_id(bad[i], out, sizeof(out)), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	longest[128] = '\0';
	assert_int_equal(debug_path_of_build_id(longest, out, sizeof(out)), 128 + 17);
	longest[128] = 'a';
	longest[129] = '\0';
	assert_int_equal(debug_path_of_build_id(longest, out, sizeof(out)), -EINVAL);
	assert_int_equal(debug_path_of_build_id("abcdef", out, 23), -EINVAL);
	assert_int_equal(debug_path_of_build_id("abcdef", out, 24), 23);
}

static void links(void **state)
{
	static const char *const bad_links[] = {"",    ".",	      "..",  ".hidden",
						"a/b", "/etc/shadow", "../x"};
	static const char *const bad_modules[] = {"",	 "prog", "[vdso]", "/a/../b/prog",
						  "/..", "/a/.."};
	char out[64];

	assert_int_equal(debug_path_of_link("/usr/bin/prog", "prog.debug", out, sizeof(out)), 18);
	assert_string_equal(out, "usr/bin/prog.debug");
	assert_int_equal(debug_path_of_link("/prog", "prog.debug", out, sizeof(out)), 10);
	assert_string_equal(out, "prog.debug");
	/* two dots that are no component of their own are part of a name */
	assert_int_equal(debug_path_of_link("/a..b/..c/prog", "x", out, sizeof(out)), 10);
	for (size_t i = 0; i < sizeof(bad_links) / sizeof(bad_links[0]); i++)
		assert_int_equal(
		    debug_path_of_link("/usr/bin/prog", bad_links[i], out, sizeof(out)), -EINVAL);
	for (size_t i = 0; i < sizeof(bad_modules) / sizeof(bad_modules[0]); i++)
		assert_int_equal(debug_path_of_link(bad_modules[i], "x", out, sizeof(out)),
				 -EINVAL);
}

/* Whatever the target's file says, the path is relative and has no component "..". */
static void never_leads_out(void **state)
{
	static const char alphabet[] = "ab0./\n \xff";
	const char *seed = getenv("PEAKTOP_SEED");
	unsigned int s = seed ? (unsigned int)strtoul(seed, NULL, 10) : 1;
	char module[24], link[24], out[40], framed[48];

	for (int round = 0; round < 200000; round++) {
		for (size_t i = 0; i < sizeof(module) - 1; i++) {
			s = s * 1103515245u + 12345u;
			module[i] = alphabet[(s >> 16) % (sizeof(alphabet) - 1)];
			link[i] = alphabet[(s >> 24) % (sizeof(alphabet) - 1)];
		}
		module[(s >> 8) % sizeof(module)] = '\0';
		link[(s >> 12) % sizeof(link)] = '\0';
		module[sizeof(module) - 1] = link[sizeof(link) - 1] = '\0';
		if (debug_path_of_build_id(link, out, sizeof(out)) > 0)
			assert_null(strstr(out, ".."));
		if (debug_path_of_link(module, link, out, sizeof(out)) < 0)
			continue;
		snprintf(framed, sizeof(framed), "/%s/", out);
		assert_null(strstr(framed, "/../"));
		assert_true(strlen(out) > 0);
	}
}

static void collector_keeps(void **state)
{
	const struct capability_needs plain = {0}, command = {.command = true},
				      admin = {.needs_admin = true};
	const uint64_t usual = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_CHECKPOINT_RESTORE) |
			       BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYSLOG) |
			       BIT(CAP_LEASE);

	assert_int_equal(capability_set_collector(ALL, &plain), usual);
	assert_int_equal(capability_set_collector(ALL, &command), usual | BIT(CAP_KILL));
	assert_int_equal(capability_set_collector(ALL, &admin), usual | BIT(CAP_SYS_ADMIN));
	/* what stands in for others is kept only where they are missing */
	assert_int_equal(capability_set_collector(ALL & ~BIT(CAP_BPF), &plain),
			 (usual & ~BIT(CAP_BPF)) | BIT(CAP_SYS_ADMIN));
	assert_int_equal(capability_set_collector(ALL & ~BIT(CAP_DAC_READ_SEARCH), &plain),
			 (usual & ~BIT(CAP_DAC_READ_SEARCH)) | BIT(CAP_DAC_OVERRIDE));
	for (unsigned int cap = 0; cap < 64; cap++)
		assert_int_equal(capability_set_collector(BIT(cap), &command) & ~BIT(cap), 0);
}

static void start_times(void **state)
{
	assert_int_equal(process_start_ticks(0, 100, 0), 0);
	assert_int_equal(process_start_ticks(9999999, 100, 0), 0);
	assert_int_equal(process_start_ticks(10000000, 100, 0), 1);
	assert_int_equal(process_start_ticks(1234567890123, 100, 0), 123456);
	assert_int_equal(process_start_ticks(1234567890123, 1000, 0), 1234567);
	/* a time namespace moves it either way */
	assert_int_equal(process_start_ticks(20000000, 100, -10000000), 1);
	assert_int_equal(process_start_ticks(20000000, 100, 10000000), 3);
	assert_int_equal(process_start_ticks(1, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(build_ids),       cmocka_unit_test(links),
	    cmocka_unit_test(never_leads_out), cmocka_unit_test(collector_keeps),
	    cmocka_unit_test(start_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
