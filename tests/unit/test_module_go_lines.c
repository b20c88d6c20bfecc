// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines and inlined calls from the table of the Go runtime, in the layouts of Go 1.16, 1.18 and
 * 1.20: made byte by byte, lying, and the compiler's own. */
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

enum { TEXT = 256, MAX_TABLE = 512, TREE = 64, DATA = 400, NR = 2, NO_TREE = 1 };
enum layout { GO_116, GO_118, GO_120, LAYOUTS };

static const char names[] = "main.outer\0main.inner\0main.leaf\0main.other";
enum { OUTER = 0, INNER = 11, LEAF = 22, OTHER = 32 };
static const char files[] = "/src/a.go\0/src/b.go";
static const uint32_t units[] = {0, 10, UINT32_MAX};

/*
 * Lists of values: differences in zigzag and lengths. main.inner is inlined into main.outer from
 * byte 20 to 60, and main.leaf into that from 40 on.
 */
enum { DEPTH_LIST = 1, LINE_LIST = 4, FILE_LIST = 13, TREE_LIST = 20, ZERO_LIST = 29 };
static const uint8_t values[] = {0, /* no list */
				 /* depth 0 */ 2,
				 100,
				 0,
				 /* lines 10, 20, 30, 11 */ 22,
				 20,
				 20,
				 20,
				 20,
				 20,
				 37,
				 40,
				 0,
				 /* files 0, 1, 0 */ 2,
				 20,
				 2,
				 40,
				 1,
				 40,
				 0,
				 /* calls none, 0, 1, none */ 0,
				 20,
				 2,
				 20,
				 2,
				 20,
				 3,
				 40,
				 0,
				 /* 0 */ 2,
				 100,
				 0};

static void put32(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 4);
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

struct made {
	struct elf elf;
	enum layout layout;
	uint8_t table[MAX_TABLE], tree[TREE], data[DATA];
	size_t len;
	uint64_t text, at_table, at_tree, at_data;
	int fd;
};

static size_t put(struct made *g, const void *bytes, size_t len)
{
	size_t at = g->len;

	memcpy(g->table + at, bytes, len);
	g->len = (at + len + 7) / 8 * 8;
	return at;
}

/* The facts of a function (struct _func); returns their offset from the list. */
static size_t put_function(struct made *g, size_t list, unsigned int i, uint32_t name,
			   uint32_t unit)
{
	const unsigned int shift = g->layout == GO_116 ? 8 : 4;
	const unsigned int tail = shift + (g->layout == GO_120 ? 36 : 32);
	uint8_t f[128] = {0};
	size_t at = tail + 4, bytes;

	put64(f, (g->layout == GO_116 ? g->text : 0) + 100 * i);
	put32(f + shift, name);
	put32(f + shift + 12, DEPTH_LIST);
	put32(f + shift + 16, i ? ZERO_LIST : FILE_LIST);
	put32(f + shift + 20, LINE_LIST);
	put32(f + shift + 24, i == NO_TREE ? 0 : 3);
	put32(f + shift + 28, unit);
	if (i == NO_TREE) {
		put(g, f, at);
		return g->len - at;
	}
	f[tail + 3] = 4;
	put32(f + at + 8, TREE_LIST);
	at += 12;
	if (g->layout == GO_116)
		at = (at + 7) / 8 * 8;
	bytes = g->layout == GO_116 ? 8 : 4;
	if (bytes == 8)
		put64(f + at + 3 * bytes, g->at_tree);
	else
		put32(f + at + 3 * bytes, 16);
	return put(g, f, at + 4 * bytes) - list;
}

static void put_header(struct made *g, const uint64_t *parts)
{
	static const uint8_t magic[] = {0xfa, 0xf0, 0xf1};
	uint8_t *p = g->table;

	memcpy(p, (uint8_t[]){magic[g->layout], 0xff, 0xff, 0xff, 0, 0, 1, 8}, 8);
	put64(p + 8, NR);
	put64(p + 16, 2);
	p += 24;
	if (g->layout != GO_116) {
		put64(p, g->text);
		p += 8;
	}
	for (unsigned int i = 0; i < 5; i++)
		put64(p + 8 * i, parts[i]);
}

