// SPDX-License-Identifier: GPL-2.0-or-later
/* The slowest function of all, archive(), makes a peak of its own; that in which most of the time
 * is, lookup() makes. */
#include "culprit.h"

WATCHED void archive(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void lookup(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 100 == 57)
		archive(8000);
	else
		lookup(i % 3 ? 30 : 500);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
