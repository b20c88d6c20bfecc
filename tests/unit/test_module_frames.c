// SPDX-License-Identifier: GPL-2.0-or-later
/* Call frame information, import slots and IFUNCs of modules made byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/module/module.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 4096 };

/* A module under construction with code, and call frame information that is added to. */
struct fixture {
	struct elf e;
	struct buf frames;
	unsigned char text[TEXT];
	uint64_t text_at, frames_at;
	size_t cie;
	struct module *m;
	int fd;
};

static void begin(struct fixture *x)
{
	memset(x, 0, sizeof(*x));
	elf_init(&x->e);
	buf_init(&x->frames, 1 << 20);
	memset(x->text, 0x90, sizeof(x->text));
	x->text_at = elf_next(&x->e);
	/* .eh_frame follows the code. */
	x->frames_at = x->text_at + TEXT;
	x->cie = eh_cie(&x->frames, "zR");
}

static void add_fde(struct fixture *x, uint32_t start, uint32_t size, const void *program,
		    size_t len)
{
	eh_fde(&x->frames, x->frames_at, x->cie, x->text_at + start, size, -1, program, len);
}

static void finish(struct fixture *x)
{
	elf_section(&x->e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, x->text,
		    sizeof(x->text));
	assert_int_equal(elf_next(&x->e), x->frames_at);
	elf_section(&x->e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, x->frames.data, x->frames.len);
	elf_add_tables(&x->e, NULL, 0);
	elf_finish(&x->e);
	x->fd = elf_file(x->e.out.data, x->e.out.len);
	assert_int_equal(module_open(&x->m, x->fd), 0);
	assert_int_equal(module_set_name(x->m, "t"), 0);
	elf_release(&x->e);
	buf_release(&x->frames);
}

static void end(struct fixture *x)
{
	module_free(x->m);
	close(x->fd);
}

static const struct module_function *find_one(struct module *m, const char *name)
{
	const struct module_function *f[2];

	assert_int_equal(module_find(m, name, f, 2), 1);
	return f[0];
}

static void cfa_is(struct fixture *x, uint32_t at, int reg, int64_t offset)
{
	struct cfa cfa;

	assert_int_equal(module_cfa(x->m, x->text_at + at, &cfa), 0);
	assert_int_equal(cfa.reg, reg);
	if (reg != CFA_OTHER)
		assert_int_equal(cfa.offset, offset);
}

static void cfa_fails(struct fixture *x, uint32_t at, int err)
{
	struct cfa cfa;

	assert_int_equal(module_cfa(x->m, x->text_at + at, &cfa), err);
}

static void test_fdes(void **state)
{
	struct module_fde fde;
	struct fixture x;
	size_t signal_cie, lsda_cie;

	begin(&x);
	add_fde(&x, 100, 50, NULL, 0);
	add_fde(&x, 0, 100, NULL, 0);
	signal_cie = eh_cie(&x.frames, "zRS");
	eh_fde(&x.frames, x.frames_at, signal_cie, x.text_at + 200, 10, -1, NULL, 0);
	lsda_cie = eh_cie(&x.frames, "zLR");
	eh_fde(&x.frames, x.frames_at, lsda_cie, x.text_at + 300, 10, (int64_t)x.text_at, NULL, 0);
	eh_fde(&x.frames, x.frames_at, lsda_cie, x.text_at + 320, 10, 0, NULL, 0);
	finish(&x);
	assert_int_equal(module_nr_fdes(x.m), 5);
	assert_int_equal(module_fde(x.m, 0, &fde), 0);
	assert_int_equal(fde.start, x.text_at);
	assert_int_equal(fde.end, x.text_at + 100);
	assert_false(fde.has_lsda);
	assert_false(fde.signal_frame);
	assert_int_equal(module_fde_at(x.m, x.text_at + 149, &fde), 0);
	assert_int_equal(fde.start, x.text_at + 100);
	assert_int_equal(module_fde_at(x.m, x.text_at + 150, &fde), -ENOENT);
	assert_int_equal(module_fde_at(x.m, x.text_at - 1, &fde), -ENOENT);
	assert_int_equal(module_fde_at(x.m, UINT64_MAX, &fde), -ENOENT);
	assert_int_equal(module_fde(x.m, 5, &fde), -ENOENT);
	assert_int_equal(module_fde_at(x.m, x.text_at + 205, &fde), 0);
	assert_true(fde.signal_frame);
	assert_int_equal(module_fde_at(x.m, x.text_at + 305, &fde), 0);
	assert_true(fde.has_lsda);
	assert_int_equal(module_fde_at(x.m, x.text_at + 325, &fde), 0);
	assert_false(fde.has_lsda);
	assert_false(module_truncated(x.m));
	end(&x);
}

