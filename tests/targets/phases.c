// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with phases of its own. Each round: work outside, a phase between two functions (a
 * second thread works in it too), one that is a function's own body, one between two system calls,
 * and one left by longjmp.
 *
 * phases [-w] ROUNDS PAUSE_NS
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "target.h"

enum {
	BEFORE = 3,
	INSIDE = 2,
	HELPER_INSIDE = 4,
	HELPER_OUTSIDE = 5,
	BODY = 6,
	BETWEEN = 7,
	LEFT = 1,
	PPIDS = 8
};

static pthread_barrier_t handover;
static uint64_t rounds;
static jmp_buf away;

WATCHED static uint64_t work(uint64_t seed)
{
	for (int i = 0; i < 50; i++)
		draw(&seed);
	return seed;
}

WATCHED static void work_times(int n)
{
	for (int i = 0; i < n; i++)
		KEEP(work((uint64_t)i + 1));
}

WATCHED static int phase_open(int round)
{
	KEEP(round);
	return round + 1;
}

WATCHED static int phase_close(int round)
{
	KEEP(round);
	return round - 1;
}

WATCHED static int whole(int depth)
{
	/* its inner calls end, and the phase goes on */
	if (depth)
		KEEP(whole(depth - 1));
	else
		work_times(BODY / 2);
	if (depth == 2)
		work_times(BODY - BODY / 2);
	return depth;
}

WATCHED static int left_early(int round)
{
	work_times(LEFT);
	if (round >= 0)
		longjmp(away, 1);
	return round;
}

static void ask_parent(int n)
{
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
}

static void *helper(void *unused)
{
	for (uint64_t i = 0; i < rounds; i++) {
		pthread_barrier_wait(&handover);
		work_times(HELPER_INSIDE);
		pthread_barrier_wait(&handover);
		pthread_barrier_wait(&handover);
		work_times(HELPER_OUTSIDE);
		pthread_barrier_wait(&handover);
	}
	return unused;
}

static void one_round(int round)
{
	work_times(BEFORE);
	ask_parent(PPIDS);
	KEEP(phase_open(round));
	work_times(INSIDE);
	ask_parent(1);
	pthread_barrier_wait(&handover);
	pthread_barrier_wait(&handover);
	KEEP(phase_close(round));
	pthread_barrier_wait(&handover);
	pthread_barrier_wait(&handover);
	KEEP(whole(2));
	syscall(SYS_getpgid, 0);
	work_times(BETWEEN);
	syscall(SYS_getsid, 0);
	ask_parent(PPIDS);
	if (!setjmp(away))
		KEEP(left_early(round));
}

int main(int argc, char **argv)
{
	uint64_t pause;
	pthread_t thread;

	target_begin(&argc, &argv);
	rounds = target_arg(argc, argv, 1, 200);
	pause = target_arg(argc, argv, 2, 0);
	pthread_barrier_init(&handover, NULL, 2);
	target_go();
	if (pthread_create(&thread, NULL, helper, NULL))
		die("pthread_create");
	for (uint64_t i = 0; i < rounds; i++) {
		one_round((int)i);
		if (pause)
			sleep_ns(pause);
	}
	pthread_join(thread, NULL);
	target_truth("{\"ok\": true, \"rounds\": %llu, \"functions\": %llu, \"body\": %llu, "
		     "\"between\": %llu, \"all\": %llu}",
		     (unsigned long long)rounds,
		     (unsigned long long)rounds * (INSIDE + HELPER_INSIDE),
		     (unsigned long long)rounds * BODY, (unsigned long long)rounds * BETWEEN,
		     (unsigned long long)rounds * (BEFORE + INSIDE + HELPER_INSIDE +
						   HELPER_OUTSIDE + BODY + BETWEEN + LEFT));
	return 0;
}
