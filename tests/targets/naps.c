// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * naps [SECONDS]: one thread calls getppid() as fast as it can, sixteen sleep in turns of 1.5 s,
 * one in pause() for ever. Within a small budget, system calls are not watched most of the time.
 */
#include "target.h"
#include <pthread.h>
#include <sys/syscall.h>

enum { NAPPERS = 16, NAP_MS = 1500 };

static _Atomic bool stop;

static void *nap(void *number)
{
	struct timespec first = {0, (long)(intptr_t)number * (NAP_MS / NAPPERS) * 1000000},
			turn = {NAP_MS / 1000, NAP_MS % 1000 * 1000000};

	syscall(SYS_nanosleep, &first, NULL);
	while (!stop)
		syscall(SYS_nanosleep, &turn, NULL);
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t id;
	uint64_t until;

	target_begin(&argc, &argv);
	until = target_arg(argc, argv, 1, 10) * 1000000000;
	target_go();
	if (pthread_create(&id, NULL, wait_for_ever, NULL))
		die("pthread_create");
	for (intptr_t i = 0; i < NAPPERS; i++) {
		if (pthread_create(&id, NULL, nap, (void *)i))
			die("pthread_create");
	}
	until += now_ns();
	while (now_ns() < until) {
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
	}
	stop = true;
	target_truth("{\"ok\":true}");
	return 0;
}
