// SPDX-License-Identifier: GPL-2.0-or-later
/* Most stacks of all are in common(), many of them in slow calls too: it is not why these are slow.
 */
#include "culprit.h"

WATCHED void common(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void seldom(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	common(i % 15 ? 100 : 600);
	if (i % 15 == 0)
		seldom(1400);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 20);
}
