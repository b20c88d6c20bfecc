// SPDX-License-Identifier: GPL-2.0-or-later
/* The same, waiting for another thread instead of asleep on purpose. */
#define SERVED serve_with_help
#include "culprit_switches.c"
#include <semaphore.h>

static struct {
	sem_t asked, done;
} help;

WATCHED void ask_helper(void)
{
	sem_post(&help.asked);
	sem_wait(&help.done);
	KEEP(bystander(1));
}

WATCHED void serve_with_help(uint64_t i)
{
	ask_helper();
	KEEP(bystander(i));
}

static void *helper(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&help.asked);
		usleep(3000);
		sem_post(&help.done);
	}
	return NULL;
}

static void __attribute__((constructor)) helper_start(void)
{
	pthread_t thread;

	if (sem_init(&help.asked, 0, 0) || sem_init(&help.done, 0, 0) ||
	    pthread_create(&thread, NULL, helper, NULL))
		exit(1);
}
