// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules, expressions and edges made byte by byte, and everything that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unwind_made.h"

/* ---- rules of registers ---- */

/*
 * The register `reg` of the caller by a program: the caller's frame is at that
 * register, so that its CFA says it. 0: it is lost.
 */
static uint64_t caller_register(unsigned char reg, const void *program, size_t len)
{
	unsigned char outer[] = {0x0c, reg, 0x40};
	struct fixture x;
	uint64_t value;

	begin(&x);
	add_fde(&x, INNER, 16, program, len);
	add_fde(&x, OUTER, 16, outer, sizeof(outer));
	finish(&x);
	fill_stack(&x);
	x.words[2] = text(&x, OUTER + 8);
	x.reg[reg] = STACK + 0x50;
	x.reg[ROW_R8] = STACK + 0x58;
	go(&x);
	frame_is(&x, 0, INNER, STACK + 24);
	frame_is(&x, 1, OUTER + 8, x.out.frames[1].cfa);
	value = x.out.frames[1].cfa ? x.out.frames[1].cfa - 0x40 : 0;
	if (!value)
		stops(&x, 2, UNWIND_BAD_CFI);
	end(&x);
	return value;
}

/* After CFA = rsp + 24. */
#define REGISTER(reg, expected, ...)                                                               \
	do {                                                                                       \
		static const unsigned char p_[] = {0x0e, 24, __VA_ARGS__};                         \
                                                                                                   \
		assert_int_equal(caller_register(reg, p_, sizeof(p_)), expected);                  \
	} while (0)

static void test_rules(void **state)
{
	const uint64_t kept = STACK + 0x50, cfa = STACK + 24, lost = 0;

	REGISTER(3, kept, 0);			/* nothing is said: rbx is kept */
	REGISTER(6, kept, 0);			/* rbp */
	REGISTER(15, kept, 0);			/* r15 */
	REGISTER(0, lost, 0);			/* rax is not */
	REGISTER(10, lost, 0);			/* nor r10 */
	REGISTER(10, kept, 0x08, 10);		/* same value */
	REGISTER(3, lost, 0x07, 3);		/* undefined */
	REGISTER(3, WORD_AT(0), 0x83, 3);	/* offset: at CFA - 24 */
	REGISTER(3, WORD_AT(1), 0x05, 3, 2);	/* extended */
	REGISTER(3, WORD_AT(1), 0x11, 3, 2);	/* signed */
	REGISTER(3, WORD_AT(4), 0x11, 3, 0x7f); /* at CFA + 8 */
	REGISTER(3, WORD_AT(5), 0x2f, 3, 2);	/* negative extended: at CFA + 16 */
	REGISTER(3, cfa - 16, 0x14, 3, 2);	/* value: is CFA - 16 */
	REGISTER(3, cfa + 64, 0x15, 3, 0x78);
	REGISTER(3, STACK + 0x58, 0x09, 3, 8);		 /* in r8 */
	REGISTER(3, lost, 0x09, 3, 99);			 /* in one that there is not */
	REGISTER(3, lost, 0x11, 3, 0x9c, 0x7f);		 /* above what was copied */
	REGISTER(3, kept, 0x83, 99);			 /* below it: taken back already */
	REGISTER(3, WORD_AT(1), 0x10, 3, 2, 0x40, 0x1c); /* at CFA - lit16 */
	REGISTER(3, WORD_AT(5), 0x10, 3, 2, 0x77, 0x28); /* at breg7 + 40 */
	REGISTER(3, cfa + 32, 0x16, 3, 2, 0x23, 0x20);	 /* is CFA + 32 */
	REGISTER(3, lost, 0x16, 3, 1, 0x1c);		 /* nothing to subtract from */
	REGISTER(3, WORD_AT(3), 0x10, 3, 0);		 /* at CFA, which it begins with */
	/* The last rule counts. */
	REGISTER(3, kept, 0x83, 3, 0xc3);	/* restored to that of the CIE: none */
	REGISTER(3, kept, 0x83, 3, 0x06, 3);	/* extended */
	REGISTER(3, kept, 0x0a, 0x83, 3, 0x0b); /* remembered */
	REGISTER(3, WORD_AT(0), 0x0a, 0x0a, 0x0b, 0x83, 3, 0x2e, 16);
	REGISTER(3, WORD_AT(0), 0x83, 3, 0x05, 17, 2, 0x07, 32, 0x10, 40, 1, 0x96); /* vectors */
	REGISTER(3, kept, 0x0a, 0x0e, 99, 0x83, 3, 0x0b); /* the CFA is remembered too */
}

