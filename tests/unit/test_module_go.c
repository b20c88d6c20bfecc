// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of functions in Go programs, which stripping keeps: made byte by byte, and lying. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/module/module.h"
#include "analysis/module/module_row.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 256, HEADER = 72, NAMES = 56, NR = 3, LIST = 8 * NR + 4, FACTS = 44 };
enum { DEPTHS = 16, AT_NR = 8, AT_TEXT = 24, AT_NAMES = 32, AT_DEPTHS = 56, AT_LIST = 64 };
enum { FLAGS = 41, TABLE = HEADER + NAMES + LIST + NR * FACTS + DEPTHS, SECOND = 512 };

static const uint32_t entries[NR + 1] = {0, 32, 96, 250};
/* depth 0 for 4 bytes, 8 for 6, 0x98 for 20, 0 for 2; at 12: depth 0 for 200 */
static const uint8_t depths[DEPTHS] = {2, 4, 16, 6, 0xa0, 2, 20, 0xaf, 2, 2, 0, 0, 2, 0xc8, 1, 0};
static const char *const names[NR] = {"main.main", "main.(*Store).Put.func1", "runtime.park_m"};

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

/* The table of three functions; `text` is their base. */
static void make_table(uint8_t *p, uint64_t text)
{
	static const uint8_t head[] = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	uint8_t *list = p + HEADER + NAMES;
	size_t name = 0;

	memset(p, 0, TABLE);
	memcpy(p, head, sizeof(head));
	put64(p + AT_NR, NR);
	put64(p + AT_TEXT, text);
	put64(p + AT_NAMES, HEADER);
	put64(p + AT_DEPTHS, TABLE - DEPTHS);
	put64(p + AT_LIST, HEADER + NAMES);
	memcpy(p + TABLE - DEPTHS, depths, DEPTHS);
	for (uint32_t i = 0; i < NR; i++) {
		put32(list + 8 * i, entries[i]);
		put32(list + 8 * i + 4, LIST + i * FACTS);
		put32(list + LIST + i * FACTS, entries[i]);
		put32(list + LIST + i * FACTS + 4, (uint32_t)name);
		put32(list + LIST + i * FACTS + 16, i ? 12 : 0);
		memcpy(p + HEADER + name, names[i], strlen(names[i]) + 1);
		name += strlen(names[i]) + 1;
	}
	put32(list + 8 * NR, entries[NR]);
}

struct made {
	struct elf elf;
	uint8_t table[TABLE];
	uint64_t text;
	int fd;
};

static void begin(struct made *g, size_t text_size)
{
	unsigned char text[TEXT];

	elf_init(&g->elf);
	memset(text, 0x90, sizeof(text));
	g->text = elf_next(&g->elf);
	elf_section(&g->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, text_size);
	elf_section(&g->elf, ".note.go.buildid", SHT_NOTE, SHF_ALLOC, "", 1);
	make_table(g->table, g->text);
}

static struct module *end(struct made *g, const char *section)
{
	struct module *m;

	if (section)
		elf_section(&g->elf, section, SHT_PROGBITS, SHF_ALLOC, g->table, TABLE);
	elf_finish(&g->elf);
	g->fd = elf_file(g->elf.out.data, g->elf.out.len);
	assert_int_equal(module_open(&m, g->fd), 0);
	module_set_name(m, "go");
	elf_release(&g->elf);
	return m;
}

static void close_made(struct made *g, struct module *m)
{
	module_free(m);
	close(g->fd);
}

static void three_functions(struct module *m, uint64_t text)
{
	assert_int_equal(module_nr_functions(m), NR);
	for (size_t i = 0; i < NR; i++) {
		const struct module_function *f = module_function(m, i), *found[2];

		assert_int_equal(f->vaddr, text + entries[i]);
		assert_int_equal(f->size, entries[i + 1] - entries[i]);
		assert_string_equal(f->symbol, names[i]);
		assert_string_equal(module_function_name(m, f), names[i]);
		assert_int_equal(f->source, FUNCTION_GOPCLNTAB);
		assert_ptr_equal(module_function_at(m, f->vaddr + f->size - 1), f);
		assert_int_equal(module_find(m, names[i], found, 2), 1);
		assert_ptr_equal(found[0], f);
	}
	assert_null(module_function_at(m, text + entries[NR]));
	assert_true(module_identity(m)->is_go);
	assert_false(module_truncated(m));
	assert_string_equal(function_source_name(FUNCTION_GOPCLNTAB), "gopclntab");
}

