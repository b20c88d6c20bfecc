// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/code_bytes.h"

enum {
	INT3 = 0xcc,
	CALL = 0xe8,
	CALL_BYTES = 5,
	GROUP5 = 0xff, /* a call, if this is in the reg field of the byte that follows */
	GROUP5_CALL = 2,
	PREFIX_CS = 0x2e, /* pads a call */
	PREFIX_DS = 0x3e, /* an indirect call that is not tracked */
};

static const uint8_t nop5[CALL_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

enum code_state code_compare(const uint8_t *file, const uint8_t *memory, size_t length)
{
	if (!length)
		return CODE_CHANGED;
	if (!memcmp(file, memory, length))
		return CODE_AS_IN_FILE;
	if (memory[0] == INT3 && !memcmp(file + 1, memory + 1, length - 1))
		return CODE_BREAKPOINT;
	if (length == CALL_BYTES && memory[0] == CALL && !memcmp(file, nop5, sizeof(nop5)))
		return CODE_CALL_AT_NOP;
	return CODE_CHANGED;
}

uint64_t code_call_target(const uint8_t *memory, uint64_t address)
{
	int32_t distance;

	memcpy(&distance, memory + 1, sizeof(distance));
	return address + CALL_BYTES + (uint64_t)(int64_t)distance;
}

/* Bytes that follow opcode and modrm: SIB and displacement. */
static size_t operand_bytes(const uint8_t *modrm, size_t left)
{
	unsigned int mod = modrm[0] >> 6, rm = modrm[0] & 7;
	bool sib = mod != 3 && rm == 4;
	/* without a base register the displacement has four bytes */
	bool no_base = mod == 0 && (sib ? left > 1 && (modrm[1] & 7) == 5 : rm == 5);

	return sib + (mod == 1 ? 1u : mod == 2 || no_base ? 4u : 0u);
}

bool code_is_call(const uint8_t *code, size_t length)
{
	size_t at = 0;

	if (!length || length > CODE_CALL_BYTES)
		return false;
	at += code[0] == PREFIX_CS || code[0] == PREFIX_DS;
	if (at < length && code[at] == CALL)
		return code[0] != PREFIX_DS && length - at == CALL_BYTES;
	/* REX */
	at += at < length && code[at] >> 4 == 4;
	if (length - at < 2 || code[at] != GROUP5 || (code[at + 1] >> 3 & 7) != GROUP5_CALL)
		return false;
	return length - at == 2 + operand_bytes(code + at + 1, length - at - 1);
}

size_t code_differences(const uint8_t *file, const uint8_t *memory, size_t length, size_t *first)
{
	size_t found = 0;

	for (size_t i = 0; i < length; i++) {
		bool alone = (!i || file[i - 1] == memory[i - 1]) &&
			     (i + 1 == length || file[i + 1] == memory[i + 1]);

		if (file[i] == memory[i] || (memory[i] == INT3 && alone))
			continue;
		if (!found++)
			*first = i;
	}
	return found;
}
