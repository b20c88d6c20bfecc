// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd [THREADS [ODD]]: THREADS (1000) threads wait in wait_for_work() until a line comes on
 * standard input. The one with the number ODD (half of them), named "odd-one", waits for the same
 * condition in stuck().
 */
#include "target.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static uint64_t odd, waiting;
static bool over;

WATCHED void wait_for_work(void)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	while (!over)
		pthread_cond_wait(&more, &mutex);
	pthread_mutex_unlock(&mutex);
	KEEP(&more);
}

WATCHED void stuck(uint64_t i)
{
	volatile uint64_t own[40];

	own[i % 40] = i;
	wait_for_work();
	KEEP(own[i % 40]);
}

static void *worker(void *arg)
{
	if ((uint64_t)(uintptr_t)arg == odd) {
		pthread_setname_np(pthread_self(), "odd-one");
		stuck(odd);
	} else {
		wait_for_work();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads, i, now = 0;
	pthread_attr_t small;
	pthread_t *ids;

	target_begin(&argc, &argv);
	threads = target_arg(argc, argv, 1, 1000);
	odd = target_arg(argc, argv, 2, threads / 2);
	ids = calloc(threads, sizeof(*ids));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (i = 0; ids && i < threads; i++) {
		if (pthread_create(&ids[i], &small, worker, (void *)(uintptr_t)i))
			return 1;
	}
	while (now < threads) {
		pthread_mutex_lock(&mutex);
		now = waiting;
		pthread_mutex_unlock(&mutex);
		sleep_ns(1000000);
	}
	target_go();
	pthread_mutex_lock(&mutex);
	over = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&mutex);
	for (i = 0; ids && i < threads; i++)
		pthread_join(ids[i], NULL);
	target_truth("{\"threads\":%llu,\"ok\":true}", (unsigned long long)now);
	return 0;
}
