// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/arch_x86.h"

#include <capstone/capstone.h>

static uint16_t prefix_bit(uint8_t b)
{
	switch (b) {
	case 0x66:
		return P_66;
	case 0x67:
		return P_67;
	case 0xf2:
		return P_F2;
	case 0xf3:
		return P_F3;
	case 0xf0:
		return P_LOCK;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		return P_SEGMENT;
	case 0x64:
	case 0x65:
		return P_FS_GS;
	default:
		return 0;
	}
}

/* Bytes of an address operand that starts at its ModRM byte; 0 if it goes on past `left`. */
static unsigned modrm_length(const uint8_t *b, size_t left)
{
	unsigned mod, rm, n = 1;

	if (!left)
		return 0;
	mod = b[0] >> 6;
	rm = b[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (left < 2)
			return 0;
		n = 2;
		rm = b[1] & 7;
	}
	if (mod == 1)
		n += 1;
	else if (mod == 2 || rm == 5)
		n += 4;
	return n <= left ? n : 0;
}

/* An 8-bit immediate ends the VEX or EVEX instruction with this opcode. */
static bool vector_immediate(uint8_t map, uint8_t op)
{
	if (map == MAP_0F)
		return (op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6);
	return map == MAP_0F3A;
}

/* Length of a VEX or EVEX prefix, and the map of the opcode behind it; 0: it is none. */
static unsigned vector_prefix(const uint8_t *b, uint8_t *map)
{
	switch (b[0]) {
	case 0xc5:
		*map = MAP_0F;
		return 2;
	case 0xc4:
		*map = b[1] & 0x1f;
		return 3;
	case 0x62:
		*map = b[1] & 0x07;
		return 4;
	default:
		return 0;
	}
}

unsigned arch_unknown_length(const uint8_t *b, size_t len)
{
	unsigned i, n, immediate;
	uint8_t map = 0;

	if (len >= 3 && b[0] == 0x0f && b[1] == 0x01 && b[2] >= 0xc0)
		return 3; /* rdpkru and others without operands */
	i = len >= 4 ? vector_prefix(b, &map) : 0;
	if (!i || i >= len || !map)
		return 0;
	immediate = vector_immediate(map, b[i++]);
	n = modrm_length(b + i, len - i);
	return n && i + n + immediate <= len ? i + n + immediate : 0;
}

/* Opcode and map after a VEX, EVEX or XOP prefix at `i`; returns the opcode's position. */
static unsigned analyse_vector(struct insn *insn, unsigned i)
{
	struct insn_encoding *e = &insn->enc;

	switch (insn->bytes[i]) {
	case 0xc5:
		e->kind = KIND_VEX;
		e->map = MAP_0F;
		return i + 2;
	case 0xc4:
		e->kind = KIND_VEX;
		e->map = insn->bytes[i + 1] & 0x1f;
		return i + 3;
	case 0x62:
		e->kind = KIND_EVEX;
		e->map = insn->bytes[i + 1] & 0x07;
		return i + 4;
	default:
		e->kind = KIND_XOP;
		e->map = insn->bytes[i + 1] & 0x1f;
		return i + 3;
	}
}

static void analyse_encoding(struct insn *insn)
{
	struct insn_encoding *e = &insn->enc;
	const uint8_t *b = insn->bytes;
	unsigned n = insn->length, i = 0;

	*e = (struct insn_encoding){0};
	while (i + 1 < n && prefix_bit(b[i]))
		e->prefixes |= prefix_bit(b[i++]);
	if (i + 1 < n && (b[i] & 0xf0) == 0x40)
		e->rex = b[i++];
	if (i + 2 < n && (b[i] == 0xc5 || b[i] == 0xc4 || b[i] == 0x62 ||
			  (b[i] == 0x8f && (b[i + 1] & 0x1f) >= 8))) {
		i = analyse_vector(insn, i);
	} else if (b[i] == 0x0f && i + 1 < n) {
		e->map = MAP_0F;
		i++;
		if (i + 1 < n && (b[i] == 0x38 || b[i] == 0x3a))
			e->map = b[i++] == 0x38 ? MAP_0F38 : MAP_0F3A;
	}
	if (i >= n)
		i = n - 1;
	e->opcode = b[i];
	e->modrm_at = i + 1 < n ? (uint8_t)(i + 1) : 0;
}

