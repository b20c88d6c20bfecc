// SPDX-License-Identifier: GPL-2.0-or-later
/* A condition that another thread, "producer", signals. */
#include "culprit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, made = PTHREAD_COND_INITIALIZER;
static bool want, have;

static void *produce(void *nothing)
{
	name_thread("producer");
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!want)
			pthread_cond_wait(&wanted, &lock);
		want = false;
		pthread_mutex_unlock(&lock);
		sleep_ns(2000000);
		pthread_mutex_lock(&lock);
		have = true;
		pthread_cond_signal(&made);
		pthread_mutex_unlock(&lock);
	}
	return nothing;
}

WATCHED void consume(void)
{
	pthread_mutex_lock(&lock);
	want = true;
	pthread_cond_signal(&wanted);
	while (!have)
		pthread_cond_wait(&made, &lock);
	have = false;
	pthread_mutex_unlock(&lock);
	KEEP(bystander(1));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		consume();
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (i == 0)
		thread_run(produce);
	serve(i);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, request, 300);
}
