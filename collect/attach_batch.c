// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/attach_batch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collect/detach.h"

struct attach_batch {
	int prog;
	pthread_mutex_t lock; /* of the following two */
	bool done, dropped;
	size_t nr;
	struct attach_place places[];
};

static atomic_uint running;

static bool is_dropped(struct attach_batch *b)
{
	bool dropped;

	pthread_mutex_lock(&b->lock);
	dropped = b->dropped;
	pthread_mutex_unlock(&b->lock);
	return dropped;
}

static void place_attach(int prog, struct attach_place *p)
{
	uint64_t since = attach_cpu_begin();

	p->err = -EILSEQ;
	for (unsigned int i = 0; i < p->nr_addresses && p->err == -EILSEQ; i++)
		p->err = attach_kernel_place(&p->link, prog, NULL, p->address[i], p->cookie);
	attach_cpu_end(since);
}

static void batch_release(struct attach_batch *b)
{
	for (size_t i = 0; i < b->nr; i++)
		attachment_release(&b->places[i].link, false);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void *batch_run(void *arg)
{
	struct attach_batch *b = arg;
	bool dropped;

	for (size_t i = 0; i < b->nr && !is_dropped(b); i++)
		place_attach(b->prog, &b->places[i]);
	pthread_mutex_lock(&b->lock);
	b->done = true;
	dropped = b->dropped;
	pthread_mutex_unlock(&b->lock);
	if (dropped)
		batch_release(b);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

struct attach_batch *attach_batch_new(int prog, const struct attach_place *places, size_t nr)
{
	struct attach_batch *b = calloc(1, sizeof(*b) + nr * sizeof(*places));
	pthread_t thread;

	if (!b)
		return NULL;
	b->prog = prog;
	b->nr = nr;
	if (nr)
		memcpy(b->places, places, nr * sizeof(*places));
	pthread_mutex_init(&b->lock, NULL);
	atomic_fetch_add(&running, 1);
	if (pthread_create(&thread, NULL, batch_run, b)) {
		atomic_fetch_sub(&running, 1);
		batch_release(b);
		return NULL;
	}
	pthread_detach(thread);
	return b;
}

struct attach_place *attach_batch_done(struct attach_batch *b)
{
	bool done;

	pthread_mutex_lock(&b->lock);
	done = b->done;
	pthread_mutex_unlock(&b->lock);
	return done ? b->places : NULL;
}

void attach_batch_free(struct attach_batch *b)
{
	bool done;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->dropped = true;
	done = b->done;
	pthread_mutex_unlock(&b->lock);
	/* else its thread does it */
	if (done)
		batch_release(b);
}

bool attach_batches_are_over(void)
{
	return !atomic_load(&running);
}
