// SPDX-License-Identifier: GPL-2.0-or-later
/* Of the three loops of one function the second takes the time. */
#include "culprit.h"

WATCHED void compute(uint64_t rounds)
{
	volatile uint64_t k, sum = 0;

	for (k = 0; k < rounds / 20; k++)
		sum += k;
	KEEP(bystander(k));
	for (k = 0; k < rounds; k++)
		sum += k; /* here */
	KEEP(bystander(k));
	for (k = 0; k < rounds / 20; k++)
		sum -= k;
	KEEP(bystander(sum));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	compute(rounds_of_us(i % 4 ? 10 : 700));
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