/* Target of a branch whose displacement is its last `size` bytes. */
static uint64_t relative(const struct insn *insn, unsigned size)
{
	const uint8_t *end = insn->bytes + insn->length;
	int64_t d = size == 1 ? (int8_t)end[-1] : insn->length > 4 ? read_s32(end - 4) : 0;

	return insn->vaddr + insn->length + (uint64_t)d;
}

static uint8_t one_byte_flow(struct insn *insn)
{
	uint8_t op = insn->enc.opcode;

	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3)) {
		insn->target = relative(insn, 1);
		return INSN_JCC;
	}
	switch (op) {
	case 0xe8:
	case 0xe9:
		insn->target = relative(insn, 4);
		return op == 0xe8 ? INSN_CALL : INSN_JMP;
	case 0xeb:
		insn->target = relative(insn, 1);
		return INSN_JMP;
	case 0xc2:
	case 0xc3:
		return INSN_RET;
	case 0xca: /* far returns, int3, iret, int1, hlt */
	case 0xcb:
	case 0xcc:
	case 0xcf:
	case 0xf1:
	case 0xf4:
		return INSN_STOP;
	case 0xc7:
		if (modrm(insn) == 0xf8 && insn->length >= 6) { /* xbegin */
			insn->target = relative(insn, 4);
			return INSN_JCC;
		}
		return INSN_NEXT;
	case 0xff:
		switch (modrm_reg(insn)) {
		case 2:
			return INSN_CALL_INDIRECT;
		case 4:
			return INSN_JMP_INDIRECT;
		case 3:
		case 5:
		case 7:
			return INSN_STOP;
		}
		return INSN_NEXT;
	}
	return INSN_NEXT;
}

void arch_analyse(struct insn *insn)
{
	uint8_t op;

	analyse_encoding(insn);
	op = insn->enc.opcode;
	insn->target = 0;
	insn->flow = INSN_NEXT;
	if (is_legacy(insn, MAP_1)) {
		insn->flow = one_byte_flow(insn);
	} else if (is_legacy(insn, MAP_0F)) {
		if (op >= 0x80 && op <= 0x8f) {
			insn->target = relative(insn, 4);
			insn->flow = INSN_JCC;
		} else if (op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x35) {
			insn->flow = INSN_STOP; /* ud2, ud1, ud0, sysret, sysexit */
		}
	}
}

bool arch_is_ambiguous(const struct insn *insn)
{
	return is_direct_branch(insn) && insn->enc.prefixes & P_66 && !(insn->enc.rex & REX_W);
}

bool arch_is_work(const struct insn *insn)
{
	if (is_legacy(insn, MAP_1))
		return insn->enc.opcode == 0xcd || is_repeated(insn);
	if (!is_legacy(insn, MAP_0F))
		return false;
	switch (insn->enc.opcode) {
	case 0x01: /* vmcall, xgetbv, ... */
	case 0x05: /* syscall */
	case 0x34: /* sysenter */
	case 0xa2: /* cpuid */
		return true;
	case 0xae: /* umwait, tpause, clflush */
		return modrm_reg(insn) >= 6 && insn->enc.prefixes & (P_66 | P_F2 | P_F3);
	default:
		return false;
	}
}

bool arch_is_stack_check(const struct insn *insn)
{
	const uint8_t *b = insn->bytes + insn->enc.modrm_at;

	/* cmp 0x10(%r14), register: r14 is the goroutine, with its stack guard at 16 */
	return is_legacy(insn, MAP_1) && insn->enc.opcode == 0x3b && insn->enc.rex & REX_W &&
	       insn->enc.rex & REX_B && insn->enc.modrm_at &&
	       insn->enc.modrm_at + 2 == insn->length && (b[0] & 0xc7) == 0x46 && b[1] == 0x10;
}

bool arch_is_padding(const struct insn *insn)
{
	if (is_legacy(insn, MAP_1) && insn->enc.opcode == 0xcc)
		return true;
	return (is_legacy(insn, MAP_0F) && insn->enc.opcode == 0x1f) ||
	       (is_legacy(insn, MAP_1) && insn->enc.opcode == 0x90 && !(insn->enc.rex & REX_B));
}