static void test_cfa_rules(void **state)
{
	/* push rbp; mov rbp, rsp; ...; leave; ret; a second exit restores the state */
	static const unsigned char program[] = {
	    0x41, 0x0e, 16,				    /* +1: rsp + 16 */
	    0x43, 0x0d, 6,				    /* +4: rbp + 16 */
	    0x0a,					    /* remember */
	    0x02, 20,	0x0c, 7,    8,			    /* +24: rsp + 8 */
	    0x41, 0x0b,					    /* +25: as remembered */
	    0x03, 44,	1,    0x0c, 7, 64,		    /* +325: rsp + 64 */
	    0x04, 1,	0,    0,    0, 0x0f, 2,	   0x77, 0, /* +326: an expression */
	    0x41, 0x0c, 3,    8,			    /* +327: rbx + 8 */
	    0x41, 0x12, 7,    0x78,			    /* +328: rsp + -8 * -8 */
	    0x41, 0x13, 0x70,				    /* +329: rsp + -16 * -8 */
	    0x86, 2,	0x05, 3,    4, 0x16, 3,	   1,	 0x77, 0x2e, 16,   0xc6, 0x07,
	    3,	  0x08, 3,    0x09, 3, 4,    0x10, 3,	 1,    0x77, 0x11, 3,	 0x7f,
	    0x2f, 3,	1,    0x06, 3, 0x14, 3,	   1,	 0x15, 3,    1,	   0x00, /* what does not
										    concern the CFA
										  */
	    0x41, 0x0e, 8,							 /* +330 */
	};
	struct fixture x;

	begin(&x);
	add_fde(&x, 0, 1000, program, sizeof(program));
	finish(&x);
	cfa_is(&x, 0, CFA_RSP, 8);
	cfa_is(&x, 1, CFA_RSP, 16);
	cfa_is(&x, 3, CFA_RSP, 16);
	cfa_is(&x, 4, CFA_RBP, 16);
	cfa_is(&x, 23, CFA_RBP, 16);
	cfa_is(&x, 24, CFA_RSP, 8);
	cfa_is(&x, 25, CFA_RBP, 16);
	cfa_is(&x, 324, CFA_RBP, 16);
	cfa_is(&x, 325, CFA_RSP, 64);
	cfa_is(&x, 326, CFA_OTHER, 0);
	cfa_is(&x, 327, 3, 8);
	cfa_is(&x, 328, CFA_RSP, 64);
	cfa_is(&x, 329, CFA_RSP, 128);
	cfa_is(&x, 330, CFA_RSP, 8);
	cfa_is(&x, 999, CFA_RSP, 8);
	cfa_fails(&x, 1000, -ENOENT);
	end(&x);
}

