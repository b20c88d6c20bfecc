// SPDX-License-Identifier: GPL-2.0-or-later
/* The plug-in of reload.c. Two versions of it have other code at the same offsets of the file. */
#include "target.h"

uint64_t plugin_work(uint64_t i);
uint64_t plugin_step(uint64_t i);

#ifdef VERSION_B
/* Instructions of five bytes: what begins an instruction of the other version lies inside them.
 * Each of their bytes is part of the result. */
#define FILL(value)                                                                                \
	__asm__ volatile(".rept 16\n addl $0x01010101, %k0\n .endr\n subl $0x10101010, %k0"        \
			 : "+r"(value))
enum { FACTOR = 7, TERM = 5 };
#else
#define FILL(value) __asm__ volatile(".rept 90\n nop\n .endr" : "+r"(value))
enum { FACTOR = 5, TERM = 3 };
#endif

WATCHED uint64_t plugin_step(uint64_t i)
{
	FILL(i);
	return i * FACTOR;
}

WATCHED uint64_t plugin_work(uint64_t i)
{
	uint64_t sum;

	FILL(i);
	sum = plugin_step(i);
	FILL(sum);
	return sum + TERM;
}
