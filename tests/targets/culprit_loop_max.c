// SPDX-License-Identifier: GPL-2.0-or-later
/* Of the calls in a loop one is slow: the site ranks with its maximum, and what is called there is
 * to blame. */
#include "culprit.h"

WATCHED void item(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void batch(uint64_t i)
{
	uint64_t k;

	for (k = 0; k < 8; k++)
		item(k == 5 && i % 4 == 0 ? 1200 : 5);
	KEEP(bystander(k));
}

WATCHED void serve(uint64_t i)
{
	batch(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
