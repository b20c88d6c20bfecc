// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/code/arch.h"
#include "analysis/code/decode.h"

enum { AT = 0x401000 };

static struct decoder *decoder;

static int setup(void **state)
{
	decoder = decoder_new();
	return decoder ? 0 : -1;
}

static int teardown(void **state)
{
	decoder_free(decoder);
	return 0;
}

static size_t parse(const char *hex, uint8_t *out, size_t max)
{
	size_t n = 0;
	unsigned v;
	int used;

	while (n < max && sscanf(hex, " %2x%n", &v, &used) == 1) {
		out[n++] = (uint8_t)v;
		hex += used;
	}
	return n;
}

/* Decode all of `hex` as one instruction. */
static struct insn one(const char *hex)
{
	uint8_t bytes[32];
	size_t n = parse(hex, bytes, sizeof(bytes));
	struct insn insn;

	if (decode_insn(decoder, bytes, n, AT, &insn))
		fail_msg("%s is not decoded", hex);
	if (insn.length != n)
		fail_msg("%s: length %u", hex, insn.length);
	return insn;
}

static void test_lengths(void **state)
{
	static const struct {
		const char *hex;
		unsigned length;
	} cases[] = {
	    {"55 48 89 e5", 1},
	    {"f3 0f 1e fa 90", 4},
	    {"66 2e 0f 1f 84 00 00 00 00 00 c3", 10},
	    {"48 b8 01 02 03 04 05 06 07 08 c3", 10},
	    {"65 48 8b 04 25 28 00 00 00 c3", 9},
	    {"67 e8 01 00 00 00 c3", 6},
	    {"66 66 48 e8 01 00 00 00 c3", 8},
	    {"c5 f8 77 c3", 3},
	    {"c4 e2 79 17 c0 c3", 5},
	    /* not known to capstone: by the scheme of their family */
	    {"0f 01 ee c3", 3},
	    {"c5 fb 93 c0 c3", 4},
	    {"62 f3 7d 20 3f 07 00 c3", 7},
	    {"62 f3 7d 20 3f 44 17 ff 00 c3", 9},
	    {"62 b2 75 20 26 d1 c3", 6},
	    {"62 f3 7d 20 3f 05 00 01 00 00 00 c3", 11},
	    {"62 f3 7d 20 3f 04 2d 00 01 00 00 00 c3", 12},
	    {"62 f3 7d 20 3f 84 17 00 01 00 00 00 c3", 12},
	    {"62 e1 7f 2a 6f 16 c3", 6},
	    {"62 e1 7f 2a 6f 86 00 01 00 00 c3", 10},
	    {"62 e1 7f 2a 6f 05 00 01 00 00 c3", 10},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[32];
		size_t n = parse(cases[i].hex, bytes, sizeof(bytes));
		struct insn insn;

		assert_int_equal(decode_insn(decoder, bytes, n, AT, &insn), 0);
		if (insn.length != cases[i].length)
			fail_msg("%s: length %u, not %u", cases[i].hex, insn.length,
				 cases[i].length);
		/* one byte less is not enough for any of them */
		if (!decode_insn(decoder, bytes, cases[i].length - 1, AT, &insn))
			assert_in_range(insn.length, 1, cases[i].length - 1);
	}
}

static void test_no_instruction(void **state)
{
	static const char *const cases[] = {
	    "06",
	    "c4",
	    "62 f3",
	    "62 f3 7d 20 3f",
	    "62 f3 7d 20 3f 44",
	    "48",
	    "e8 00 00 00",
	    "0f",
	    /* a 16-bit branch to some processors, a 32-bit one to others */
	    "66 e8 01 00 00 00 90 90",
	    "66 e9 01 00 00 00 90 90",
	    "66 0f 84 01 00 00 00 90",
	    "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
	};
	struct insn insn;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[32];
		size_t n = parse(cases[i], bytes, sizeof(bytes));

		if (decode_insn(decoder, bytes, n, AT, &insn) != -EILSEQ)
			fail_msg("%s was decoded to %u bytes", cases[i], insn.length);
	}
	assert_int_equal(decode_insn(decoder, (const uint8_t *)"", 0, AT, &insn), -EILSEQ);
}

