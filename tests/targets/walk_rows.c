// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_rows: three threads take requests from a queue and handle them: parse(), lock_row(),
 * render(). A row is a flag with a condition, as databases have them, and another thread has it for
 * most of the time. So the threads wait for conditions in two places: in take_request() they are
 * idle, in lock_row() they are blocked. Ends with a line on standard input.
 */
#include "target.h"
#include <poll.h>
#include <pthread.h>

enum { WORKERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER, free_again = PTHREAD_COND_INITIALIZER;
static unsigned int requests;
static bool row_taken, stop;
static _Atomic uint64_t done;

static void burn(unsigned int rounds)
{
	volatile unsigned int i;

	for (i = 0; i < rounds; i++)
		;
}

WATCHED void parse(void)
{
	burn(1200000);
	KEEP(requests);
}

WATCHED void render(void)
{
	burn(1000000);
	KEEP(requests);
}

WATCHED void lock_row(void)
{
	pthread_mutex_lock(&mutex);
	while (row_taken)
		pthread_cond_wait(&free_again, &mutex);
	row_taken = true;
	pthread_mutex_unlock(&mutex);
}

WATCHED void unlock_row(void)
{
	pthread_mutex_lock(&mutex);
	row_taken = false;
	pthread_cond_signal(&free_again);
	pthread_mutex_unlock(&mutex);
}

WATCHED void handle_request(void)
{
	parse();
	lock_row();
	unlock_row();
	render();
	done++;
}

WATCHED bool take_request(void)
{
	bool got;

	pthread_mutex_lock(&mutex);
	while (!requests && !stop)
		pthread_cond_wait(&some, &mutex);
	got = requests > 0;
	requests -= got;
	pthread_mutex_unlock(&mutex);
	return got;
}

static void *worker(void *nothing)
{
	while (take_request())
		handle_request();
	return nothing;
}

/* A batch that has the row for two thirds of the time. */
static void *batch(void *nothing)
{
	while (!stop) {
		lock_row();
		sleep_ns(16000000);
		unlock_row();
		sleep_ns(8000000);
	}
	return nothing;
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	pthread_t threads[WORKERS + 1];
	int i;

	target_begin(&argc, &argv);
	target_go();
	for (i = 0; i <= WORKERS; i++)
		pthread_create(&threads[i], NULL, i ? worker : batch, NULL);
	while (poll(&in, 1, 6) == 0) {
		pthread_mutex_lock(&mutex);
		requests += requests < WORKERS;
		pthread_cond_signal(&some);
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	stop = true;
	pthread_cond_broadcast(&some);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	target_wait_line();
	target_truth("{\"requests\":%llu,\"ok\":true}", (unsigned long long)done);
	return 0;
}
