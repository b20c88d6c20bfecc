// SPDX-License-Identifier: GPL-2.0-or-later
/* Eight threads serve; grind() makes the slow calls of all of them. */
#include "culprit.h"

WATCHED void grind(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	grind(i % 4 ? 20 : 500);
	KEEP(bystander(i));
}

static void *worker(void *nothing)
{
	uint64_t i;

	for (i = 0;; i++) {
		serve(i);
		sleep_ns(6000000);
	}
	return nothing;
}

WATCHED void request(uint64_t i)
{
	int k;

	for (k = 1; i == 0 && k < 8; k++)
		thread_run(worker);
	serve(i);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, request, 6000);
}