/* add, sub or lea with a constant. */
static bool stack_arithmetic(const struct insn *insn, int64_t *delta)
{
	const uint8_t *b = insn->bytes + insn->enc.modrm_at;
	uint8_t op = insn->enc.opcode;
	unsigned left = insn->length - insn->enc.modrm_at;

	if (!insn->enc.modrm_at || (insn->enc.rex & (REX_W | REX_B | REX_R | REX_X)) != REX_W)
		return false;
	if ((op == 0x83 && left == 2) || (op == 0x81 && left == 5)) {
		int64_t imm = op == 0x83 ? (int8_t)b[1] : read_s32(b + 1);

		if (b[0] == 0xc4)
			*delta = imm;
		else if (b[0] == 0xec)
			*delta = -imm;
		return b[0] == 0xc4 || b[0] == 0xec;
	}
	if (op == 0x8d && left >= 3 && b[1] == 0x24) {
		if (b[0] == 0x64 && left == 3)
			*delta = (int8_t)b[2];
		else if (b[0] == 0xa4 && left == 6)
			*delta = read_s32(b + 2);
		else
			return false;
		return true;
	}
	return false;
}

static bool is_push(const struct insn *insn)
{
	uint8_t op = insn->enc.opcode;

	if (is_legacy(insn, MAP_0F))
		return op == 0xa0 || op == 0xa8; /* fs, gs */
	return (op >= 0x50 && op <= 0x57) || op == 0x68 || op == 0x6a || op == 0x9c ||
	       (op == 0xff && modrm_reg(insn) == 6);
}

/* Not into the stack pointer itself. */
static bool is_pop(const struct insn *insn)
{
	uint8_t op = insn->enc.opcode;
	bool low = !(insn->enc.rex & REX_B);

	if (is_legacy(insn, MAP_0F))
		return op == 0xa1 || op == 0xa9;
	if ((op == 0x5c && low) || (op == 0x8f && modrm(insn) == 0xc4 && low))
		return false;
	return (op >= 0x58 && op <= 0x5f) || op == 0x9d || op == 0x8f;
}

bool arch_sp_delta(const struct insn *insn, int64_t *delta)
{
	*delta = 0;
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_INDIRECT)
		return true;
	if ((!is_legacy(insn, MAP_1) && !is_legacy(insn, MAP_0F)) || insn->enc.prefixes & P_66)
		return false;
	if (is_push(insn))
		*delta = -ARCH_WORD;
	else if (is_pop(insn))
		*delta = ARCH_WORD;
	else
		return is_legacy(insn, MAP_1) && stack_arithmetic(insn, delta);
	return true;
}

bool arch_swaps(const struct insn *insn)
{
	uint8_t op = insn->enc.opcode;

	if (is_legacy(insn, MAP_1))
		return op == 0x86 || op == 0x87 || (op >= 0x90 && op <= 0x97) || op == 0xf6 ||
		       op == 0xf7 || is_string_op(insn);
	if (is_legacy(insn, MAP_0F))
		return op == 0xb0 || op == 0xb1 || op == 0xc0 || op == 0xc1 || op == 0xc7;
	return false;
}

bool arch_writes_return(const struct insn *insn)
{
	return is_legacy(insn, MAP_1) && insn->enc.opcode == 0xd7; /* xlat */
}

uint8_t arch_argument_bit(unsigned reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 1 << 0;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 1 << 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 1 << 2;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return 1 << 3;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return 1 << 4;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return 1 << 5;
	default:
		return 0;
	}
}

bool arch_is_return_register(unsigned reg)
{
	return reg == X86_REG_RAX || reg == X86_REG_EAX || reg == X86_REG_AX || reg == X86_REG_AL ||
	       reg == X86_REG_AH;
}

