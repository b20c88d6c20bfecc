// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/attach_batch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "collect/detach.h"

struct attach_batch {
	atomic_bool done, dropped;
	atomic_uint users; /* the thread and the caller: the last one releases it */
	size_t nr;
	struct attach_place places[];
};

static atomic_uint running;

void attach_place(struct attach_place *p)
{
	uint64_t since = attach_cpu_begin();

	p->err = -EILSEQ;
	if (p->function)
		p->err = attach_kernel(&p->link, p->prog, p->function, p->at_return, p->cookie);
	for (unsigned int i = 0; i < p->nr_addresses && p->err == -EILSEQ; i++)
		p->err = attach_kernel_place(&p->link, p->prog, NULL, p->address[i], p->cookie);
	attach_cpu_end(since);
}

static void batch_free(struct attach_batch *b)
{
	for (size_t i = 0; i < b->nr; i++)
		free((char *)b->places[i].function);
	free(b);
}

static void batch_put(struct attach_batch *b)
{
	if (atomic_fetch_sub(&b->users, 1) > 1)
		return;
	for (size_t i = 0; i < b->nr; i++)
		attachment_release(&b->places[i].link, false);
	batch_free(b);
}

static void *batch_run(void *arg)
{
	struct attach_batch *b = arg;

	for (size_t i = 0; i < b->nr && !atomic_load(&b->dropped); i++)
		attach_place(&b->places[i]);
	atomic_store(&b->done, true);
	batch_put(b);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

struct attach_batch *attach_batch_new(const struct attach_place *places, size_t nr)
{
	struct attach_batch *b = calloc(1, sizeof(*b) + nr * sizeof(*places));
	pthread_t thread;

	if (!b)
		return NULL;
	b->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		b->places[i] = places[i];
		b->places[i].function = places[i].function ? strdup(places[i].function) : NULL;
	}
	atomic_init(&b->users, 2);
	atomic_fetch_add(&running, 1);
	if (pthread_create(&thread, NULL, batch_run, b)) {
		atomic_fetch_sub(&running, 1);
		batch_free(b);
		return NULL;
	}
	pthread_detach(thread);
	return b;
}

struct attach_place *attach_batch_done(struct attach_batch *b)
{
	return atomic_load(&b->done) ? b->places : NULL;
}

void attach_batch_free(struct attach_batch *b)
{
	if (!b)
		return;
	atomic_store(&b->dropped, true);
	batch_put(b);
}

bool attach_batches_are_over(void)
{
	return !atomic_load(&running);
}
