// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_inside KIND: threads that wait for one thread of the same program, which sleeps 20 ms in
 * slowest(). barrier: three wait at a barrier, meet(). event: one asks by an eventfd and waits for
 * the answer in another one, await(). epoll: the same, but it waits in epoll_wait() before it
 * reads. Ends with a line on standard input.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "target.h"

enum { WAITERS = 3 };

static pthread_barrier_t barrier;
static int question, answer, epoll = -1;

WATCHED void slowest(void)
{
	sleep_ns(20000000);
	KEEP(question);
}

WATCHED void meet(void)
{
	pthread_barrier_wait(&barrier);
	KEEP(question);
}

WATCHED void await(int event)
{
	struct epoll_event ready;
	uint64_t n;

	if (event == answer && epoll >= 0)
		epoll_wait(epoll, &ready, 1, -1);

	if (read(event, &n, sizeof(n)) != sizeof(n))
		abort();
	KEEP(n);
}

WATCHED void notify(int event)
{
	const uint64_t one = 1;

	if (write(event, &one, sizeof(one)) != sizeof(one))
		abort();
	KEEP(one);
}

WATCHED void *slow_at_barrier(void *arg)
{
	for (;;) {
		slowest();
		meet();
	}
	return NULL;
}

WATCHED void *fast_at_barrier(void *arg)
{
	for (;;)
		meet();
	return NULL;
}

WATCHED void *answers(void *arg)
{
	for (;;) {
		await(question);
		slowest();
		notify(answer);
	}
	return NULL;
}

WATCHED void *asks(void *arg)
{
	for (;;) {
		notify(question);
		await(answer);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	bool event;

	target_begin(&argc, &argv);
	event = argc > 1 && strcmp(argv[1], "barrier");
	question = eventfd(0, 0);
	answer = eventfd(0, 0);
	if (argc > 1 && !strcmp(argv[1], "epoll")) {
		struct epoll_event in = {.events = EPOLLIN};

		epoll = epoll_create1(0);
		epoll_ctl(epoll, EPOLL_CTL_ADD, answer, &in);
	}
	pthread_barrier_init(&barrier, NULL, WAITERS + 1);
	target_go();
	pthread_create(&thread, NULL, event ? answers : slow_at_barrier, NULL);
	for (int i = 0; i < (event ? 1 : WAITERS); i++)
		pthread_create(&thread, NULL, event ? asks : fast_at_barrier, NULL);
	target_wait_line();
	target_truth("{\"ok\":true}");
	return 0;
}
