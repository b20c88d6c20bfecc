// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rates [RATE [SECONDS [SLOW_PER_MILLION [SLOW_MS]]]]: busy() is called RATE times a second
 * (500000) by two threads, and SLOW_PER_MILLION (100) of a million calls take SLOW_MS (200) in
 * threads of their own, whose calls are spread evenly over time. Prints what each kind really came
 * to, and the CPU time of the fast threads.
 */
#include "target.h"
#include <pthread.h>

enum { FAST = 2, MAX_SLOW = 400 };
static uint64_t until, batch_ns = 1000000, per_batch, slow_ns, slow_period_ns;
static _Atomic uint64_t fast_done, slow_done, cpu_ns;

WATCHED uint64_t busy(uint64_t i, uint64_t wait_ns)
{
	if (wait_ns)
		sleep_ns(wait_ns);
	return i * 3 + 1;
}

static void *fast(void *arg)
{
	uint64_t next = now_ns(), done = 0, i, now;
	struct timespec t;

	while (next < until) {
		for (i = 0; i < per_batch; i++)
			KEEP(busy(i, 0));
		done += per_batch;
		next += batch_ns;
		now = now_ns();
		if (now < next)
			sleep_ns(next - now);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	cpu_ns += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	fast_done += done;
	return NULL;
}

static void *slow(void *arg)
{
	uint64_t next = now_ns() + slow_period_ns * (uint64_t)(uintptr_t)arg / 97 % slow_period_ns,
		 now;

	while (next + slow_ns < until) {
		now = now_ns();
		if (now < next)
			sleep_ns(next - now);
		KEEP(busy(next, slow_ns));
		slow_done++;
		next += slow_period_ns;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t rate, seconds, per_million, slow_threads, i;
	pthread_t ids[FAST + MAX_SLOW];
	double slow_rate;

	target_begin(&argc, &argv);
	rate = target_arg(argc, argv, 1, 500000);
	seconds = target_arg(argc, argv, 2, 10);
	per_million = target_arg(argc, argv, 3, 100);
	slow_ns = target_arg(argc, argv, 4, 200) * 1000000;
	slow_rate = (double)rate * (double)per_million / 1e6;
	/* Each slow thread is inside of a call at most half of the time. */
	slow_threads = (uint64_t)(slow_rate * (double)slow_ns * 2 / 1e9) + (per_million ? 1 : 0);
	if (slow_threads > MAX_SLOW)
		return 2;
	if (slow_threads)
		slow_period_ns = (uint64_t)((double)slow_threads * 1e9 / slow_rate);
	per_batch = rate * batch_ns / 1000000000u / FAST;
	if (!per_batch) {
		per_batch = 1;
		batch_ns = 1000000000u * FAST / (rate ? rate : 1);
	}
	target_go();
	until = now_ns() + seconds * 1000000000u;
	for (i = 0; i < FAST; i++)
		pthread_create(&ids[i], NULL, fast, NULL);
	for (i = 0; i < slow_threads; i++)
		pthread_create(&ids[FAST + i], NULL, slow,
			       (void *)(uintptr_t)(i * 97 / slow_threads));
	for (i = 0; i < FAST + slow_threads; i++)
		pthread_join(ids[i], NULL);
	target_truth("{\"busy\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"fast\":%llu,"
		     "\"slow\":%llu,"
		     "\"fast_cpu_ns\":%llu,\"ok\":true}",
		     (unsigned long long)(fast_done + slow_done),
		     (unsigned long long)(fast_done + slow_done), (unsigned long long)fast_done,
		     (unsigned long long)slow_done, (unsigned long long)cpu_ns);
	return 0;
}
