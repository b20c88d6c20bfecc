// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"

/* The session format fixes CRC-32C, and liblzma only has CRC-32 (docs/notes/libraries.md). This is
 * the definition, bit by bit, for machines without the instruction: reflected polynomial 0x82f63b78
 * (Castagnoli, RFC 3720 appendix B.4). */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;

	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							    size_t n)
{
	uint64_t wide = crc, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (n--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_sse42(~crc, data, n);
#endif
	return crc32c_portable(crc, data, n);
}
