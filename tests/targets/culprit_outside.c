// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * work() takes far longer when it is called from elsewhere: by hold(), before serve(), and by
 * another thread. Such calls say nothing about serve().
 */
#include "culprit.h"

WATCHED void work(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void hold(uint64_t us)
{
	work(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	hold(i % 4 ? 30 : 600);
	KEEP(bystander(i));
}

static void *elsewhere(void *nothing)
{
	for (;;) {
		hold(3000);
		sleep_ns(30000000);
	}
	return nothing;
}

WATCHED void request(uint64_t i)
{
	if (i == 0)
		thread_run(elsewhere);
	if (i % 8 == 5)
		hold(2500);
	serve(i);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, request, 150);
}
