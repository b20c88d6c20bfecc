// SPDX-License-Identifier: GPL-2.0-or-later
/* Forty calls in a loop, none of them long: the loop of batch() is to blame, not item(). */
#include "culprit.h"

WATCHED void item(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void batch(uint64_t n)
{
	uint64_t k;

	for (k = 0; k < n; k++)
		item(25);
	KEEP(bystander(k));
}

WATCHED void serve(uint64_t i)
{
	batch(i % 4 ? 2 : 40);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
