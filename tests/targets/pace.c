// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pace THREADS RATE TURNS SECONDS [ALTERNATE_MS]: each thread calls serve() RATE times a second (0:
 * as often as it can) for SECONDS; a call does TURNS dependent multiplications. With ALTERNATE_MS
 * every other period of that length has a tenth of the calls: at a tenth of the rate, or each with
 * ten times the work. Prints how many calls there were and the CPU time of the process.
 */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 64, BATCH_NS = 1000000, SLOWER = 10 };
static uint64_t threads, rate, turns, seconds, alternate_ns, begin_ns;
static _Atomic uint64_t calls;

WATCHED uint64_t serve(uint64_t x, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	return x;
}

/* Is this the time of fewer calls? */
static bool is_slow(uint64_t now)
{
	return alternate_ns && (now - begin_ns) / alternate_ns % 2;
}

static uint64_t as_often_as_it_can(uint64_t until)
{
	uint64_t done = 0, now;

	while ((now = now_ns()) < until) {
		uint64_t times = is_slow(now) ? SLOWER * turns : turns;

		for (int i = 0; i < 64; i++)
			KEEP(serve(done + 1, times));
		done += 64;
	}
	return done;
}

static uint64_t at_its_rate(uint64_t until)
{
	uint64_t per_batch = rate * BATCH_NS / 1000000000u, period = BATCH_NS, done = 0,
		 next = now_ns(), now;

	if (!per_batch) {
		per_batch = 1;
		period = 1000000000u / rate;
	}
	while ((now = now_ns()) < until) {
		for (uint64_t i = 0; i < per_batch; i++)
			KEEP(serve(i + 1, turns));
		done += per_batch;
		next += is_slow(now) ? SLOWER * period : period;
		now = now_ns();
		if (now < next)
			sleep_ns(next - now);
		else if (now > next + 100 * period)
			next = now; /* it was kept from running: what it missed is not caught up */
	}
	return done;
}

static void *work(void *arg)
{
	uint64_t until = begin_ns + seconds * 1000000000u;

	(void)arg;
	calls += rate ? at_its_rate(until) : as_often_as_it_can(until);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[MAX_THREADS];
	struct timespec cpu;

	target_begin(&argc, &argv);
	threads = target_arg(argc, argv, 1, 1);
	rate = target_arg(argc, argv, 2, 1000);
	turns = target_arg(argc, argv, 3, 1000);
	seconds = target_arg(argc, argv, 4, 5);
	alternate_ns = target_arg(argc, argv, 5, 0) * 1000000;
	if (!threads || threads > MAX_THREADS)
		return 2;
	target_go();
	begin_ns = now_ns();
	for (uint64_t i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, work, NULL))
			return 3;
	}
	for (uint64_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	target_truth("{\"serve\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"cpu_ns\":%llu,"
		     "\"ok\":true}",
		     (unsigned long long)calls, (unsigned long long)calls,
		     (unsigned long long)cpu.tv_sec * 1000000000u +
			 (unsigned long long)cpu.tv_nsec);
	return 0;
}
