// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/detach.h"

#include <pthread.h>
#include <stdatomic.h>

#include "analysis/base/array.h"
#include "collect/attach.h"
#include "collect/guard.h"

static _Atomic uint64_t cpu_ns;

uint64_t attach_cpu_begin(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void attach_cpu_end(uint64_t since)
{
	atomic_fetch_add(&cpu_ns, attach_cpu_begin() - since);
}

uint64_t attach_cpu_ns(void)
{
	return atomic_load(&cpu_ns);
}

/*
 * Descriptors that wait to be closed by threads. When a link is closed, the kernel removes its
 * probes at once and then blocks for 40 ms or more until no CPU runs them. With a single thread
 * the next link's probes would stay attached for that time.
 */
enum { DETACH_THREADS = 8, MAX_DETACHING = 1 << 20 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	int *fd;
	size_t nr, cap;
	unsigned int threads, idle;
} detaching = {.lock = PTHREAD_MUTEX_INITIALIZER,
	       .more = PTHREAD_COND_INITIALIZER,
	       .done = PTHREAD_COND_INITIALIZER};

static void *detach(void *arg)
{
	pthread_mutex_lock(&detaching.lock);
	for (;;) {
		uint64_t since;
		int fd;

		while (!detaching.nr) {
			detaching.idle++;
			pthread_cond_broadcast(&detaching.done);
			pthread_cond_wait(&detaching.more, &detaching.lock);
			detaching.idle--;
		}
		fd = detaching.fd[--detaching.nr];
		pthread_mutex_unlock(&detaching.lock);
		since = attach_cpu_begin();
		guard_close(fd);
		attach_cpu_end(since);
		pthread_mutex_lock(&detaching.lock);
	}
	return NULL;
}

/* Start another thread if there are more descriptors than idle threads. The caller holds the
 * lock. */
static void detach_thread(void)
{
	pthread_t thread;

	if (detaching.nr < detaching.idle || detaching.threads == DETACH_THREADS ||
	    pthread_create(&thread, NULL, detach, NULL))
		return;
	pthread_detach(thread);
	detaching.threads++;
}

bool detach_later(int fd)
{
	bool taken = false;

	pthread_mutex_lock(&detaching.lock);
	detach_thread();
	if (detaching.threads &&
	    !array_grow(detaching.fd, detaching.nr, detaching.cap, MAX_DETACHING)) {
		detaching.fd[detaching.nr++] = fd;
		pthread_cond_signal(&detaching.more);
		taken = true;
	}
	pthread_mutex_unlock(&detaching.lock);
	return taken;
}

void attach_settle(void)
{
	pthread_mutex_lock(&detaching.lock);
	while (detaching.nr || detaching.idle < detaching.threads)
		pthread_cond_wait(&detaching.done, &detaching.lock);
	pthread_mutex_unlock(&detaching.lock);
}

bool attach_is_settled(void)
{
	bool settled;

	pthread_mutex_lock(&detaching.lock);
	settled = !detaching.nr && detaching.idle == detaching.threads;
	pthread_mutex_unlock(&detaching.lock);
	return settled;
}
