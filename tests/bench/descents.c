// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descents DEPTH RATE [FAST_NS [SLOW_NS [LOOP]]]: serve() takes FAST_NS (1000) and goes down a
 * chain of DEPTH functions; in one call of twenty the last of them takes SLOW_NS (100000) in
 * culprit(), or makes LOOP short calls there. RATE calls a second, 0: as fast as it can. Every 50
 * ms a line: the calls so far, the CPU time of their thread, the wall time. Ends with its parent.
 */
#include "../targets/chain.h"
#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint64_t done;
static uint64_t fast, slow; /* turns */
static uint64_t loop;

WATCHED void spin(uint64_t turns)
{
	uint64_t i;

	for (i = 0; i < turns; i++)
		__asm__ volatile("" : : : "memory");
}

WATCHED void item(uint64_t i)
{
	KEEP(i % 2 ? bystander(i) : i);
}

WATCHED void culprit(void)
{
	uint64_t i;

	if (!loop)
		spin(slow);
	for (i = 0; i < loop; i++)
		item(i);
	KEEP(bystander(slow));
}

WATCHED void last(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 20 == 0)
		culprit();
	KEEP(bystander(i + 1));
}

WATCHED void serve(uint64_t i)
{
	spin(fast);
	link1(i);
	KEEP(bystander(i));
}

static uint64_t turns_of(uint64_t ns)
{
	uint64_t best = UINT64_MAX, start, t;
	int i;

	for (i = 0; i < 20; i++) {
		start = now_ns();
		spin(100000);
		t = now_ns() - start;
		best = t < best ? t : best;
	}
	return ns * 100000 / (best ? best : 1);
}

static void *work(void *arg)
{
	uint64_t rate = *(uint64_t *)arg, start = now_ns(), i;

	for (i = 0;; i++) {
		uint64_t due = rate ? start + i * 1000000000 / rate : 0, now = rate ? now_ns() : 0;

		if (due > now + 100000)
			sleep_ns(due - now);
		else if (now > due + 100000000)
			start += now - due; /* what is lost is lost */
		serve(i);
		atomic_store_explicit(&done, i + 1, memory_order_relaxed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static uint64_t rate;
	struct timespec t;
	pthread_t thread;
	clockid_t clock;

	depth = (unsigned int)target_arg(argc, argv, 1, 8) - 1;
	rate = target_arg(argc, argv, 2, 10000);
	fast = turns_of(target_arg(argc, argv, 3, 1000));
	slow = turns_of(target_arg(argc, argv, 4, 100000));
	loop = target_arg(argc, argv, 5, 0);
	if (pthread_create(&thread, NULL, work, &rate) || pthread_getcpuclockid(thread, &clock))
		return 1;
	do {
		clock_gettime(clock, &t);
		printf("%llu %llu %llu\n", (unsigned long long)atomic_load(&done),
		       (unsigned long long)((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec),
		       (unsigned long long)now_ns());
		fflush(stdout);
		sleep_ns(50000000);
	} while (!ferror(stdout) && getppid() > 1);
	return 0;
}
