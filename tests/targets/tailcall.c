// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tailcall [CALLS]: front() ends in a jump to back(), which is called directly too. A chain a_tail
 * -> b_tail -> c_tail is jumps only: the return of the call of a_tail is c_tail's.
 */
#include "target.h"

static uint64_t fronts, backs, chain;

WATCHED uint64_t back(uint64_t i)
{
	backs++;
	return i + 1;
}

WATCHED uint64_t front(uint64_t i)
{
	fronts++;
	return back(i * 2);
}

WATCHED uint64_t c_tail(uint64_t i)
{
	chain++;
	return i + 3;
}

WATCHED uint64_t b_tail(uint64_t i)
{
	chain++;
	return c_tail(i + 1);
}

WATCHED uint64_t a_tail(uint64_t i)
{
	chain++;
	return b_tail(i + 1);
}

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 10000);
	target_go();
	for (i = 0; i < calls; i++) {
		sum += front(i);
		if (i % 2)
			sum += back(i);
		sum += a_tail(i);
	}
	KEEP(sum);
	target_truth("{\"front\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"back\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"a_tail\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"c_tail\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)fronts, (unsigned long long)fronts,
		     (unsigned long long)backs, (unsigned long long)backs,
		     (unsigned long long)calls, (unsigned long long)calls,
		     (unsigned long long)calls, (unsigned long long)calls,
		     chain == 3 * calls ? "true" : "false");
	return 0;
}