static void test_names(void **state)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab",
					       ".data.rel.ro"};

	for (size_t i = 0; i < 3; i++) {
		struct made g;
		struct module *m;

		begin(&g, TEXT);
		if (i == 1)
			g.table[0] = 0xf0;
		m = end(&g, sections[i]);
		three_functions(m, g.text);
		close_made(&g, m);
	}
}

/* The C linker puts the table between other data, which may look like a table. */
static void test_inside_other_data(void **state)
{
	uint8_t data[SECOND + TABLE] = {0};
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	memcpy(data + 16, g.table, HEADER);
	put64(data + 16 + AT_LIST, UINT64_MAX);
	memcpy(data + SECOND, g.table, TABLE);
	elf_section(&g.elf, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC, data, sizeof(data));
	m = end(&g, NULL);
	three_functions(m, g.text);
	close_made(&g, m);
}

/* A file without a fixed address has its base in the relocations. */
static void test_base_in_relocations(void **state)
{
	Elf64_Rela rela[2];
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	put64(g.table + AT_TEXT, 0);
	elf_section(&g.elf, ".data.rel.ro.gopclntab", SHT_PROGBITS, SHF_ALLOC, g.table, TABLE);
	rela[0] = (Elf64_Rela){1, R_X86_64_RELATIVE, 1};
	rela[1] = (Elf64_Rela){g.elf.sh[3].sh_addr + AT_TEXT, R_X86_64_RELATIVE, (int64_t)g.text};
	elf_section(&g.elf, ".rela", SHT_RELA, SHF_ALLOC, rela, sizeof(rela));
	m = end(&g, NULL);
	three_functions(m, g.text);
	close_made(&g, m);
}

/* Without a base the code must be all of .text, else names would be wrong. */
static void test_base_unknown(void **state)
{
	struct made g;
	struct module *m;

	begin(&g, 252);
	put64(g.table + AT_TEXT, 0);
	m = end(&g, ".gopclntab");
	three_functions(m, g.text);
	close_made(&g, m);
	begin(&g, TEXT);
	put64(g.table + AT_TEXT, 0);
	put32(g.table + HEADER + NAMES + 8 * NR, TEXT - 65);
	m = end(&g, ".gopclntab");
	assert_int_equal(module_nr_functions(m), 0);
	close_made(&g, m);
	begin(&g, TEXT);
	put64(g.table + AT_TEXT, 0);
	put32(g.table + HEADER + NAMES + 8 * NR, TEXT + 1);
	m = end(&g, ".gopclntab");
	assert_int_equal(module_nr_functions(m), 0);
	close_made(&g, m);
}

static void test_symbol_table_is_enough(void **state)
{
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	elf_symbol(&g.elf, "main.other", g.text, 16, STB_GLOBAL);
	elf_add_tables(&g.elf, NULL, 0);
	m = end(&g, ".gopclntab");
	assert_int_equal(module_nr_functions(m), 1);
	assert_int_equal(module_function(m, 0)->source, FUNCTION_SYMTAB);
	close_made(&g, m);
}

static void test_unknown_layout(void **state)
{
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	g.table[0] = 0xfb; /* Go 1.2 to 1.15 */
	m = end(&g, ".gopclntab");
	assert_int_equal(module_nr_functions(m), 0);
	assert_true(module_identity(m)->is_go);
	close_made(&g, m);
}