/* A CIE with instructions of its own and any number for the return address. */
static size_t own_cie(struct buf *b, const void *program, size_t len, unsigned char ret)
{
	size_t at = b->len;
	uint32_t size;

	buf_append(b, "\0\0\0\0\0\0\0\0", 8);
	buf_append(b, "\x01zR\0\x01\x78", 6);
	buf_putc(b, (char)ret);
	buf_append(b, "\x01\x1b", 2);
	buf_append(b, program, len);
	while ((b->len - at) % 4)
		buf_putc(b, 0);
	size = (uint32_t)(b->len - at - 4);
	memcpy(b->data + at, &size, 4);
	return at;
}

static void test_rules_of_the_cie(void **state)
{
	/* CFA = rsp + 24, rbx and the return address saved */
	static const unsigned char initial[] = {0x0c, 7, 24, 0x83, 3, 0x90, 1};
	/* the column of the return address is that of r8 */
	static const unsigned char in_r8[] = {0x0c, 7, 24, 0x88, 2};
	static const unsigned char lost_then_back[] = {0x07, 3, 0x41, 0xc3};
	static const unsigned char outer[] = {0x0c, 3, 0};
	struct fixture x;
	size_t cie;

	begin(&x);
	cie = own_cie(&x.frames, initial, sizeof(initial), 16);
	eh_fde(&x.frames, x.frames_at, cie, x.text_at, 16, -1, lost_then_back,
	       sizeof(lost_then_back));
	add_fde(&x, OUTER, 16, outer, sizeof(outer));
	cie = own_cie(&x.frames, in_r8, sizeof(in_r8), 8);
	eh_fde(&x.frames, x.frames_at, cie, x.text_at + 0x20, 16, -1, NULL, 0);
	cie = own_cie(&x.frames, in_r8, sizeof(in_r8), 17);
	eh_fde(&x.frames, x.frames_at, cie, x.text_at + 0x40, 16, -1, NULL, 0);
	finish(&x);
	fill_stack(&x);
	x.words[2] = text(&x, OUTER + 8);
	go(&x);
	stops(&x, 2, UNWIND_BAD_CFI);
	x.reg[ROW_RIP]++;
	go(&x);
	frame_is(&x, 1, OUTER + 8, WORD_AT(0));

	x.reg[ROW_RIP] = text(&x, 0x20);
	x.words[1] = text(&x, OUTER + 3);
	x.reg[ROW_RBX] = STACK + 128;
	go(&x);
	frame_is(&x, 0, 0x20, STACK + 24);
	frame_is(&x, 1, OUTER + 3, STACK + 128);
	/* No register can be meant: as good as no information. */
	x.reg[ROW_RIP] = text(&x, 0x40);
	x.reg[ROW_RBP] = 1;
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFI);
	assert_int_equal(x.out.frames[0].cfa, 0);
	end(&x);
}

static void test_bottoms(void **state)
{
	static const unsigned char no_caller[] = {0x07, 16};
	static const unsigned char same[] = {0x08, 16};
	static const unsigned char far[] = {0x0e, 0xf8, 0x7f};
	struct fixture x;

	begin(&x);
	add_fde(&x, 0, 16, no_caller, sizeof(no_caller));
	add_fde(&x, 16, 16, same, sizeof(same));
	add_fde(&x, 32, 16, far, sizeof(far));
	add_fde(&x, 48, 16, NULL, 0);
	finish(&x);
	go(&x);
	stops(&x, 1, UNWIND_BOTTOM);
	frame_is(&x, 0, 0, STACK + 8);
	x.reg[ROW_RIP] = text(&x, 16);
	go(&x);
	stops(&x, 1, UNWIND_BAD_CFI);
	x.reg[ROW_RIP] = text(&x, 32);
	go(&x);
	stops(&x, 1, UNWIND_END_OF_COPY);
	assert_int_equal(x.out.missing, STACK + 0x3ff8 - 8);
	assert_int_equal(x.out.frames[0].cfa, STACK + 0x3ff8);
	x.reg[ROW_RIP] = text(&x, 48);
	x.words[0] = 0;
	go(&x);
	stops(&x, 1, UNWIND_BOTTOM);
	x.words[0] = 1;
	go(&x);
	stops(&x, 1, UNWIND_BAD_RETURN);
	x.words[0] = STACK + 80; /* on the stack itself */
	go(&x);
	stops(&x, 1, UNWIND_BAD_RETURN);
	frame_is(&x, 0, 48, STACK + 8);
	x.words[0] = 0xffffffff81000000ULL;
	go(&x);
	stops(&x, 1, UNWIND_BAD_RETURN);
	end(&x);
}

