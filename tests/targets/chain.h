/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chain of functions: link1() calls link2() and so on, down to the `depth`th, which calls last().
 * Beside each call stand calls of bystander(), which take next to nothing. Who includes this
 * defines last().
 */
#ifndef PEAKTOP_TARGET_CHAIN_H
#define PEAKTOP_TARGET_CHAIN_H

#include "target.h"

static unsigned int depth;

void last(uint64_t i);

WATCHED uint64_t bystander(uint64_t i)
{
	return i * 31;
}

#define LINK(name, number, next)                                                                   \
	WATCHED void name(uint64_t i)                                                              \
	{                                                                                          \
		KEEP(bystander(i));                                                                \
		if (depth > (number))                                                              \
			next(i);                                                                   \
		else                                                                               \
			last(i);                                                                   \
		KEEP(bystander(i + (number)));                                                     \
	}

LINK(link12, 12, last)
LINK(link11, 11, link12)
LINK(link10, 10, link11)
LINK(link9, 9, link10)
LINK(link8, 8, link9)
LINK(link7, 7, link8)
LINK(link6, 6, link7)
LINK(link5, 5, link6)
LINK(link4, 4, link5)
LINK(link3, 3, link4)
LINK(link2, 2, link3)
LINK(link1, 1, link2)

#endif
