// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a short sleep the CPU is busy: "neighbour" has it, of the same real-time priority, and the
 * thread waits in the run queue.
 */
#include "culprit.h"

static int poke[2];

static void neighbour(void)
{
	for (;;) {
		byte_take(poke[0]);
		SPIN_US(2500);
	}
}

WATCHED void nap(uint64_t i)
{
	if (i % 4 == 0)
		byte_send(poke[1]);
	sleep_ns(20000);
	KEEP(bystander(i));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	nap(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	if (pipe(poke))
		die("pipe");
	pin_to(sched_getcpu());
	scheduled(SCHED_FIFO, 2);
	culprit_calibrate();
	if (!child_run("neighbour"))
		neighbour();
	return culprit_run(argc, argv, serve, 300);
}
