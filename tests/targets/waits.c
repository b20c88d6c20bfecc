// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits MODE ROUNDS [PATH [PATH2]]: programs that wait for each other in a known way. They burn CPU
 * time of their thread, not wall time, so that the answers do not depend on the load of the host.
 *
 *   pass    two processes pass a byte through pipes; "parent" runs 2 ms, "child" 3 ms per round
 *   chain   thread "a" waits for "c", which waits for "b", by condition variables
 *   fork    the process waits for a child that sleeps for 5 ms and runs for 3 ms
 *   sleep   nanosleep() of 10 ms, then 1 ms of CPU time
 *   alarm   the process waits at a pipe for a child that runs for 20 ms; an alarm interrupts it
 *   spin    two processes that never sleep, on one CPU
 *   write   writes and fsync() of the file PATH
 *   ask     write to the FIFO PATH, read from the FIFO PATH2
 *   clients as ask, but each round is of a process of its own, which first runs for 3 ms
 *   serve   read from PATH, sleep for 2 ms, run for 1 ms, write to PATH2
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

static int rounds;

static void doze_ms(int ms)
{
	struct timespec ts = {.tv_sec = 0, .tv_nsec = ms * 1000000L};

	nanosleep(&ts, NULL);
}

/* ---- pipes */

static void pass(void)
{
	int to[2], back[2];

	if (pipe(to) || pipe(back))
		exit(1);
	pin(FIRST_CPU);
	if (!fork()) {
		pin(LAST_CPU);
		name("waits-child");
		close(to[1]);
		close(back[0]);
		for (;;) {
			byte_take(to[0]);
			burn_ms(3);
			byte_send(back[1]);
		}
	}
	close(to[0]);
	close(back[1]);
	for (int i = 0; i < rounds; i++) {
		burn_ms(2);
		byte_send(to[1]);
		byte_take(back[0]);
	}
}

/* ---- a chain of threads */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn; /* who may go on: 0 a, 1 c, 2 b, 3 c again */

static void turn_wait(int mine)
{
	pthread_mutex_lock(&mutex);
	while (turn != mine)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void turn_give(int next)
{
	pthread_mutex_lock(&mutex);
	turn = next;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
}

static void *thread_b(void *unused)
{
	(void)unused;
	name("waits-b");
	for (;;) {
		turn_wait(2);
		burn_ms(3);
		turn_give(3);
	}
	return NULL;
}

static void *thread_c(void *unused)
{
	(void)unused;
	name("waits-c");
	for (;;) {
		turn_wait(1);
		burn_ms(2);
		turn_give(2);
		turn_wait(3);
		turn_give(0);
	}
	return NULL;
}

static void chain(void)
{
	pthread_t b, c;

	name("waits-a");
	pthread_create(&b, NULL, thread_b, NULL);
	pthread_create(&c, NULL, thread_c, NULL);
	for (int i = 0; i < rounds; i++) {
		turn_wait(0);
		burn_ms(1);
		turn_give(1);
	}
	turn_wait(0);
}

/* ---- the others */

static void spawn(void)
{
	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid) {
			name("waits-job");
			doze_ms(5);
			burn_ms(3);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		burn_ms(1);
	}
}

static void alarm_rings(int signal)
{
	(void)signal;
}

/* As a server that limits each wait: the alarm does not end the wait, which is begun again. */
static void interrupted(void)
{
	const struct itimerval in_5_ms = {.it_value.tv_usec = 5000};
	struct sigaction act = {.sa_handler = alarm_rings};
	int fd[2];
	char byte;

	if (pipe(fd))
		exit(1);
	sigaction(SIGALRM, &act, NULL);
	if (!fork()) {
		name("waits-child");
		for (int i = 0; i < rounds; i++) {
			burn_ms(20);
			byte_send(fd[1]);
		}
		_exit(0);
	}
	close(fd[1]);
	for (int i = 0; i < rounds; i++) {
		setitimer(ITIMER_REAL, &in_5_ms, NULL);
		while (read(fd[0], &byte, 1) < 0 && errno == EINTR)
			;
	}
	wait(NULL);
}

static void nap(void)
{
	for (int i = 0; i < rounds; i++) {
		doze_ms(10);
		burn_ms(1);
	}
}

static void spin(void)
{
	pid_t other;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	other = fork();
	if (!other) {
		name("waits-rival");
		prctl(PR_SET_PDEATHSIG, 9);
		for (;;)
			burn_ms(100);
	}
	burn_ms(rounds);
	kill(other, 9);
	waitpid(other, NULL, 0);
}

static void store(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char block[4096];

	memset(block, 'x', sizeof(block));
	for (int i = 0; fd >= 0 && i < rounds; i++) {
		if (pwrite(fd, block, sizeof(block), (off_t)i % 64 * 4096) != sizeof(block) ||
		    fsync(fd))
			exit(1);
	}
}

/* ---- two processes that different users may run */

static void ask(const char *to, const char *from)
{
	int out = open(to, O_WRONLY), in = open(from, O_RDONLY);

	for (int i = 0; i < rounds; i++) {
		burn_ms(1);
		byte_send(out);
		byte_take(in);
	}
}

static void serve(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY);

	name("waits-server");
	for (;;) {
		byte_take(in);
		doze_ms(2);
		burn_ms(1);
		byte_send(out);
	}
}

/* Processes that ask once and end, one after the other. */
static void clients(const char *to, const char *from)
{
	int out = open(to, O_WRONLY), in = open(from, O_RDONLY);

	for (int i = 0; i < rounds; i++) {
		if (!fork()) {
			name("waits-client");
			burn_ms(3);
			byte_send(out);
			_exit(0);
		}
		wait(NULL);
		byte_take(in);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(mode, "pass"))
		pass();
	else if (!strcmp(mode, "chain"))
		chain();
	else if (!strcmp(mode, "fork"))
		spawn();
	else if (!strcmp(mode, "sleep"))
		nap();
	else if (!strcmp(mode, "alarm"))
		interrupted();
	else if (!strcmp(mode, "spin"))
		spin();
	else if (!strcmp(mode, "write") && argc > 3)
		store(argv[3]);
	else if (!strcmp(mode, "ask") && argc > 4)
		ask(argv[3], argv[4]);
	else if (!strcmp(mode, "clients") && argc > 4)
		clients(argv[3], argv[4]);
	else if (!strcmp(mode, "serve") && argc > 4)
		serve(argv[3], argv[4]);
	else
		return 2;
	return 0;
}
