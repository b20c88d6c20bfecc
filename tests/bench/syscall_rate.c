// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * syscall_rate RATE [LONG]: one thread makes RATE system calls a second, in a hundred batches or
 * one by one, until it is killed; RATE 0: as many as it can. With LONG the calls are reads of one
 * byte below serve(), each twentieth of LONG KB; after each batch that ends 50 ms after the last
 * line or later it prints the calls so far, the CPU time of their thread and the wall time, ns.
 */
#include "../targets/target.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

enum { BATCH = 100, LONG_EACH = 20, LINE_NS = 50000000 };

static uint64_t calls, length;
static char *room;
static int file;

WATCHED void serve(uint64_t i)
{
	uint64_t n = i % LONG_EACH ? 1 : length;

	if (syscall(SYS_pread64, file, room, n, 0L) != (long)n)
		die("pread64");
	KEEP(room);
}

static void begin_reads(uint64_t kilobytes)
{
	length = kilobytes << 10;
	room = calloc(1, length);
	file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (!room || file < 0 || pwrite(file, room, length, 0) != (ssize_t)length)
		die("a file in /tmp");
}

static void batch_make(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		if (length)
			serve(calls + i);
		else
			syscall(SYS_getppid);
	}
	calls += nr;
}

static void line_print(void)
{
	static uint64_t last;
	struct timespec cpu;

	if (now_ns() - last < LINE_NS)
		return;
	last = now_ns();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	printf("%llu %llu %llu\n", (unsigned long long)calls,
	       (unsigned long long)((uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec),
	       (unsigned long long)last);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const long second = 1000000000;
	struct timespec next;
	uint64_t rate, batch;

	target_begin(&argc, &argv);
	rate = target_arg(argc, argv, 1, 50);
	batch = !rate ? BATCH : rate > 1000 ? rate / 100 : 1;
	if (target_arg(argc, argv, 2, 0))
		begin_reads(target_arg(argc, argv, 2, 0));
	target_go();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		batch_make(batch);
		if (length)
			line_print();
		if (!rate)
			continue;
		next.tv_nsec += second / (long)(rate / batch);
		if (next.tv_nsec >= second) {
			next.tv_nsec -= second;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
