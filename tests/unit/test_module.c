// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules made byte by byte: what is read from them is known exactly. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/module/module.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 4096 };

static int fd_open = -1;

static struct module *open_elf(struct elf *e)
{
	struct module *m;

	elf_finish(e);
	fd_open = elf_file(e->out.data, e->out.len);
	assert_true(fd_open >= 0);
	assert_int_equal(module_open(&m, fd_open), 0);
	assert_int_equal(module_set_name(m, "test.so"), 0);
	elf_release(e);
	return m;
}

static void close_elf(struct module *m)
{
	module_free(m);
	close(fd_open);
}

/* Code of one byte instructions; returns its address. */
static uint64_t add_text(struct elf *e)
{
	unsigned char text[TEXT];
	uint64_t addr = elf_next(e);

	memset(text, 0x90, sizeof(text));
	elf_section(e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
	return addr;
}

static const struct module_function *find_one(struct module *m, const char *name)
{
	const struct module_function *f[2];

	assert_int_equal(module_find(m, name, f, 2), 1);
	return f[0];
}

static void none_found(struct module *m, const char *name)
{
	const struct module_function *f[2];

	assert_int_equal(module_find(m, name, f, 2), 0);
}

/* ---- identity ---- */

static int open_bytes(const void *data, size_t len)
{
	struct module *m = NULL;
	int fd = elf_file(data, len), err = module_open(&m, fd);

	assert_true(err ? m == NULL : m != NULL);
	module_free(m);
	close(fd);
	return err;
}

static void test_not_elf(void **state)
{
	struct elf e;
	char *copy;
	size_t i;
	struct module *m;

	assert_int_equal(open_bytes("", 0), -ENOEXEC);
	assert_int_equal(open_bytes("#!/bin/sh\n", 10), -ENOEXEC);
	assert_int_equal(open_bytes("\177ELF", 4), -ENOEXEC);
	assert_int_equal(module_open(&m, -1), -EBADF);
	assert_null(m);
	elf_init(&e);
	add_text(&e);
	elf_finish(&e);
	assert_int_equal(open_bytes(e.out.data, e.out.len), 0);
	copy = malloc(e.out.len);
	memcpy(copy, e.out.data, e.out.len);
	copy[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bytes(copy, e.out.len), -EXDEV);
	assert_int_equal(open_bytes(copy, 52), -EXDEV); /* no longer than its header */
	copy[EI_CLASS] = ELFCLASS64;
	copy[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(open_bytes(copy, e.out.len), -ENOTSUP);
	copy[EI_DATA] = ELFDATA2LSB;
	copy[offsetof(Elf64_Ehdr, e_machine)] = (char)EM_AARCH64;
	assert_int_equal(open_bytes(copy, e.out.len), -ENOTSUP);
	copy[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
	copy[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
	assert_int_equal(open_bytes(copy, e.out.len), -ENOEXEC);
	copy[offsetof(Elf64_Ehdr, e_type)] = ET_CORE;
	assert_int_equal(open_bytes(copy, e.out.len), -ENOEXEC);
	copy[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
	assert_int_equal(open_bytes(copy, e.out.len), 0);
	copy[offsetof(Elf64_Ehdr, e_phnum)] = 0;
	assert_int_equal(open_bytes(copy, e.out.len), -ENOEXEC);
	for (i = 0; i < sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr); i++)
		assert_int_equal(open_bytes(e.out.data, i), -ENOEXEC);
	free(copy);
	elf_release(&e);
}

static void test_identity(void **state)
{
	static const char note[] = "\4\0\0\0\5\0\0\0\3\0\0\0GNU\0\x12\x34\xab\xcd\xef\0\0\0";
	static const char link[] = "some.debug\0\0\x78\x56\x34\x12";
	const struct module_identity *id;
	struct module *m;
	struct elf e;

	elf_init(&e);
	add_text(&e);
	elf_section(&e, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note, 24);
	elf_section(&e, ".gnu_debuglink", SHT_PROGBITS, 0, link, 16);
	m = open_elf(&e);
	id = module_identity(m);
	assert_string_equal(id->build_id, "1234abcdef");
	assert_string_equal(id->debuglink, "some.debug");
	assert_int_equal(id->debuglink_crc, 0x12345678);
	assert_int_equal(id->type, MODULE_DYN);
	assert_false(id->has_symtab);
	assert_false(id->has_dwarf);
	assert_false(id->has_debugdata);
	assert_true(module_wants_debug(m));
	assert_false(module_truncated(m));
	assert_int_equal(module_nr_functions(m), 0);
	assert_null(module_function(m, 0));
	close_elf(m);

	elf_init(&e);
	e.eh.e_type = ET_EXEC;
	elf_symbol(&e, "foo", add_text(&e), 1, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	id = module_identity(m);
	assert_string_equal(id->build_id, "");
	assert_string_equal(id->debuglink, "");
	assert_int_equal(id->type, MODULE_EXEC);
	assert_true(id->has_symtab);
	assert_false(module_wants_debug(m)); /* nothing says which file it would be */
	close_elf(m);
}

/* A debuglink is looked for below fixed directories: a path in it is no base name. */
static void test_debuglink_paths(void **state)
{
	static const char *const links[] = {
	    "../../etc/shadow", "/etc/passwd", "a/b", ".", "..", ""};
	struct module *m;
	struct elf e;
	size_t i;

	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char data[64] = "";

		snprintf(data, sizeof(data), "%s", links[i]);
		elf_init(&e);
		add_text(&e);
		elf_section(&e, ".gnu_debuglink", SHT_PROGBITS, 0, data, sizeof(data));
		m = open_elf(&e);
		assert_string_equal(module_identity(m)->debuglink, "");
		close_elf(m);
	}
}

/* ---- functions ---- */

static void test_aliases_fold(void **state)
{
	const struct module_function *f;
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "__read", t + 64, 32, STB_GLOBAL);
	elf_symbol(&e, "read", t + 64, 32, STB_WEAK);
	elf_symbol(&e, "__libc_read", t + 64, 32, STB_LOCAL);
	elf_symbol(&e, "first", t + 16, 8, STB_LOCAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_nr_functions(m), 2);
	f = module_function(m, 0);
	assert_string_equal(f->symbol, "first");
	assert_int_equal(f->vaddr, t + 16);
	assert_int_equal(f->offset, t + 16 - ELF_BASE);
	assert_int_equal(f->size, 8);
	assert_int_equal(f->source, FUNCTION_SYMTAB);
	assert_false(f->global);
	f = module_function(m, 1);
	assert_string_equal(f->symbol, "read");
	assert_true(f->global);
	assert_true(f->weak);
	assert_true(f->sized);
	assert_false(f->exported);
	assert_int_equal(f - module_function(m, 0), 1);
	assert_null(module_function(m, 2));
	assert_ptr_equal(find_one(m, "read"), f);
	assert_ptr_equal(find_one(m, "__read"), f);
	assert_ptr_equal(find_one(m, "__libc_read"), f);
	none_found(m, "rea");
	none_found(m, "reads");
	none_found(m, "");
	assert_string_equal(module_alias(m, f, 0), "read");
	assert_non_null(module_alias(m, f, 1));
	assert_non_null(module_alias(m, f, 2));
	assert_null(module_alias(m, f, 3));
	close_elf(m);
}

static void test_not_functions(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol_full(&e, ELF_STATIC, "object", t, 8, STB_GLOBAL << 4 | STT_OBJECT, 1, 0);
	elf_symbol_full(&e, ELF_STATIC, "undefined", t, 8, STB_GLOBAL << 4 | STT_FUNC, SHN_UNDEF,
			0);
	elf_symbol_full(&e, ELF_STATIC, "absolute", t, 8, STB_GLOBAL << 4 | STT_FUNC, SHN_ABS, 0);
	elf_symbol_full(&e, ELF_STATIC, "label", t + 4, 0, STB_LOCAL << 4 | STT_NOTYPE, 1, 0);
	elf_symbol(&e, "before", t - 1, 8, STB_GLOBAL);
	elf_symbol(&e, "after", t + TEXT, 8, STB_GLOBAL);
	elf_symbol(&e, "far", UINT64_MAX, 8, STB_GLOBAL);
	elf_symbol(&e, "", t + 8, 8, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_nr_functions(m), 0);
	none_found(m, "object");
	none_found(m, "undefined");
	none_found(m, "label");
	none_found(m, "far");
	close_elf(m);
}

static void test_sizes(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "unsized", t, 0, STB_GLOBAL);
	elf_symbol(&e, "next", t + 100, 10, STB_GLOBAL);
	elf_symbol(&e, "absurd", t + 200, UINT64_MAX, STB_GLOBAL);
	elf_symbol(&e, "last", t + 300, 0, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(find_one(m, "unsized")->size, 100);
	assert_false(find_one(m, "unsized")->sized);
	assert_int_equal(find_one(m, "next")->size, 10);
	assert_int_equal(find_one(m, "absurd")->size, TEXT - 200);
	assert_int_equal(find_one(m, "last")->size, TEXT - 300);
	/* The innermost one. */
	assert_ptr_equal(module_function_at(m, t + 300), find_one(m, "last"));
	assert_ptr_equal(module_function_at(m, t + 299), find_one(m, "absurd"));
	assert_ptr_equal(module_function_at(m, t), find_one(m, "unsized"));
	assert_ptr_equal(module_function_at(m, t + 109), find_one(m, "next"));
	assert_null(module_function_at(m, t + 110));
	assert_null(module_function_at(m, t - 1));
	assert_null(module_function_at(m, UINT64_MAX));
	assert_ptr_equal(module_function_at_offset(m, t + 105 - ELF_BASE), find_one(m, "next"));
	assert_null(module_function_at_offset(m, 0));
	close_elf(m);
}

static void test_entry_inside(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "outer", t, 100, STB_GLOBAL);
	elf_symbol(&e, "inner", t + 50, 10, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_ptr_equal(module_function_at(m, t + 55), find_one(m, "inner"));
	assert_ptr_equal(module_function_at(m, t + 60), find_one(m, "outer"));
	assert_ptr_equal(module_function_at(m, t + 99), find_one(m, "outer"));
	assert_null(module_function_at(m, t + 100));
	close_elf(m);
}

/* The body of a coroutine is found by the name of the coroutine, whichever compiler made it. */
static void test_coroutines(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "_Z6handlei", t, 10, STB_GLOBAL);
	elf_symbol(&e, "_Z6handlePZ6handleiE16_Z6handlei.Frame.actor", t + 10, 10, STB_LOCAL);
	elf_symbol(&e, "_Z6handlePZ6handleiE16_Z6handlei.Frame.destroy", t + 20, 10, STB_LOCAL);
	elf_symbol(&e, "_ZN1a5othervE", t + 30, 10, STB_GLOBAL);
	elf_symbol(&e, "_Z4readi", t + 40, 10, STB_GLOBAL);
	elf_symbol(&e, "_Z4readi.resume", t + 50, 10, STB_LOCAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(find_one(m, "handle.actor")->vaddr, t + 10);
	assert_int_equal(find_one(m, "handle.resume")->vaddr, t + 10);
	assert_int_equal(find_one(m, "handle.destroy")->vaddr, t + 20);
	assert_int_equal(find_one(m, "handle(int)")->vaddr, t);
	assert_int_equal(find_one(m, "read(int)")->vaddr, t + 40);
	assert_int_equal(find_one(m, "read.actor")->vaddr, t + 50);
	assert_string_equal(module_function_name(m, find_one(m, "handle.actor")), "handle.actor");
	assert_string_equal(module_function_name(m, find_one(m, "read.actor")), "read.resume");
	/* which is meant is not known: both are told */
	assert_true(module_find(m, "handle", NULL, 0) > 1);
	none_found(m, "other.actor");
	close_elf(m);
}

static void test_clones_and_parts(void **state)
{
	const struct module_function *f[4];
	uint64_t t, start, end;
	struct module *m;
	struct elf e;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "foo.isra.0", t, 10, STB_LOCAL);
	elf_symbol(&e, "foo.constprop.0", t + 10, 10, STB_LOCAL);
	elf_symbol(&e, "foo.isra.0.cold", t + 1000, 5, STB_LOCAL);
	elf_symbol(&e, "bar", t + 20, 10, STB_GLOBAL);
	elf_symbol(&e, "bar.part.0", t + 30, 10, STB_LOCAL);
	elf_symbol(&e, "bar.cold", t + 1010, 6, STB_LOCAL);
	elf_symbol(&e, "orphan.cold", t + 1020, 7, STB_LOCAL);
	elf_symbol(&e, "_Z3bazi.isra.0", t + 40, 10, STB_LOCAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_nr_functions(m), 5);
	/* No plain foo: its clones. */
	assert_int_equal(module_find(m, "foo", f, 4), 2);
	assert_string_equal(f[0]->symbol, "foo.isra.0");
	assert_string_equal(f[1]->symbol, "foo.constprop.0");
	assert_int_equal(module_find(m, "foo", NULL, 0), 2);
	assert_string_equal(find_one(m, "foo.isra.0")->symbol, "foo.isra.0");
	/* A plain bar hides them. */
	assert_string_equal(find_one(m, "bar")->symbol, "bar");
	assert_string_equal(find_one(m, "bar.part.0")->symbol, "bar.part.0");
	assert_string_equal(find_one(m, "baz")->symbol, "_Z3bazi.isra.0");
	assert_string_equal(find_one(m, "baz(int)")->symbol, "_Z3bazi.isra.0");
	none_found(m, "bar.cold");
	none_found(m, "orphan");
	none_found(m, "foo.isra");

	assert_int_equal(module_cold_part(m, find_one(m, "foo.isra.0"), 0, &start, &end), 0);
	assert_int_equal(start, t + 1000);
	assert_int_equal(end, t + 1005);
	assert_int_equal(module_cold_part(m, find_one(m, "foo.isra.0"), 1, &start, &end), -ENOENT);
	assert_int_equal(module_cold_part(m, find_one(m, "bar"), 0, &start, &end), 0);
	assert_int_equal(start, t + 1010);
	assert_int_equal(module_cold_part(m, find_one(m, "bar.part.0"), 0, &start, &end), -ENOENT);
	assert_ptr_equal(module_function_at(m, t + 1012), find_one(m, "bar"));
	assert_ptr_equal(module_function_at(m, t + 1004), find_one(m, "foo.isra.0"));
	assert_null(module_function_at(m, t + 1005));
	assert_null(module_function_at(m, t + 1021));
	close_elf(m);
}

/* Static functions of the same name in two files, each with a cold part. */
static void test_parts_by_file(void **state)
{
	const struct module_function *f[2];
	uint64_t t, start, end;
	struct module *m;
	struct elf e;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol_full(&e, ELF_STATIC, "a.c", 0, 0, STT_FILE, SHN_ABS, 0);
	elf_symbol(&e, "usage.cold", t + 1000, 5, STB_LOCAL);
	elf_symbol(&e, "usage", t, 10, STB_LOCAL);
	elf_symbol_full(&e, ELF_STATIC, "b.c", 0, 0, STT_FILE, SHN_ABS, 0);
	elf_symbol(&e, "usage.cold", t + 900, 5, STB_LOCAL);
	elf_symbol(&e, "usage", t + 10, 10, STB_LOCAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_find(m, "usage", f, 2), 2);
	assert_int_equal(module_cold_part(m, f[0], 0, &start, &end), 0);
	assert_int_equal(start, t + 1000);
	assert_int_equal(module_cold_part(m, f[1], 0, &start, &end), 0);
	assert_int_equal(start, t + 900);
	close_elf(m);
}

static void test_versions(void **state)
{
	static const char *const versions[] = {"V_1", "V_2"};
	const struct module_function *f[4];
	struct module *m;
	struct elf e;
	uint64_t t;
	int dynamic;

	/* As in .dynsym, where a table has the versions, and as in .symtab. */
	for (dynamic = 0; dynamic < 2; dynamic++) {
		unsigned char info = STB_GLOBAL << 4 | STT_FUNC;

		elf_init(&e);
		t = add_text(&e);
		if (dynamic) {
			elf_symbol_full(&e, ELF_DYNAMIC, "copy", t, 8, info, 1, 0x8002);
			elf_symbol_full(&e, ELF_DYNAMIC, "copy", t + 8, 8, info, 1, 3);
			elf_symbol_full(&e, ELF_DYNAMIC, "old", t + 16, 8, info, 1, 0x8002);
			elf_symbol_full(&e, ELF_DYNAMIC, "base", t + 24, 8, info, 1, 1);
			elf_symbol_full(&e, ELF_DYNAMIC, "lost", t + 32, 8, info, 1, 77);
		} else {
			elf_symbol(&e, "copy@V_1", t, 8, STB_GLOBAL);
			elf_symbol(&e, "copy@@V_2", t + 8, 8, STB_GLOBAL);
			elf_symbol(&e, "old@V_1", t + 16, 8, STB_GLOBAL);
			elf_symbol(&e, "base", t + 24, 8, STB_GLOBAL);
			elf_symbol(&e, "@", t + 40, 8, STB_GLOBAL);
			elf_symbol(&e, "x@", t + 48, 8, STB_GLOBAL);
		}
		elf_add_tables(&e, versions, 2);
		m = open_elf(&e);
		assert_int_equal(find_one(m, "copy")->vaddr, t + 8);
		assert_int_equal(find_one(m, "copy@@V_2")->vaddr, t + 8);
		assert_int_equal(find_one(m, "copy@V_2")->vaddr, t + 8);
		assert_int_equal(find_one(m, "copy@V_1")->vaddr, t);
		none_found(m, "copy@@V_1");
		none_found(m, "copy@V_3");
		assert_int_equal(find_one(m, "old")->vaddr, t + 16);
		assert_int_equal(find_one(m, "old@V_1")->vaddr, t + 16);
		assert_int_equal(find_one(m, "base")->vaddr, t + 24);
		assert_string_equal(find_one(m, "copy")->symbol, "copy");
		assert_string_equal(module_function_name(m, find_one(m, "copy")), "copy");
		assert_string_equal(module_function_name(m, find_one(m, "copy@V_1")), "copy@V_1");
		assert_true(find_one(m, "old")->old_version);
		assert_int_equal(find_one(m, "copy")->source,
				 dynamic ? FUNCTION_DYNSYM : FUNCTION_SYMTAB);
		assert_int_equal(find_one(m, "copy")->exported, dynamic);
		if (dynamic) {
			assert_int_equal(find_one(m, "lost")->vaddr, t + 32);
		} else {
			assert_int_equal(find_one(m, "@")->vaddr, t + 40);
			assert_int_equal(find_one(m, "x@")->vaddr, t + 48);
		}
		assert_int_equal(module_find(m, "@V_1", f, 4), 0);
		close_elf(m);
	}
}

static void test_demangled(void **state)
{
	const struct module_function *f[4];
	struct module *m;
	struct elf e;
	uint64_t t;
	size_t i;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "_ZN2ns3fooEi", t, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN2ns3fooEd", t + 8, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN2ns3barIiEEvT_", t + 16, 8, STB_WEAK);
	elf_symbol(&e, "_ZN1CD0Ev", t + 24, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN1CD1Ev", t + 32, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN1CD2Ev", t + 32, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZlsRSoRK1C", t + 40, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN4main4work17h0123456789abcdefE", t + 48, 8, STB_LOCAL);
	elf_symbol(&e, "_Zfalse", t + 56, 8, STB_LOCAL);
	elf_symbol(&e, "foo", t + 64, 8, STB_GLOBAL);
	elf_symbol(&e, "_Z3fooc", t + 72, 8, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_find(m, "ns::foo", f, 4), 2);
	assert_int_equal(find_one(m, "ns::foo(int)")->vaddr, t);
	assert_int_equal(find_one(m, "ns::foo( double )")->vaddr, t + 8);
	none_found(m, "ns::foo(char)");
	assert_int_equal(find_one(m, "ns::bar<int>")->vaddr, t + 16);
	assert_int_equal(find_one(m, "ns::bar<int>(int)")->vaddr, t + 16);
	assert_int_equal(find_one(m, "void ns::bar<int>(int)")->vaddr, t + 16);
	none_found(m, "ns::bar"); /* template arguments belong to the name */
	/* The deleting destructor only calls the other. */
	assert_int_equal(find_one(m, "C::~C()")->vaddr, t + 32);
	assert_int_equal(find_one(m, "_ZN1CD0Ev")->vaddr, t + 24);
	assert_int_equal(find_one(m, "operator<<")->vaddr, t + 40);
	assert_int_equal(find_one(m, "main::work")->vaddr, t + 48);
	assert_int_equal(find_one(m, "_Zfalse")->vaddr, t + 56);
	/* What is a linkage name is taken as one. */
	assert_int_equal(find_one(m, "foo")->vaddr, t + 64);
	assert_int_equal(find_one(m, "foo(char)")->vaddr, t + 72);
	for (i = 0; i < 2; i++) /* the second time from memory */
		assert_string_equal(module_function_name(m, module_function(m, 0)), "ns::foo(int)");
	assert_string_equal(module_function_name(m, find_one(m, "_Zfalse")), "_Zfalse");
	assert_string_equal(module_function_name(m, find_one(m, "ns::bar<int>")),
			    "ns::bar<int>(int)");
	close_elf(m);
}

static void test_search(void **state)
{
	const struct module_function *f[8];
	size_t cursor = 0;
	struct module *m;
	struct elf e;
	uint64_t t;
	int n;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "processCommand", t, 8, STB_GLOBAL);
	elf_symbol(&e, "processMulti", t + 8, 8, STB_GLOBAL);
	elf_symbol(&e, "other", t + 16, 8, STB_GLOBAL);
	elf_symbol(&e, "_ZN7Process3runEj", t + 24, 8, STB_GLOBAL);
	elf_symbol(&e, "alias", t + 32, 8, STB_GLOBAL);
	elf_symbol(&e, "__process", t + 32, 8, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(module_search(m, "process", &cursor, f, 8), 4);
	assert_int_equal(cursor, 5);
	assert_int_equal(f[0]->vaddr, t);
	assert_int_equal(f[3]->vaddr, t + 32);
	cursor = 0;
	assert_int_equal(module_search(m, "process", &cursor, f, 1), 1);
	assert_int_equal(cursor, 1);
	assert_int_equal(module_search(m, "process", &cursor, f, 1), 1);
	assert_int_equal(f[0]->vaddr, t + 8);
	cursor = 0;
	assert_int_equal(module_search(m, "Process", &cursor, f, 8), 1); /* capitals count */
	assert_int_equal(f[0]->vaddr, t + 24);
	cursor = 0;
	assert_int_equal(module_search(m, "run(uns", &cursor, f, 8), 1);
	cursor = 0;
	assert_int_equal(module_search(m, "Process::r", &cursor, f, 8), 1);
	cursor = 0;
	assert_int_equal(module_search(m, "", &cursor, f, 8), 5);
	cursor = 0;
	assert_int_equal(module_search(m, "nothing like it", &cursor, f, 8), 0);
	assert_int_equal(cursor, 5);
	assert_int_equal(module_search(m, "process", &cursor, f, 8), 0);
	cursor = 99;
	assert_int_equal(module_search(m, "process", &cursor, f, 8), 0);

	n = module_nearest(m, "procesCommand", f, NULL, 8);
	assert_true(n >= 1);
	assert_string_equal(f[0]->symbol, "processCommand");
	n = module_nearest(m, "Process::rnu", f, NULL, 8);
	assert_true(n >= 1);
	assert_int_equal(f[0]->vaddr, t + 24);
	/* while it is typed */
	n = module_nearest(m, "Process::r", f, NULL, 8);
	assert_true(n >= 1);
	assert_int_equal(f[0]->vaddr, t + 24);
	n = module_nearest(m, "Process::", f, NULL, 8);
	assert_true(n >= 1);
	assert_int_equal(f[0]->vaddr, t + 24);
	assert_true(module_nearest(m, "pr", f, NULL, 8) >= 2);
	n = module_nearest(m, "PROCESSMULT", f, NULL, 8);
	assert_true(n >= 1);
	assert_string_equal(f[0]->symbol, "processMulti");
	n = module_nearest(m, "Command", f, NULL, 8);
	assert_int_equal(n, 1);
	assert_string_equal(f[0]->symbol, "processCommand");
	assert_int_equal(module_nearest(m, "qqqqqqqqqqqqqqqqqqq", f, NULL, 8), 0);
	/* more than a third of the letters differ */
	assert_int_equal(module_nearest(m, "ohre", f, NULL, 8), 0);
	assert_int_equal(module_nearest(m, "ohter", f, NULL, 8), 1);
	assert_int_equal(module_nearest(m, "", f, NULL, 8), 0);
	assert_int_equal(module_nearest(m, "processCommand", f, NULL, 0), 0);
	close_elf(m);
}

/* ---- code ---- */

static void test_code(void **state)
{
	unsigned char text[200000];
	uint64_t t, data, start, end, at;
	const uint8_t *p, *q;
	struct module *m;
	struct elf e;
	size_t i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 7 + i / 256);
	elf_init(&e);
	t = elf_next(&e);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
	data = elf_next(&e);
	elf_section(&e, ".data", SHT_PROGBITS, SHF_ALLOC, "data", 4);
	m = open_elf(&e);
	p = module_code(m, t, sizeof(text));
	assert_non_null(p);
	assert_memory_equal(p, text, sizeof(text));
	q = module_code(m, t + 65535, 2);
	assert_ptr_equal(q, p + 65535);
	assert_non_null(module_code(m, t + sizeof(text) - 1, 1));
	assert_null(module_code(m, t + sizeof(text) - 1, 2));
	assert_null(module_code(m, t + sizeof(text), 1));
	assert_null(module_code(m, t - 1, 1));
	assert_null(module_code(m, t, SIZE_MAX));
	assert_null(module_code(m, t, 0));
	assert_null(module_code(m, data, 4)); /* not executable */
	assert_null(module_code(m, UINT64_MAX, 1));

	assert_int_equal(module_offset_of(m, t + 5, &at), 0);
	assert_int_equal(at, t + 5 - ELF_BASE);
	assert_int_equal(module_vaddr_of(m, at, &at), 0);
	assert_int_equal(at, t + 5);
	assert_int_equal(module_offset_of(m, data, &at), -ERANGE);
	assert_int_equal(module_vaddr_of(m, 0, &at), -ERANGE);
	assert_int_equal(module_vaddr_of(m, UINT64_MAX, &at), -ERANGE);
	assert_int_equal(module_segment(m, t + 9, &start, &end), 0);
	assert_int_equal(start, t);
	assert_int_equal(end, t + sizeof(text));
	assert_int_equal(module_segment(m, data, &start, &end), -ERANGE);
	close_elf(m);
}

