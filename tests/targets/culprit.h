/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the targets with a known culprit share (tests/integration/case_culprits.py):
 * culprit_*.c(.cc) [SECONDS]. serve() is slow now and then, each time for the one reason that the
 * file is about; the latencies of slow and other calls are far apart.
 */
#ifndef TESTS_CULPRIT_H
#define TESTS_CULPRIT_H

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target.h"

static double spins_per_us;

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Time in its own code, without a call and without the clock. */
static WATCHED void spin(uint64_t rounds)
{
	volatile uint64_t k;

	for (k = 0; k < rounds; k++)
		;
}

static inline uint64_t rounds_of_us(double us)
{
	return (uint64_t)(us * spins_per_us);
}

#define SPIN_US(us) spin(rounds_of_us(us))

/* Something to call that takes no time. */
static WATCHED uint64_t bystander(uint64_t i)
{
	KEEP(i);
	return i * 31;
}

static inline void culprit_calibrate(void)
{
	const uint64_t rounds = 1 << 18;
	int i;

	for (i = 0; i < 5; i++) {
		uint64_t from = thread_cpu_ns(), took;

		spin(rounds);
		took = thread_cpu_ns() - from;
		if ((double)rounds * 1000 / (double)took > spins_per_us)
			spins_per_us = (double)rounds * 1000 / (double)took;
	}
}

static inline void name_thread(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

static inline pthread_t thread_run(void *(*f)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, NULL))
		die("pthread_create");
	return t;
}

/* A child that ends with its parent. Returns 0 in it. */
static inline pid_t child_run(const char *name)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		name_thread(name);
	}
	return pid;
}

static inline void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* What the target is about cannot be had here; `why` and errno say why. */
static inline void skip(const char *why)
{
	printf("{\"skip\":\"%s: %s\"}\n", why, strerror(errno));
	fflush(stdout);
	exit(0);
}

static inline void scheduled(int policy, int priority)
{
	struct sched_param p = {.sched_priority = priority};

	if (sched_setscheduler(0, policy, &p)) {
		printf("{\"skip\":\"no real-time priority\"}\n");
		fflush(stdout);
		exit(0);
	}
}

static inline void byte_send(int fd)
{
	char c = 'x';

	if (write(fd, &c, 1) != 1)
		exit(0);
}

static inline void byte_take(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(0);
}

/*
 * Call serve(0), serve(1), ... for some time; between the calls the thread rests, longer than it
 * has worked: it may have a real-time priority, and others want the processor too.
 */
static inline int culprit_run(int argc, char **argv, void (*serve)(uint64_t), uint64_t rest_us)
{
	uint64_t end, i, from, rest;

	target_begin(&argc, &argv);
	culprit_calibrate();
	end = target_arg(argc, argv, 1, 60) * 1000000000u;
	target_go();
	end += now_ns();
	for (i = 0; now_ns() < end; i++) {
		from = thread_cpu_ns();
		serve(i);
		rest = 2 * (thread_cpu_ns() - from);
		if (rest < rest_us * 1000)
			rest = rest_us * 1000;
		if (rest_us)
			sleep_ns(rest);
	}
	target_truth("{\"calls\":%llu,\"ok\":true}", (unsigned long long)i);
	return 0;
}

#endif
