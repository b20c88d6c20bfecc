// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every byte of a small file changed in several ways, and everything asked of
 * it: nothing may crash, hang or leave its bounds (run under ASan and UBSan too).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "analysis/module/module.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 512 };

/* ---- what is asked ---- */

static void check_function(struct module *m, const struct module_function *f)
{
	const struct module_function *t[4];
	uint64_t start, end, offset;
	struct cfa cfa;
	size_t i;

	assert_true(f->size > 0);
	assert_int_equal(module_segment(m, f->vaddr, &start, &end), 0);
	assert_true(f->vaddr >= start && f->size <= end - f->vaddr);
	assert_int_equal(module_offset_of(m, f->vaddr, &offset), 0);
	assert_int_equal(offset, f->offset);
	assert_true(strlen(module_function_name(m, f)) < MODULE_MAX_NAME);
	for (i = 0; i < 4 && module_alias(m, f, i); i++)
		assert_true(module_find(m, module_alias(m, f, i), t, 4) >= 1);
	module_code(m, f->vaddr, f->size);
	module_cfa(m, f->vaddr, &cfa);
	module_cfa(m, f->vaddr + f->size - 1, &cfa);
	module_plt_name(m, f->vaddr);
	if (f->ifunc)
		module_ifunc_targets(m, f, t, 4);
	for (i = 0; i < 4 && module_cold_part(m, f, i, &start, &end) == 0; i++)
		assert_true(start < end);
	assert_non_null(module_function_at(m, f->vaddr));
}

static void ask_names(struct module *m)
{
	const struct module_function *f[4];
	uint64_t before = 0;
	size_t i, cursor = 0, n = module_nr_functions(m);

	for (i = 0; i < n && i < 100; i++) {
		const struct module_function *g = module_function(m, i);

		assert_true(!i || g->vaddr > before);
		before = g->vaddr;
		check_function(m, g);
	}
	module_find(m, "first", f, 4);
	module_find(m, "ns::foo(int)", f, 4);
	module_find(m, "copy@V_1", f, 4);
	module_find(m, "+0x400200", f, 4);
	module_nearest(m, "frist", f, NULL, 4);
	module_inlined_into(m, "in", f, 4);
	module_search(m, "o", &cursor, f, 4);
	module_function_at(m, ELF_BASE + 0x210);
	module_function_at_offset(m, 0x210);
	module_slot_symbol(m, 0x700000);
}

static void ask_frames(struct module *m)
{
	size_t i, n = module_nr_fdes(m);
	struct module_fde fde;
	uint64_t before = 0;
	struct cfa cfa;

	for (i = 0; i < n && i < 100; i++) {
		if (module_fde(m, i, &fde))
			continue;
		assert_true(fde.start >= before && fde.start < fde.end);
		before = fde.end;
		module_cfa(m, fde.start, &cfa);
		module_cfa(m, fde.end - 1, &cfa);
	}
}

static void ask_lines(struct module *m, uint64_t from, uint64_t to, uint64_t step)
{
	struct module_inline chain[8];
	const char *file;
	uint32_t line;
	int i, n;

	for (; from < to; from += step) {
		if (module_line(m, from, &file, &line) == 0)
			assert_non_null(file);
		n = module_inlines(m, from, chain, 8);
		for (i = 0; i < n; i++)
			assert_non_null(chain[i].name);
	}
}

static void ask_all(int fd)
{
	const struct module_identity *id;
	struct module *m;

	if (module_open(&m, fd))
		return;
	id = module_identity(m);
	assert_true(strlen(id->build_id) <= 2 * MODULE_MAX_BUILD_ID);
	assert_null(strchr(id->debuglink, '/'));
	module_set_name(m, "hostile");
	ask_names(m);
	ask_frames(m);
	ask_lines(m, ELF_BASE, ELF_BASE + 0x400, 64);
	module_add_debug(m, fd);
	ask_names(m);
	module_free(m);
}

