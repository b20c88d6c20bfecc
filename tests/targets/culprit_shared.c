// SPDX-License-Identifier: GPL-2.0-or-later
/* work() is called on two paths: on that of write_out() it takes the time. */
#include "culprit.h"

WATCHED void work(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void read_in(uint64_t us)
{
	work(us);
	KEEP(bystander(us));
}

WATCHED void write_out(uint64_t us)
{
	work(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	read_in(40);
	write_out(i % 4 ? 40 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
