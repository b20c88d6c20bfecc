// SPDX-License-Identifier: GPL-2.0-or-later
/* Seven calls of one function, each a seventh of the time, in a loop around other things. */
#include "culprit.h"

WATCHED void load_plugin(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void load_all(uint64_t i)
{
	uint64_t k;

	for (k = 0; k < 7; k++) {
		load_plugin(i % 4 ? 5 : 110);
		KEEP(bystander(k));
	}
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(20);
	load_all(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
