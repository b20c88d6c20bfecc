// SPDX-License-Identifier: GPL-2.0-or-later
/* Many short sleeps in a loop: none of them is long, and it is batch() that asks for so many. */
#include "culprit.h"

WATCHED void item(uint64_t us)
{
	usleep((useconds_t)us);
	KEEP(bystander(us));
}

WATCHED void batch(uint64_t n)
{
	uint64_t k;

	for (k = 0; k < n; k++)
		item(20);
	KEEP(bystander(k));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	batch(i % 4 ? 1 : 40);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 300);
}
