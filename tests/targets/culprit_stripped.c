// SPDX-License-Identifier: GPL-2.0-or-later
/* Without symbols, statically linked: functions are known by their bounds alone. */
#include "culprit.h"

WATCHED void deepest(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void middle(uint64_t us)
{
	KEEP(bystander(us));
	deepest(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	middle(i % 4 ? 30 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
