// SPDX-License-Identifier: GPL-2.0-or-later
/* syscall_rate RATE: one thread makes RATE system calls a second, in a hundred batches or one by
 * one, until it is killed. */
#include "../targets/target.h"
#include <sys/syscall.h>
#include <time.h>

int main(int argc, char **argv)
{
	const long second = 1000000000;
	struct timespec next;
	uint64_t rate, batch;

	target_begin(&argc, &argv);
	rate = target_arg(argc, argv, 1, 50);
	batch = rate > 1000 ? rate / 100 : 1;
	target_go();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		for (uint64_t i = 1; i < batch; i++)
			syscall(SYS_getppid);
		next.tv_nsec += second / (long)(rate / batch);
		if (next.tv_nsec >= second) {
			next.tv_nsec -= second;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
