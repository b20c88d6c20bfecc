// SPDX-License-Identifier: GPL-2.0-or-later
/* What uprobes do on x86-64, after arch/x86/kernel/uprobes.c of Linux 5.15 to
 * 6.18 (checked against 6.18 with every kind of instruction of libc). */
#include "analysis/code/arch_x86.h"

/* The kernel's table of one-byte opcodes that it steps in 64-bit programs. It
 * looks up the opcode of a VEX instruction in the same table, whatever its map. */
static bool kernel_table_has(uint8_t op)
{
	switch (op) {
	case 0x06 ... 0x07:
	case 0x0e:
	case 0x16 ... 0x17:
	case 0x1e ... 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60 ... 0x62:
	case 0x6c ... 0x6f:
	case 0x82:
	case 0x9a:
	case 0xcc ... 0xcf:
	case 0xd4 ... 0xd6:
	case 0xe4 ... 0xe7:
	case 0xea:
	case 0xec ... 0xef:
	case 0xf1:
	case 0xf4:
	case 0xfa ... 0xfb:
		return false;
	default:
		return true;
	}
}

/* Stepping these harms the program, or hits more than once. */
static bool unsafe_one_byte(const struct insn *insn)
{
	switch (insn->enc.opcode) {
	case 0x9c: /* pushf would save the trap flag of the stepping */
	case 0x9d:
	case 0xc8: /* enter */
	case 0x8e: /* segment registers */
	case 0xca:
	case 0xcb:
	case 0xe0 ... 0xe3: /* loops, relative to the copy */
		return true;
	case 0xc6: /* transactions */
	case 0xc7:
		return modrm(insn) == 0xf8;
	case 0xff:
		return modrm_reg(insn) == 3 || modrm_reg(insn) == 5 || modrm_reg(insn) == 7;
	case 0x50 ... 0x5f: /* push or pop of 16 bits */
	case 0x68:
	case 0x6a:
		return insn->enc.prefixes & P_66;
	case 0x90: /* xchg %r8, %rax, which kernels take for a nop (seen on 6.18) */
		return insn->enc.rex & REX_B;
	}
	return is_repeated(insn);
}

/* The kernel's second table says no to these, but its first lets them through. */
static bool unsafe_two_byte(const struct insn *insn)
{
	switch (insn->enc.opcode) {
	case 0x00 ... 0x01:
	case 0x05 ... 0x09:
	case 0x0b:
	case 0x30:
	case 0x34 ... 0x37:
	case 0x78 ... 0x79:
	case 0xa2: /* cpuid leaves for the hypervisor */
	case 0xae:
	case 0xb9:
	case 0xff:
	case 0xa1: /* pop %fs, pop %gs */
	case 0xa9:
		return true;
	default:
		return false;
	}
}

static bool is_long_nop(const struct insn *insn)
{
	return is_legacy(insn, MAP_0F) && insn->enc.opcode == 0x1f && modrm_reg(insn) == 0 &&
	       !insn->enc.rex && !(insn->enc.prefixes & ~P_66);
}

static bool is_nop(const struct insn *insn)
{
	return is_long_nop(insn) || (is_legacy(insn, MAP_1) && insn->enc.opcode == 0x90 &&
				     !(insn->enc.rex & REX_B) && !(insn->enc.prefixes & P_F3));
}

/* Instructions that some kernel since 6.18 replaces by a call to a page of its
 * own: nops of 5 bytes (the call writes below the stack pointer) and, later, of
 * 10 bytes and what such a probe leaves behind, a jump over 8 bytes. */
static bool is_rewritten(const struct insn *insn)
{
	if (is_nop(insn))
		return insn->length == 5 || insn->length == 10;
	return is_legacy(insn, MAP_1) && insn->enc.opcode == 0xeb && insn->length == 2 &&
	       insn->bytes[1] == 8;
}

static bool is_emulated_push(const struct insn *insn)
{
	uint8_t op = insn->enc.opcode;

	if (!is_legacy(insn, MAP_1) || op < 0x50 || op > 0x57 || insn->enc.prefixes)
		return false;
	return insn->length == 1 || (insn->length == 2 && insn->enc.rex == 0x41);
}

static bool is_refused(const struct insn *insn)
{
	const struct insn_encoding *e = &insn->enc;

	if (e->prefixes & (P_SEGMENT | P_LOCK))
		return true;
	if (is_direct_branch(insn) && e->prefixes & P_66)
		return true;
	return (e->kind == KIND_VEX || is_legacy(insn, MAP_1)) && !kernel_table_has(e->opcode);
}

static bool is_unsafe(const struct insn *insn, const struct place_policy *policy)
{
	if (insn->enc.kind == KIND_VEX)
		return insn->enc.map > MAP_0F3A;
	if (insn->enc.kind != KIND_LEGACY)
		return true;
	if (is_rewritten(insn) && !policy->allow_nop5)
		return true;
	if (is_legacy(insn, MAP_1))
		return unsafe_one_byte(insn);
	return is_legacy(insn, MAP_0F) && unsafe_two_byte(insn);
}

enum arch_probe arch_probe_class(const struct insn *insn, const struct place_policy *policy)
{
	if (insn->enc.kind == KIND_EVEX || insn->enc.kind == KIND_XOP)
		return ARCH_PROBE_UNSAFE;
	if (is_refused(insn))
		return ARCH_PROBE_REFUSED;
	if (policy->shadow_stack && (insn->flow == INSN_CALL || insn->flow == INSN_CALL_INDIRECT))
		return ARCH_PROBE_SHADOW;
	if (is_unsafe(insn, policy))
		return ARCH_PROBE_UNSAFE;
	if (is_direct_branch(insn) || is_emulated_push(insn) ||
	    (is_legacy(insn, MAP_1) && insn->enc.opcode == 0x90) ||
	    (is_long_nop(insn) && !policy->long_nops_stepped))
		return ARCH_PROBE_EMULATED;
	return ARCH_PROBE_STEPPED;
}
