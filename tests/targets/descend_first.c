// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descend_first [SECONDS]: the first instruction of serve() that can be emulated is its call of
 * first(): the probe that begins serve() and the one that begins the callee want the same address.
 * first() sleeps for 2 ms.
 */
#include "target.h"

static uint64_t requests, calls;

WATCHED void first(void)
{
	calls++;
	sleep_ns(2000000);
}

WATCHED void serve(void)
{
	first();
	requests++;
}

int main(int argc, char **argv)
{
	uint64_t end;

	target_begin(&argc, &argv);
	end = target_arg(argc, argv, 1, 60) * 1000000000u;
	target_go();
	end += now_ns();
	while (now_ns() < end)
		serve();
	target_truth("{\"requests\": %llu, \"ok\": %s}", (unsigned long long)requests,
		     requests == calls ? "true" : "false");
	return 0;
}
