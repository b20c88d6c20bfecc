// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleeper [N]: nap() sleeps 300 us N times, 3 ms N/4 times, 30 ms N/20 times, in a mixed order:
 * three peaks of the function and of nanosleep with known counts, a factor of ten apart.
 */
#include "target.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

WATCHED void nap(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	syscall(SYS_nanosleep, &t, NULL);
	KEEP(&t);
}

int main(int argc, char **argv)
{
	uint64_t n, i;

	target_begin(&argc, &argv);
	n = target_arg(argc, argv, 1, 1000);
	prctl(PR_SET_TIMERSLACK, 1000);
	target_go();
	for (i = 0; i < n; i++) {
		nap(300000);
		if (i % 4 == 0)
			nap(3000000);
		if (i % 20 == 0)
			nap(30000000);
	}
	target_truth("{\"nap\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"peaks\":[%llu,%"
		     "llu,%llu],\"ok\":true}",
		     (unsigned long long)(n + (n + 3) / 4 + (n + 19) / 20),
		     (unsigned long long)(n + (n + 3) / 4 + (n + 19) / 20), (unsigned long long)n,
		     (unsigned long long)((n + 3) / 4), (unsigned long long)((n + 19) / 20));
	return 0;
}
