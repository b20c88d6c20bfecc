// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * budget THREADS RATE TURNS SYSCALLS: each thread calls serve() RATE times a second (0: as often as
 * it can). A call does TURNS dependent multiplications and SYSCALLS system calls, one call in
 * twenty does ten times as many multiplications two functions further down. A chain of
 * multiplications takes the same number of cycles whatever else runs on the machine, so the CPU
 * time of one of them tells what a watched program loses.
 *
 * For each line on standard input it prints the calls, the multiplications, the CPU time of the
 * process and the wall time so far: the reader takes differences. Ends at end of file.
 */
#include "../targets/target.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { MAX_THREADS = 64, SLOW_ONE_IN = 20, SLOW_TIMES = 10, BATCH_NS = 1000000 };

static uint64_t rate, turns, syscalls;
static struct {
	_Alignas(64) _Atomic uint64_t calls, work;
} done[MAX_THREADS];

static uint64_t multiply(uint64_t x, uint64_t times)
{
	uint64_t i;

	for (i = 0; i < times; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	return x;
}

WATCHED uint64_t fetch(uint64_t x)
{
	return multiply(x, turns * SLOW_TIMES) + 1;
}

WATCHED uint64_t render(uint64_t x)
{
	return fetch(x) + 1;
}

WATCHED uint64_t lookup(uint64_t x)
{
	return multiply(x, turns) + 1;
}

WATCHED uint64_t serve(uint64_t i)
{
	uint64_t n, x;

	x = i % SLOW_ONE_IN ? lookup(i | 1) : render(i | 1);
	for (n = 0; n < syscalls; n++)
		syscall(SYS_getppid);
	return x;
}

static void serve_some(unsigned int me, uint64_t from, uint64_t nr)
{
	uint64_t i, work = 0;

	for (i = from; i < from + nr; i++) {
		KEEP(serve(i));
		work += i % SLOW_ONE_IN ? turns : turns * SLOW_TIMES;
	}
	atomic_fetch_add_explicit(&done[me].calls, nr, memory_order_relaxed);
	atomic_fetch_add_explicit(&done[me].work, work, memory_order_relaxed);
}

static void *work(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	uint64_t batch = rate * BATCH_NS / 1000000000u, period = BATCH_NS, next = now_ns(), from,
		 now;

	if (!batch) {
		batch = 1;
		period = rate ? 1000000000u / rate : 0;
	}
	for (from = me;; from += batch) {
		serve_some(me, from, batch);
		next += period;
		now = now_ns();
		if (!period)
			continue;
		if (now < next)
			sleep_ns(next - now);
		else if (now > next + 100 * period)
			next = now; /* it was kept from running: what it missed is not caught up */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec cpu;
	uint64_t threads, calls, units, i;
	pthread_t id;
	int c;

	target_begin(&argc, &argv);
	threads = target_arg(argc, argv, 1, 1);
	rate = target_arg(argc, argv, 2, 1000);
	turns = target_arg(argc, argv, 3, 1000);
	syscalls = target_arg(argc, argv, 4, 0);
	if (threads > MAX_THREADS)
		return 2;
	target_go();
	for (i = 0; i < threads; i++) {
		if (pthread_create(&id, NULL, work, (void *)(uintptr_t)i))
			return 3;
	}
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		for (i = calls = units = 0; i < threads; i++) {
			calls += atomic_load_explicit(&done[i].calls, memory_order_relaxed);
			units += atomic_load_explicit(&done[i].work, memory_order_relaxed);
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		printf("{\"calls\":%llu,\"work\":%llu,\"cpu_ns\":%llu,\"wall_ns\":%llu}\n",
		       (unsigned long long)calls, (unsigned long long)units,
		       (unsigned long long)cpu.tv_sec * 1000000000u +
			   (unsigned long long)cpu.tv_nsec,
		       (unsigned long long)now_ns());
		fflush(stdout);
	}
	return 0;
}
