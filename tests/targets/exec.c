// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec [CALLS]: calls work() CALLS times, executes itself (same pid, other addresses), waits for a
 * line after "executed", calls it CALLS times more.
 */
#include "target.h"

static uint64_t done;

WATCHED uint64_t work(uint64_t i)
{
	done++;
	return i * 3 + 1;
}

int main(int argc, char **argv)
{
	uint64_t calls, i;
	bool second;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 10000);
	second = argc > 2;
	if (!second) {
		target_go();
	} else if (target_waits) {
		printf("executed\n");
		fflush(stdout);
		target_wait_line();
	}
	for (i = 0; i < calls; i++)
		KEEP(work(i));
	if (!second) {
		char number[32];

		snprintf(number, sizeof(number), "%llu", (unsigned long long)calls);
		if (target_waits)
			execl("/proc/self/exe", argv[0], "-w", number, "second", (char *)NULL);
		else
			execl("/proc/self/exe", argv[0], number, "second", (char *)NULL);
		die("exec");
	}
	target_truth("{\"work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)(2 * calls), (unsigned long long)(2 * done),
		     done == calls ? "true" : "false");
	return 0;
}