/* ---- expressions ---- */

/* CFA = rsp + 8 + 8 * what the expression gives; -1: it cannot be run. */
static int expression(const void *bytes, size_t n)
{
	static const unsigned char scale[] = {0x38, 0x1e, 0x77, 8, 0x22};
	unsigned char program[300] = {0x0f, 0, 0};
	struct fixture x;
	int result;

	assert_true(n + sizeof(scale) < 256);
	program[1] = (unsigned char)(0x80 | ((n + sizeof(scale)) & 0x7f));
	program[2] = (unsigned char)((n + sizeof(scale)) >> 7);
	memcpy(program + 3, bytes, n);
	memcpy(program + 3 + n, scale, sizeof(scale));
	begin(&x);
	add_fde(&x, INNER, 64, program, 3 + n + sizeof(scale));
	finish(&x);
	fill_stack(&x);
	x.words[3] = 0x8877665544332211ULL;
	x.words[4] = 5;
	x.reg[ROW_RAX] = 9;
	x.reg[ROW_RIP] = text(&x, INNER + 13);
	go(&x);
	if (x.out.stop == UNWIND_BAD_CFI) {
		stops(&x, 1, UNWIND_BAD_CFI);
		assert_int_equal(x.out.frames[0].cfa, 0);
		result = -1;
	} else {
		assert_true(x.out.frames[0].cfa);
		result = (int)((x.out.frames[0].cfa - STACK - 8) / 8);
	}
	end(&x);
	return result;
}

#define GIVES(expected, ...)                                                                       \
	assert_int_equal(expression((const unsigned char[]){__VA_ARGS__},                          \
				    sizeof((const unsigned char[]){__VA_ARGS__})),                 \
			 expected)

static void test_expressions(void **state)
{
	GIVES(0, 0x30);				/* lit0 */
	GIVES(31, 0x4f);			/* lit31 */
	GIVES(200, 0x08, 200);			/* const1u */
	GIVES(7, 0x09, 0xff, 0x38, 0x22);	/* const1s -1 + 8 */
	GIVES(0x102, 0x0a, 2, 1);		/* const2u */
	GIVES(6, 0x0b, 0xfe, 0xff, 0x38, 0x22); /* const2s */
	GIVES(0x1001, 0x0c, 1, 0x10, 0, 0);	/* const4u */
	GIVES(5, 0x0d, 0xfd, 0xff, 0xff, 0xff, 0x38, 0x22);
	GIVES(3, 0x0e, 3, 0, 0, 0, 0, 0, 0, 0); /* const8u */
	GIVES(3, 0x03, 3, 0, 0, 0, 0, 0, 0, 0); /* addr */
	GIVES(300, 0x10, 0xac, 2);		/* constu */
	GIVES(2, 0x11, 0x7e, 0x1f);		/* consts -2, neg */
	GIVES(9, 0x70, 0);			/* breg0 */
	GIVES(8, 0x92, 0, 0x7f);		/* bregx 0, -1 */
	GIVES(13, 0x80, 0, 0x3f, 0x1a);		/* breg16 & 15: of the address itself */
	GIVES(5, 0x77, 32, 0x06);		/* deref of word 4 */
	GIVES(0x11, 0x77, 24, 0x94, 1);		/* deref_size */
	GIVES(0x2211, 0x77, 24, 0x94, 2);
	GIVES(0x88, 0x77, 31, 0x94, 1);
	GIVES(4, 0x33, 0x34, 0x12, 0x1c, 0x22, 0x31, 0x22); /* dup */
	GIVES(3, 0x33, 0x34, 0x13);			    /* drop */
	GIVES(3, 0x33, 0x34, 0x14);			    /* over */
	GIVES(2, 0x32, 0x33, 0x34, 0x15, 2);		    /* pick */
	GIVES(1, 0x33, 0x34, 0x16, 0x1c);		    /* swap, minus */
	GIVES(2, 0x31, 0x32, 0x33, 0x17);		    /* rot: 3 1 2 */
	GIVES(1, 0x31, 0x32, 0x33, 0x17, 0x13);
	GIVES(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13);
	GIVES(4, 0x09, 0xfc, 0x19);		/* abs */
	GIVES(4, 0x36, 0x3c, 0x1a);		/* and */
	GIVES(3, 0x4f, 0x3a, 0x1b);		/* div */
	GIVES(3, 0x09, 0xf1, 0x35, 0x1b, 0x1f); /* -15 / 5 */
	GIVES(1, 0x4f, 0x3a, 0x1d);		/* mod */
	GIVES(12, 0x33, 0x34, 0x1e);		/* mul */
	GIVES(2, 0x09, 0xfd, 0x20);		/* not */
	GIVES(7, 0x33, 0x35, 0x21);		/* or */
	GIVES(35, 0x33, 0x23, 32);		/* plus_uconst */
	GIVES(24, 0x33, 0x33, 0x24);		/* shl */
	GIVES(3, 0x4f, 0x33, 0x25);		/* shr */
	GIVES(2, 0x09, 0xf0, 0x33, 0x26, 0x1f); /* shra */
	GIVES(0, 0x31, 0x08, 64, 0x24);		/* shifted out */
	GIVES(1, 0x09, 0xf0, 0x08, 99, 0x26, 0x1f);
	GIVES(6, 0x33, 0x35, 0x27);			    /* xor */
	GIVES(1, 0x33, 0x33, 0x29);			    /* eq */
	GIVES(1, 0x33, 0x09, 0xff, 0x2a);		    /* ge, signed */
	GIVES(1, 0x33, 0x32, 0x2b);			    /* gt */
	GIVES(0, 0x33, 0x32, 0x2c);			    /* le */
	GIVES(1, 0x09, 0xff, 0x30, 0x2d);		    /* lt */
	GIVES(0, 0x33, 0x33, 0x2e);			    /* ne */
	GIVES(5, 0x35, 0x2f, 1, 0, 0x13);		    /* skip */
	GIVES(5, 0x35, 0x31, 0x28, 1, 0, 0x13);		    /* bra taken */
	GIVES(6, 0x36, 0x35, 0x30, 0x28, 1, 0, 0x13);	    /* not taken */
	GIVES(0, 0x34, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff); /* a loop down to 0 */
	GIVES(5, 0x35, 0x96);				    /* nop */
	/* As the linker writes it for its stubs: ((rip & 15) >= 11) */
	GIVES(1, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a);
	GIVES(0, 0x80, 0x7d, 0x3f, 0x1a, 0x3b, 0x2a);
}