static void test_flow(void **state)
{
	static const struct {
		const char *hex;
		enum insn_flow flow;
		int64_t target; /* relative to the end */
	} cases[] = {
	    {"90", INSN_NEXT, 0},
	    {"e8 10 00 00 00", INSN_CALL, 0x10},
	    {"e8 f0 ff ff ff", INSN_CALL, -0x10},
	    {"67 e8 10 00 00 00", INSN_CALL, 0x10},
	    {"f2 e8 10 00 00 00", INSN_CALL, 0x10},
	    {"66 66 48 e8 10 00 00 00", INSN_CALL, 0x10},
	    {"e9 00 01 00 00", INSN_JMP, 0x100},
	    {"f2 e9 00 01 00 00", INSN_JMP, 0x100},
	    {"eb fe", INSN_JMP, -2},
	    {"74 05", INSN_JCC, 5},
	    {"2e 75 05", INSN_JCC, 5},
	    {"0f 8f 00 02 00 00", INSN_JCC, 0x200},
	    {"e2 f0", INSN_JCC, -0x10},
	    {"e3 10", INSN_JCC, 0x10},
	    {"c7 f8 20 00 00 00", INSN_JCC, 0x20},
	    {"ff d0", INSN_CALL_INDIRECT, 0},
	    {"41 ff 54 24 08", INSN_CALL_INDIRECT, 0},
	    {"ff 15 00 10 00 00", INSN_CALL_INDIRECT, 0},
	    {"ff e0", INSN_JMP_INDIRECT, 0},
	    {"3e ff e0", INSN_JMP_INDIRECT, 0},
	    {"ff 25 00 10 00 00", INSN_JMP_INDIRECT, 0},
	    {"c3", INSN_RET, 0},
	    {"f3 c3", INSN_RET, 0},
	    {"f2 c3", INSN_RET, 0},
	    {"c2 08 00", INSN_RET, 0},
	    {"0f 0b", INSN_STOP, 0},
	    {"f4", INSN_STOP, 0},
	    {"cc", INSN_STOP, 0},
	    {"cb", INSN_STOP, 0},
	    {"0f 05", INSN_NEXT, 0},
	    {"ff c0", INSN_NEXT, 0},
	    {"c7 00 00 00 00 00", INSN_NEXT, 0},
	    /* a branch opcode in another map */
	    {"c5 f8 77", INSN_NEXT, 0},
	    {"c5 f9 e8 c0", INSN_NEXT, 0},
	    {"0f e8 c0", INSN_NEXT, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn = one(cases[i].hex);

		if (insn.flow != cases[i].flow)
			fail_msg("%s: flow %u, not %u", cases[i].hex, insn.flow, cases[i].flow);
		if (insn.flow == INSN_CALL || insn.flow == INSN_JMP || insn.flow == INSN_JCC)
			assert_int_equal(insn.target, AT + insn.length + (uint64_t)cases[i].target);
		else
			assert_int_equal(insn.target, 0);
	}
}

static void test_stack_pointer(void **state)
{
	enum { UNKNOWN = 12345 };
	static const struct {
		const char *hex;
		int delta;
	} cases[] = {
	    {"55", -8},
	    {"41 57", -8},
	    {"6a 00", -8},
	    {"68 00 00 00 00", -8},
	    {"ff 30", -8},
	    {"ff 75 08", -8},
	    {"9c", -8},
	    {"5d", 8},
	    {"41 5f", 8},
	    {"8f 00", 8},
	    {"5c", UNKNOWN},
	    {"41 5c", 8},
	    {"66 50", UNKNOWN},
	    {"48 83 ec 18", -0x18},
	    {"48 83 ec 80", 0x80},
	    {"48 83 c4 18", 0x18},
	    {"48 81 ec 00 10 00 00", -0x1000},
	    {"48 81 c4 00 10 00 00", 0x1000},
	    {"48 8d 64 24 08", 8},
	    {"48 8d 64 24 f8", -8},
	    {"48 8d a4 24 00 01 00 00", 0x100},
	    {"49 83 ec 18", 0},	   /* %r12 */
	    {"83 ec 18", UNKNOWN}, /* %esp */
	    {"48 83 e4 f0", UNKNOWN},
	    {"48 89 ec", UNKNOWN},
	    {"48 89 e5", 0},
	    {"c9", UNKNOWN},
	    {"48 29 c4", UNKNOWN},
	    {"48 8d 65 d8", UNKNOWN},
	    {"48 8d 64 04 08", UNKNOWN},
	    {"4c 8d 64 24 08", 0},
	    {"e8 00 00 00 00", 0},
	    {"ff d0", 0},
	    {"0f b6 c0", 0},
	    {"f3 0f 1e fa", 0},
	    {"0f 1f 40 00", 0},
	    {"0f a0", -8},
	    {"90", 0},
	    {"c5 f8 77", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn = one(cases[i].hex);
		struct insn_effects e;

		assert_int_equal(decode_effects(decoder, &insn, &e), 0);
		if (e.sp_known != (cases[i].delta != UNKNOWN) ||
		    (e.sp_known && e.sp_delta != cases[i].delta))
			fail_msg("%s: known %d, %lld", cases[i].hex, e.sp_known,
				 (long long)e.sp_delta);
		assert_true(e.sp_written || (e.sp_known && !e.sp_delta));
	}
}

static void test_registers(void **state)
{
	static const struct {
		const char *hex;
		uint8_t args; /* rdi rsi rdx rcx r8 r9 */
		bool ret;
	} cases[] = {
	    {"48 89 fb", 0, false},	  /* mov %rdi, %rbx */
	    {"48 89 df", 1, false},	  /* mov %rbx, %rdi */
	    {"40 b7 01", 1, false},	  /* mov $1, %dil */
	    {"31 f6", 2, false},	  /* xor %esi, %esi */
	    {"89 c2", 4, false},	  /* mov %eax, %edx */
	    {"b6 01", 4, false},	  /* mov $1, %dh */
	    {"b9 01 00 00 00", 8, false}, /* mov $1, %ecx */
	    {"4d 89 c8", 16, false},	  /* mov %r9, %r8 */
	    {"45 31 c9", 32, false},	  /* xor %r9d, %r9d */
	    {"31 c0", 0, true},		  /* xor %eax, %eax */
	    {"0f 94 c0", 0, true},	  /* sete %al */
	    {"b4 01", 0, true},		  /* mov $1, %ah */
	    {"48 98", 0, true},		  /* cltq */
	    {"48 99", 4, false},	  /* cqto; capstone lists rax too */
	    {"48 f7 e1", 4, true},	  /* mul %rcx */
	    {"48 f7 f9", 4, true},	  /* idiv %rcx */
	    {"48 91", 8, true},		  /* xchg %rcx, %rax */
	    {"48 87 fe", 3, false},	  /* xchg %rdi, %rsi */
	    {"48 0f c1 f7", 3, false},	  /* xadd %rsi, %rdi */
	    {"f0 48 0f b1 17", 0, true},  /* lock cmpxchg %rdx, (%rdi) */
	    {"0f a2", 12, true},	  /* cpuid */
	    {"0f 31", 4, true},		  /* rdtsc */
	    {"ac", 2, true},		  /* lods */
	    {"a4", 3, false},		  /* movs */
	    {"aa", 1, false},		  /* stos */
	    {"d7", 0, true},		  /* xlat */
	    {"85 c0", 0, false},	  /* test %eax, %eax */
	    {"48 39 f7", 0, false},	  /* cmp %rsi, %rdi */
	    {"58", 0, true},		  /* pop %rax */
	    {"5f", 1, false},		  /* pop %rdi */
	    {"66 48 0f 6e c7", 0, false}, /* movq %rdi, %xmm0 */
	    {"66 48 0f 7e c7", 1, false}, /* movq %xmm0, %rdi */
	    {"c4 e2 fb f6 c2", 0, true},  /* mulx */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn = one(cases[i].hex);
		struct insn_effects e;

		assert_int_equal(decode_effects(decoder, &insn, &e), 0);
		/* saying too much is safe, too little is not */
		if ((e.args & cases[i].args) != cases[i].args || (cases[i].ret && !e.ret))
			fail_msg("%s (%s): args %x, ret %d", cases[i].hex, e.text, e.args, e.ret);
	}
	/* and these must not be over-careful, or nothing is left to sample */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn = one(cases[i].hex);
		struct insn_effects e;

		assert_int_equal(decode_effects(decoder, &insn, &e), 0);
		if (!cases[i].args && !cases[i].ret)
			assert_int_equal(e.args | e.ret, 0);
	}
}

static void test_unknown_effects(void **state)
{
	struct insn insn = one("62 f3 7d 20 3f 07 00");
	struct insn_effects e;

	assert_int_equal(decode_effects(decoder, &insn, &e), -EILSEQ);
	assert_true(e.sp_written && !e.sp_known && e.ret);
	assert_int_equal(e.args & 0x3f, 0x3f);
}

static void test_text(void **state)
{
	struct insn insn = one("48 83 ec 18");
	struct insn_effects e;

	assert_int_equal(decode_effects(decoder, &insn, &e), 0);
	assert_string_equal(e.text, "subq $0x18, %rsp");
	insn = one("62 f1 7f c9 6f 84 88 00 11 22 33");
	decode_effects(decoder, &insn, &e);
	assert_true(strlen(e.text) < INSN_TEXT);
}

/* The verdicts are those of a Linux 6.18 kernel, measured; see docs/placement.md. */
static void test_probe_class(void **state)
{
	static const struct {
		const char *hex;
		enum arch_probe probe;
	} cases[] = {
	    {"50", ARCH_PROBE_EMULATED},
	    {"54", ARCH_PROBE_EMULATED},
	    {"41 57", ARCH_PROBE_EMULATED},
	    {"90", ARCH_PROBE_EMULATED},
	    {"66 90", ARCH_PROBE_EMULATED},
	    {"f3 90", ARCH_PROBE_EMULATED},
	    {"0f 1f 00", ARCH_PROBE_EMULATED},
	    {"0f 1f 80 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"66 0f 1f 84 00 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"e8 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"67 e8 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"e9 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"eb 00", ARCH_PROBE_EMULATED},
	    {"75 00", ARCH_PROBE_EMULATED},
	    {"0f 8c 00 00 00 00", ARCH_PROBE_EMULATED},
	    {"f2 e9 00 00 00 00", ARCH_PROBE_EMULATED},

	    {"48 57", ARCH_PROBE_STEPPED}, /* a prefix that the emulation does not know */
	    {"6a 00", ARCH_PROBE_STEPPED},
	    {"58", ARCH_PROBE_STEPPED},
	    {"c9", ARCH_PROBE_STEPPED},
	    {"c3", ARCH_PROBE_STEPPED},
	    {"f3 c3", ARCH_PROBE_STEPPED},
	    {"c2 08 00", ARCH_PROBE_STEPPED},
	    {"f3 0f 1e fa", ARCH_PROBE_STEPPED},
	    {"48 83 ec 08", ARCH_PROBE_STEPPED},
	    {"85 c0", ARCH_PROBE_STEPPED},
	    {"ff d0", ARCH_PROBE_STEPPED},
	    {"ff 25 00 00 00 00", ARCH_PROBE_STEPPED},
	    {"65 48 8b 04 25 28 00 00 00", ARCH_PROBE_STEPPED},
	    {"c5 f8 77", ARCH_PROBE_STEPPED},
	    {"c5 f8 10 07", ARCH_PROBE_STEPPED},
	    {"a4", ARCH_PROBE_STEPPED},
	    {"48 0f af c7", ARCH_PROBE_STEPPED},

	    {"f0 ff 07", ARCH_PROBE_REFUSED},
	    {"2e 75 00", ARCH_PROBE_REFUSED},
	    {"3e ff e0", ARCH_PROBE_REFUSED},
	    {"66 2e 0f 1f 84 00 00 00 00 00", ARCH_PROBE_REFUSED},
	    {"66 66 48 e8 00 00 00 00", ARCH_PROBE_REFUSED},
	    {"cc", ARCH_PROBE_REFUSED},
	    {"cd 80", ARCH_PROBE_REFUSED},
	    {"f4", ARCH_PROBE_REFUSED},
	    {"c5 fa 6f 07", ARCH_PROBE_REFUSED}, /* vmovdqu: looked up as one byte, 6f */
	    {"c5 f9 ef c0", ARCH_PROBE_REFUSED}, /* vpxor */

	    {"41 90", ARCH_PROBE_UNSAFE}, /* xchg %r8d, %eax: some kernels skip it as a nop */
	    {"49 90", ARCH_PROBE_UNSAFE},
	    {"0f 1f 44 00 00", ARCH_PROBE_UNSAFE}, /* some kernels make it a call */
	    {"66 66 0f 1f 84 00 00 00 00 00", ARCH_PROBE_UNSAFE},
	    {"eb 08", ARCH_PROBE_UNSAFE},
	    {"0f 05", ARCH_PROBE_UNSAFE},
	    {"0f 0b", ARCH_PROBE_UNSAFE},
	    {"9c", ARCH_PROBE_UNSAFE},
	    {"9d", ARCH_PROBE_UNSAFE},
	    {"f3 a4", ARCH_PROBE_UNSAFE},
	    {"f3 48 ab", ARCH_PROBE_UNSAFE},
	    {"f2 ae", ARCH_PROBE_UNSAFE},
	    {"e2 fe", ARCH_PROBE_UNSAFE},
	    {"e3 10", ARCH_PROBE_UNSAFE},
	    {"c7 f8 00 00 00 00", ARCH_PROBE_UNSAFE},
	    {"0f a2", ARCH_PROBE_UNSAFE},
	    {"66 50", ARCH_PROBE_UNSAFE},
	    {"8e d8", ARCH_PROBE_UNSAFE},
	    {"62 f1 7c 48 10 06", ARCH_PROBE_UNSAFE},
	    {"0f 01 ee", ARCH_PROBE_UNSAFE},
	};
	const struct place_policy policy = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn = one(cases[i].hex);

		if (arch_probe_class(&insn, &policy) != cases[i].probe)
			fail_msg("%s: %u, not %u", cases[i].hex, arch_probe_class(&insn, &policy),
				 cases[i].probe);
	}
}

static void test_probe_policy(void **state)
{
	const struct place_policy shadow = {.shadow_stack = true};
	const struct place_policy old = {.long_nops_stepped = true};
	const struct place_policy nop5 = {.allow_nop5 = true};
	struct insn insn = one("e8 00 00 00 00");

	assert_int_equal(arch_probe_class(&insn, &shadow), ARCH_PROBE_SHADOW);
	insn = one("ff d0");
	assert_int_equal(arch_probe_class(&insn, &shadow), ARCH_PROBE_SHADOW);
	insn = one("e9 00 00 00 00");
	assert_int_equal(arch_probe_class(&insn, &shadow), ARCH_PROBE_EMULATED);
	insn = one("0f 1f 00");
	assert_int_equal(arch_probe_class(&insn, &old), ARCH_PROBE_STEPPED);
	insn = one("66 90");
	assert_int_equal(arch_probe_class(&insn, &old), ARCH_PROBE_EMULATED);
	insn = one("0f 1f 44 00 00");
	assert_int_equal(arch_probe_class(&insn, &nop5), ARCH_PROBE_EMULATED);
	insn = one("41 90");
	assert_int_equal(arch_probe_class(&insn, &nop5), ARCH_PROBE_UNSAFE);
}

static void test_work(void **state)
{
	static const char *const work[] = {"0f 05", "cd 80", "f3 a4",	 "f3 48 ab",
					   "f2 ae", "0f a2", "0f 01 d0", "0f 34"};
	static const char *const not [] = {"a4",    "90",	"f3 90",    "f0 ff 07",
					   "0f 31", "0f ae f8", "48 f7 f9", "e8 00 00 00 00",
					   "f3 c3"};

	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++) {
		struct insn insn = one(work[i]);

		assert_true(arch_is_work(&insn));
	}
	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
		struct insn insn = one(not [i]);

		assert_false(arch_is_work(&insn));
	}
}

