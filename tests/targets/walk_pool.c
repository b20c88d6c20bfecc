// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_pool [WORKERS [MS]]: a pool of threads (4) that wait on a condition for jobs, of which one
 * comes every MS milliseconds (20; 0: none comes): run_job() computes a little, crunch(), and
 * sleeps 5 ms on purpose, nap(). Ends with a line on standard input.
 */
#include "target.h"
#include <poll.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static unsigned int jobs;
static bool stop;
static _Atomic uint64_t done;

WATCHED void crunch(void)
{
	volatile unsigned int i;

	for (i = 0; i < 1000000; i++)
		;
	KEEP(i);
}

WATCHED void nap(void)
{
	sleep_ns(5000000);
	KEEP(jobs);
}

WATCHED void run_job(void)
{
	crunch();
	nap();
	done++;
}

WATCHED bool take_job(void)
{
	bool got;

	pthread_mutex_lock(&mutex);
	while (!jobs && !stop)
		pthread_cond_wait(&some, &mutex);
	got = jobs > 0;
	jobs -= got;
	pthread_mutex_unlock(&mutex);
	return got;
}

WATCHED void *worker(void *arg)
{
	while (take_job())
		run_job();
	return NULL;
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t workers, ms, i;
	pthread_t threads[64];

	target_begin(&argc, &argv);
	workers = target_arg(argc, argv, 1, 4);
	ms = target_arg(argc, argv, 2, 20);
	if (workers > 64)
		workers = 64;
	target_go();
	for (i = 0; i < workers; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	while (poll(&in, 1, ms ? (int)ms : -1) == 0) {
		pthread_mutex_lock(&mutex);
		jobs++;
		pthread_cond_signal(&some);
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	stop = true;
	pthread_cond_broadcast(&some);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	target_wait_line();
	target_truth("{\"jobs\":%llu,\"ok\":true}", (unsigned long long)done);
	return 0;
}
