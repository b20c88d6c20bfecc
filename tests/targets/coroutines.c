// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * coroutines [CALLS [COROUTINES [THREADS]]]: yielder() gives up its thread in the middle and goes
 * on later, perhaps on another thread: the queue that the coroutines wait in is shared by all of
 * them.
 */
#include "target.h"
#include <pthread.h>
#include <ucontext.h>

enum { STACK = 64 * 1024, YIELDS = 2, MAX = 256 };

struct coroutine {
	ucontext_t context;
	ucontext_t *home; /* of the thread that runs it now */
	uint64_t calls, done, last_tid_hash, moved;
	bool finished;
	char *stack;
};

static struct coroutine all[MAX];
static struct coroutine *queue[MAX];
static unsigned head, waiting;
static uint64_t left, calls_each;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void yield(struct coroutine *c)
{
	swapcontext(&c->context, c->home);
}

WATCHED uint64_t yielder(struct coroutine *c, uint64_t i)
{
	uint64_t sum = i;
	int n;

	for (n = 0; n < YIELDS; n++) {
		yield(c);
		sum += c->done;
	}
	return sum;
}

static void body(unsigned low, unsigned high)
{
	struct coroutine *c = (struct coroutine *)((uintptr_t)high << 32 | low);
	uint64_t i;

	for (i = 0; i < c->calls; i++) {
		KEEP(yielder(c, i));
		c->done++;
	}
	c->finished = true;
	yield(c);
}

static struct coroutine *take(void)
{
	struct coroutine *c = NULL;

	pthread_mutex_lock(&lock);
	if (waiting) {
		c = queue[head++ % MAX];
		waiting--;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void put(struct coroutine *c)
{
	pthread_mutex_lock(&lock);
	queue[(head + waiting++) % MAX] = c;
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	ucontext_t home;
	uint64_t self = (uint64_t)pthread_self();

	while (__atomic_load_n(&left, __ATOMIC_ACQUIRE)) {
		struct coroutine *c = take();

		if (!c)
			continue;
		c->home = &home;
		if (c->last_tid_hash && c->last_tid_hash != self)
			c->moved++;
		c->last_tid_hash = self;
		swapcontext(&home, &c->context);
		if (c->finished)
			__atomic_sub_fetch(&left, 1, __ATOMIC_RELEASE);
		else
			put(c);
	}
	return NULL;
}

static void create(struct coroutine *c, uint64_t calls)
{
	c->calls = calls;
	c->stack = malloc(STACK);
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK;
	makecontext(&c->context, (void (*)(void))body, 2, (unsigned)(uintptr_t)c,
		    (unsigned)((uintptr_t)c >> 32));
	put(c);
}

int main(int argc, char **argv)
{
	uint64_t calls, count, threads, i, done = 0, moved = 0;
	pthread_t ids[16];
	bool ok;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 20000);
	count = target_arg(argc, argv, 2, 8);
	threads = target_arg(argc, argv, 3, 2);
	if (!count || count > MAX || !threads || threads > 16)
		return 2;
	calls_each = calls / count;
	for (i = 0; i < count; i++)
		create(&all[i], calls_each);
	left = count;
	target_go();
	for (i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < count; i++) {
		done += all[i].done;
		moved += all[i].moved;
	}
	ok = done == calls_each * count;
	target_truth("{\"yielder\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"moved\":%"
		     "llu,\"ok\":%s}",
		     (unsigned long long)(calls_each * count), (unsigned long long)done,
		     (unsigned long long)moved, ok ? "true" : "false");
	return ok ? 0 : 1;
}