static void check_operand(const char *hex, bool memory, int base, int index, int scale,
			  int64_t disp)
{
	struct insn insn = one(hex);
	struct call_operand op;

	arch_indirect_operand(&insn, &op);
	if (op.memory != memory || op.base != base || op.index != index ||
	    (memory && index != CALL_NO_REG && op.scale != scale) || op.disp != disp)
		fail_msg("%s: memory %d base %u index %u scale %u disp %lld", hex, op.memory,
			 op.base, op.index, op.scale, (long long)op.disp);
}

static void test_operands(void **state)
{
	enum {
		RAX = 0,
		RDX,
		RCX,
		RBX,
		RSI,
		RDI,
		RBP,
		RSP,
		R8,
		R12 = 12,
		R13 = 13,
		NO = CALL_NO_REG
	};

	check_operand("ff d0", false, RAX, NO, 0, 0);
	check_operand("ff d1", false, RCX, NO, 0, 0);
	check_operand("ff d2", false, RDX, NO, 0, 0);
	check_operand("41 ff d4", false, R12, NO, 0, 0);
	check_operand("ff 10", true, RAX, NO, 0, 0);
	check_operand("ff 50 18", true, RAX, NO, 0, 0x18);
	check_operand("ff 55 f8", true, RBP, NO, 0, -8);
	check_operand("ff 90 00 01 00 00", true, RAX, NO, 0, 0x100);
	check_operand("41 ff 55 00", true, R13, NO, 0, 0);
	check_operand("41 ff 54 24 08", true, R12, NO, 0, 8);
	check_operand("ff 14 c7", true, RDI, RAX, 8, 0);
	check_operand("42 ff 14 c7", true, RDI, R8, 8, 0);
	check_operand("ff 14 24", true, RSP, NO, 0, 0);
	check_operand("ff 14 c5 00 10 40 00", true, NO, RAX, 8, 0x401000);
	check_operand("ff 15 00 10 00 00", true, CALL_RIP, NO, 0, 0x1000);
	check_operand("ff 24 25 00 10 40 00", true, NO, NO, 0, 0x401000);
	check_operand("3e ff 24 c5 00 10 40 00", true, NO, RAX, 8, 0x401000);
}

