// SPDX-License-Identifier: GPL-2.0-or-later
/* Two peaks, and the same path in both: work() takes either time. */
#include "culprit.h"

WATCHED void work(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	work(i % 3 ? 150 : 1200);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