static void make_table(struct made *g)
{
	const unsigned int entry = g->layout == GO_116 ? 16 : 8;
	uint8_t list[3 * 16] = {0};
	uint64_t parts[5];
	size_t at;

	g->len = g->layout == GO_116 ? 64 : 72;
	parts[0] = put(g, names, sizeof(names));
	parts[1] = put(g, units, sizeof(units));
	parts[2] = put(g, files, sizeof(files));
	parts[3] = put(g, values, sizeof(values));
	parts[4] = at = put(g, list, NR * entry + entry / 2);
	for (unsigned int i = 0; i <= NR; i++) {
		uint8_t *e = g->table + at + (size_t)i * entry;
		uint64_t start = 100 * i + (g->layout == GO_116 ? g->text : 0), facts = 0;

		if (i < NR) {
			facts = g->len - at;
			put_function(g, at, i, i ? OTHER : OUTER, i ? 2 : 0);
		}
		if (entry == 16) {
			put64(e, start);
			if (i < NR)
				put64(e + 8, facts);
		} else {
			put32(e, start);
			if (i < NR)
				put32(e + 4, facts);
		}
	}
	put_header(g, parts);
	put64(g->data, g->at_table);
	put64(g->data + 8, g->at_table + parts[0]);
	put64(g->data + 32, g->at_table + parts[1]);
	if (g->layout != GO_116)
		put64(g->data + (g->layout == GO_118 ? 304 : 320), g->at_tree - 16);
}

static void make_tree(struct made *g)
{
	const bool old = g->layout != GO_120;
	const unsigned int size = old ? 20 : 16, name = old ? 12 : 4, caller = old ? 16 : 8;

	put32(g->tree + name, INNER);
	put32(g->tree + caller, 5);
	put32(g->tree + size + name, LEAF);
	put32(g->tree + size + caller, 25);
}

static void begin(struct made *g, enum layout layout)
{
	unsigned char text[TEXT];

	memset(g, 0, sizeof(*g));
	g->layout = layout;
	elf_init(&g->elf);
	memset(text, 0x90, sizeof(text));
	g->text = elf_next(&g->elf);
	elf_section(&g->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, TEXT);
	make_tree(g);
	g->at_tree = elf_next(&g->elf);
	g->at_table = g->at_tree + TREE;
	g->at_data = g->at_table + MAX_TABLE;
	make_table(g);
}

/* Without a fixed address the pointers of moduledata are in relocations only. */
static void put_relocations(struct made *g)
{
	Elf64_Rela r[DATA / 8];
	size_t nr = 0;

	for (size_t i = 0; i < DATA; i += 8) {
		uint64_t value;

		memcpy(&value, g->data + i, 8);
		if (value)
			r[nr++] = (Elf64_Rela){g->at_data + i, R_X86_64_RELATIVE, (int64_t)value};
	}
	memset(g->data, 0, DATA);
	elf_section(&g->elf, ".rela", SHT_RELA, SHF_ALLOC, r, nr * sizeof(r[0]));
}

static struct module *end(struct made *g, bool relocated)
{
	struct elf *e = &g->elf;
	uint8_t data[DATA];
	struct module *m;

	memcpy(data, g->data, DATA);
	elf_section(e, ".rodata", SHT_PROGBITS, SHF_ALLOC, g->tree, TREE);
	elf_section(e, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, g->table, MAX_TABLE);
	if (relocated)
		memset(data, 0, DATA);
	elf_section(e, ".noptrdata", SHT_PROGBITS, SHF_ALLOC, data, DATA);
	e->ph[e->nr_ph++] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R | PF_W,
					 .p_offset = g->at_data - ELF_BASE,
					 .p_vaddr = g->at_data,
					 .p_filesz = DATA,
					 .p_memsz = DATA};
	if (relocated)
		put_relocations(g);
	elf_finish(e);
	g->fd = elf_file(e->out.data, e->out.len);
	assert_int_equal(module_open(&m, g->fd), 0);
	module_set_name(m, "go");
	elf_release(e);
	return m;
}

static void close_made(struct made *g, struct module *m)
{
	module_free(m);
	close(g->fd);
}

static void assert_call(const struct module_inline *c, const char *name, const char *file,
			uint32_t line, bool inlined)
{
	assert_string_equal(c->name, name);
	assert_string_equal(c->file, file);
	assert_int_equal(c->line, line);
	assert_int_equal(c->inlined, inlined);
}

