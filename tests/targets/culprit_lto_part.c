// SPDX-License-Identifier: GPL-2.0-or-later
/* The other file of culprit_lto.c. */
#include "culprit_lto.h"
#include "target.h"

static __attribute__((noinline)) uint64_t encode(uint64_t us, int level)
{
	lto_spin(lto_rounds(us) / (uint64_t)level);
	KEEP(us);
	return us;
}

static __attribute__((noinline)) uint64_t checksum(uint64_t us)
{
	KEEP(us);
	return us * 31;
}

uint64_t lto_request(uint64_t i, uint64_t us)
{
	uint64_t sum = checksum(i);

	sum += encode(us, 1);
	return sum + checksum(sum);
}
