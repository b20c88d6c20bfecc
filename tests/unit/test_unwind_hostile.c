// SPDX-License-Identifier: GPL-2.0-or-later
/* Code without call frame information, and registers, stacks and mappings that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unwind_made.h"

/* ---- code without call frame information ---- */

static void put(struct fixture *x, uint32_t at, const char *bytes, size_t n)
{
	memcpy(x->text + at, bytes, n);
}

#define PUT(x, at, bytes) put(x, at, bytes, sizeof(bytes) - 1)

/* A caller with information whose frame is at rbx, called at OUTER. */
static void begin_edges(struct fixture *x)
{
	begin(x);
	PUT(x, OUTER - 5, "\xe8\0\0\0\0");
	FDE(x, OUTER - 16, 32, 0x0c, 3, 0);
}

/* At `at`, with the return address `words` up and rbp in the word before or kept. */
static void edge(struct fixture *x, uint32_t at, unsigned int words, bool rbp_saved)
{
	fill_stack(x);
	x->words[words] = text(x, OUTER);
	x->reg[ROW_RIP] = text(x, at);
	x->reg[ROW_RBX] = STACK + 0x100;
	x->reg[ROW_RBP] = rbp_saved ? 3 : STACK + 0x80; /* a frame pointer would lead elsewhere */
	go(x);
	frame_is(x, 0, at, STACK + 8 * (words + 1));
	frame_is(x, 1, OUTER, STACK + 0x100);
	assert_int_equal(x->out.frames[1].flags, UNWIND_CALLER | UNWIND_GUESSED);
}

static void test_edges(void **state)
{
	struct fixture x;

	begin_edges(&x);
	PUT(&x, 0x400, "\x48\x83\xec\x08");	/* known as a start by its symbol */
	PUT(&x, 0x480, "\xf3\x0f\x1e\xfa\x53"); /* behind endbr64 */
	PUT(&x, 0x500, "\x55\x48\x89\xe5");	/* push rbp; mov rbp, rsp */
	PUT(&x, 0x540, "\x55\x48\x8b\xec");	/* the other encoding */
	PUT(&x, 0x600, "\x5d\xc3");		/* pop rbp; ret */
	PUT(&x, 0x640, "\xf3\xc3");		/* rep ret */
	PUT(&x, 0x700, "\xff\x25\0\0\0\0");	/* a stub */
	PUT(&x, 0x740, "\xf3\x0f\x1e\xfa\xf2\xff\x25\0\0\0\0");
	elf_symbol(&x.e, "start", x.text_at + 0x400, 16, STB_GLOBAL);
	elf_symbol(&x.e, "branch", x.text_at + 0x480, 16, STB_GLOBAL);
	finish(&x);
	edge(&x, 0x400, 0, false);
	assert_int_equal(x.out.frames[0].function, x.text_at - ELF_BASE + 0x400);
	edge(&x, 0x480, 0, false);
	edge(&x, 0x484, 0, false);
	edge(&x, 0x501, 1, true);
	edge(&x, 0x541, 1, true);
	edge(&x, 0x600, 1, true);
	edge(&x, 0x601, 0, false);
	edge(&x, 0x640, 0, false);
	edge(&x, 0x700, 0, false);
	edge(&x, 0x740, 0, false);
	edge(&x, 0x744, 0, false);
	end(&x);
}

/* A frame pointer is believed only if it leads behind a call. */
static void follows(struct fixture *x, uint32_t at, bool believed)
{
	x->words[3] = text(x, at);
	x->reg[ROW_RBP] = STACK + 16;
	go(x);
	if (believed) {
		frame_is(x, 0, INNER, STACK + 32);
		assert_true(x->out.nr >= 2);
		assert_int_equal(x->out.frames[1].flags, UNWIND_CALLER | UNWIND_GUESSED);
	} else {
		stops(x, 1, UNWIND_NO_CFI);
		frame_is(x, 0, INNER, 0);
	}
}

