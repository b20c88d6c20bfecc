/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks that wait for each other: what the targets of the tests of waits share. */
#ifndef TESTS_TASKS_H
#define TESTS_TASKS_H

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void name(const char *comm)
{
	prctl(PR_SET_NAME, comm);
}

/* Run for this much CPU time. */
__attribute__((noinline)) static void burn_ms(int ms)
{
	struct timespec ts;
	long until;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	until = ts.tv_sec * 1000000000 + ts.tv_nsec + ms * 1000000L;
	do {
		for (volatile int i = 0; i < 2000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000 + ts.tv_nsec < until);
}

static void byte_send(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

/* At the end of file, the sender has ended, and so does this process. */
static void byte_take(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(0);
}

enum which_cpu { FIRST_CPU, LAST_CPU };

/*
 * Run on the first or the last of the CPUs that this process may use. Children inherit that. On a
 * quiet machine the kernel lets a woken task preempt its waker, and what it runs then is no part of
 * a wait. On CPUs of their own they do not.
 */
static void pin(enum which_cpu which)
{
	static cpu_set_t allowed;
	cpu_set_t one;
	int cpu = which == FIRST_CPU ? 0 : CPU_SETSIZE - 1;

	if (!CPU_COUNT(&allowed) && sched_getaffinity(0, sizeof(allowed), &allowed))
		abort();
	while (!CPU_ISSET(cpu, &allowed))
		cpu += which == FIRST_CPU ? 1 : -1;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
}

#endif