/* The file shrinks after it was opened: no signal, no bytes. */
static void test_truncated_while_open(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t;

	elf_init(&e);
	t = add_text(&e);
	elf_symbol(&e, "foo", t, 8, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	m = open_elf(&e);
	assert_int_equal(ftruncate(fd_open, 100), 0);
	assert_null(module_code(m, t, 8));
	assert_int_equal(module_nr_functions(m), 0);
	assert_true(module_truncated(m));
	assert_int_equal(module_nr_fdes(m), 0);
	close_elf(m);
}

static void test_overlapping_segments(void **state)
{
	struct module *m;
	struct elf e;
	uint64_t t, start, end;

	elf_init(&e);
	t = add_text(&e);
	/* The same bytes once more at another address, and other bytes at the same address. */
	e.ph[e.nr_ph] = e.ph[0];
	e.ph[e.nr_ph++].p_vaddr += 1 << 20;
	e.ph[e.nr_ph] = e.ph[0];
	e.ph[e.nr_ph++].p_offset = 0;
	e.ph[e.nr_ph] = e.ph[0];
	e.ph[e.nr_ph].p_vaddr = UINT64_MAX - 100;
	e.ph[e.nr_ph++].p_offset = 64;
	m = open_elf(&e);
	assert_int_equal(module_segment(m, t, &start, &end), 0);
	assert_int_equal(module_segment(m, t + (1 << 20), &start, &end), -ERANGE);
	assert_true(module_truncated(m));
	close_elf(m);
}

/* Why libdw cannot read a .debug_info with these bytes, "" if it can. */
static const char *unread_of(const void *info, size_t n, uint64_t flags)
{
	static char why[64];
	struct module *m;
	struct elf e;

	elf_init(&e);
	add_text(&e);
	elf_section(&e, ".debug_info", SHT_PROGBITS, flags, info, n);
	elf_section(&e, ".debug_line", SHT_PROGBITS, 0, "lines", 5);
	m = open_elf(&e);
	why[0] = '\0';
	if (!module_lines_unread(m, why, sizeof(why)))
		assert_string_equal(why, "");
	close_elf(m);
	return why;
}

static void test_unread_lines(void **state)
{
	struct {
		Elf64_Chdr head;
		uint8_t data[16];
	} packed = {.head = {.ch_type = 77, .ch_size = 64, .ch_addralign = 1}};
	uint8_t info[32] = {28, 0, 0, 0, 5, 0}, wide[32] = {255, 255, 255, 255, [12] = 9};

	assert_string_equal(unread_of(info, sizeof(info), 0), "");
	info[4] = 6;
	assert_string_equal(unread_of(info, sizeof(info), 0), "has DWARF version 6");
	assert_string_equal(unread_of(wide, sizeof(wide), 0), "has DWARF version 9");
	/* too short to tell */
	assert_string_equal(unread_of(info, 8, 0), "");
	assert_string_equal(unread_of(&packed, sizeof(packed), SHF_COMPRESSED),
			    "is compressed with method 77");
	/* no libelf can unpack these data */
	packed.head.ch_type = 2;
	assert_string_equal(unread_of(&packed, sizeof(packed), SHF_COMPRESSED),
			    "is compressed with zstd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_not_elf),
	    cmocka_unit_test(test_identity),
	    cmocka_unit_test(test_debuglink_paths),
	    cmocka_unit_test(test_aliases_fold),
	    cmocka_unit_test(test_not_functions),
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_entry_inside),
	    cmocka_unit_test(test_coroutines),
	    cmocka_unit_test(test_clones_and_parts),
	    cmocka_unit_test(test_parts_by_file),
	    cmocka_unit_test(test_versions),
	    cmocka_unit_test(test_demangled),
	    cmocka_unit_test(test_search),
	    cmocka_unit_test(test_code),
	    cmocka_unit_test(test_truncated_while_open),
	    cmocka_unit_test(test_overlapping_segments),
	    cmocka_unit_test(test_unread_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
