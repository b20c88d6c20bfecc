// SPDX-License-Identifier: GPL-2.0-or-later
/* A mutex that another thread, "hoarder", holds; culprit_rwlock.c has a lock of another kind. */
#include "culprit.h"

#ifndef HOARD
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define HOARD pthread_mutex_lock
#define LOCK pthread_mutex_lock
#define UNLOCK pthread_mutex_unlock
#endif
static int ask[2], held[2];

static void *hoard(void *nothing)
{
	name_thread("hoarder");
	for (;;) {
		byte_take(ask[0]);
		HOARD(&lock);
		byte_send(held[1]);
		sleep_ns(2000000);
		UNLOCK(&lock);
	}
	return nothing;
}

WATCHED void update(void)
{
	LOCK(&lock);
	KEEP(bystander(1));
	UNLOCK(&lock);
	KEEP(bystander(2));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	update();
	KEEP(bystander(i));
}

/* In one of four calls the lock is taken before serve() begins. */
WATCHED void request(uint64_t i)
{
	if (i == 0)
		thread_run(hoard);
	if (i % 4 == 0) {
		byte_send(ask[1]);
		byte_take(held[0]);
	}
	serve(i);
}

int main(int argc, char **argv)
{
	if (pipe(ask) || pipe(held))
		die("pipe");
	return culprit_run(argc, argv, request, 300);
}
