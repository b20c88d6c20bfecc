// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/code_bytes.h"

#include <stdbool.h>
#include <string.h>

enum { INT3 = 0xcc, CALL = 0xe8, CALL_BYTES = 5 };

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
