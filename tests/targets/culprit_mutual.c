// SPDX-License-Identifier: GPL-2.0-or-later
/* even() and odd() call each other, four times in turn. */
#include "culprit.h"

WATCHED void odd(uint64_t left, uint64_t us);

WATCHED void bottom(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void even(uint64_t left, uint64_t us)
{
	KEEP(bystander(left));
	if (left)
		odd(left - 1, us);
	else
		bottom(us);
	KEEP(bystander(left));
}

WATCHED void odd(uint64_t left, uint64_t us)
{
	KEEP(bystander(left));
	even(left - 1, us);
	KEEP(bystander(left));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	even(4, i % 4 ? 30 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
