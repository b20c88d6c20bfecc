// SPDX-License-Identifier: GPL-2.0-or-later
/* An exception leaves parse() and check() in each slow call; what serve() does then takes the time.
 */
#include "culprit.h"

WATCHED void check(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4 == 0)
		throw i;
	KEEP(bystander(i));
}

WATCHED void parse(uint64_t i)
{
	check(i);
	KEEP(bystander(i));
}

WATCHED void recover(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

extern "C" WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	try {
		parse(i);
	} catch (uint64_t k) {
		recover(1000);
		KEEP(bystander(k));
	}
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
