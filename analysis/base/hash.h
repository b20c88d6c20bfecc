/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* The hash FNV-1a of n bytes. Its low bits alone depend on few bits of each byte: fold the high
 * ones into them to choose one of few slots. */
static inline uint64_t hash_bytes(const char *bytes, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (n--)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3u;
	return hash;
}