static void test_expressions_that_lie(void **state)
{
	unsigned char much[200];

	GIVES(-1, 0x22); /* nothing there */
	GIVES(-1, 0x33, 0x22);
	GIVES(-1, 0x33, 0x15, 1);    /* pick below */
	GIVES(-1, 0x33, 0x30, 0x1b); /* by 0 */
	GIVES(-1, 0x33, 0x30, 0x1d);
	GIVES(-1, 0x33, 0x94, 9); /* nine bytes */
	GIVES(-1, 0x33, 0x94, 0);
	GIVES(-1, 0x2f, 0xfd, 0xff);	   /* for ever */
	GIVES(-1, 0x33, 0x2f, 0xf0, 0xff); /* out of it */
	GIVES(-1, 0x33, 0x2f, 0xff, 0x7f);
	GIVES(-1, 0x81, 0); /* a register that there is not */
	GIVES(-1, 0x92, 0xff, 0xff, 0xff, 0xff, 0x0f, 0);
	GIVES(-1, 0x50); /* reg0 is no value */
	GIVES(-1, 0xff);
	GIVES(-1, 0x9c);		  /* call_frame_cfa */
	GIVES(-1, 0x98, 0, 0);		  /* call2 */
	memset(much, 0x12, sizeof(much)); /* dup ... */
	much[0] = 0x33;
	assert_int_equal(expression(much, sizeof(much)), -1);
	/* The smallest number by -1. */
	GIVES(0, 0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b, 0x31, 0x24);
}

/* Missing memory is no damage. */
static void test_expression_beyond_the_copy(void **state)
{
	struct fixture x;

	begin(&x);
	FDE(&x, INNER, 64, 0x0f, 4, 0x77, 0x80, 5, 0x06);
	finish(&x);
	go(&x);
	stops(&x, 1, UNWIND_END_OF_COPY);
	assert_int_equal(x.out.missing, STACK + 640);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_rules_of_the_cie),
	    cmocka_unit_test(test_bottoms),
	    cmocka_unit_test(test_expressions),
	    cmocka_unit_test(test_expressions_that_lie),
	    cmocka_unit_test(test_expression_beyond_the_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
