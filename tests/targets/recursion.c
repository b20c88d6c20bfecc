// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recursion [CALLS [DEPTH [CHAIN]]]: fib() calls itself twice, even() and odd() call each other,
 * CHAIN deep (twice DEPTH unless it is given); both counted per activation. The outermost
 * activation of each is by far the longest.
 */
#include "target.h"

static uint64_t fibs, evens, odds;

/* Without this gcc makes a loop of the second call. */
__attribute__((optimize("no-optimize-sibling-calls"))) WATCHED uint64_t fib(unsigned n)
{
	uint64_t sum;

	fibs++;
	if (n < 2)
		return n;
	sum = fib(n - 1);
	sum += fib(n - 2);
	return sum;
}

WATCHED uint64_t odd(unsigned n);
WATCHED uint64_t even(unsigned n)
{
	uint64_t r = 1;

	evens++;
	if (n)
		r = odd(n - 1) + 1;
	return r;
}

WATCHED uint64_t odd(unsigned n)
{
	uint64_t r = 1;

	odds++;
	if (n)
		r = even(n - 1) + 1;
	return r;
}

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0;
	unsigned depth, chain;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 200);
	depth = (unsigned)target_arg(argc, argv, 2, 10);
	chain = (unsigned)target_arg(argc, argv, 3, depth * 2);
	target_go();
	for (i = 0; i < calls; i++) {
		sum += fib(depth);
		sum += even(chain);
	}
	KEEP(sum);
	target_truth("{\"fib\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"even\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"odd\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
		     (unsigned long long)fibs, (unsigned long long)fibs, (unsigned long long)evens,
		     (unsigned long long)evens, (unsigned long long)odds, (unsigned long long)odds);
	return 0;
}
