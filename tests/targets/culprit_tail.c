// SPDX-License-Identifier: GPL-2.0-or-later
/* dispatch() leaves by a jump to handle(). */
#include "culprit.h"

WATCHED void handle(uint64_t us)
{
	KEEP(bystander(us));
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void ignore(uint64_t us)
{
	KEEP(bystander(us));
	KEEP(bystander(us));
}

WATCHED void dispatch(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4)
		return ignore(i);
	handle(1000);
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	dispatch(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
