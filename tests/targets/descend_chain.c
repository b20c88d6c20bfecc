// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descend_chain DEPTH [SECONDS [MICROSECONDS]]: serve() calls a chain of DEPTH functions (1 to 8);
 * in one request of five the last one calls culprit(), which sleeps for 3 ms, or as long as given.
 * Beside each link of the chain stand calls that take next to nothing; the request itself takes
 * some 100 us of CPU. With REBUILT another build, in which all functions lie elsewhere.
 */
#include "target.h"

#ifdef REBUILT
WATCHED uint64_t added(uint64_t i)
{
	return i * i * i + 12345;
}
#endif

#include "chain.h"

static uint64_t requests, slow, culprit_ns;

WATCHED void culprit(uint64_t i)
{
	slow++;
	sleep_ns(culprit_ns);
	KEEP(i);
}

WATCHED void last(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 5 == 0)
		culprit(i);
	KEEP(bystander(i + 1));
}

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
	culprit_ns = target_arg(argc, argv, 3, 3000) * 1000;
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