/* ---- the small file ---- */

static void put_frames(struct elf *e, uint64_t text)
{
	static const unsigned char program[] = {0x41, 0x0e, 16, 0x43, 0x0d, 6,	  0x0a, 0x02,
						20,   0x0c, 7,	8,    0x41, 0x0b, 0x41, 0x0f,
						2,    0x77, 0,	0x41, 0x10, 3,	  1,	0x77};
	struct buf b;
	uint64_t at = elf_next(e);
	size_t cie;

	buf_init(&b, 1 << 16);
	cie = eh_cie(&b, "zR");
	eh_fde(&b, at, cie, text, 64, -1, program, sizeof(program));
	eh_fde(&b, at, cie, text + 400, 16, -1, program + 3, 3);
	cie = eh_cie(&b, "zLR");
	eh_fde(&b, at, cie, text + 64, 64, (int64_t)text, program, 6);
	elf_section(e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, b.data, b.len);
	buf_release(&b);
}

static void put_symbols(struct elf *e, uint64_t t)
{
	const unsigned char global = STB_GLOBAL << 4 | STT_FUNC;

	elf_symbol_full(e, ELF_STATIC, "a.c", 0, 0, STT_FILE, SHN_ABS, 0);
	elf_symbol(e, "first", t, 64, STB_GLOBAL);
	elf_symbol(e, "first.cold", t + 400, 16, STB_LOCAL);
	elf_symbol(e, "_ZN2ns3fooEi", t + 64, 64, STB_WEAK);
	elf_symbol(e, "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", t + 128, 0, STB_LOCAL);
	elf_symbol(e, "bar.isra.0", t + 192, 8, STB_LOCAL);
	elf_symbol(e, "copy@@V_2", t + 200, 8, STB_GLOBAL);
	elf_symbol_full(e, ELF_STATIC, "chosen", t + 256, 32, STB_GLOBAL << 4 | STT_GNU_IFUNC, 1,
			0);
	elf_symbol_full(e, ELF_DYNAMIC, "puts", 0, 0, global, SHN_UNDEF, 0);
	elf_symbol_full(e, ELF_DYNAMIC, "copy", t + 300, 8, global, 1, 0x8002);
	elf_symbol_full(e, ELF_DYNAMIC, "copy", t + 308, 8, global, 1, 3);
}

static void make_small(struct elf *e)
{
	static const char *const versions[] = {"V_1", "V_2"};
	static const char note[] = "\4\0\0\0\5\0\0\0\3\0\0\0GNU\0\x12\x34\xab\xcd\xef\0\0\0";
	static const char link[] = "some.debug\0\0\x78\x56\x34\x12";
	unsigned char text[TEXT];
	Elf64_Rela rela[2];
	uint64_t t;
	int32_t d;

	elf_init(e);
	t = elf_next(e);
	memset(text, 0x90, sizeof(text));
	text[320] = 0xff; /* jmp *slot(%rip) */
	text[321] = 0x25;
	d = (int32_t)(0x700000 - (t + 326));
	memcpy(text + 322, &d, 4);
	memcpy(text + 256, "\x48\x8d\x05", 3); /* lea first(%rip), %rax */
	d = (int32_t)(t - (t + 263));
	memcpy(text + 259, &d, 4);
	elf_section(e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
	put_frames(e, t);
	put_symbols(e, t);
	rela[0] = (Elf64_Rela){0x700000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0};
	rela[1] = (Elf64_Rela){0x700008, R_X86_64_IRELATIVE, (int64_t)t + 256};
	elf_section(e, ".rela.plt", SHT_RELA, SHF_ALLOC, rela, sizeof(rela));
	elf_section(e, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note, 24);
	elf_section(e, ".gnu_debuglink", SHT_PROGBITS, 0, link, 16);
	elf_add_tables(e, versions, 2);
	elf_finish(e);
}

static void test_small_file_is_whole(void **state)
{
	const struct module_function *f[2];
	struct module *m;
	struct elf e;
	int fd;

	make_small(&e);
	fd = elf_file(e.out.data, e.out.len);
	assert_int_equal(module_open(&m, fd), 0);
	assert_int_equal(module_find(m, "first", f, 2), 1);
	assert_int_equal(module_find(m, "copy@V_1", f, 2), 1);
	assert_int_equal(module_nr_fdes(m), 3);
	assert_string_equal(module_plt_name(m, f[0]->vaddr - 300 + 320), "puts@plt");
	assert_false(module_truncated(m));
	module_free(m);
	ask_all(fd);
	close(fd);
	elf_release(&e);
}

/* ---- the changes ---- */

static void change_and_ask(int fd, size_t at, const void *bytes, const void *original, size_t n)
{
	assert_int_equal(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
	ask_all(fd);
	assert_int_equal(pwrite(fd, original, n, (off_t)at), (ssize_t)n);
}

static void test_every_byte(void **state)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x10};
	struct elf e;
	size_t at, k;
	int fd;

	make_small(&e);
	fd = elf_file(e.out.data, e.out.len);
	for (at = 0; at < e.out.len; at++) {
		const unsigned char old = (unsigned char)e.out.data[at];

		for (k = 0; k < sizeof(flips); k++) {
			unsigned char c = old ^ flips[k];

			change_and_ask(fd, at, &c, &old, 1);
		}
	}
	close(fd);
	elf_release(&e);
}

