// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec_storm [EXECS [CALLS]]: calls work() CALLS times within 20 ms and executes itself (same pid,
 * other addresses), EXECS times.
 */
#include "target.h"

static uint64_t wrong;

WATCHED uint64_t work(uint64_t i)
{
	return i * 3 + 1;
}

int main(int argc, char **argv)
{
	uint64_t left, calls, made, i;
	char *next[7] = {argv[0]}, text[4][32];

	target_begin(&argc, &argv);
	left = target_arg(argc, argv, 1, 20);
	calls = target_arg(argc, argv, 2, 50);
	made = target_arg(argc, argv, 3, 0);
	wrong = target_arg(argc, argv, 4, 0);
	if (argc <= 3)
		target_go();
	for (i = 0; i < calls; i++) {
		wrong += work(i) != i * 3 + 1;
		sleep_ns(20000000 / calls);
	}
	made += calls;
	if (left) {
		uint64_t numbers[4] = {left - 1, calls, made, wrong};
		int n = 1;

		if (target_waits)
			next[n++] = "-w";
		for (i = 0; i < 4; i++) {
			snprintf(text[i], sizeof(text[i]), "%llu", (unsigned long long)numbers[i]);
			next[n++] = text[i];
		}
		execv("/proc/self/exe", next);
		die("exec");
	}
	target_truth("{\"work\":{\"calls\":%llu,\"wrong\":%llu},\"ok\":%s}",
		     (unsigned long long)made, (unsigned long long)wrong, wrong ? "false" : "true");
	return 0;
}
