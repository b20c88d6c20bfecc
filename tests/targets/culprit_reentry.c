// SPDX-License-Identifier: GPL-2.0-or-later
/* f0 is called again from below itself: the outermost call is meant, and the way down is told with
 * it. */
#include "culprit.h"

WATCHED void serve(uint64_t i);

WATCHED void bottom(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void visit(uint64_t left)
{
	KEEP(bystander(left));
	if (left)
		serve(left - 1);
	else
		bottom(1000);
	KEEP(bystander(left));
}

/* A request that is no multiple of 1000 is one of visit()'s. */
WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	if (i < 1000)
		visit(i);
	else if (i % 4 == 0)
		visit(2);
	else
		bottom(30);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	serve(i + 1000);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, request, 150);
}
