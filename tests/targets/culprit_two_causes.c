// SPDX-License-Identifier: GPL-2.0-or-later
/* Either load() or save() makes a call slow: one peak, two causes. */
#include "culprit.h"

WATCHED void load(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void save(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 6 == 0)
		load(1000);
	else if (i % 6 == 3)
		save(1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