static void assert_all(struct module *m, uint64_t text)
{
	const struct module_function *f[4];
	struct module_inline c[8];
	const char *file;
	uint32_t line;

	assert_int_equal(module_nr_functions(m), NR);
	assert_string_equal(module_function(m, 1)->symbol, "main.other");
	assert_true(module_has_lines(m));
	assert_int_equal(module_line(m, text + 19, &file, &line), 0);
	assert_string_equal(file, "/src/a.go");
	assert_int_equal(line, 10);
	assert_int_equal(module_line(m, text + 59, &file, &line), 0);
	assert_string_equal(file, "/src/b.go");
	assert_int_equal(line, 30);
	assert_int_equal(module_inlines(m, text + 60, c, 8), 1);
	assert_call(c, "main.outer", "/src/a.go", 11, false);
	assert_int_equal(module_inlines(m, text + 20, c, 8), 2);
	assert_call(c, "main.inner", "/src/b.go", 20, true);
	assert_call(c + 1, "main.outer", "/src/a.go", 10, false);
	assert_int_equal(module_inlines(m, text + 40, c, 8), 3);
	assert_call(c, "main.leaf", "/src/b.go", 30, true);
	assert_call(c + 1, "main.inner", "/src/b.go", 20, true);
	assert_call(c + 2, "main.outer", "/src/a.go", 10, false);
	/* less room than levels: the last one is the function itself all the same */
	assert_int_equal(module_inlines(m, text + 40, c, 2), 2);
	assert_call(c, "main.leaf", "/src/b.go", 30, true);
	assert_string_equal(c[1].name, "main.outer");
	assert_int_equal(module_inlines(m, text + 40, c, 1), 1);
	assert_string_equal(c[0].name, "main.outer");
	/* a file that the linker dropped has no name */
	assert_int_equal(module_line(m, text + 100, &file, &line), -ENOENT);
	assert_int_equal(module_inlines(m, text + 100, c, 8), -ENOENT);
	assert_int_equal(module_line(m, text + 200, &file, &line), -ENOENT);
	assert_int_equal(module_inlined_into(m, "main.leaf", f, 4), 1);
	assert_string_equal(f[0]->symbol, "main.outer");
	assert_int_equal(module_inlined_into(m, "main.inner", f, 4), 1);
	assert_int_equal(module_inlined_into(m, "main.lea", f, 4), 0);
	assert_int_equal(module_inlined_into(m, "leaf", f, 4), 0);
	assert_int_equal(module_inlined_into(m, "", f, 4), 0);
}

static void test_layouts(void **state)
{
	(void)state;
	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		struct made g;
		struct row row;
		struct module *m;

		begin(&g, layout);
		m = end(&g, false);
		assert_all(m, g.text);
		assert_int_equal(module_row(m, g.text + 50, &row), 0);
		assert_int_equal(row.cfa.value, 8);
		close_made(&g, m);
	}
}

static void test_pointers_in_relocations(void **state)
{
	(void)state;
	for (enum layout layout = GO_118; layout < LAYOUTS; layout++) {
		struct made g;
		struct module *m;

		begin(&g, layout);
		m = end(&g, true);
		assert_all(m, g.text);
		close_made(&g, m);
	}
}

/* Without moduledata the lines are known, and no inlined call is. */
static void test_no_tree(void **state)
{
	(void)state;
	for (unsigned int lie = 0; lie < 5; lie++) {
		struct module_inline c[8];
		struct made g;
		struct module *m;

		begin(&g, GO_120);
		if (lie < 3)
			g.data[(unsigned int[]){0, 8, 32}[lie]] ^= 1;
		else if (lie == 3)
			put64(g.data + 320, UINT64_MAX - 30); /* outside of the file */
		else
			put64(g.data + 320, g.text); /* no tree is there */
		m = end(&g, false);
		assert_int_equal(module_inlines(m, g.text + 40, c, 8), 1);
		assert_call(c, "main.outer", "/src/b.go", 30, false);
		close_made(&g, m);
	}
}

