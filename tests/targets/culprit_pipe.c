// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocked in read() on a pipe until another process, "supplier", has written. */
#include "culprit.h"

static int ask[2], answer[2];

static void supply(void)
{
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(2000000);
		byte_send(answer[1]);
	}
}

WATCHED void fetch(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
	KEEP(bystander(1));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		fetch();
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	if (pipe(ask) || pipe(answer))
		die("pipe");
	if (!child_run("supplier"))
		supply();
	return culprit_run(argc, argv, serve, 300);
}
