// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pthread_exit [THREADS]: threads that end inside of watched functions.
 *
 * Each thread runs task() -> inner_step() -> inner_step() ..., with a cleanup handler pushed in
 * each of them. One third of the threads calls pthread_exit() in the innermost, one third is
 * cancelled there, one third returns. Every handler must run exactly once: a uretprobe's trampoline
 * stops the unwinder half-way.
 */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>

enum { DEPTH = 4 };
enum end { RETURNS, EXITS, CANCELLED };

static _Atomic uint64_t pushed, ran, steps, tasks;
static sem_t inside;

static void cleanup(void *arg)
{
	ran++;
}

WATCHED uint64_t inner_step(enum end end, int depth)
{
	volatile uint64_t sum = 0;

	steps++;
	pthread_cleanup_push(cleanup, NULL);
	pushed++;
	if (depth > 0) {
		sum = inner_step(end, depth - 1) + 1;
	} else if (end == EXITS) {
		pthread_exit((void *)1);
	} else if (end == CANCELLED) {
		sem_post(&inside);
		for (;;)
			pause();
	}
	pthread_cleanup_pop(1);
	return sum;
}

WATCHED uint64_t task(enum end end)
{
	volatile uint64_t sum;

	tasks++;
	pthread_cleanup_push(cleanup, NULL);
	pushed++;
	sum = inner_step(end, DEPTH - 1);
	pthread_cleanup_pop(1);
	return sum;
}

static void *start(void *arg)
{
	KEEP(task((enum end)(intptr_t)arg));
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads, i, ended[3] = {0};
	bool ok = true;

	target_begin(&argc, &argv);
	threads = target_arg(argc, argv, 1, 300);
	sem_init(&inside, 0, 0);
	target_go();
	for (i = 0; i < threads; i++) {
		enum end end = i % 3;
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, start, (void *)(intptr_t)end))
			die("pthread_create");
		if (end == CANCELLED) {
			while (sem_wait(&inside) < 0)
				;
			pthread_cancel(thread);
		}
		pthread_join(thread, &result);
		ended[end]++;
		ok = ok && result == (end == RETURNS ? NULL
				      : end == EXITS ? (void *)1
						     : PTHREAD_CANCELED);
	}
	ok = ok && pushed == ran && pushed == threads * (DEPTH + 1);
	target_truth("{\"task\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":%llu},"
		     "\"inner_step\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":%llu},"
		     "\"handlers_pushed\":%llu,\"handlers_run\":%llu,\"ok\":%s}",
		     (unsigned long long)tasks, (unsigned long long)ended[RETURNS],
		     (unsigned long long)(tasks - ended[RETURNS]), (unsigned long long)steps,
		     (unsigned long long)(ended[RETURNS] * DEPTH),
		     (unsigned long long)(steps - ended[RETURNS] * DEPTH),
		     (unsigned long long)pushed, (unsigned long long)ran, ok ? "true" : "false");
	return ok ? 0 : 1;
}
