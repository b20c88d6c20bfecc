/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of arch_x86*.c: the parts of an encoding. arch_x86.c says what an
 * instruction does, arch_x86_probe.c what the kernel does with a probe on it. */
#pragma once

#include "analysis/code/arch.h"

enum {
	P_66 = 1 << 0,
	P_67 = 1 << 1,
	P_F2 = 1 << 2,
	P_F3 = 1 << 3,
	P_LOCK = 1 << 4,
	P_SEGMENT = 1 << 5, /* es, cs, ss, ds: the kernel refuses them whatever they mean */
	P_FS_GS = 1 << 6,

	REX_B = 1,
	REX_X = 2,
	REX_R = 4,
	REX_W = 8,

	KIND_LEGACY = 0,
	KIND_VEX,
	KIND_EVEX,
	KIND_XOP,

	MAP_1 = 0, /* one-byte opcodes */
	MAP_0F = 1,
	MAP_0F38 = 2,
	MAP_0F3A = 3,
};

static inline uint8_t modrm(const struct insn *insn)
{
	return insn->enc.modrm_at ? insn->bytes[insn->enc.modrm_at] : 0;
}

static inline unsigned modrm_reg(const struct insn *insn)
{
	return modrm(insn) >> 3 & 7;
}

static inline bool is_legacy(const struct insn *insn, uint8_t map)
{
	return insn->enc.kind == KIND_LEGACY && insn->enc.map == map;
}

static inline int32_t read_s32(const uint8_t *b)
{
	uint32_t v =
	    (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;

	return (int32_t)v;
}

static inline bool is_string_op(const struct insn *insn)
{
	uint8_t op = insn->enc.opcode;

	return is_legacy(insn, MAP_1) && ((op >= 0xa4 && op <= 0xa7) ||
					  (op >= 0xaa && op <= 0xaf) || (op >= 0x6c && op <= 0x6f));
}

static inline bool is_repeated(const struct insn *insn)
{
	return is_string_op(insn) && (insn->enc.prefixes & (P_F2 | P_F3));
}

static inline bool is_direct_branch(const struct insn *insn)
{
	if (is_legacy(insn, MAP_0F))
		return insn->flow == INSN_JCC;
	return insn->flow == INSN_CALL || insn->flow == INSN_JMP ||
	       (insn->flow == INSN_JCC && insn->enc.opcode >= 0x70 && insn->enc.opcode <= 0x7f);
}