static void check_probe_operand(const char *hex, uint32_t kind, uint32_t base, uint32_t index,
				uint32_t scale, int64_t disp)
{
	struct insn insn = one(hex);
	struct rec_operand op;

	arch_probe_operand(&insn, &op);
	if (op.kind != kind || op.base != base || op.index != index || op.scale != scale ||
	    op.disp != disp)
		fail_msg("%s: kind %u base %u index %u scale %u disp %lld", hex, op.kind, op.base,
			 op.index, op.scale, (long long)op.disp);
}

/* As a probe finds them: registers in the order of struct pt_regs. */
static void test_probe_operands(void **state)
{
	enum {
		R15 = 0,
		R13 = 2,
		R12,
		RBP,
		RBX,
		R8 = 9,
		RAX,
		RCX,
		RDX,
		RSI,
		RDI,
		RSP = 19,
		NO = OPERAND_NO_REG,
		REG = OPERAND_REGISTER,
		MEM = OPERAND_MEMORY
	};

	check_probe_operand("ff d0", REG, RAX, NO, 0, 0);
	check_probe_operand("ff d1", REG, RCX, NO, 0, 0);
	check_probe_operand("ff d2", REG, RDX, NO, 0, 0);
	check_probe_operand("ff d3", REG, RBX, NO, 0, 0);
	check_probe_operand("ff d4", REG, RSP, NO, 0, 0);
	check_probe_operand("ff d5", REG, RBP, NO, 0, 0);
	check_probe_operand("ff d6", REG, RSI, NO, 0, 0);
	check_probe_operand("ff d7", REG, RDI, NO, 0, 0);
	check_probe_operand("41 ff d0", REG, R8, NO, 0, 0);
	check_probe_operand("41 ff d7", REG, R15, NO, 0, 0);
	/* jumps, also without tracking */
	check_probe_operand("ff e0", REG, RAX, NO, 0, 0);
	check_probe_operand("3e ff e0", REG, RAX, NO, 0, 0);
	/* a virtual function: the third of its table */
	check_probe_operand("ff 50 10", MEM, RAX, NO, 0, 16);
	check_probe_operand("41 ff 55 f8", MEM, R13, NO, 0, -8);
	/* tables of pointers */
	check_probe_operand("ff 14 c7", MEM, RDI, RAX, 8, 0);
	check_probe_operand("41 ff 54 c4 10", MEM, R12, RAX, 8, 16);
	check_probe_operand("ff 14 c5 00 10 40 00", MEM, NO, RAX, 8, 0x401000);
	check_probe_operand("ff 24 25 00 10 40 00", MEM, NO, NO, 0, 0x401000);
	/* relative to the instruction itself, not to the one after it */
	check_probe_operand("ff 15 00 10 00 00", MEM, OPERAND_IP, NO, 0, 0x1006);
	check_probe_operand("f2 ff 25 00 10 00 00", MEM, OPERAND_IP, NO, 0, 0x1007);
	check_probe_operand("ff 14 24", MEM, RSP, NO, 0, 0);
	/* of thread storage, with 32-bit addresses, far; and what has no operand */
	check_probe_operand("64 ff 10", OPERAND_NONE, NO, NO, 0, 0);
	check_probe_operand("65 ff 14 25 10 00 00 00", OPERAND_NONE, NO, NO, 0, 0);
	check_probe_operand("67 ff 10", OPERAND_NONE, NO, NO, 0, 0);
	check_probe_operand("ff 18", OPERAND_NONE, NO, NO, 0, 0);
	check_probe_operand("e8 00 00 00 00", OPERAND_NONE, NO, NO, 0, 0);
	check_probe_operand("ff 30", OPERAND_NONE, NO, NO, 0, 0);
}

