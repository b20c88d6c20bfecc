// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_stuck: four threads whose calls of stuck() do not come back until a line comes on standard
 * input: one reads from an empty pipe, one goes for a mutex that the main thread holds, one sleeps
 * on purpose, one computes.
 */
#include "target.h"
#include <pthread.h>

enum { ON_PIPE, ON_MUTEX, ON_PURPOSE, ON_CPU, KINDS };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static _Atomic bool stop;

WATCHED void compute(void)
{
	volatile unsigned int i;

	for (i = 0; i < 100000; i++)
		;
}

WATCHED uint64_t stuck(uint64_t kind)
{
	char byte;

	switch (kind) {
	case ON_PIPE:
		if (read(ends[0], &byte, 1) < 0)
			die("read");
		break;
	case ON_MUTEX:
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		break;
	case ON_PURPOSE:
		while (!stop)
			sleep_ns(1000000000000u);
		break;
	default:
		while (!stop)
			compute();
	}
	return kind + 1;
}

WATCHED void *serve(void *arg)
{
	static const char *const names[KINDS] = {"on-pipe", "on-mutex", "on-purpose", "on-cpu"};
	uint64_t kind = (uint64_t)(uintptr_t)arg;

	pthread_setname_np(pthread_self(), names[kind]);
	KEEP(stuck(kind));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[KINDS];
	uint64_t i;

	target_begin(&argc, &argv);
	if (pipe(ends))
		die("pipe");
	pthread_mutex_lock(&mutex);
	for (i = 0; i < KINDS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(uintptr_t)i);
	target_go();
	target_wait_line();
	stop = true;
	pthread_mutex_unlock(&mutex);
	if (write(ends[1], "", 1) != 1)
		die("write");
	/* one of them sleeps for a thousand seconds: it ends with us */
	pthread_join(threads[ON_PIPE], NULL);
	pthread_join(threads[ON_MUTEX], NULL);
	pthread_join(threads[ON_CPU], NULL);
	target_truth("{\"ok\":true}");
	return 0;
}