/* The caller of each call is that call again, or behind the end of the function. */
static void test_endless_tree(void **state)
{
	(void)state;
	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		const size_t caller = layout == GO_120 ? 8 : 16;
		struct module_inline c[MODULE_MAX_INLINES + 1];
		struct made g;
		struct module *m;

		begin(&g, layout);
		put32(g.tree + caller, 20);
		m = end(&g, false);
		assert_int_equal(module_inlines(m, g.text + 20, c, MODULE_MAX_INLINES + 1),
				 MODULE_MAX_INLINES);
		assert_string_equal(c[MODULE_MAX_INLINES - 1].name, "main.outer");
		close_made(&g, m);
		begin(&g, layout);
		put32(g.tree + caller, 100);
		m = end(&g, false);
		assert_int_equal(module_inlines(m, g.text + 20, c, 8), 1);
		close_made(&g, m);
	}
}

/* Every byte of the table, of the tree and of moduledata changed: names end, and so do questions.
 */
static void test_every_byte(void **state)
{
	static const uint8_t lies[] = {0, 1, 0x7f, 0x80, 0xff};

	(void)state;
	for (size_t i = 0; i < (MAX_TABLE + TREE + DATA) * sizeof(lies) * LAYOUTS; i++) {
		const size_t at = i / LAYOUTS / sizeof(lies);
		const struct module_function *f[4];
		struct module_inline c[8];
		const char *file;
		uint32_t line;
		struct made g;
		struct module *m;

		begin(&g, (enum layout)(i % LAYOUTS));
		*(at < MAX_TABLE	  ? g.table + at
		  : at < MAX_TABLE + TREE ? g.tree + at - MAX_TABLE
					  : g.data + at - MAX_TABLE - TREE) =
		    lies[i / LAYOUTS % sizeof(lies)];
		m = end(&g, i / LAYOUTS % 2);
		for (uint64_t pc = g.text; pc < g.text + TEXT; pc += 7) {
			int n = module_inlines(m, pc, c, 8);

			assert_true(n <= 8);
			for (int k = 0; k < n; k++)
				assert_true(strlen(c[k].name) < MODULE_MAX_NAME);
			if (!module_line(m, pc, &file, &line))
				assert_true(strlen(file) < MODULE_MAX_NAME);
		}
		module_inlined_into(m, "main.leaf", f, 4);
		close_made(&g, m);
	}
}

static struct module *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct module *m;

	if (fd < 0)
		return NULL;
	assert_int_equal(module_open(&m, fd), 0);
	close(fd);
	return m;
}

static bool same_chain(const struct module_inline *a, int nr_a, const struct module_inline *b,
		       int nr_b)
{
	bool same = nr_a == nr_b;

	for (int i = 0; i < nr_a && same; i++)
		same = !strcmp(a[i].name, b[i].name) && a[i].file && b[i].file &&
		       !strcmp(a[i].file, b[i].file) && a[i].line == b[i].line &&
		       a[i].inlined == b[i].inlined;
	return same;
}

/* The Go compiler's own table says of nearly all code what its debug information says. */
static void test_real(void **state)
{
	struct module *full = open_file("build/targets/gopark"), *m;
	struct module_inline a[MODULE_MAX_INLINES], b[MODULE_MAX_INLINES];
	const struct module_function *f;
	unsigned int asked = 0, inlined = 0, same = 0;

	(void)state;
	if (!full || system("strip -o build/unit/gopark-stripped build/targets/gopark"))
		skip();
	m = open_file("build/unit/gopark-stripped");
	assert_non_null(m);
	for (size_t i = 0; (f = module_function(m, i)); i++) {
		for (uint64_t pc = f->vaddr; pc < f->vaddr + f->size; pc += 13) {
			int nr = module_inlines(full, pc, a, MODULE_MAX_INLINES);

			if (nr < 0 || strstr(f->symbol, "[...]"))
				continue; /* names of generic functions are shortened */
			asked++;
			inlined += nr > 1;
			same += same_chain(a, nr, b, module_inlines(m, pc, b, MODULE_MAX_INLINES));
		}
	}
	assert_true(asked > 10000 && inlined > 500);
	assert_true(same > asked / 1000 * 995);
	module_free(m);
	module_free(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_layouts),    cmocka_unit_test(test_pointers_in_relocations),
	    cmocka_unit_test(test_no_tree),    cmocka_unit_test(test_endless_tree),
	    cmocka_unit_test(test_every_byte), cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
