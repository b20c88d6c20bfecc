// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * steady [RATE]: one thread calls busy() as fast as it can; a call is as long as makes RATE
 * (500000) of them a second when nobody watches. For each line on standard input it prints how many
 * calls there were so far, the CPU time of that thread and the wall time: the reader takes
 * differences. Ends at end of file.
 */
#include "../targets/target.h"
#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint64_t done;

WATCHED uint64_t busy(uint64_t turns)
{
	uint64_t i, x = turns;

	for (i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

static void *work(void *arg)
{
	uint64_t turns = *(uint64_t *)arg;

	for (;;) {
		KEEP(busy(turns));
		atomic_store_explicit(&done, atomic_load_explicit(&done, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	}
	return NULL;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Turns of busy() that take so long: the shortest of some rounds, so that an interruption does not
 * count. */
static uint64_t turns_for(uint64_t ns)
{
	enum { TURNS = 1000000 };
	uint64_t best = UINT64_MAX, took;
	int i;

	for (i = 0; i < 10; i++) {
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		KEEP(busy(TURNS));
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - took;
		if (took < best)
			best = took;
	}
	return ns * TURNS / (best ? best : 1);
}

int main(int argc, char **argv)
{
	clockid_t cpu;
	pthread_t id;
	uint64_t turns;
	int c;

	target_begin(&argc, &argv);
	turns = turns_for(1000000000u / target_arg(argc, argv, 1, 500000));
	target_go();
	if (pthread_create(&id, NULL, work, &turns) || pthread_getcpuclockid(id, &cpu))
		return 3;
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		printf("{\"calls\":%llu,\"cpu_ns\":%llu,\"wall_ns\":%llu}\n",
		       (unsigned long long)atomic_load_explicit(&done, memory_order_relaxed),
		       (unsigned long long)clock_ns(cpu), (unsigned long long)now_ns());
		fflush(stdout);
	}
	return 0;
}
