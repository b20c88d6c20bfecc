// SPDX-License-Identifier: GPL-2.0-or-later
/* The loop that takes the time is in mix(), which is inlined into digest(). */
#include "culprit.h"

static inline __attribute__((always_inline)) uint64_t mix(uint64_t rounds)
{
	volatile uint64_t state = rounds;
	uint64_t k;

	for (k = 0; k < rounds; k++)
		state = state * 5 + 1; /* here */
	return state;
}

WATCHED uint64_t digest(uint64_t rounds)
{
	uint64_t sum = bystander(rounds);

	sum += mix(rounds);
	KEEP(bystander(sum));
	return sum;
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	KEEP(digest(rounds_of_us(i % 4 ? 10 : 500)));
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
