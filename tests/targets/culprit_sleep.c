// SPDX-License-Identifier: GPL-2.0-or-later
/* Asleep on purpose. */
#include "culprit.h"

WATCHED void back_off(uint64_t us)
{
	usleep((useconds_t)us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		back_off(2000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 300);
}