static void test_lies(void **state)
{
	static const struct {
		unsigned int at, size;
		uint64_t value;
		unsigned int functions;
	} lies[] = {
	    {AT_NR, 8, 0, 0},
	    {AT_NR, 8, NR + 40, 0}, /* the list would end behind the table */
	    {AT_NR, 8, UINT64_MAX, 0},
	    {AT_NR, 8, UINT64_MAX / 8 + 1, 0},
	    {AT_TEXT, 8, 16, 0}, /* no code is there */
	    {AT_TEXT, 8, UINT64_MAX - 100, 0},
	    {AT_NAMES, 8, TABLE, 0},
	    {AT_NAMES, 8, UINT64_MAX, 0},
	    {AT_DEPTHS, 8, TABLE, 0},
	    {AT_LIST, 8, TABLE, 0},
	    {AT_LIST, 8, TABLE - 8, 0},
	    {AT_LIST, 8, TABLE - DEPTHS, 0},
	    {AT_LIST, 8, UINT64_MAX - 7, 0},
	    {HEADER + NAMES, 4, UINT32_MAX, NR - 1},		/* entry outside */
	    {HEADER + NAMES + 4, 4, UINT32_MAX, NR - 1},	/* facts outside */
	    {HEADER + NAMES + 4, 4, TABLE, NR - 1},		/* facts outside */
	    {HEADER + NAMES + LIST + 4, 4, UINT32_MAX, NR - 1}, /* name outside */
	    {HEADER + NAMES + LIST + 4, 4, TABLE - HEADER, NR - 1},
	    {HEADER + NAMES + 8, 4, 0, NR - 1}, /* two functions at one address */
	    {HEADER, 1, 0, NR - 1},		/* no name */
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct made g;
		struct module *m;

		begin(&g, TEXT);
		memcpy(g.table + lies[i].at, &lies[i].value, lies[i].size);
		m = end(&g, ".gopclntab");
		assert_int_equal(module_nr_functions(m), lies[i].functions);
		close_made(&g, m);
	}
}

static void assert_depth(struct module *m, uint64_t pc, int64_t depth)
{
	struct row row;

	assert_int_equal(module_row(m, pc, &row), 0);
	assert_int_equal(row.cfa.kind, RULE_REGISTER);
	assert_int_equal(row.cfa.reg, ROW_RSP);
	assert_int_equal(row.cfa.value, 8 + depth);
	assert_int_equal(row.regs[ROW_RIP].kind, RULE_SAVED);
	assert_int_equal(row.regs[ROW_RIP].value, -8);
	assert_int_equal(row.regs[ROW_RBP].kind, depth ? RULE_SAVED : RULE_NONE);
}

/* The table tells how deep the stack is at each instruction. */
static void test_rows(void **state)
{
	struct row row;
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	m = end(&g, ".gopclntab");
	assert_depth(m, g.text, 0);
	assert_depth(m, g.text + 3, 0);
	assert_depth(m, g.text + 4, 8);
	assert_depth(m, g.text + 9, 8);
	assert_depth(m, g.text + 10, 0x98);
	assert_depth(m, g.text + 29, 0x98);
	assert_depth(m, g.text + 30, 0);
	assert_depth(m, g.text + 32, 0);
	assert_depth(m, g.text + 249, 0);
	assert_int_equal(module_row(m, g.text - 1, &row), -ENOENT);
	assert_int_equal(module_row(m, g.text + 250, &row), -ENOENT);
	close_made(&g, m);
}

/* Also in a file with a symbol table, which has the names but no call frame information. */
static void test_rows_beside_symbols(void **state)
{
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	elf_symbol(&g.elf, "main.other", g.text, 16, STB_GLOBAL);
	elf_add_tables(&g.elf, NULL, 0);
	m = end(&g, ".gopclntab");
	assert_depth(m, g.text + 10, 0x98);
	close_made(&g, m);
}

