// SPDX-License-Identifier: GPL-2.0-or-later
/* A peak of one call in a thousand. */
#include "culprit.h"

WATCHED void usual(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void rehash(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	usual(2);
	if (i % 1000 == 999)
		rehash(14000);
	if (i % 100 == 0)
		KEEP(bystander(i));
}

WATCHED void rest_now_and_then(uint64_t i)
{
	serve(i);
	if (i % 1000 == 999)
		sleep_ns(12000000);
	else if (i % 100 == 0)
		sleep_ns(300000);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, rest_now_and_then, 0);
}