static void test_what_is_a_call(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool call;
	} codes[] = {
#define CODE(bytes, call) {bytes, sizeof(bytes) - 1, call}
	    CODE("\xe8\x01\x02\x03\x04", true),
	    CODE("\xff\xd0", true),			/* rax */
	    CODE("\x41\xff\xd4", true),			/* r12 */
	    CODE("\xff\x13", true),			/* (rbx) */
	    CODE("\xff\x14\x24", true),			/* (rsp) */
	    CODE("\xff\x14\xc5\x00\x10\x00\x00", true), /* table(, rax, 8) */
	    CODE("\xff\x50\x18", true),			/* 24(rax) */
	    CODE("\xff\x54\x24\x08", true),		/* 8(rsp) */
	    CODE("\xff\x15\x11\x22\x33\x44", true),	/* slot(rip) */
	    CODE("\xff\x90\x80\x01\x00\x00", true),	/* 384(rax) */
	    CODE("\xff\x94\x24\x80\x01\x00\x00", true), /* 384(rsp) */
	    CODE("\xff\xe0", false),			/* a jump */
	    CODE("\xff\xf0", false),			/* a push */
	    CODE("\xe9\x01\x02\x03\x04", false),
	    CODE("\xff\x50", false), /* cut off */
	    CODE("\x48\x89\xc8", false),
	};
	struct fixture x;
	uint32_t i;

	begin(&x);
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		put(&x, 0x400 + 32 * i - (uint32_t)codes[i].n, codes[i].bytes, codes[i].n);
	finish(&x);
	fill_stack(&x);
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		follows(&x, 0x400 + 32 * i, codes[i].call);
	end(&x);
}

static void test_frame_pointers_that_lie(void **state)
{
	struct fixture x;

	begin_edges(&x);
	finish(&x);
	fill_stack(&x);
	/* The outermost one is 0, by convention, of a caller; here there was none. */
	x.reg[ROW_RBP] = 0;
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	x.reg[ROW_RBP] = STACK - 24; /* down the stack */
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	x.reg[ROW_RBP] = STACK + 17; /* crooked */
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	x.reg[ROW_RBP] = 0xdeadbeef;
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	x.reg[ROW_RBP] = UINT64_MAX - 7;
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	/* Near enough to be of this stack, and far off. */
	x.reg[ROW_RBP] = STACK + 0x8000;
	go(&x);
	stops(&x, 1, UNWIND_END_OF_COPY);
	assert_int_equal(x.out.missing, STACK + 0x8008);
	assert_int_equal(x.out.frames[0].cfa, 0);
	x.reg[ROW_RBP] = STACK + (64 << 20);
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	/* To its caller's frame pointer, which is 0: complete. */
	x.reg[ROW_RBP] = STACK;
	x.words[0] = 0;
	x.words[1] = text(&x, 0x800);
	put(&x, 0x800, "", 0);
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI); /* not behind a call */
	end(&x);
}

static void test_outermost_frame_pointer(void **state)
{
	struct fixture x;

	begin(&x);
	PUT(&x, 0x800 - 2, "\xff\xd0");
	finish(&x);
	x.reg[ROW_RBP] = STACK;
	x.words[1] = text(&x, 0x800);
	go(&x);
	stops(&x, 2, UNWIND_BOTTOM);
	frame_is(&x, 0, INNER, STACK + 16);
	frame_is(&x, 1, 0x800, 0);
	end(&x);
}

/* In code of no file nothing but the frame pointers is there to be believed. */
static void test_made_code(void **state)
{
	struct fixture x;
	unsigned int i;

	begin_edges(&x);
	finish(&x);
	fill_stack(&x);
	x.reg[ROW_RIP] = 0x10000;
	x.reg[ROW_RBX] = STACK + 0x100;
	x.reg[ROW_RBP] = STACK + 16;
	x.words[2] = STACK + 48;
	x.words[3] = 0x20000;
	x.words[6] = STACK + 80;
	x.words[7] = text(&x, OUTER);
	go(&x);
	assert_int_equal(x.out.frames[0].module, 0);
	assert_int_equal(x.out.frames[0].offset, 0x10000);
	assert_int_equal(x.out.frames[1].module, 0);
	assert_int_equal(x.out.frames[1].offset, 0x20000);
	assert_int_equal(x.out.frames[1].cfa, STACK + 64);
	frame_is(&x, 2, OUTER, 0); /* asks for rbx, which was lost on the way */
	stops(&x, 3, UNWIND_BAD_CFI);
	/* What is guessed and leads nowhere is not said. */
	x.words[7] = text(&x, OUTER + 1);
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	assert_int_equal(x.out.frames[0].cfa, 0);
	x.words[7] = 77;
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	/* A chain that only ends with the copy is. */
	for (i = 2; i + 2 < WORDS; i += 2) {
		x.words[i] = STACK + 8 * (i + 2);
		x.words[i + 1] = 0x30000 + i;
	}
	go(&x);
	stops(&x, x.out.nr, UNWIND_END_OF_COPY);
	assert_int_equal(x.out.nr, 32);
	/* But nobody runs code on the stack. */
	x.words[WORDS - 1] = STACK + 16;
	go(&x);
	stops(&x, 1, UNWIND_NO_CFI);
	end(&x);
}