bool arch_is_stack_pointer(unsigned reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

/* DWARF numbers differ from those in the encoding for the first eight. */
static uint8_t dwarf_register(unsigned n)
{
	static const uint8_t first[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return n < 8 ? first[n] : (uint8_t)n;
}

void arch_indirect_operand(const struct insn *insn, struct call_operand *out)
{
	const uint8_t *b = insn->bytes + insn->enc.modrm_at;
	uint8_t rex = insn->enc.rex, mod, rm;
	unsigned at = 1;

	*out = (struct call_operand){.base = CALL_NO_REG, .index = CALL_NO_REG};
	if (!insn->enc.modrm_at)
		return;
	mod = b[0] >> 6;
	rm = b[0] & 7;
	if (mod == 3) {
		out->base = dwarf_register(rm | (rex & REX_B ? 8 : 0));
		return;
	}
	out->memory = true;
	if (rm == 4) {
		uint8_t index = (b[1] >> 3 & 7) | (rex & REX_X ? 8 : 0);

		at = 2;
		rm = b[1] & 7;
		if (index != 4) {
			out->index = dwarf_register(index);
			out->scale = (uint8_t)(1 << (b[1] >> 6));
		}
		if (mod == 0 && rm == 5)
			mod = 2; /* no base, 32 bits of displacement */
		else
			out->base = dwarf_register(rm | (rex & REX_B ? 8 : 0));
	} else if (mod == 0 && rm == 5) {
		mod = 2;
		out->base = CALL_RIP;
	} else {
		out->base = dwarf_register(rm | (rex & REX_B ? 8 : 0));
	}
	if (mod == 1)
		out->disp = (int8_t)b[at];
	else if (mod == 2)
		out->disp = read_s32(b + at);
}

/* DWARF number to the place in struct pt_regs. */
static uint32_t kernel_register(uint8_t dwarf)
{
	static const uint8_t place[] = {10, 12, 11, 5, 13, 14, 4, 19,	     9,
					8,  7,	6,  3, 2,  1,  0, OPERAND_IP};

	return dwarf < sizeof(place) ? place[dwarf] : (uint32_t)OPERAND_NO_REG;
}

void arch_probe_operand(const struct insn *insn, struct rec_operand *out)
{
	struct call_operand op;

	*out = (struct rec_operand){
	    .kind = OPERAND_NONE, .base = OPERAND_NO_REG, .index = OPERAND_NO_REG};
	if ((insn->flow != INSN_CALL_INDIRECT && insn->flow != INSN_JMP_INDIRECT) ||
	    insn->enc.opcode != 0xff || (modrm_reg(insn) != 2 && modrm_reg(insn) != 4) ||
	    insn->enc.prefixes & (P_FS_GS | P_67))
		return;
	arch_indirect_operand(insn, &op);
	if (!op.memory && op.base == CALL_NO_REG)
		return;
	out->kind = op.memory ? OPERAND_MEMORY : OPERAND_REGISTER;
	out->base = kernel_register(op.base);
	out->index = kernel_register(op.index);
	out->scale = op.scale;
	out->disp = op.disp + (op.base == CALL_RIP ? insn->length : 0);
}

bool arch_pc_relative(const struct insn *insn, uint64_t *vaddr)
{
	if (!insn->enc.modrm_at || (modrm(insn) & 0xc7) != 0x05 ||
	    insn->enc.modrm_at + 5 > insn->length)
		return false;
	*vaddr = insn->vaddr + insn->length +
		 (uint64_t)(int64_t)read_s32(insn->bytes + insn->enc.modrm_at + 1);
	return true;
}

bool arch_takes_address(const struct insn *insn, uint64_t *vaddr)
{
	uint8_t op = insn->enc.opcode;

	if (!is_legacy(insn, MAP_1))
		return false;
	if (op == 0x8d)
		return arch_pc_relative(insn, vaddr);
	/* mov $address, register in programs at fixed addresses */
	if ((op >= 0xb8 && op <= 0xbf && insn->length >= 5 && !(insn->enc.rex & REX_W)) ||
	    (op == 0xc7 && insn->length >= 6)) {
		*vaddr = (uint64_t)(int64_t)read_s32(insn->bytes + insn->length - 4);
		return true;
	}
	return false;
}

bool arch_loads_table_entry(const struct insn *insn)
{
	uint8_t m = modrm(insn);

	return is_legacy(insn, MAP_1) && insn->enc.opcode == 0x63 && m >> 6 != 3 && (m & 7) == 4;
}

bool arch_absolute_table(const struct insn *insn, uint64_t *table)
{
	struct call_operand op;

	if (insn->flow != INSN_JMP_INDIRECT)
		return false;
	arch_indirect_operand(insn, &op);
	if (!op.memory || op.scale != 8 || op.base != CALL_NO_REG)
		return false;
	*table = (uint64_t)op.disp;
	return true;
}

int arch_scan(const uint8_t *b, uint64_t vaddr, uint64_t *target)
{
	if (b[0] == 0xe8 || b[0] == 0xe9) {
		*target = vaddr + 5 + (uint64_t)(int64_t)read_s32(b + 1);
		return b[0] == 0xe8 ? ARCH_SCAN_CALL : ARCH_SCAN_JUMP;
	}
	if (b[0] == 0x0f && (b[1] & 0xf0) == 0x80) {
		*target = vaddr + 6 + (uint64_t)(int64_t)read_s32(b + 2);
		return ARCH_SCAN_JUMP;
	}
	if (b[0] == 0x8d && (b[1] & 0xc7) == 0x05) {
		*target = vaddr + 6 + (uint64_t)(int64_t)read_s32(b + 2);
		return ARCH_SCAN_LEA;
	}
	return ARCH_SCAN_NONE;
}
