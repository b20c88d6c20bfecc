// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * returned [CALLS]: first() and second() call serve() CALLS times (2000) in turn. Then stay() calls
 * it once more, in a thread named "stays", and that call waits until the test lets the target end.
 * Built so that serve() begins with an instruction at which peaktop places no probe (endbr64):
 * another tool's return probe at its begin has replaced the return address when peaktop reads it.
 */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t end;
static uint64_t served;

WATCHED uint64_t work(uint64_t i)
{
	if (i == UINT64_MAX) {
		while (sem_wait(&end) < 0)
			;
	}
	return i * 3;
}

/* It saves a register, so that a probe can be emulated. */
WATCHED uint64_t serve(uint64_t i)
{
	uint64_t done = work(i) + i;

	served++;
	return done + work(1);
}

WATCHED uint64_t first(uint64_t i)
{
	return serve(i) + 1;
}

WATCHED uint64_t second(uint64_t i)
{
	return serve(i) + 2;
}

WATCHED uint64_t stay(void)
{
	return serve(UINT64_MAX) + 3;
}

static void *stays(void *arg)
{
	pthread_setname_np(pthread_self(), "stays");
	KEEP(stay());
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0, want = 0;
	pthread_t thread;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 2000);
	sem_init(&end, 0, 0);
	target_go();
	for (i = 0; i < calls; i++) {
		sum += i % 2 ? first(i) : second(i);
		want += 4 * i + 3 + (i % 2 ? 1 : 2);
	}
	if (pthread_create(&thread, NULL, stays, NULL))
		return 1;
	target_truth("{\"serve\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)served, (unsigned long long)served,
		     sum == want ? "true" : "false");
	sem_post(&end);
	pthread_join(thread, NULL);
	return served == calls + 1 ? 0 : 1;
}