static void test_damaged_information(void **state)
{
	struct fixture x;

	begin_edges(&x);
	FDE(&x, INNER, 16, 0x3f);
	finish(&x);
	fill_stack(&x);
	x.reg[ROW_RBP] = 5;
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFI);
	/* A frame pointer may help all the same. */
	x.reg[ROW_RBP] = STACK + 16;
	x.words[3] = text(&x, OUTER);
	go(&x);
	frame_is(&x, 0, INNER, STACK + 32);
	frame_is(&x, 1, OUTER, 0);
	assert_int_equal(x.out.frames[1].flags, UNWIND_CALLER | UNWIND_GUESSED);
	end(&x);
}

/* ---- signal frames by their augmentation ---- */

static void test_interrupted_at_its_first_instruction(void **state)
{
	/* The kernel's frame: CFA = [rsp + 16], the address [rsp + 24] */
	static const unsigned char kernel[] = {0x0f, 3,	 0x77, 16, 0x06, 0x10, 16, 2,
					       0x77, 24, 0x10, 7,  2,	 0x77, 16};
	struct fixture x;
	size_t cie;

	begin(&x);
	cie = eh_cie(&x.frames, "zRS");
	eh_fde(&x.frames, x.frames_at, cie, x.text_at + 0x300, 16, -1, kernel, sizeof(kernel));
	FDE(&x, OUTER - 16, 16, 0x0e, 0x80, 1); /* ends where the next begins */
	add_fde(&x, OUTER, 16, NULL, 0);
	PUT(&x, LAST - 5, "\xe8\0\0\0\0");
	FDE(&x, LAST - 16, 32, 0x07, 16);
	finish(&x);
	fill_stack(&x);
	x.reg[ROW_RIP] = text(&x, 0x301);
	x.words[2] = STACK + 64;
	x.words[3] = text(&x, OUTER);
	x.words[8] = text(&x, LAST);
	go(&x);
	stops(&x, 3, UNWIND_BOTTOM);
	frame_is(&x, 0, 0x301, STACK + 64);
	assert_int_equal(x.out.frames[0].flags, UNWIND_SIGNAL);
	frame_is(&x, 1, OUTER, STACK + 72);
	assert_int_equal(x.out.frames[1].flags, 0);
	frame_is(&x, 2, LAST, STACK + 80);
	/* Down the stack is right for it, no address is not. */
	x.words[2] = STACK - 4096;
	go(&x);
	stops(&x, 2, UNWIND_END_OF_COPY);
	x.words[2] = UINT64_MAX;
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFA);
	x.words[2] = STACK + 64;
	x.words[3] = 0;
	go(&x);
	stops(&x, 1, UNWIND_BAD_RETURN);
	/* One that is interrupted by itself ends too. */
	x.words[2] = STACK;
	x.words[3] = text(&x, 0x300);
	go(&x);
	stops(&x, UNWIND_MAX_FRAMES, UNWIND_LIMIT);
	end(&x);
}

/* A call that does not return is the last instruction of its function. */
static void test_return_address_behind_its_function(void **state)
{
	struct fixture x;

	begin(&x);
	PUT(&x, OUTER + 11, "\xe8\0\0\0\0");
	FDE(&x, OUTER, 16, 0x44, 0x0e, 24);
	FDE(&x, OUTER + 16, 16, 0x0e, 80);
	FDE(&x, TEXT - 16, 16, 0x44, 0x0e, 32);
	add_fde(&x, INNER, 16, NULL, 0);
	finish(&x);
	fill_stack(&x);
	x.words[0] = text(&x, OUTER + 16);
	x.words[3] = text(&x, TEXT); /* behind the segment */
	x.words[7] = 0;
	go(&x);
	stops(&x, 3, UNWIND_BOTTOM);
	frame_is(&x, 1, OUTER + 16, STACK + 32);
	assert_int_equal(x.out.frames[1].function, x.text_at - ELF_BASE + OUTER);
	frame_is(&x, 2, TEXT, STACK + 64);
	assert_int_equal(x.out.frames[2].function, x.text_at - ELF_BASE + TEXT - 16);
	end(&x);
}

/* ---- what else may lie ---- */

