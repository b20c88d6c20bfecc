// SPDX-License-Identifier: GPL-2.0-or-later
/* Another process, "bully", takes the CPU away in the middle of a call. */
#include "culprit.h"

static int poke[2];

/* Runs at once when it is poked: it has a real-time priority and the same CPU. */
static void bully(void)
{
	scheduled(SCHED_FIFO, 5);
	for (;;) {
		byte_take(poke[0]);
		SPIN_US(2000);
	}
}

WATCHED void innocent(uint64_t i)
{
	SPIN_US(20);
	if (i % 4 == 0)
		byte_send(poke[1]);
	SPIN_US(20);
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	innocent(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	if (pipe(poke))
		die("pipe");
	pin_to(sched_getcpu());
	culprit_calibrate();
	if (!child_run("bully"))
		bully();
	return culprit_run(argc, argv, serve, 300);
}
