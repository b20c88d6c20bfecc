// SPDX-License-Identifier: GPL-2.0-or-later
/* Two callees in the same doubling: both are causes. */
#include "culprit.h"

WATCHED void encode(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void compress(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	encode(i % 4 ? 20 : 840);
	compress(i % 4 ? 20 : 640);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