/* Every aligned field as a number that tempts arithmetic. */
static void test_every_field(void **state)
{
	static const uint64_t values[] = {
	    0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 4095, 1ULL << 63, 1ULL << 40};
	struct elf e;
	size_t at, k;
	int fd;

	make_small(&e);
	fd = elf_file(e.out.data, e.out.len);
	for (at = 0; at + 8 <= e.out.len; at += 4)
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			change_and_ask(fd, at, &values[k], e.out.data + at, 4);
			if (at % 8 == 0)
				change_and_ask(fd, at, &values[k], e.out.data + at, 8);
		}
	close(fd);
	elf_release(&e);
}

static void test_every_length(void **state)
{
	struct elf e;
	size_t len;
	int fd;

	make_small(&e);
	fd = elf_file(e.out.data, e.out.len);
	for (len = e.out.len; len-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		ask_all(fd);
	}
	close(fd);
	elf_release(&e);
}

/* Several bytes at once; the generator is fixed so that a failure can be repeated. */
static void test_many_bytes(void **state)
{
	uint64_t r = 88172645463325252ULL;
	struct elf e;
	char *copy;
	size_t round, k;

	make_small(&e);
	copy = malloc(e.out.len);
	for (round = 0; round < 3000; round++) {
		int fd;

		memcpy(copy, e.out.data, e.out.len);
		for (k = 0; k < 1 + round % 16; k++) {
			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			copy[r % e.out.len] = (char)(r >> 32);
		}
		fd = elf_file(copy, e.out.len);
		ask_all(fd);
		close(fd);
	}
	free(copy);
	elf_release(&e);
}

/* A name that never ends, and one of exactly the longest length. */
static void test_long_names(void **state)
{
	struct module *m;
	char *name = malloc(MODULE_MAX_NAME + 2);
	const struct module_function *f[2];
	struct elf e;
	uint64_t t;
	int fd;

	memset(name, 'x', MODULE_MAX_NAME + 1);
	name[MODULE_MAX_NAME + 1] = 0;
	elf_init(&e);
	t = elf_next(&e);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "\x90\x90\x90\x90", 4);
	elf_symbol(&e, name, t, 1, STB_GLOBAL);
	name[MODULE_MAX_NAME] = 0;
	elf_symbol(&e, name, t + 1, 1, STB_GLOBAL);
	name[MODULE_MAX_NAME - 1] = 0;
	elf_symbol(&e, name, t + 2, 1, STB_GLOBAL);
	elf_add_tables(&e, NULL, 0);
	elf_finish(&e);
	fd = elf_file(e.out.data, e.out.len);
	assert_int_equal(module_open(&m, fd), 0);
	assert_int_equal(module_nr_functions(m), 1);
	assert_int_equal(module_find(m, name, f, 2), 1);
	assert_int_equal(f[0]->vaddr, t + 2);
	assert_true(module_truncated(m));
	name[MODULE_MAX_NAME - 1] = 'x';
	assert_int_equal(module_find(m, name, f, 2), 0);
	assert_int_equal(module_nearest(m, name, f, NULL, 2), 0);
	module_free(m);
	close(fd);
	free(name);
	elf_release(&e);
}

