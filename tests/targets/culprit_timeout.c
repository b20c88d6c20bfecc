// SPDX-License-Identifier: GPL-2.0-or-later
/* A wait for input that does not come, until its time is over. */
#include <poll.h>

#include "culprit.h"

static int pipe_of[2];

WATCHED void wait_for_input(int ms)
{
	struct pollfd p = {.fd = pipe_of[0], .events = POLLIN};

	if (poll(&p, 1, ms) < 0)
		die("poll");
	KEEP(bystander(1));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		wait_for_input(2);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	if (pipe(pipe_of))
		die("pipe");
	return culprit_run(argc, argv, serve, 300);
}
