// SPDX-License-Identifier: GPL-2.0-or-later
/* exit_soon [MICROSECONDS [STATUS]]: busy with work() and system calls, gone after so long. */
#include "target.h"

static uint64_t done;

WATCHED uint64_t work(uint64_t i)
{
	done++;
	return i * 3 + 1;
}

int main(int argc, char **argv)
{
	uint64_t until;

	target_begin(&argc, &argv);
	target_go();
	until = now_ns() + target_arg(argc, argv, 1, 50000) * 1000;
	while (now_ns() < until) {
		KEEP(work(until));
		KEEP(getppid());
	}
	target_waits = false;
	target_truth("{\"work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
		     (unsigned long long)done, (unsigned long long)done);
	return (int)target_arg(argc, argv, 2, 0);
}