/* ---- DWARF ---- */

static const char program[] = "static inline __attribute__((always_inline)) int in(int x) {\n"
			      "  volatile int y = x; return y * 3; }\n"
			      "int out(int x) { return in(x) + in(x + 1); }\n"
			      "int main(int argc, char **argv) { return out(argc); }\n";

static bool compile(const char *path, const char *flags)
{
	char command[512];
	FILE *gcc;

	snprintf(command, sizeof(command),
		 "gcc -O2 -g %s -nostdlib -Wl,-e,main -Wl,-z,noseparate-code -o %s -x c - "
		 "2>/dev/null",
		 flags, path);
	gcc = popen(command, "w");
	if (!gcc)
		return false;
	fputs(program, gcc);
	return pclose(gcc) == 0;
}

static char *read_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	data = malloc(*len);
	assert_int_equal(read(fd, data, *len), st.st_size);
	close(fd);
	return data;
}

static void ask_dwarf(int fd, uint64_t from, uint64_t to)
{
	struct module *m;

	if (module_open(&m, fd))
		return;
	ask_lines(m, from, to, 3);
	module_free(m);
}

/* Changes in .debug_* of a file that a compiler made. */
static void change_dwarf(char *data, size_t len)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff};
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(const void *)data;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(const void *)(data + eh->e_shoff);
	const char *names = data + sh[eh->e_shstrndx].sh_offset;
	int fd = elf_file(data, len);
	const struct module_function *f[1];
	uint64_t from, to;
	struct module *m;
	size_t i, at, k, asked = 0;

	assert_int_equal(module_open(&m, fd), 0);
	assert_int_equal(module_find(m, "out", f, 1), 1);
	from = f[0]->vaddr;
	to = from + f[0]->size;
	assert_true(module_has_lines(m));
	module_free(m);
	for (i = 1; i < eh->e_shnum; i++) {
		if (strncmp(names + sh[i].sh_name, ".debug_", 7) != 0)
			continue;
		for (at = sh[i].sh_offset; at < sh[i].sh_offset + sh[i].sh_size; at++)
			for (k = 0; k < sizeof(flips); k++) {
				const char c = (char)(data[at] ^ flips[k]);

				assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
				ask_dwarf(fd, from, to);
				assert_int_equal(pwrite(fd, &data[at], 1, (off_t)at), 1);
				asked++;
			}
	}
	assert_true(asked > 1000);
	close(fd);
}

static void test_dwarf(void **state)
{
	static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4"};
	char dir[] = "/tmp/test_module_hostile.XXXXXX", path[64];
	size_t i, len;
	char *data;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	for (i = 0; i < 2; i++) {
		if (!compile(path, flags[i])) {
			rmdir(dir);
			skip(); /* no gcc */
		}
		data = read_file(path, &len);
		change_dwarf(data, len);
		free(data);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_file_is_whole),
	    cmocka_unit_test(test_every_byte),
	    cmocka_unit_test(test_every_field),
	    cmocka_unit_test(test_every_length),
	    cmocka_unit_test(test_many_bytes),
	    cmocka_unit_test(test_long_names),
	    cmocka_unit_test(test_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
