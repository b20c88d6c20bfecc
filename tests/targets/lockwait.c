// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockwait [ROUNDS [HOLD_MS]]: in every round the holder takes a mutex, lets the waiter go for it,
 * and gives it back HOLD_MS (4) later: contended_lock() waits that long each time.
 */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, over;
static uint64_t rounds, hold_ns;

WATCHED void contended_lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	KEEP(m);
}

static void *wait_for_it(void *arg)
{
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		while (sem_wait(&held) < 0)
			;
		contended_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		sem_post(&over);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t waiter;
	uint64_t i;

	target_begin(&argc, &argv);
	rounds = target_arg(argc, argv, 1, 200);
	hold_ns = target_arg(argc, argv, 2, 4) * 1000000;
	sem_init(&held, 0, 0);
	sem_init(&over, 0, 0);
	pthread_create(&waiter, NULL, wait_for_it, NULL);
	target_go();
	for (i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		sleep_ns(hold_ns);
		pthread_mutex_unlock(&mutex);
		while (sem_wait(&over) < 0)
			;
	}
	pthread_join(waiter, NULL);
	target_truth("{\"contended_lock\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"hold_"
		     "ns\":%llu,\"ok\":true}",
		     (unsigned long long)rounds, (unsigned long long)rounds,
		     (unsigned long long)hold_ns);
	return 0;
}