static void test_addresses(void **state)
{
	struct insn insn = one("48 8d 05 00 01 00 00");
	uint64_t v = 0;

	assert_true(arch_takes_address(&insn, &v));
	assert_int_equal(v, AT + 7 + 0x100);
	insn = one("bf 00 20 40 00");
	assert_true(arch_takes_address(&insn, &v));
	assert_int_equal(v, 0x402000);
	insn = one("48 c7 c0 00 20 40 00");
	assert_true(arch_takes_address(&insn, &v));
	assert_int_equal(v, 0x402000);
	insn = one("48 8d 44 24 08");
	assert_false(arch_takes_address(&insn, &v));
	insn = one("48 63 04 82");
	assert_true(arch_loads_table_entry(&insn));
	insn = one("48 63 c2");
	assert_false(arch_loads_table_entry(&insn));
	insn = one("ff 24 c5 00 20 40 00");
	assert_true(arch_absolute_table(&insn, &v));
	assert_int_equal(v, 0x402000);
	insn = one("ff 24 c2");
	assert_false(arch_absolute_table(&insn, &v));
}

static void check_scan(const char *hex, int what, uint64_t target)
{
	uint8_t bytes[2 * ARCH_SCAN_BYTES] = {0};
	uint64_t t = 0;

	parse(hex, bytes, sizeof(bytes));
	assert_int_equal(arch_scan(bytes, AT, &t), what);
	if (what)
		assert_int_equal(t, target);
}

