// SPDX-License-Identifier: GPL-2.0-or-later
/* A hundred thousand calls in a loop: to time each would take longer than all of them. */
#include "culprit.h"

static volatile uint64_t sink;

WATCHED void item(uint64_t k)
{
	sink += k;
}

WATCHED void batch(uint64_t n)
{
	uint64_t k;

	for (k = 0; k < n; k++)
		item(k);
	KEEP(bystander(n));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	batch(i % 4 ? 8000 : 100000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