static void test_cfa_that_goes_back(void **state)
{
	struct fixture x;

	begin(&x);
	FDE(&x, 0x00, 16, 0x0c, 3, 0);		       /* rbx */
	FDE(&x, 0x10, 16, 0x0c, 7, 0);		       /* rsp itself */
	FDE(&x, 0x20, 16, 0x0c, 7, 12);		       /* crooked */
	FDE(&x, 0x30, 16, 0x16, 7, 1, 0x30, 0x0e, 16); /* rsp of the caller is 0 */
	FDE(&x, 0x40, 16, 0x0e, 8);
	finish(&x);
	fill_stack(&x);
	x.reg[ROW_RBX] = STACK - 64;
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFA);
	assert_int_equal(x.out.frames[0].cfa, 0);
	x.reg[ROW_RBX] = UINT64_MAX - 7;
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFA);
	x.reg[ROW_RIP] = text(&x, 0x10);
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFA);
	x.reg[ROW_RIP] = text(&x, 0x20);
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFA);
	/* A caller whose stack pointer is said to be below: its frame would be as well. */
	x.words[1] = text(&x, 0x38);
	x.reg[ROW_RIP] = text(&x, 0x30);
	go(&x);
	stops(&x, 2, UNWIND_BAD_CFA);
	end(&x);
}

static void test_no_stack(void **state)
{
	const struct unwind_memory crooked = {STACK + 3, "0123456789abcdefghij", 20};
	const struct unwind_memory top = {UINT64_MAX - 7, "01234567", 8};
	struct unwind_input in;
	struct fixture x;

	begin(&x);
	FDE(&x, INNER, 16, 0x0c, 7, 16);
	finish(&x);
	x.bytes = 0;
	go(&x);
	stops(&x, 1, UNWIND_END_OF_COPY);
	assert_int_equal(x.out.missing, STACK + 8);
	frame_is(&x, 0, INNER, STACK + 16);
	x.bytes = 15; /* one byte short */
	go(&x);
	stops(&x, 1, UNWIND_END_OF_COPY);
	in = (struct unwind_input){x.reg, NULL, 0, x.map};
	unwind(x.u, &in, &x.out);
	stops(&x, 1, UNWIND_END_OF_COPY);
	in = (struct unwind_input){x.reg, &crooked, 1, NULL};
	unwind(x.u, &in, &x.out);
	stops(&x, 1, UNWIND_NO_CFI); /* no mappings */
	in = (struct unwind_input){x.reg, &crooked, 1, x.map};
	unwind(x.u, &in, &x.out);
	stops(&x, 1, UNWIND_BAD_RETURN); /* bytes of text */
	/* The end of the address space. */
	x.reg[ROW_RSP] = UINT64_MAX - 15;
	in = (struct unwind_input){x.reg, &top, 1, x.map};
	unwind(x.u, &in, &x.out);
	stops(&x, 1, UNWIND_BAD_CFA);
	end(&x);
}

static void test_mappings_that_lie(void **state)
{
	struct fixture x;
	struct unwind_mapping list[] = {
	    {LOADED + 0x5000, LOADED + 0x5000, 0, MODULE}, /* empty */
	    {LOADED + 0x6000, LOADED + 0x1000, 0, MODULE}, /* inside out */
	    {0, UINT64_MAX, 0, MODULE},			   /* everything */
	    {LOADED, LOADED + 0x2000, UINT64_MAX - 0x800, MODULE},
	    {LOADED + 0x10000, LOADED + 0x20000, 1ULL << 62, MODULE},
	    {LOADED + 0x20000, LOADED + 0x30000, 0, MODULE + 1}, /* no such module */
	    {LOADED + 0x30000, LOADED + 0x40000, 0, 0},
	};
	const size_t n = sizeof(list) / sizeof(list[0]);
	static struct unwind_mapping many[UNWIND_MAX_MAPPINGS + 1];
	uint64_t pc;

	begin(&x);
	FDE(&x, INNER, 16, 0x0c, 7, 16);
	finish(&x);
	fill_stack(&x);
	x.reg[ROW_RBP] = 1;
	map_all(&x, list, n);
	assert_int_equal(unwind_map_size(x.map), n - 2);
	for (pc = LOADED - 0x1000; pc < LOADED + 0x50000; pc += 0x123) {
		x.reg[ROW_RIP] = pc;
		go(&x);
		stops(&x, 1, UNWIND_NO_CFI);
	}
	for (pc = UINT64_MAX - 5; pc != 5; pc++) {
		x.reg[ROW_RIP] = pc;
		go(&x);
		stops(&x, 1, UNWIND_NO_CFI);
	}
	/* The same file twice, and overlapping: the later start counts. */
	list[0] = (struct unwind_mapping){LOADED, LOADED + 0x9000, 0, MODULE};
	list[1] = (struct unwind_mapping){LOADED + 0x4000, LOADED + 0x5000, 0, MODULE};
	map_all(&x, list, 2);
	assert_ptr_equal(unwind_map_at(x.map, LOADED + 0x5000), NULL);
	assert_int_equal(unwind_map_at(x.map, LOADED + 0x4fff)->start, LOADED + 0x4000);
	x.reg[ROW_RIP] = text(&x, INNER);
	go(&x);
	frame_is(&x, 0, INNER, STACK + 16);
	x.reg[ROW_RIP] += 0x4000;
	go(&x);
	frame_is(&x, 0, INNER, STACK + 16);
	map_all(&x, list, 0);
	assert_null(unwind_map_at(x.map, 0));
	assert_null(unwind_map_new(many, UNWIND_MAX_MAPPINGS + 1));
	end(&x);
}

