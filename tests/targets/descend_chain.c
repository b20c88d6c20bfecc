// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descend_chain DEPTH [SECONDS]: serve() calls a chain of DEPTH functions (1 to 8); in one request
 * of five the last one calls culprit(), which sleeps for 3 ms. Beside each link of the chain stand
 * calls that take next to nothing; the request itself takes some 100 us of CPU.
 */
#include "target.h"

static uint64_t requests, slow;
static unsigned int depth;

WATCHED void culprit(uint64_t i)
{
	slow++;
	sleep_ns(3000000);
	KEEP(i);
}

WATCHED uint64_t bystander(uint64_t i)
{
	return i * 31;
}

WATCHED void last(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 5 == 0)
		culprit(i);
	KEEP(bystander(i + 1));
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

LINK(link8, 8, last)
LINK(link7, 7, link8)
LINK(link6, 6, link7)
LINK(link5, 5, link6)
LINK(link4, 4, link5)
LINK(link3, 3, link4)
LINK(link2, 2, link3)
LINK(link1, 1, link2)

WATCHED void serve(uint64_t i)
{
	volatile uint64_t k;

	for (k = 0; k < 150000; k++)
		;
	KEEP(bystander(i));
	if (depth)
		link1(i);
	else
		last(i);
	requests++;
}

int main(int argc, char **argv)
{
	uint64_t end;

	target_begin(&argc, &argv);
	depth = (unsigned int)target_arg(argc, argv, 1, 1);
	end = target_arg(argc, argv, 2, 60) * 1000000000u;
	target_go();
	end += now_ns();
	for (uint64_t i = 0; now_ns() < end; i++) {
		serve(i);
		sleep_ns(20000);
	}
	target_truth("{\"serve\":{\"calls\":%llu},\"culprit\":{\"calls\":%llu},\"ok\":true}",
		     (unsigned long long)requests, (unsigned long long)slow);
	return 0;
}
