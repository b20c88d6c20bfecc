// SPDX-License-Identifier: GPL-2.0-or-later
/* A read-write lock that another thread, "hoarder", holds for reading. */
#include "culprit.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int ask[2], held[2];

static void *hoard(void *nothing)
{
	name_thread("hoarder");
	for (;;) {
		byte_take(ask[0]);
		pthread_rwlock_rdlock(&lock);
		byte_send(held[1]);
		sleep_ns(2000000);
		pthread_rwlock_unlock(&lock);
	}
	return nothing;
}

WATCHED void update(void)
{
	pthread_rwlock_wrlock(&lock);
	KEEP(bystander(1));
	pthread_rwlock_unlock(&lock);
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
