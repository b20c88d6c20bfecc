// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_cold SECONDS KIND: what the compiler has moved out of a function because it is seldom run
 * (FUNCTION.cold, in a section of its own). It calls the culprit, or is it.
 */
#include "culprit.h"

static char kind;

WATCHED __attribute__((cold)) uint64_t repair(uint64_t us)
{
	SPIN_US(us);
	return bystander(us);
}

WATCHED uint64_t lookup(uint64_t i, uint64_t slow)
{
	uint64_t sum = bystander(i);

	if (__builtin_expect(slow != 0, 0)) {
		sum += repair(slow);
		KEEP(sum);
	}
	return bystander(sum) + i;
}

WATCHED uint64_t parse(uint64_t i, uint64_t slow)
{
	uint64_t sum = bystander(i);
	volatile uint64_t state;

	if (__builtin_expect(slow != 0, 0)) {
		for (state = slow = rounds_of_us((double)slow); slow; slow--)
			state = state * 5 + 1;
		/* what comes before a call of a cold function is cold itself */
		sum += state + repair(1);
	}
	return bystander(sum) + i;
}

WATCHED void serve(uint64_t i)
{
	const uint64_t slow = i % 4 ? 0 : 1000;

	SPIN_US(20);
	KEEP(kind == 'o' ? parse(i, slow) : lookup(i, slow));
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	kind = argc > 2 ? argv[2][0] : 'c';
	return culprit_run(argc, argv, serve, 150);
}