static void test_cfa_damaged(void **state)
{
	static const unsigned char unknown[] = {0x41, 0x3f};
	static const unsigned char restore[] = {0x41, 0x0b};
	static const unsigned char cut[] = {0x41, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
	static const unsigned char far[] = {0x41, 0x0f, 0xff, 0xff, 3};
	unsigned char deep[101];
	struct fixture x;

	memset(deep, 0x0a, sizeof(deep));
	begin(&x);
	add_fde(&x, 0, 10, unknown, sizeof(unknown));
	add_fde(&x, 10, 10, restore, sizeof(restore));
	add_fde(&x, 20, 10, cut, sizeof(cut));
	add_fde(&x, 30, 10, far, sizeof(far));
	add_fde(&x, 40, 10, deep, sizeof(deep));
	finish(&x);
	cfa_is(&x, 0, CFA_RSP, 8); /* before the damage */
	cfa_fails(&x, 1, -EBADMSG);
	cfa_fails(&x, 11, -EBADMSG);
	cfa_fails(&x, 21, -EBADMSG);
	cfa_fails(&x, 31, -EBADMSG);
	cfa_fails(&x, 40, -EBADMSG);
	end(&x);
}

static void test_lying_fdes(void **state)
{
	struct module_fde fde;
	struct fixture x;
	uint32_t v;

	begin(&x);
	add_fde(&x, 0, 100, NULL, 0);
	add_fde(&x, 50, 100, NULL, 0);	   /* overlaps the one before */
	add_fde(&x, 50, 7, NULL, 0);	   /* once more */
	add_fde(&x, TEXT - 8, 9, NULL, 0); /* leaves the segment */
	add_fde(&x, TEXT, 1, NULL, 0);	   /* not in it */
	add_fde(&x, 300, UINT32_MAX, NULL, 0);
	add_fde(&x, 400, 0, NULL, 0);
	/* An FDE whose CIE is itself, and one whose length leaves the section. */
	v = 12;
	buf_append(&x.frames, &v, 4);
	v = 4;
	buf_append(&x.frames, &v, 4);
	buf_append(&x.frames, "\0\0\0\0\0\0\0\0", 8);
	v = 0x7fffffff;
	buf_append(&x.frames, &v, 4);
	buf_append(&x.frames, &v, 4);
	finish(&x);
	assert_int_equal(module_nr_fdes(x.m), 2);
	assert_int_equal(module_fde(x.m, 0, &fde), 0);
	assert_int_equal(fde.start, x.text_at);
	assert_int_equal(fde.end, x.text_at + 50);
	assert_int_equal(module_fde(x.m, 1, &fde), 0);
	assert_int_equal(fde.start, x.text_at + 50);
	assert_true(module_truncated(x.m));
	end(&x);
}

/* Stripped code: bounds become functions, unless they are something else. */
static void test_functions_from_bounds(void **state)
{
	static const unsigned char cold[] = {0x0e, 48};
	const struct module_function *f;
	struct fixture x;
	size_t signal_cie;
	char name[64];

	begin(&x);
	add_fde(&x, 16, 32, NULL, 0);
	add_fde(&x, 64, 32, NULL, 0);
	add_fde(&x, 512, 16, cold, sizeof(cold)); /* begins with a frame */
	signal_cie = eh_cie(&x.frames, "zRS");
	eh_fde(&x.frames, x.frames_at, signal_cie, x.text_at + 600, 10, -1, NULL, 0);
	add_fde(&x, 128, 8, NULL, 0);  /* inside a symbol */
	add_fde(&x, 700, 24, NULL, 0); /* a label and an unsized symbol have its size */
	add_fde(&x, 800, 24, NULL, 0);
	elf_symbol(&x.e, "named", x.text_at + 64, 32, STB_GLOBAL);
	elf_symbol(&x.e, "large", x.text_at + 120, 100, STB_GLOBAL);
	elf_symbol_full(&x.e, ELF_STATIC, "label", x.text_at + 700, 0, STB_GLOBAL << 4 | STT_NOTYPE,
			1, 0);
	elf_symbol(&x.e, "unsized", x.text_at + 800, 0, STB_GLOBAL);
	elf_symbol_full(&x.e, ELF_STATIC, "loop", x.text_at + 808, 0, STB_LOCAL << 4 | STT_NOTYPE,
			1, 0);
	finish(&x);
	assert_int_equal(module_nr_functions(x.m), 5);
	f = module_function(x.m, 0);
	assert_null(f->symbol);
	assert_int_equal(f->source, FUNCTION_EH_FRAME);
	assert_int_equal(f->vaddr, x.text_at + 16);
	assert_int_equal(f->size, 32);
	assert_true(f->sized);
	snprintf(name, sizeof(name), "t+0x%llx", (unsigned long long)f->vaddr);
	assert_string_equal(module_function_name(x.m, f), name);
	assert_ptr_equal(find_one(x.m, name), f);
	assert_ptr_equal(find_one(x.m, name + 1), f);
	assert_int_equal(module_set_name(x.m, "other"), 0);
	assert_true(strncmp(module_function_name(x.m, f), "other+0x", 8) == 0);
	assert_int_equal(module_find(x.m, name, &f, 1), 0);
	assert_int_equal(module_find(x.m, "+0x", &f, 1), 0);
	assert_int_equal(module_find(x.m, "+0x1", &f, 1), 0);
	assert_int_equal(module_find(x.m, "+0xfffffffffffffffffffff", &f, 1), 0);
	assert_null(module_alias(x.m, module_function(x.m, 0), 0));
	assert_string_equal(module_function(x.m, 1)->symbol, "named");
	assert_string_equal(module_function(x.m, 2)->symbol, "large");
	assert_string_equal(module_function(x.m, 3)->symbol, "label");
	assert_int_equal(module_function(x.m, 3)->size, 24);
	assert_int_equal(find_one(x.m, "unsized")->size, 24);
	assert_true(find_one(x.m, "unsized")->sized);
	end(&x);
}

static void put_jump(struct fixture *x, uint32_t at, uint64_t slot, bool endbr, bool bnd)
{
	unsigned char *p = x->text + at;
	uint64_t next;
	int32_t d;

	if (endbr) {
		memcpy(p, "\xf3\x0f\x1e\xfa", 4);
		p += 4;
	}
	if (bnd)
		*p++ = 0xf2;
	*p++ = 0xff;
	*p++ = 0x25;
	next = x->text_at + (uint64_t)(p + 4 - x->text);
	d = (int32_t)(slot - next);
	memcpy(p, &d, 4);
}

static void put_lea(struct fixture *x, uint32_t at, uint64_t target)
{
	int32_t d = (int32_t)(target - (x->text_at + at + 7));

	memcpy(x->text + at, "\x48\x8d\x05", 3);
	memcpy(x->text + at + 3, &d, 4);
}

static void test_imports_and_ifuncs(void **state)
{
	const unsigned char import = STB_GLOBAL << 4 | STT_FUNC;
	const struct module_function *out[4];
	Elf64_Rela rela[4];
	struct fixture x;
	uint64_t slots = 0x700000;
	int n;

	begin(&x);
	elf_symbol_full(&x.e, ELF_DYNAMIC, "puts", 0, 0, import, SHN_UNDEF, 0);
	elf_symbol_full(&x.e, ELF_DYNAMIC, "exit", 0, 0, import, SHN_UNDEF, 0);
	put_jump(&x, 0, slots, false, false);
	put_jump(&x, 16, slots + 8, true, true);
	put_jump(&x, 32, slots + 16, true, false);
	put_jump(&x, 48, slots + 24, false, false);  /* no relocation */
	add_fde(&x, 0, 64, NULL, 0);		     /* .plt.sec: one FDE for all */
	put_jump(&x, TEXT - 6, slots, false, false); /* ends with the segment */
	/* A resolver: two candidates, an address of data, and a jump to a shared one. */
	put_lea(&x, 512, x.text_at + 768);
	put_lea(&x, 519, x.text_at + 800);
	put_lea(&x, 526, x.text_at + 769);
	put_lea(&x, 533, x.text_at + 768);
	x.text[540] = 0xe9;
	n = 600 - 545;
	memcpy(x.text + 541, &n, 4);
	put_lea(&x, 600, x.text_at + 832);
	elf_symbol_full(&x.e, ELF_STATIC, "chosen", x.text_at + 512, 33,
			STB_GLOBAL << 4 | STT_GNU_IFUNC, 1, 0);
	elf_symbol(&x.e, "shared", x.text_at + 600, 8, STB_LOCAL);
	elf_symbol(&x.e, "chosen_avx2", x.text_at + 768, 16, STB_LOCAL);
	elf_symbol(&x.e, "chosen_sse2", x.text_at + 800, 16, STB_LOCAL);
	elf_symbol(&x.e, "chosen_c", x.text_at + 832, 16, STB_LOCAL);
	rela[0] = (Elf64_Rela){slots, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0};
	rela[1] = (Elf64_Rela){slots + 8, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0};
	rela[2] = (Elf64_Rela){slots + 16, R_X86_64_IRELATIVE, (int64_t)x.text_at + 512};
	rela[3] = (Elf64_Rela){slots + 32, ELF64_R_INFO(99, R_X86_64_JUMP_SLOT), 0};
	elf_section(&x.e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, x.text, TEXT);
	elf_section(&x.e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, x.frames.data, x.frames.len);
	elf_section(&x.e, ".rela.plt", SHT_RELA, SHF_ALLOC, rela, sizeof(rela));
	elf_add_tables(&x.e, NULL, 0);
	elf_finish(&x.e);
	x.fd = elf_file(x.e.out.data, x.e.out.len);
	assert_int_equal(module_open(&x.m, x.fd), 0);
	elf_release(&x.e);
	buf_release(&x.frames);

	assert_string_equal(module_plt_name(x.m, x.text_at), "puts@plt");
	assert_ptr_equal(module_plt_name(x.m, x.text_at), module_plt_name(x.m, x.text_at));
	assert_string_equal(module_plt_name(x.m, x.text_at + 16), "exit@plt");
	assert_string_equal(module_plt_name(x.m, x.text_at + 32), "chosen@plt");
	assert_string_equal(module_plt_name(x.m, x.text_at + TEXT - 6), "puts@plt");
	assert_null(module_plt_name(x.m, x.text_at + TEXT - 4));
	assert_null(module_plt_name(x.m, x.text_at + 48));
	assert_null(module_plt_name(x.m, x.text_at + 1));
	assert_null(module_plt_name(x.m, 0));
	assert_string_equal(module_slot_symbol(x.m, slots), "puts");
	assert_string_equal(module_slot_symbol(x.m, slots + 16), "chosen");
	assert_null(module_slot_symbol(x.m, slots + 24));
	assert_null(module_slot_symbol(x.m, slots + 32));
	assert_null(module_slot_symbol(x.m, slots + 1));
	/* The PLT's bounds are no function. */
	assert_null(module_function_at(x.m, x.text_at));

	assert_true(find_one(x.m, "chosen")->ifunc);
	assert_int_equal(module_ifunc_targets(x.m, find_one(x.m, "chosen"), out, 4), 3);
	assert_string_equal(out[0]->symbol, "chosen_avx2");
	assert_string_equal(out[1]->symbol, "chosen_sse2");
	assert_string_equal(out[2]->symbol, "chosen_c");
	assert_int_equal(module_ifunc_targets(x.m, find_one(x.m, "chosen"), out, 1), 3);
	assert_int_equal(module_ifunc_targets(x.m, find_one(x.m, "shared"), out, 4), -EINVAL);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fdes),
	    cmocka_unit_test(test_cfa_rules),
	    cmocka_unit_test(test_cfa_damaged),
	    cmocka_unit_test(test_lying_fdes),
	    cmocka_unit_test(test_functions_from_bounds),
	    cmocka_unit_test(test_imports_and_ifuncs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
