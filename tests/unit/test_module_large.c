// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A million symbols, C and C++ in equal parts, aliases among them. The limits
 * asserted are several times what an idle machine needs.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/module/module.h"
#include "tests/unit/module_elf.h"

enum { SYMBOLS = 1000000, SIZE = 16 };

static const char *const nouns[] = {"Buffer", "Widget", "Session",     "Parser",
				    "Cache",  "Page",	"Transaction", "Lock",
				    "Index",  "Row",	"Planner",     "Socket"};
static const char *const verbs[] = {"open",   "close",	  "flush",  "insert",  "remove",  "lookup",
				    "commit", "rollback", "resize", "compare", "dispatch"};
enum { NOUNS = sizeof(nouns) / sizeof(nouns[0]), VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static int fd = -1;
static uint64_t text;

static void symbol_of(size_t i, char *out, size_t size)
{
	const char *noun = nouns[i / 7 % NOUNS], *verb = verbs[i / 3 % VERBS];
	char number[16];

	snprintf(number, sizeof(number), "%zu", i);
	if (i % 2)
		snprintf(out, size,
			 "_ZN8database6engine%zu%s%s%zu%sERKNSt7__cxx1112basic_stringIcSt11char_"
			 "traitsIcESaIcEEE",
			 strlen(noun) + strlen(number), noun, number, strlen(verb), verb);
	else
		snprintf(out, size, "engine_%s_%s_%zu", noun, verb, i);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int setup(void **state)
{
	static unsigned char code[SYMBOLS * SIZE];
	struct elf e;
	char name[256];
	size_t i;

	memset(code, 0x90, sizeof(code));
	elf_init(&e);
	text = elf_next(&e);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code));
	for (i = 0; i < SYMBOLS; i++) {
		/* As in a file: in no order of address. Every tenth has an alias. */
		size_t k = (i * 7919) % SYMBOLS;

		symbol_of(k, name, sizeof(name));
		elf_symbol(&e, name, text + (k % 10 == 9 ? k - 1 : k) * SIZE, SIZE,
			   k % 3 ? STB_GLOBAL : STB_LOCAL);
	}
	elf_add_tables(&e, NULL, 0);
	elf_finish(&e);
	fd = elf_file(e.out.data, e.out.len);
	elf_release(&e);
	return fd < 0;
}

static void test_million(void **state)
{
	struct mallinfo2 before = mallinfo2(), after;
	const struct module_function *f[16];
	size_t cursor = 0, calls = 0, found = 0, memory;
	double start = seconds(), load, find, nearest, search;
	struct module *m;
	char name[256];
	int n;

	assert_int_equal(module_open(&m, fd), 0);
	assert_int_equal(module_nr_functions(m), SYMBOLS - SYMBOLS / 10);
	load = seconds() - start;
	after = mallinfo2();
	memory = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;

	start = seconds();
	symbol_of(654320, name, sizeof(name));
	assert_int_equal(module_find(m, name, f, 16), 1);
	assert_int_equal(f[0]->vaddr, text + 654320 * SIZE);
	snprintf(name, sizeof(name), "database::engine::%s654321::%s", nouns[654321 / 7 % NOUNS],
		 verbs[654321 / 3 % VERBS]);
	assert_int_equal(module_find(m, name, f, 16), 1);
	assert_int_equal(f[0]->vaddr, text + 654321 * SIZE);
	assert_int_equal(module_find(m, "no_such_function", f, 16), 0);
	find = seconds() - start;

	start = seconds();
	symbol_of(123456, name, sizeof(name));
	name[9]++; /* one letter wrong */
	n = module_nearest(m, name, f, NULL, 16);
	assert_true(n > 0);
	assert_int_equal(f[0]->vaddr, text + 123456 * SIZE);
	nearest = seconds() - start;

	start = seconds();
	while (cursor < module_nr_functions(m) && calls++ < 1000)
		found += (size_t)module_search(m, "session8765", &cursor, f, 16);
	search = seconds() - start;
	assert_true(found > 0);
	assert_true(calls < 1000);

	print_message("a million symbols: loaded in %.2f s, %zu MB; found %.3f s, nearest %.3f s, "
		      "searched %.3f s in %zu calls\n",
		      load, memory >> 20, find, nearest, search, calls);
	assert_true(memory < 200 << 20);
	module_free(m);
}

/* All names equal: what a hash table is worst at. */
static void test_equal_names(void **state)
{
	enum { NR = 300000 };
	static unsigned char code[NR];
	const struct module_function *f[4];
	double start = seconds();
	struct module *m;
	uint64_t addr;
	struct elf e;
	size_t i;
	int own;

	elf_init(&e);
	addr = elf_next(&e);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code));
	for (i = 0; i < NR; i++)
		elf_symbol(&e, i % 2 ? "usage" : "usage.cold", addr + i, 1, STB_LOCAL);
	elf_add_tables(&e, NULL, 0);
	elf_finish(&e);
	own = elf_file(e.out.data, e.out.len);
	elf_release(&e);
	assert_int_equal(module_open(&m, own), 0);
	assert_int_equal(module_nr_functions(m), NR / 2);
	assert_true(module_find(m, "usage", f, 4) > 4);
	assert_int_equal(module_find(m, "usag", f, 4), 0);
	assert_int_equal(module_nearest(m, "usag", f, NULL, 4), 1);
	module_free(m);
	close(own);
	print_message("equal names: %.2f s\n", seconds() - start);
}

/* A hundred thousand aliases of one address. */
static void test_equal_addresses(void **state)
{
	enum { NR = 100000 };
	const struct module_function *f;
	struct module *m;
	struct elf e;
	uint64_t addr;
	char name[64];
	size_t i;
	int own;

	elf_init(&e);
	addr = elf_next(&e);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "\x90\x90", 2);
	for (i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "alias%zu", i);
		elf_symbol(&e, name, addr, 1, STB_GLOBAL);
	}
	elf_add_tables(&e, NULL, 0);
	elf_finish(&e);
	own = elf_file(e.out.data, e.out.len);
	elf_release(&e);
	assert_int_equal(module_open(&m, own), 0);
	assert_int_equal(module_nr_functions(m), 1);
	f = module_function(m, 0);
	assert_non_null(module_alias(m, f, 0));
	assert_non_null(module_alias(m, f, NR - 1));
	assert_null(module_alias(m, f, NR));
	module_free(m);
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_million),
	    cmocka_unit_test(test_equal_names),
	    cmocka_unit_test(test_equal_addresses),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
