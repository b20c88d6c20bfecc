// SPDX-License-Identifier: GPL-2.0-or-later
/* The culprit is in a shared library, called through the PLT. */
#include "culprit.h"

void culprit_library_work(uint64_t rounds);

WATCHED void fetch(uint64_t us)
{
	KEEP(bystander(us));
	culprit_library_work(rounds_of_us(us));
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	fetch(i % 4 ? 30 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