/* Functions at which the stack begins have no caller; those that change stacks tell nothing. */
static void test_edges_of_stacks(void **state)
{
	uint32_t facts = HEADER + NAMES + LIST;
	struct row row;
	struct made g;
	struct module *m;

	begin(&g, TEXT);
	memcpy(g.table + HEADER, "runtime.m", 10);
	g.table[facts + FLAGS] = 2;
	memcpy(g.table + HEADER + strlen(names[0]) + 1, "runtime.mcall", 14);
	m = end(&g, ".gopclntab");
	assert_int_equal(module_row(m, g.text + 10, &row), -ENOENT);
	assert_int_equal(module_row(m, g.text + 40, &row), 0);
	assert_int_equal(row.regs[ROW_RIP].kind, RULE_UNDEFINED);
	close_made(&g, m);
	begin(&g, TEXT);
	g.table[0] = 0xf0; /* Go 1.18 has the flags elsewhere */
	g.table[facts + FLAGS] = 2;
	m = end(&g, ".gopclntab");
	assert_depth(m, g.text + 10, 0x98);
	close_made(&g, m);
	begin(&g, TEXT);
	put32(g.table + facts + 16, UINT32_MAX);
	m = end(&g, ".gopclntab");
	assert_int_equal(module_row(m, g.text, &row), -ENOENT);
	close_made(&g, m);
}

/* Every byte of the table changed: what is left is within the code and has a name that ends. */
static void test_every_byte(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct row row;

	for (size_t i = 0; i < TABLE * sizeof(values); i++) {
		struct made g;
		struct module *m;
		const struct module_function *f;

		begin(&g, TEXT);
		g.table[i / sizeof(values)] = values[i % sizeof(values)];
		m = end(&g, i % 2 ? ".gopclntab" : ".data.rel.ro");
		assert_true(module_nr_functions(m) <= NR);
		for (size_t k = 0; (f = module_function(m, k)); k++) {
			assert_true(f->vaddr >= g.text && f->size <= g.text + TEXT - f->vaddr);
			assert_true(f->size && strlen(f->symbol) < TABLE);
			module_row(m, f->vaddr, &row);
			module_row(m, f->vaddr + f->size - 1, &row);
		}
		close_made(&g, m);
	}
}

static void test_every_length(void **state)
{
	for (size_t len = 0; len < TABLE; len++) {
		struct made g;
		struct module *m;

		begin(&g, TEXT);
		elf_section(&g.elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, g.table, len);
		m = end(&g, NULL);
		assert_true(module_nr_functions(m) <= NR);
		close_made(&g, m);
	}
}

/* The Go compiler's own table: each stripped function is where the symbol table says it is. */
static void test_real(void **state)
{
	static const char path[] = "build/targets/gotarget";
	const struct module_function *f[2], *same;
	struct module *full, *m;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || system("strip -o build/unit/gotarget-stripped build/targets/gotarget"))
		skip();
	assert_int_equal(module_open(&full, fd), 0);
	close(fd);
	fd = open("build/unit/gotarget-stripped", O_RDONLY | O_CLOEXEC);
	assert_int_equal(module_open(&m, fd), 0);
	close(fd);
	assert_false(module_identity(m)->has_symtab);
	assert_true(module_nr_functions(m) > 500);
	for (size_t i = 0; i < module_nr_functions(m); i++) {
		const struct module_function *g = module_function(m, i);

		same = module_function_at(full, g->vaddr);
		assert_non_null(same);
		assert_int_equal(same->vaddr, g->vaddr);
	}
	assert_int_equal(module_find(m, "main.Work", f, 2), 1);
	assert_int_equal(module_find(full, "main.Work", &f[1], 1), 1);
	assert_int_equal(f[0]->vaddr, f[1]->vaddr);
	module_free(m);
	module_free(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_inside_other_data),
	    cmocka_unit_test(test_base_in_relocations),
	    cmocka_unit_test(test_base_unknown),
	    cmocka_unit_test(test_symbol_table_is_enough),
	    cmocka_unit_test(test_unknown_layout),
	    cmocka_unit_test(test_lies),
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_rows_beside_symbols),
	    cmocka_unit_test(test_edges_of_stacks),
	    cmocka_unit_test(test_every_byte),
	    cmocka_unit_test(test_every_length),
	    cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