static void test_scan(void **state)
{
	check_scan("e8 10 00 00 00", ARCH_SCAN_CALL, AT + 0x15);
	check_scan("e9 f0 ff ff ff", ARCH_SCAN_JUMP, AT + 5 - 0x10);
	check_scan("0f 85 10 00 00 00", ARCH_SCAN_JUMP, AT + 0x16);
	check_scan("8d 05 10 00 00 00", ARCH_SCAN_LEA, AT + 0x16);
	check_scan("8d 3d 10 00 00 00", ARCH_SCAN_LEA, AT + 0x16);
	check_scan("8d 44 24 08", ARCH_SCAN_NONE, 0);
	check_scan("0f 95 c0", ARCH_SCAN_NONE, 0);
	check_scan("75 10", ARCH_SCAN_NONE, 0);
}

/* Whatever the bytes: no crash, a length within the bytes, and a verdict. */
static void test_random_bytes(void **state)
{
	const struct place_policy policy = {0};
	const char *given = getenv("PEAKTOP_SEED");
	uint64_t x = (given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL)) | 1;

	print_message("seed %llu\n", (unsigned long long)x);
	for (int i = 0; i < 100000; i++) {
		struct insn_effects e;
		struct insn insn;
		uint8_t *bytes;
		size_t n;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		n = 1 + x % INSN_MAX_LENGTH;
		bytes = malloc(n); /* so that reading on is seen */
		assert_non_null(bytes);
		for (size_t k = 0; k < n; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			bytes[k] = (uint8_t)(x >> 32);
		}
		if (!decode_insn(decoder, bytes, n, AT, &insn)) {
			struct rec_operand probe;
			struct call_operand op;
			int64_t delta;
			uint64_t v;

			assert_in_range(insn.length, 1, n);
			arch_probe_class(&insn, &policy);
			arch_sp_delta(&insn, &delta);
			arch_is_work(&insn);
			arch_pc_relative(&insn, &v);
			arch_takes_address(&insn, &v);
			if (insn.flow == INSN_CALL_INDIRECT || insn.flow == INSN_JMP_INDIRECT)
				arch_indirect_operand(&insn, &op);
			arch_probe_operand(&insn, &probe);
			if (i % 8 == 0)
				decode_effects(decoder, &insn, &e);
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lengths),	 cmocka_unit_test(test_no_instruction),
	    cmocka_unit_test(test_flow),	 cmocka_unit_test(test_stack_pointer),
	    cmocka_unit_test(test_registers),	 cmocka_unit_test(test_unknown_effects),
	    cmocka_unit_test(test_text),	 cmocka_unit_test(test_probe_class),
	    cmocka_unit_test(test_probe_policy), cmocka_unit_test(test_work),
	    cmocka_unit_test(test_operands),	 cmocka_unit_test(test_probe_operands),
	    cmocka_unit_test(test_addresses),	 cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