/* More addresses than are kept, again and again: the answer stays that of the first time. */
static void test_forgotten_and_found_again(void **state)
{
	struct fixture x;
	unsigned int round, i, asked;

	begin(&x);
	for (i = 0; i < TEXT; i += 4) {
		unsigned char program[] = {0x0e, 0x80 | (i / 4 * 8 & 0x7f), i / 4 * 8 >> 7};

		add_fde(&x, i, 4, program, sizeof(program));
	}
	finish(&x);
	x.bytes = 0;
	for (round = 0; round < 3; round++)
		for (i = 4; i < TEXT; i++) {
			x.reg[ROW_RIP] = text(&x, i);
			go(&x);
			frame_is(&x, 0, i, STACK + i / 4 * 8);
		}
	asked = x.asked;
	go(&x);
	assert_int_equal(x.asked, asked);
	unwinder_forget(x.u, MODULE + 1);
	go(&x);
	assert_int_equal(x.asked, asked);
	unwinder_forget(x.u, MODULE);
	go(&x);
	assert_int_equal(x.asked, asked + 1);
	end(&x);
}

/* ---- anything, in great numbers ---- */

static uint64_t seed = 88172645463325252ULL;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t any_value(struct fixture *x)
{
	switch (any() % 5) {
	case 0:
		return any();
	case 1:
		return STACK + any() % 0x280;
	case 2:
		return STACK + any() % 0x40 * 8;
	default:
		return text(x, (uint32_t)(any() % (TEXT + 16)));
	}
}

static void test_anything(void **state)
{
	unsigned int i, k, deepest = 0, rounds;
	unsigned char program[24];
	struct fixture x;

	for (rounds = 0; rounds < 40; rounds++) {
		begin(&x);
		for (i = 0; i + 32 < TEXT; i += 32) {
			for (k = 0; k < sizeof(program); k++)
				program[k] = (unsigned char)any();
			/* Begins as it should more often than not. */
			if (any() % 4)
				memcpy(program,
				       (unsigned char[]){0x0c, 7, (unsigned char)(any() % 16 * 8),
							 0x41 + any() % 16},
				       4);
			if (any() % 5)
				add_fde(&x, i, 32, program, any() % sizeof(program));
		}
		for (i = 0; i < TEXT; i++)
			x.text[i] = (unsigned char)(any() % 3 ? 0xe8 : any());
		finish(&x);
		for (i = 0; i < 2000; i++) {
			for (k = 0; k < WORDS; k++)
				x.words[k] = any_value(&x);
			for (k = 0; k < ROW_REGISTERS; k++)
				x.reg[k] = any_value(&x);
			x.reg[ROW_RSP] = any() % 4 ? STACK : any_value(&x);
			x.bytes = any() % (sizeof(x.words) + 1);
			go(&x);
			for (k = 0; k + 1 < x.out.nr; k++)
				assert_true(x.out.frames[k].flags & UNWIND_SIGNAL ||
					    x.out.frames[k].cfa > x.reg[ROW_RSP]);
			deepest = x.out.nr > deepest ? x.out.nr : deepest;
		}
		end(&x);
	}
	assert_true(deepest > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_edges),
	    cmocka_unit_test(test_what_is_a_call),
	    cmocka_unit_test(test_frame_pointers_that_lie),
	    cmocka_unit_test(test_outermost_frame_pointer),
	    cmocka_unit_test(test_made_code),
	    cmocka_unit_test(test_damaged_information),
	    cmocka_unit_test(test_interrupted_at_its_first_instruction),
	    cmocka_unit_test(test_return_address_behind_its_function),
	    cmocka_unit_test(test_cfa_that_goes_back),
	    cmocka_unit_test(test_no_stack),
	    cmocka_unit_test(test_mappings_that_lie),
	    cmocka_unit_test(test_forgotten_and_found_again),
	    cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
